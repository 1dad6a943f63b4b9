//! Operations that an earlier call may have applied: their write ids do not show which call did.

use crate::write::operation::TableOperation;

/// Returns an operation of a call in doubt, to send it again.
pub(crate) fn shared(operation: TableOperation) -> TableOperation {
    match operation.write_id() {
        Some(_) => operation.with(|extras| extras.is_shared = true),
        None => operation,
    }
}

/// Returns `true` if an earlier call may have applied the operation.
pub(crate) fn is_shared(operation: &TableOperation) -> bool {
    let encoded = operation.encoded.as_ref().ok();
    encoded.is_some_and(|encoded| encoded.extras.as_ref().is_some_and(|extras| extras.is_shared))
}
