//! Writes that come second: the row is not as it was read.

use azure_table::{Error, ErrorKind, Result};

/// Returns `None` if another write of the row came first, and this one was certainly not applied.
pub(super) fn was_unchanged<T>(written: Result<T>) -> Result<Option<T>> {
    match written {
        Ok(written) => Ok(Some(written)),
        Err(e) if is_conflict(&e) && !e.may_have_applied() => Ok(None),
        Err(e) => Err(e),
    }
}

/// Returns `true` if a row is not as it was read.
pub(super) fn is_conflict(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::ConditionNotMet | ErrorKind::NotFound)
}
