//! The next step after a batch that failed.
//!
//! The decision is a pure function, specified by the table of its tests. `partition_write.rs` executes the steps.

use azure_table_wire::error::{Error, ErrorKind};

/// The treatment of the other operations of a write after one failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// The failed operation is removed from its batch. The others are sent again.
    RemoveFailed,
    /// The operations of a batch fail together.
    FailTogether,
    /// The operations belong to callers who know nothing of each other. The failed one is removed.
    ///
    /// An error that concerns no single row fails only the operations that were sent with it. A missing permission is
    /// searched for like a conflict, because the credential may permit the other operations.
    PerCaller,
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
    /// A permission, which the credential may have for other operations.
    Permission,
    /// Any request. The error would recur with the next one.
    Any,
}

impl ErrorScope {
    pub(crate) fn of(error: &Error) -> Self {
        match error.cause_kind() {
            ErrorKind::ConditionNotMet | ErrorKind::AlreadyExists | ErrorKind::Rejected => Self::Row,
            // A response without a code comes from an intermediary, such as a proxy.
            ErrorKind::NotFound | ErrorKind::Conflict
                if error
                    .parts()
                    .code
                    .as_ref()
                    .is_some_and(|code| !code.starts_with("Table")) =>
            {
                Self::Row
            }
            ErrorKind::Forbidden => Self::Permission,
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
    /// Fails the operation at this index. The others are in doubt.
    FailBeside(usize),
    /// Fails the operation at this index, and sends the others again.
    Remove(usize),
    /// Sends each operation alone. All of them are in doubt until then.
    SendAlone,
    /// Sends each half: the failed operation is in one of them.
    Halve,
}

/// Returns the next step after a batch that failed.
pub(crate) fn recovery_step(failed: &FailedBatch, recovery: Recovery) -> RecoveryStep {
    let concerns_row = match failed.scope {
        ErrorScope::Row => true,
        ErrorScope::Permission => recovery == Recovery::PerCaller,
        ErrorScope::Any => false,
    };
    match (recovery, failed.in_doubt) {
        _ if concerns_row => {}
        (Recovery::PerCaller, _) => return RecoveryStep::Fail,
        (_, false) => return RecoveryStep::Stop,
        (_, true) => return RecoveryStep::FailAndStop,
    }
    let index = failed.index.filter(|index| *index < failed.operations);
    // A repeated delete that finds no row has succeeded. The others are sent again, and their responses show the state
    // of their rows.
    let may_repeat = !failed.in_doubt || failed.only_deletes;
    match (recovery, index) {
        (Recovery::PerCaller, Some(index)) if !may_repeat => RecoveryStep::FailBeside(index),
        _ if !may_repeat || recovery == Recovery::FailTogether => RecoveryStep::Fail,
        _ if failed.operations == 1 => RecoveryStep::Remove(0),
        // All of their rows may be gone, and each would cause a batch to fail.
        _ if failed.in_doubt => RecoveryStep::SendAlone,
        (_, Some(index)) => RecoveryStep::Remove(index),
        (_, None) => RecoveryStep::Halve,
    }
}

#[cfg(test)]
mod tests;
