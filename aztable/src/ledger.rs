//! The ledger of a command that moves rows: each row that is read has one outcome.
//!
//! A row is counted as read where it arrives, and its outcome where it ends. No number is computed from another one, so
//! a row that is lost between both shows at the end. The last line and the exit code come from here alone.

use std::fmt;

use clap::ValueEnum;
use indicatif::HumanCount;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::failure::{Done, Failure, Rejection, fail};
use crate::terminal::Terminal;

/// The end of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Outcome {
    Written,
    /// The target had the row already.
    Unchanged,
    /// It replaced a row of the same key that was written before it from the same source.
    Superseded,
    Deleted,
    /// Only the target has the row, and it stays.
    Kept,
    Rejected,
    InDoubt,
    NotAttempted,
}

/// The outcome of a row, or its rejection.
pub(crate) type RowEnd = Result<Outcome, Rejection>;

/// The number of rows by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ledger {
    read: u64,
    /// By outcome.
    ended: [u64; 8],
}

impl Ledger {
    /// Counts rows that arrive.
    pub(crate) fn read(&mut self, rows: usize) {
        self.read += rows as u64;
    }

    /// Counts rows by their outcome.
    pub(crate) fn count(&mut self, outcome: Outcome, rows: u64) {
        if let Some(count) = self.ended.get_mut(outcome as usize) {
            *count += rows;
        }
    }

    /// Prints a row that cannot be read, and counts it.
    pub(crate) fn reject(&mut self, rejection: &Rejection, terminal: &Terminal) {
        terminal.rejected(rejection);
        self.count(Outcome::Rejected, 1);
    }

    /// Adds the counts of other rows.
    pub(crate) fn add(&mut self, other: &Self) {
        self.read += other.read;
        let counts = self.ended.iter_mut().zip(other.ended);
        counts.for_each(|(count, other)| *count += other);
    }

    /// Returns the number of rows with an outcome.
    pub(crate) fn of(&self, outcome: Outcome) -> u64 {
        self.ended.get(outcome as usize).copied().unwrap_or_default()
    }

    /// Returns the name of each outcome with its count. Clap derives the names: `in-doubt`.
    fn named(&self) -> impl Iterator<Item = (String, u64)> {
        let outcomes = Outcome::value_variants().iter();
        let names = outcomes.filter_map(ValueEnum::to_possible_value);
        names.map(|name| name.get_name().replace('-', " ")).zip(self.ended)
    }

    /// Returns the number of rows that have an outcome.
    pub(crate) fn ended(&self) -> u64 {
        self.ended.iter().sum()
    }

    /// Returns whether each row has an outcome with which a resumed command does not repeat it.
    pub(crate) fn is_final(&self) -> bool {
        self.ended() - self.of(Outcome::InDoubt) - self.of(Outcome::NotAttempted) == self.read
    }

    /// # Errors
    /// Rows are left, or have no outcome.
    pub(crate) fn check(&self) -> Done<()> {
        match self.ended() {
            ended if ended == self.read => {}
            ended => fail!("{ended} rows have an outcome: this is a fault of aztable, please report it"),
        }
        no_rows_left(self.of(Outcome::Rejected) + self.of(Outcome::InDoubt) + self.of(Outcome::NotAttempted))
    }

    /// Ends a command: prints the counts, with its error if it has one.
    ///
    /// # Errors
    /// That of the command, or rows are left or missing.
    pub(crate) fn end(&self, terminal: &Terminal, done: Done<()>) -> Done<()> {
        let done = done.and_then(|()| self.check());
        let mut event = json!({ "read": self.read });
        for (name, count) in self.named() {
            event[name.replace(' ', "_")] = count.into();
        }
        terminal.event("end", &event);
        if done.is_ok() && !terminal.json {
            terminal.note(&self.to_string());
        }
        // One line says all, even if notes are not printed.
        done.map_err(|error| if self.read > 0 { error.behind(self) } else { error })
    }
}

/// # Errors
/// There are rows that are left.
pub(crate) fn no_rows_left(rows: u64) -> Done<()> {
    match rows {
        0 => Ok(()),
        1 => Err(Failure::new("1 row is left")),
        left => Err(Failure::new(format!("{} rows are left", HumanCount(left)))),
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} read", HumanCount(self.read))?;
        let counts = self.named().filter(|(_, count)| *count > 0);
        counts
            .into_iter()
            .try_for_each(|(name, count)| write!(f, ", {} {name}", HumanCount(count)))
    }
}
