//! The program's output: the destinations of its lines, and texts that several files share.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use azure_table_emulator::EmulatorSnapshot;

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Prints a line to standard output. Ignores the error if nobody reads the output.
pub(crate) fn print(line: impl Display) {
    let _ = writeln!(io::stdout().lock(), "{line}");
}

/// The stream of lines for people: standard output, or standard error if standard output is for programs.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    /// Ignores the error if nobody reads the output.
    fn write(self, lines: &str) {
        let _ = match self {
            Self::Stdout => io::stdout().write_all(lines.as_bytes()),
            Self::Stderr => io::stderr().write_all(lines.as_bytes()),
        };
    }
}

/// The lines that wait in the queue for a slow reader. Further ones are left out, and counted.
const WAITING_LINES: usize = 10_000;
/// The time for which lines are collected: waking the thread for each took 5 % of the CPU time of a batch.
const COLLECTING: Duration = Duration::from_millis(5);
/// The maximum wait for the last lines to be read.
const LAST_LINES: Duration = Duration::from_millis(500);

/// Lines for people. A thread of its own writes them: a full pipe that nobody reads must not stop the server.
#[derive(Clone)]
pub(crate) struct People {
    queue: SyncSender<Entry>,
    left_out: Arc<AtomicU64>,
}

enum Entry {
    Line(String),
    /// Answered once all earlier lines are written.
    Flush(SyncSender<()>),
}

impl People {
    /// Starts the thread. It ends with the process: nothing waits for it.
    pub(crate) fn on(stream: Stream) -> Result<Self> {
        let (queue, entries) = sync_channel(WAITING_LINES);
        let left_out = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&left_out);
        thread::Builder::new().name("output".to_owned()).spawn(move || {
            while let Ok(first) = entries.recv() {
                let (mut lines, mut flushed) = (String::new(), Vec::new());
                for entry in iter::once(first).chain(entries.try_iter().take(WAITING_LINES)) {
                    match entry {
                        Entry::Line(line) => lines.extend([&line, "\n"]),
                        Entry::Flush(done) => flushed.push(done),
                    }
                }
                let left_out = counted.swap(0, Ordering::Relaxed);
                if left_out > 0 {
                    lines += &format!("({left_out} lines are left out: they were not read fast enough)\n");
                }
                stream.write(&lines);
                for done in flushed {
                    let _ = done.try_send(());
                }
                thread::sleep(COLLECTING);
            }
        })?;
        Ok(Self { queue, left_out })
    }

    /// Never waits.
    pub(crate) fn tell(&self, line: impl Display) {
        if self.queue.try_send(Entry::Line(line.to_string())).is_err() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until the lines are written, for a limited time.
    pub(crate) fn flush(&self) {
        let (done, flushed) = sync_channel(1);
        if self.queue.try_send(Entry::Flush(done)).is_ok() {
            let _ = flushed.recv_timeout(LAST_LINES);
        }
    }
}

/// Prints a line to standard error, and waits for a limited time until it is read.
pub(crate) fn print_error(line: impl Display) {
    if let Ok(people) = People::on(Stream::Stderr) {
        people.tell(line);
        people.flush();
    }
}

/// Formats an error and its causes as one line.
pub(crate) fn because(what: &str, error: &dyn Error) -> String {
    let mut line = format!("{what}: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        line = format!("{line}: {error}");
        cause = error.source();
    }
    line
}

/// Describes the contents of a snapshot.
pub(crate) fn of(snapshot: &EmulatorSnapshot) -> String {
    contents(snapshot.table_count(), snapshot.entity_count())
}

pub(crate) fn contents(tables: usize, entities: usize) -> String {
    let tables = match tables {
        1 => "1 table".to_owned(),
        _ => format!("{tables} tables"),
    };
    let entities = match entities {
        1 => "1 entity".to_owned(),
        _ => format!("{entities} entities"),
    };
    format!("{tables}, {entities}")
}
