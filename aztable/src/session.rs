//! The parts that every command uses: connections, the terminal, signals.

use std::path::Path;

use azure_table::{DynamicEntity, TableClient};

use crate::connection::{AccountOptions, Connections};
use crate::failure::{Done, Failure};
use crate::interrupt::Interrupt;
use crate::place::TablePlace;
use crate::terminal::{Progress, Terminal, counted};

/// A run of the program.
pub(crate) struct Session {
    pub(crate) connections: Connections,
    pub(crate) terminal: Terminal,
    pub(crate) interrupt: Interrupt,
}

impl Session {
    /// # Errors
    /// A secret is on the command line.
    pub(crate) fn new(account: AccountOptions, terminal: Terminal) -> Done<Self> {
        Ok(Self {
            connections: Connections::new(account)?,
            terminal,
            interrupt: Interrupt::listen(),
        })
    }

    /// Opens a table.
    ///
    /// # Errors
    /// The errors of [`Connections::service_and_table`].
    pub(crate) fn table(&self, place: &TablePlace) -> Done<TableClient<DynamicEntity>> {
        Ok(self.connections.service_and_table(place)?.1)
    }

    /// Returns a table and its account, for plans.
    ///
    /// # Errors
    /// The errors of [`Connections::described`].
    pub(crate) fn described(&self, place: &TablePlace) -> Done<String> {
        let account = self.connections.described(&place.account)?;
        Ok(format!("{} at {account}", place.table))
    }

    /// Returns the error of a command that a signal has stopped, with the command that resumes.
    pub(crate) fn interrupted(&self, rows: u64, position: Option<&Path>) -> Failure {
        let text = format!("stopped after {}", counted(rows, "row"));
        Failure::interrupted(match position {
            Some(path) => format!("{text}; this goes on:\n  {}", resuming(path)),
            None => text,
        })
    }

    /// Shows the number of rows that are read.
    ///
    /// # Errors
    /// A signal came.
    pub(crate) fn advance(&self, progress: &mut Progress, rows: u64) -> Done<()> {
        progress.set(rows);
        match self.interrupt.is_set() {
            true => Err(self.interrupted(rows, None)),
            false => Ok(()),
        }
    }

    /// Returns the error of a command that leaves rows, with the command that resumes.
    pub(crate) fn resumable(&self, error: Failure, position: &Path) -> Failure {
        match position.exists() {
            true => Failure::new(format!("{error}; this goes on:\n  {}", resuming(position))),
            false => error,
        }
    }

    /// Starts to show progress.
    pub(crate) fn progress(&self, total: Option<u64>) -> Progress {
        self.terminal.progress(total, &self.connections.meter)
    }
}

/// Returns the command line that goes on from a position.
fn resuming(position: &Path) -> String {
    let mut words: Vec<String> = std::env::args().map(quoted).collect();
    if !words
        .iter()
        .any(|word| word == "--resume" || word.starts_with("--resume="))
    {
        // Before the words that are no options, whatever they are.
        let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
        words.insert(end, format!("--resume={}", quoted(position.display().to_string())));
    }
    words.join(" ")
}

/// Quotes a word for a shell, if it needs that.
fn quoted(word: String) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word,
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
