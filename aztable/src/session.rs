//! The parts that every command uses: connections, the terminal, signals.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use azure_table::operation::Resolution;
use azure_table::{DynamicEntity, Error, TableClient, TableServiceClient};

use crate::connection::{AccountOptions, Connections};
use crate::failure::{Done, Failure, Rejection};
use crate::interrupt::Interrupt;
use crate::place::TablePlace;
use crate::rows::unread::ReadRow;
use crate::terminal::{Progress, Terminal, Total, counted};

/// A run of the program.
pub(crate) struct Session {
    pub(crate) connections: Connections,
    pub(crate) terminal: Terminal,
    pub(crate) interrupt: Interrupt,
    /// The number of rows that could not be shown.
    pub(crate) unread: AtomicU64,
}

impl Session {
    /// # Errors
    /// A secret is on the command line.
    pub(crate) fn new(account: AccountOptions, terminal: Terminal) -> Done<Self> {
        Ok(Self {
            connections: Connections::new(account)?,
            terminal,
            interrupt: Interrupt::listen(terminal),
            unread: AtomicU64::new(0),
        })
    }

    /// Returns a row that can be shown. Prints the key of another one.
    pub(crate) fn readable(&self, row: ReadRow) -> Option<DynamicEntity> {
        let reject = |rejection: &Rejection| {
            self.terminal.rejected(rejection);
            self.unread.fetch_add(1, Ordering::Relaxed);
        };
        row.inspect_err(reject).ok()
    }

    /// Prints a line about the command.
    pub(crate) fn note(&self, text: &str) {
        self.terminal.note(text);
    }

    /// # Errors
    /// The errors of [`Terminal::confirm`].
    pub(crate) fn confirm(&self, plan: &str) -> Done<()> {
        self.terminal.confirm(plan)
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

    /// Returns the error of a command that a signal has stopped.
    pub(crate) fn interrupted(rows: u64) -> Failure {
        Failure::interrupted(format!("stopped after {}", counted(rows, "row")))
    }

    /// Shows the number of rows that are read.
    ///
    /// # Errors
    /// A signal came.
    pub(crate) fn advance(&self, progress: &mut Progress, rows: u64) -> Done<()> {
        progress.set(rows);
        match self.interrupt.is_set() {
            true => Err(Self::interrupted(rows)),
            false => Ok(()),
        }
    }

    /// Starts to show progress.
    pub(crate) fn progress(&self, total: Option<Total>) -> Progress {
        self.terminal.progress(total, &self.connections.meter)
    }
}

/// Returns the error of a command, with the command that goes on if a position is stored.
pub(crate) fn resumable(error: Failure, position: &Path) -> Failure {
    if !position.exists() {
        return error;
    }
    let mut words: Vec<String> = std::env::args_os().map(|word| quoted(&word)).collect();
    let is_resume = |word: &String| word == "--resume" || word.starts_with("--resume=");
    if !words.iter().any(is_resume) {
        // Before the words that are no options, whatever they are.
        let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
        words.insert(end, format!("--resume={}", quoted(position.as_os_str())));
    }
    error.with(&format!("; this goes on:\n  {}", words.join(" ")))
}

/// Quotes a word for a shell, if it needs that.
fn quoted(word: &OsStr) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./:=@,+%".contains(byte);
    let bytes = word.as_encoded_bytes();
    match word.to_str() {
        Some(word) if !word.is_empty() && bytes.iter().all(is_plain) => word.to_owned(),
        Some(word) => format!("'{}'", word.replace('\'', "'\\''")),
        None => {
            let octal: String = bytes.iter().map(|byte| format!("\\{byte:03o}")).collect();
            format!("\"$(printf '{octal}')\"")
        }
    }
}

/// Returns whether a write in doubt was applied, as far as its rows show it: `None` if they do not.
pub(crate) async fn was_applied(service: &TableServiceClient, error: &Error) -> Option<bool> {
    let doubt = error.in_doubt_write()?;
    match service.resolve(&doubt).await {
        Ok(Resolution::Applied) => Some(true),
        Ok(Resolution::NotApplied) => Some(false),
        _ => None,
    }
}
