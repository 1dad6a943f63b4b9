//! The error of a command: one line, and the exit code of the program.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::Path;

use azure_table::{Error, ErrorKind};

/// Returns an error of the command line.
macro_rules! usage {
    ($($text:tt)*) => { return Err($crate::failure::Failure::usage(format!($($text)*))) };
}

/// Returns any other error.
macro_rules! fail {
    ($($text:tt)*) => { return Err($crate::failure::Failure::new(format!($($text)*))) };
}

pub(crate) use {fail, usage};

/// A rejected row, or its key, and the reason.
pub(crate) type Rejection = (serde_json::Value, String);

/// The result of a part of a command.
pub(crate) type Done<T> = Result<T, Failure>;

/// The error of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    text: String,
    code: u8,
}

impl Failure {
    /// The exit code of an error, of differences, and of rows that are left.
    pub(crate) const FAILED: u8 = 1;
    /// The exit code of a command line that cannot be used, as clap has it.
    pub(crate) const USAGE: u8 = 2;
    /// The exit code of a command that a signal has stopped. A long command stops at a position from which it resumes.
    /// Any other stops at once, and its write may have been applied.
    pub(crate) const INTERRUPTED: u8 = 130;

    /// The exit code of a command whose reader has closed the pipe, as if SIGPIPE had ended it.
    pub(crate) const CLOSED: u8 = 141;

    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self::of(Self::FAILED, text.into())
    }

    /// An error of the command line.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::of(Self::USAGE, text.into())
    }

    pub(crate) fn interrupted(text: impl Into<String>) -> Self {
        Self::of(Self::INTERRUPTED, text.into())
    }

    fn of(code: u8, text: String) -> Self {
        Self { text, code }
    }

    /// An error of a file.
    pub(crate) fn of_file(path: &Path, error: impl fmt::Display) -> Self {
        Self::new(format!("{}: {error}", path.display()))
    }

    /// Returns the error with more text.
    pub(crate) fn with(self, text: &str) -> Self {
        Self::of(self.code, self.text + text)
    }

    /// Returns the error behind the counts of a command.
    pub(crate) fn behind(self, counts: impl fmt::Display) -> Self {
        Self::of(self.code, format!("{counts}: {}", self.text))
    }

    pub(crate) fn code(&self) -> u8 {
        self.code
    }
}

/// Names the file of an error.
pub(crate) trait InFile<T> {
    /// # Errors
    /// The error, with the path of the file.
    fn in_file(self, path: &Path) -> Done<T>;
}

impl<T, E: fmt::Display> InFile<T> for Result<T, E> {
    fn in_file(self, path: &Path) -> Done<T> {
        self.map_err(|error| Failure::of_file(path, error))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        // The error itself names the method that creates the table, not the command.
        if let (ErrorKind::TableNotFound, Some(table)) = (error.kind(), error.table()) {
            let text = "no such table: `aztable ls` lists the tables, `aztable create` creates one";
            return Self::new(format!("{table}: {text}"));
        }
        let mut text = with_causes(&error);
        if let Some(remedy) = remedy(error.kind()) {
            text = format!("{text}: {remedy}");
        }
        match (error.kind(), error.status()) {
            // Nothing was sent.
            (ErrorKind::InvalidInput, None) => Self::usage(text),
            _ => Self::new(text),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let is_closed = error.kind() == io::ErrorKind::BrokenPipe;
        let code = if is_closed { Self::CLOSED } else { Self::FAILED };
        Self::of(code, error.to_string())
    }
}

impl From<csv::Error> for Failure {
    fn from(error: csv::Error) -> Self {
        match error.into_kind() {
            csv::ErrorKind::Io(error) => error.into(),
            other => Self::new(format!("{other:?}")),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::new(error.to_string())
    }
}

/// Returns an error and its causes in one line.
pub(crate) fn with_causes(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    // The advice of the library for a Rust struct.
    let advice = text.find("; a field of the type `").or_else(|| text.find("; use #["));
    text.truncate(advice.unwrap_or(text.len()));
    text
}

/// Returns what the user can do about an error of the service, if the error does not say so.
fn remedy(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::Unauthenticated => Some("sign in with `az login` or `azd auth login`, or check the key or SAS"),
        ErrorKind::Forbidden => Some("the credential lacks a right: a role such as `Storage Table Data Contributor`"),
        _ => None,
    }
}
