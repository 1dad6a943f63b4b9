//! Writes the files of a table, and knows the position from which they go on.

use std::cmp::Ordering;
use std::io::Write as _;
use std::path::Path;

use azure_table::{Continuation, DateTime, DynamicEntity};
use serde::{Deserialize, Serialize};

use crate::backup::manifest::{Base, FileEntry, TableEntry};
use crate::backup::sorted_lines::{KeyLine, Keyed as _, SortedLines, compare, not_in_order};
use crate::backup::stored_backup::StoredBackup;
use crate::failure::{Done, fail};
use crate::ledger::{Ledger, Outcome};
use crate::rows::appended_file::AppendedFile;
use crate::rows::compression::Compression;
use crate::rows::json_lines;
use crate::rows::unread::ReadRow;
use crate::terminal::Terminal;

/// The most characters of a table's name in the names of its files.
const NAME: usize = 63;

/// The position in a table: its entry so far, whose lengths of files are on the disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TablePosition {
    pub(crate) entry: TableEntry,
    pub(crate) ledger: Ledger,
    pub(crate) next: Option<Continuation>,
}

impl TablePosition {
    /// Begins a table. `index` keeps names of files apart.
    pub(crate) fn new(table: &str, index: usize, base: Option<&StoredBackup>) -> Self {
        let stem = format!("{index:04}-{}", file_name(table));
        let now = DateTime::now();
        let entry = TableEntry {
            table: table.to_owned(),
            start: now,
            end: now,
            rows: 0,
            rejected: 0,
            stored_rows: 0,
            stored_bytes: 0,
            base: base.map(|base| Base {
                backup: base.name().to_owned(),
                sha256: base.sha256.clone(),
            }),
            rows_file: FileEntry::new(format!("{stem}.rows.jsonl.zst")),
            keys_file: FileEntry::new(format!("{stem}.keys.jsonl.zst")),
        };
        Self {
            entry,
            ledger: Ledger::default(),
            next: None,
        }
    }
}

/// The files of a table that is read.
pub(crate) struct TableWriter<'f> {
    folder: &'f Path,
    position: TablePosition,
    rows: AppendedFile,
    keys: AppendedFile,
    base: Option<SortedLines<KeyLine>>,
    last: Option<KeyLine>,
}

impl<'f> TableWriter<'f> {
    /// Creates the files, or opens them at a position.
    ///
    /// # Errors
    /// A file, or the keys of the base, cannot be read.
    pub(crate) fn open(folder: &'f Path, position: TablePosition, base: Option<&StoredBackup>) -> Done<Self> {
        let file = |entry: &FileEntry| {
            let length = position.next.as_ref().map_or(0, |_| entry.bytes);
            AppendedFile::open(&folder.join(&entry.name), Compression::Zstandard, length)
        };
        let (rows, keys) = (file(&position.entry.rows_file)?, file(&position.entry.keys_file)?);
        let base = base.map(|base| base.keys(&position.entry.table));
        Ok(Self {
            folder,
            base: base.transpose()?.flatten(),
            position,
            rows,
            keys,
            last: None,
        })
    }

    pub(crate) fn entry(&self) -> &TableEntry {
        &self.position.entry
    }

    /// Adds the rows of a page. Those that cannot be read are printed and counted.
    ///
    /// # Errors
    /// The rows are not in the order of the keys, or the keys of the base cannot be read.
    pub(crate) fn add_page(&mut self, rows: Vec<ReadRow>, terminal: &Terminal) -> Done<()> {
        self.position.ledger.read(rows.len());
        for row in rows {
            match row {
                Ok(row) => self.add(row)?,
                Err(rejection) => self.position.ledger.reject(&rejection, terminal),
            }
        }
        Ok(())
    }

    /// Adds a row: its key, and itself if the base has not this version of it.
    fn add(&mut self, row: DynamicEntity) -> Done<()> {
        let (partition, key) = (row.partition_key.clone(), row.row_key.clone());
        let line = KeyLine(partition, key, row.etag.clone(), row.timestamp);
        if let Some(last) = &self.last
            && compare(last.key(), line.key()) != Ordering::Less
        {
            fail!("{}", not_in_order(&line));
        }
        let stored = self.base.as_mut().map(|base| base.seek(line.key()));
        let stored = stored.transpose()?.flatten();
        let is_new = stored.is_none_or(|stored| stored.etag().is_none() || stored.etag() != line.etag());
        if is_new {
            self.position.entry.stored_bytes += json_lines::write(&mut self.rows, &row)?;
            self.position.entry.stored_rows += 1;
        }
        json_lines::write(&mut self.keys, &line)?;
        self.position.entry.rows += 1;
        self.last = Some(line);
        let outcome = if is_new { Outcome::Written } else { Outcome::Unchanged };
        self.position.ledger.count(outcome, 1);
        Ok(())
    }

    /// Writes all rows to the disk. Returns the position behind them.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn flush(&mut self, next: Option<Continuation>) -> Done<TablePosition> {
        self.rows.flush()?;
        self.keys.flush()?;
        self.position.entry.rejected = self.position.ledger.of(Outcome::Rejected);
        self.position.entry.rows_file.bytes = self.rows.length();
        self.position.entry.keys_file.bytes = self.keys.length();
        self.position.next = next;
        Ok(self.position.clone())
    }

    /// Writes the last rows to the disk. Returns the entry of the table, and the counts of its rows.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn finish(mut self) -> Done<(TableEntry, Ledger)> {
        self.flush(None)?;
        let mut entry = self.position.entry;
        entry.rows_file = FileEntry::of(self.folder, &entry.rows_file.name)?;
        entry.keys_file = FileEntry::of(self.folder, &entry.keys_file.name)?;
        entry.end = DateTime::now();
        Ok((entry, self.position.ledger))
    }
}

/// Returns a table's name as part of the name of a file. It may be cut.
fn file_name(table: &str) -> String {
    let escaped = table.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    escaped.take(NAME).collect()
}
