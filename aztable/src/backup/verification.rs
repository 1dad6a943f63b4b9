//! Checks a table of a backup against its manifest and its base.

use crate::backup::manifest::TableEntry;
use crate::backup::sorted_lines::{KeyLine, Keyed as _, SortedLines};
use crate::backup::stored_backup::StoredBackup;
use crate::failure::{Done, Failure};

/// Checks checksums, order and counts, and that each key has its row in this backup or its version in the keys of its
/// base.
/// Since the base is checked in the same way, each row is in the chain.
///
/// # Errors
/// The first thing that is wrong.
pub(crate) fn verify(backup: &StoredBackup, entry: &TableEntry) -> Done<()> {
    let wrong = |text: String| Failure::new(format!("{}: {text}", entry.table));
    backup.verify_files(&entry.table)?;
    let mut keys = SortedLines::<KeyLine>::open(&backup.folder.join(&entry.keys_file.name))?;
    let mut rows = SortedLines::<azure_table::DynamicEntity>::open(&backup.folder.join(&entry.rows_file.name))?;
    let base = backup.base(&entry.table)?;
    let mut base = match base.as_ref().and_then(|base| Some((base, base.table(&entry.table)?))) {
        Some((base, entry)) => Some(SortedLines::<KeyLine>::open(&base.folder.join(&entry.keys_file.name))?),
        None => None,
    };
    let (mut count, mut stored) = (0, 0);
    while let Some(key) = keys.take()? {
        count += 1;
        let etag = if rows.seek(key.key())?.is_some() {
            stored += 1;
            rows.take()?.and_then(|row| row.etag)
        } else {
            let base = base.as_mut().map(|base| base.seek(key.key())).transpose()?.flatten();
            base.and_then(|key| key.etag().cloned())
        };
        if etag != key.2 {
            return Err(wrong(format!("no row has the version of the key {:?}", key.key())));
        }
    }
    if (count, stored) != (entry.rows, entry.stored_rows) {
        let text = format!(
            "{count} keys and {stored} rows, the manifest has {} and {}",
            entry.rows, entry.stored_rows
        );
        return Err(wrong(text));
    }
    Ok(())
}
