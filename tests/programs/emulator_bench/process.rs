//! Servers as separate processes: their start, their core, their CPU time.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) const GENERATOR_CORE: u32 = 0;
const SERVER_CORE: u32 = 1;
/// The length of a tick of CPU time in `/proc`.
const TICK_MICROS: f64 = 10_000.0;

/// A server that runs until it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    process: Child,
    pub(crate) port: u16,
    /// The time from its start to its first response.
    pub(crate) started_in: Duration,
}

impl Server {
    /// The emulator as the program that users start.
    pub(crate) fn emulator() -> Self {
        Self::emulator_with(&[])
    }

    /// The same with options.
    pub(crate) fn emulator_with(options: &[&str]) -> Self {
        let program = built_emulator();
        Self::start(|port| {
            let mut command = pinned(&program);
            command.args(["--port", &port.to_string()]).args(options);
            command
        })
    }

    /// Azurite, in memory, as `tests/external/azurite/run` starts it.
    pub(crate) fn azurite() -> Self {
        Self::azurite_with(&["--inMemoryPersistence"])
    }

    /// Azurite with its files in this folder, as its users start it.
    pub(crate) fn azurite_on_disk(folder: &Path) -> Self {
        Self::azurite_with(&["--location", folder.to_str().unwrap()])
    }

    fn azurite_with(options: &[&str]) -> Self {
        let main =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("external/azurite/node_modules/azurite/dist/src/table/main.js");
        assert!(
            main.exists(),
            "Azurite is not installed: run `tests/external/azurite/run true` first"
        );
        Self::start(|port| {
            let mut command = pinned(Path::new("node"));
            command.arg(&main);
            command.args(["--silent", "--disableTelemetry", "--skipApiVersionCheck"]);
            command.args(options);
            command.args(["--tableHost", "127.0.0.1", "--tablePort", &port.to_string()]);
            command
        })
    }

    fn start(command: impl Fn(u16) -> Command) -> Self {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut command = command(port);
        command
            .current_dir(std::env::temp_dir())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let started = Instant::now();
        let process = command.spawn().expect("taskset and the server are programs");
        while !responses(port) {
            assert!(
                started.elapsed() < Duration::from_secs(30),
                "no response on port {port}"
            );
            thread::sleep(Duration::from_micros(200));
        }
        Self {
            process,
            port,
            started_in: started.elapsed(),
        }
    }

    /// User and system time so far, in microseconds.
    pub(crate) fn cpu_micros(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap();
        // The name of the program, in parentheses, may contain spaces.
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks = |field: usize| fields[field].parse::<f64>().unwrap();
        (ticks(11) + ticks(12)) * TICK_MICROS
    }
}

impl Server {
    /// Returns the resident memory, in MiB.
    pub(crate) fn resident_mib(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1_024.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Pins a process to a core.
pub(crate) fn pin(process: u32, core: u32) {
    let mut taskset = Command::new("taskset");
    taskset
        .args(["-acp", &core.to_string(), &process.to_string()])
        .stdout(Stdio::null());
    assert!(taskset.status().expect("taskset is installed").success());
}

fn pinned(program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", &SERVER_CORE.to_string()]).arg(program);
    command
}

/// Any response counts, even a rejection.
fn responses(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else {
        return false;
    };
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let request = format!("GET /devstoreaccount1/Tables HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    stream.write_all(request.as_bytes()).is_ok() && stream.read(&mut [0; 64]).is_ok_and(|length| length > 0)
}

/// Builds the program into the target folder of this bench, and returns its path.
fn built_emulator() -> PathBuf {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "-p", "azure-table-emulator"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(status.expect("cargo runs").success());
    // .../release/deps/emulator-0123
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().with_file_name("azure-table-emulator")
}
