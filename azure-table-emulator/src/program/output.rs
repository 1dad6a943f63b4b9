//! The program's output: the destinations of its lines, and texts that several files share.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write as _};

use azure_table_emulator::EmulatorSnapshot;

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Prints a line to standard output. Ignores the error if nobody reads the output.
pub(crate) fn print(line: impl Display) {
    let _ = writeln!(io::stdout().lock(), "{line}");
}

/// The destination of lines for people: standard output, or standard error if standard output is for programs.
#[derive(Clone, Copy)]
pub(crate) enum People {
    Stdout,
    Stderr,
}

impl People {
    pub(crate) fn tell(self, line: impl Display) {
        match self {
            Self::Stdout => print(line),
            Self::Stderr => drop(writeln!(io::stderr().lock(), "{line}")),
        }
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
