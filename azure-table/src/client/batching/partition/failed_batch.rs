//! The next step after a batch that failed.
//!
//! The decision is a pure function, specified by the table of its tests. `partition_write.rs` executes the steps.

use azure_table_wire::error::{Error, ErrorKind};

/// The handling of the other operations of a write after one failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// The failed operation is removed from its batch. The others are sent again.
    RemoveFailed,
    /// The operations of a batch fail together.
    FailTogether,
}

/// A request that failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FailedBatch {
    /// The number of its operations.
    pub(crate) operations: usize,
    /// The index of the operation at fault, if the service names it.
    pub(crate) index: Option<usize>,
    pub(crate) scope: ErrorScope,
    /// This request or an earlier one with one of its operations may have been applied.
    pub(crate) in_doubt: bool,
    /// All of its operations are deletes.
    pub(crate) only_deletes: bool,
}

/// The operations that an error concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorScope {
    /// A row of the batch. Other rows may be written.
    Row,
    /// Any request. The error would recur with the next one.
    Any,
}

impl ErrorScope {
    pub(crate) fn of(error: &Error) -> Self {
        match error.cause_kind() {
            ErrorKind::ConditionNotMet | ErrorKind::AlreadyExists | ErrorKind::NotFound | ErrorKind::Rejected => {
                Self::Row
            }
            // Not `TableBeingDeleted`.
            ErrorKind::Conflict if error.parts().code.iter().all(|code| !code.starts_with("Table")) => Self::Row,
            _ => Self::Any,
        }
    }
}

/// The next step after a batch that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecoveryStep {
    /// Ends the write without an outcome for any operation: nothing of the batch was applied.
    Stop,
    /// Fails the operations, and ends the write.
    FailAndStop,
    /// Fails the operations.
    Fail,
    /// Fails the operation at this index, and sends the others again.
    Remove(usize),
    /// Sends each operation alone. All of them are in doubt until then.
    SendAlone,
    /// Sends each half: the failed operation is in one of them.
    Halve,
}

/// Returns the next step after a batch that failed.
pub(crate) fn recovery_step(failed: &FailedBatch, recovery: Recovery) -> RecoveryStep {
    match failed.in_doubt {
        _ if failed.scope == ErrorScope::Row => {}
        false => return RecoveryStep::Stop,
        true => return RecoveryStep::FailAndStop,
    }
    let index = failed.index.filter(|index| *index < failed.operations);
    // A repeated delete that finds no row has succeeded. The others are sent again, and their responses show the state
    // of their rows.
    let may_repeat = !failed.in_doubt || failed.only_deletes;
    match index {
        _ if !may_repeat || recovery == Recovery::FailTogether => RecoveryStep::Fail,
        _ if failed.operations == 1 => RecoveryStep::Remove(0),
        // All of their rows may be gone, and each would cause a batch to fail.
        _ if failed.in_doubt => RecoveryStep::SendAlone,
        Some(index) => RecoveryStep::Remove(index),
        None => RecoveryStep::Halve,
    }
}

#[cfg(test)]
mod tests;
