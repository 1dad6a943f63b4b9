//! The rejected rows of a command, with their reasons.

use std::io::Write as _;
use std::path::Path;

use serde_json::json;

use crate::failure::{Done, Rejection, fail};
use crate::rows::appended_file::AppendedFile;
use crate::rows::compression::Compression;
use crate::rows::json_lines;
use crate::terminal::Terminal;

/// The rejected rows whose reasons are printed.
const PRINTED: u64 = 10;

/// The rejected rows: in a file, and the first ones on the terminal.
pub(super) struct Rejects {
    terminal: Terminal,
    printed: u64,
    file: Option<AppendedFile>,
    /// The length of the file with the rows of settled pages. A resumed command cuts off the others.
    pub(super) settled: u64,
    /// A write failed: no later position may pass its rows.
    is_incomplete: bool,
}

impl Rejects {
    pub(super) fn open(terminal: Terminal, path: Option<&Path>, settled: u64) -> Done<Self> {
        let file = path.map(|path| AppendedFile::open(path, Compression::None, settled));
        let file = file.transpose()?;
        Ok(Self {
            terminal,
            printed: 0,
            file,
            settled,
            is_incomplete: false,
        })
    }

    /// Writes rows of settled pages, and then others, which a resumed command rejects again.
    ///
    /// # Errors
    /// The file cannot be written, now or before.
    pub(super) fn write(&mut self, [settled, later]: [Vec<Rejection>; 2]) -> Done<()> {
        if self.is_incomplete {
            fail!("rejected rows are in no file: resume from the last position");
        }
        self.is_incomplete = true;
        if self.append(settled)? {
            self.settled = self.file.as_ref().map_or(0, AppendedFile::length);
        }
        self.append(later)?;
        self.is_incomplete = false;
        Ok(())
    }

    /// Returns `true` if there are any.
    fn append(&mut self, rows: Vec<Rejection>) -> Done<bool> {
        let is_some = !rows.is_empty();
        for rejection in rows {
            if self.printed < PRINTED {
                self.terminal.rejected(&rejection);
                self.printed += 1;
            }
            if let Some(file) = &mut self.file {
                let (row, why) = rejection;
                json_lines::write(file, &json!({ "reason": why, "row": row }))?;
            }
        }
        if let Some(file) = self.file.as_mut().filter(|_| is_some) {
            file.flush()?;
        }
        Ok(is_some)
    }
}
