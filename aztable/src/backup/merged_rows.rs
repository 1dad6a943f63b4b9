//! The rows of a table at the time of a backup: merged from its file of rows and those of its bases.

use azure_table::DynamicEntity;

use crate::backup::sorted_lines::{KeyLine, Keyed as _, SortedLines};
use crate::backup::stored_backup::StoredBackup;
use crate::failure::{Done, fail};

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
        let Some(keys) = chain.first().map(|newest| newest.keys(table)).transpose()?.flatten() else {
            fail!("the backup has no table {table}");
        };
        let files = chain.iter().filter_map(|backup| backup.rows(table).transpose());
        let files = files.collect::<Done<_>>()?;
        Ok(Self { keys, files })
    }

    /// Skips rows. Returns the key of the last one.
    ///
    /// # Errors
    /// The file of keys is damaged.
    pub(crate) fn skip(&mut self, rows: u64) -> Done<Option<KeyLine>> {
        (0..rows).try_fold(None, |_, _| self.keys.take())
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
                if row.as_ref().and_then(|row| row.etag.as_ref()) != key.etag() {
                    fail!("the row {:?} has another ETag than its key", key.key());
                }
                return Ok(row);
            }
        }
        fail!("no backup of the chain has the row {:?}", key.key())
    }
}
