//! The account of rows at the end of a command: every row that was read is in one of its counts.

use std::fmt;

use indicatif::HumanCount;
use serde::{Deserialize, Serialize};

use crate::failure::{Done, fail};
use crate::terminal::Terminal;

/// The number of rows by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) read: u64,
    pub(crate) written: u64,
    /// The target had the row already.
    pub(crate) unchanged: u64,
    pub(crate) deleted: u64,
    pub(crate) rejected: u64,
    pub(crate) in_doubt: u64,
    pub(crate) not_attempted: u64,
}

impl Tally {
    /// Adds the counts of other rows.
    pub(crate) fn add(&mut self, other: &Self) {
        self.read += other.read;
        self.written += other.written;
        self.unchanged += other.unchanged;
        self.deleted += other.deleted;
        self.rejected += other.rejected;
        self.in_doubt += other.in_doubt;
        self.not_attempted += other.not_attempted;
    }

    /// Prints the counts.
    pub(crate) fn print(&self, terminal: &Terminal) {
        match serde_json::to_value(self) {
            Ok(members) if terminal.json => terminal.event("end", &members),
            _ => terminal.note(&self.to_string()),
        }
    }

    /// # Errors
    /// Rows are left.
    pub(crate) fn check(&self) -> Done<()> {
        left(self.rejected + self.in_doubt + self.not_attempted)
    }
}

/// # Errors
/// Rows are left.
pub(crate) fn left(rows: u64) -> Done<()> {
    match rows {
        0 => Ok(()),
        1 => fail!("1 row is left"),
        left => fail!("{} rows are left", HumanCount(left)),
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} read", HumanCount(self.read))?;
        for (count, name) in [
            (self.written, "written"),
            (self.unchanged, "unchanged"),
            (self.deleted, "deleted"),
            (self.rejected, "rejected"),
            (self.in_doubt, "in doubt"),
            (self.not_attempted, "not attempted"),
        ] {
            if count > 0 {
                write!(f, ", {} {name}", HumanCount(count))?;
            }
        }
        Ok(())
    }
}
