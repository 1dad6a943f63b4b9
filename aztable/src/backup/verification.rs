//! Checks a table of a backup against its manifest and its base.

use crate::backup::manifest::TableEntry;
use crate::backup::merged_rows::MergedRows;
use crate::backup::sorted_lines::Keyed as _;
use crate::backup::stored_backup::StoredBackup;
use crate::failure::{Done, fail};

/// Checks checksums, order and counts, and that each key has its row in this backup or its version in the keys of its
/// base.
/// Since the base is checked in the same way, each row is in the chain, and all its files can be open at once.
///
/// # Errors
/// The first thing that is wrong.
pub(crate) fn verify(backup: &StoredBackup, entry: &TableEntry) -> Done<()> {
    let table = &entry.table;
    backup.verify_files(&entry.table)?;
    MergedRows::open(&backup.chain(table)?, table)?;
    let base = backup.base(table)?.map(|base| base.keys(table));
    let mut base = base.transpose()?.flatten();
    let (Some(mut keys), Some(mut rows)) = (backup.keys(table)?, backup.rows(table)?) else {
        return Ok(());
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
            fail!("{table}: no row has the version of the key {:?}", key.key());
        }
    }
    let (all, new) = (entry.rows, entry.stored_rows);
    if (count, stored) != (all, new) {
        fail!("{table}: {count} keys and {stored} rows, the manifest has {all} and {new}");
    }
    Ok(())
}
