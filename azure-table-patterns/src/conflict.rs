//! Conflicts: writes to a row that has changed since it was read.
//!
//! This module distinguishes them from other errors, and has their default limit. It returns the handle whose reads see
//! all earlier writes.

use azure_table::{CallOptions, Error, ErrorKind, LocationMode, Result, TableClient};

/// The default number of transactions that one call tolerates.
pub(super) const CONFLICTS: u32 = 16;

/// Returns a handle that reads the primary, whatever the client's mode: the secondary may lack recent writes.
pub(super) fn on_primary<E>(table: &TableClient<E>) -> TableClient<E> {
    table.with(&CallOptions::new().location_mode(LocationMode::PrimaryOnly))
}

/// Returns `None` if another write of the row came first, and this one was certainly not applied.
pub(super) fn was_unchanged<T>(written: Result<T>) -> Result<Option<T>> {
    match written {
        Ok(written) => Ok(Some(written)),
        Err(e) if is_conflict(&e) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Returns `true` if the row has changed since it was read, by another write. A write in doubt is no conflict.
pub(super) fn is_conflict(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::ConditionNotMet | ErrorKind::NotFound)
}
