//! The rows of a table at the time of a backup: merged from its file of rows and those of its bases.

use azure_table::DynamicEntity;

use crate::backup::sorted_lines::{KeyLine, Keyed as _, SortedLines};
use crate::backup::stored_backup::StoredBackup;
use crate::failure::{Done, Failure};

/// A reader of the rows, in the order of the keys.
pub(crate) struct MergedRows {
    keys: SortedLines<KeyLine>,
    /// The newest first.
    files: Vec<SortedLines<DynamicEntity>>,
}

impl MergedRows {
    /// Opens a table of a backup, with the backup's chain.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn open(chain: &[StoredBackup], table: &str) -> Done<Self> {
        let path = |backup: &StoredBackup, name: &str| backup.folder.join(name);
        let entries: Vec<_> = chain
            .iter()
            .filter_map(|backup| Some((backup, backup.table(table)?)))
            .collect();
        let Some((newest, entry)) = entries.first() else {
            return Err(Failure::new(format!("the backup has no table {table}")));
        };
        let keys = SortedLines::open(&path(newest, &entry.keys_file.name))?;
        let files = entries
            .iter()
            .map(|(backup, entry)| SortedLines::open(&path(backup, &entry.rows_file.name)));
        Ok(Self {
            keys,
            files: files.collect::<Done<_>>()?,
        })
    }

    /// Skips rows.
    ///
    /// # Errors
    /// The file of keys is damaged.
    pub(crate) fn skip(&mut self, rows: u64) -> Done<()> {
        for _ in 0..rows {
            self.keys.take()?;
        }
        Ok(())
    }

    /// Returns the next row.
    ///
    /// # Errors
    /// A file is damaged, or has not the row that another one promises.
    pub(crate) fn next(&mut self) -> Done<Option<DynamicEntity>> {
        let Some(key) = self.keys.take()? else { return Ok(None) };
        for file in &mut self.files {
            if file.seek(key.key())?.is_some() {
                let row = file.take()?;
                return match row.as_ref().and_then(|row| row.etag()) == key.etag() {
                    true => Ok(row),
                    false => Err(Failure::new(format!(
                        "the row {:?} has another ETag than its key",
                        key.key()
                    ))),
                };
            }
        }
        Err(Failure::new(format!(
            "no backup of the chain has the row {:?}",
            key.key()
        )))
    }
}
