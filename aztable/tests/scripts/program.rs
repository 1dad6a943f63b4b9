//! Runs the program: with input, with a signal after a time, with a limit of files.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::thread;
use std::time::{Duration, Instant};

use crate::front::{Control, signal};

/// The time after which a run is taken for one that hangs.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);
const PROGRAM: &str = env!("CARGO_BIN_EXE_aztable");

/// Held for reading while a folder is open, and for writing while a process is started: until its exec, that process has
/// the lock of each open folder.
static STARTING: RwLock<()> = RwLock::new(());

/// Keeps processes from being started.
pub(crate) fn no_starts() -> RwLockReadGuard<'static, ()> {
    STARTING.read().unwrap_or_else(PoisonError::into_inner)
}

/// The standard output of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Output {
    #[default]
    Pipe,
    File(PathBuf),
}

/// A run of the program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    pub(crate) arguments: Vec<OsString>,
    /// A command of a shell, instead of the arguments.
    pub(crate) shell: Option<String>,
    pub(crate) input: Option<Vec<u8>>,
    pub(crate) output: Output,
    pub(crate) variables: Vec<(String, String)>,
    /// A signal after a time.
    pub(crate) signal: Option<(&'static str, Duration)>,
    /// The most blocks of 512 bytes of a file.
    pub(crate) blocks: Option<u64>,
    /// A named pipe that receives the input.
    pub(crate) pipe: Option<PathBuf>,
}

/// The end of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ran {
    /// The exit code, or the negative number of the signal that ended the process.
    pub(crate) code: i32,
    pub(crate) output: Vec<u8>,
    pub(crate) error: String,
    pub(crate) hangs: bool,
}

impl Ran {
    pub(crate) const KILLED: i32 = -9;
    /// SIGINT before the program listens to signals.
    pub(crate) const INTERRUPTED_EARLY: i32 = -2;

    /// Returns the command that goes on, if it is printed.
    pub(crate) fn printed(&self, is_json: bool) -> Option<String> {
        let error = match is_json {
            false => self.error.clone(),
            true => {
                let events = self.error.lines().map(serde_json::from_str::<serde_json::Value>);
                let mut errors = events.flatten().filter(|event| event["event"] == "error");
                errors.find_map(|event| event["text"].as_str().map(str::to_owned))?
            }
        };
        let (_, command) = error.split_once("this goes on:\n")?;
        Some(command.trim().to_owned())
    }
}

impl Run {
    fn command(&self, folder: &Path) -> Command {
        let mut command = match (&self.shell, self.blocks) {
            (Some(line), _) => {
                let mut command = Command::new("sh");
                command.arg("-c").arg(line);
                command
            }
            (None, None) => {
                let mut command = Command::new(PROGRAM);
                command.args(&self.arguments);
                command
            }
            (None, Some(blocks)) => {
                let mut command = Command::new("sh");
                let line = format!("ulimit -f {blocks}; trap '' XFSZ; exec \"$0\" \"$@\"");
                command.arg("-c").arg(line).arg(PROGRAM).args(&self.arguments);
                command
            }
        };
        command.current_dir(folder).stdin(Stdio::null()).stderr(Stdio::piped());
        command
            .env_remove("AZURE_STORAGE_CONNECTION_STRING")
            .envs(self.variables.iter().cloned());
        if self.input.is_some() && self.pipe.is_none() {
            command.stdin(Stdio::piped());
        }
        command.stdout(match &self.output {
            Output::Pipe => Stdio::piped(),
            Output::File(path) => Stdio::from(File::options().create(true).append(true).open(path).unwrap()),
        });
        command
    }

    /// Runs the program in a folder. The control learns its process.
    pub(crate) fn run(&self, folder: &Path, controls: &[Control]) -> Ran {
        if let Some(pipe) = &self.pipe {
            // The writer of an earlier run that was killed may still hold the old one.
            let _ = std::fs::remove_file(pipe);
            assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
        }
        let mut command = self.command(folder);
        let started = Instant::now();
        let mut child = {
            let _starting = STARTING.write().unwrap_or_else(PoisonError::into_inner);
            command.spawn().unwrap()
        };
        drop(command);
        controls.iter().for_each(|control| control.watch(child.id()));
        self.feed(&mut child);
        let output = child.stdout.take().map(|mut pipe| {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = pipe.read_to_end(&mut bytes);
                bytes
            })
        });
        let mut pipe = child.stderr.take().unwrap();
        let error = thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.read_to_end(&mut bytes);
            bytes
        });
        let mut left = self.signal;
        let mut hangs = false;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if let Some((name, after)) = left
                && started.elapsed() >= after
            {
                signal(child.id(), name);
                left = None;
            }
            if started.elapsed() > LIMIT {
                hangs = true;
                child.kill().unwrap();
            }
            thread::sleep(Duration::from_millis(1));
        };
        Ran {
            code: status.code().unwrap_or_else(|| -status.signal().unwrap_or(1)),
            output: output.map(|reader| reader.join().unwrap()).unwrap_or_default(),
            error: String::from_utf8_lossy(&error.join().unwrap()).into_owned(),
            hangs,
        }
    }

    /// Writes the input to the program or to a named pipe. The reader may have ended.
    fn feed(&self, child: &mut Child) {
        let Some(input) = self.input.clone() else { return };
        match (&self.pipe, child.stdin.take()) {
            (Some(path), _) => {
                // Opened for reading too: it would wait for a program that never opens it.
                let pipe = File::options().read(true).write(true).open(path).unwrap();
                let keeper = Writer { pipe, input };
                keeper.start(child.id());
            }
            (None, Some(mut pipe)) => drop(thread::spawn(move || drop(pipe.write_all(&input)))),
            (None, None) => {}
        }
    }

    /// Returns the run as a line for a shell.
    pub(crate) fn line(&self) -> String {
        if let Some(line) = &self.shell {
            return line.clone();
        }
        let words = self.arguments.iter().map(|word| quoted(word));
        let mut line = format!("aztable {}", words.collect::<Vec<_>>().join(" "));
        if let Some(blocks) = self.blocks {
            line = format!("(ulimit -f {blocks}; trap '' XFSZ; {line})");
        }
        if let Some(input) = &self.input {
            line += &format!(" < {} bytes", input.len());
        }
        if let Output::File(path) = &self.output {
            line += &format!(" >> {}", path.display());
        }
        if let Some((name, after)) = self.signal {
            line += &format!("  # {name} after {} ms", after.as_millis());
        }
        line
    }
}

/// The writer of a named pipe.
struct Writer {
    pipe: File,
    input: Vec<u8>,
}

impl Writer {
    /// Writes, and closes the pipe once the process has opened it or has ended.
    fn start(mut self, process: u32) {
        let opened = move || {
            let links = std::fs::read_dir(format!("/proc/{process}/fd"))
                .into_iter()
                .flatten()
                .flatten();
            links
                .filter_map(|link| std::fs::read_link(link.path()).ok())
                .any(|path| path.to_string_lossy().ends_with(".pipe.jsonl"))
        };
        thread::spawn(move || {
            let started = Instant::now();
            let is_alive = || Path::new(&format!("/proc/{process}/fd")).read_dir().is_ok();
            while !opened() && is_alive() && started.elapsed() < LIMIT {
                thread::sleep(Duration::from_millis(1));
            }
            if is_alive() {
                let _ = self.pipe.write_all(&self.input);
            }
        });
    }
}

/// Quotes a word for a shell. Bytes that are not UTF-8 are replaced.
pub(crate) fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
