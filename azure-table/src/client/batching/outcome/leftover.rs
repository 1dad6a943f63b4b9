//! A write that was not applied or is in doubt, with the reason.

use std::fmt;
use std::sync::Arc;

use azure_table_wire::error::Error;

use crate::key::entity_key::Key;
use crate::write::operation::TableOperation;
use crate::write::operation::shared::shared;

/// A write that was not applied or is in doubt, with the reason.
///
/// `W` identifies the write: the operation of a bulk, or the [key](Self::key) of a row.
#[derive(Clone, Debug)]
pub struct Leftover<W = TableOperation> {
    pub(crate) index: u64,
    pub(crate) what: W,
    pub(crate) why: LeftoverReason,
}

impl<W> Leftover<W> {
    /// Returns the reason.
    pub fn reason(&self) -> &LeftoverReason {
        &self.why
    }

    /// Returns the error, or `None` if the write was not attempted.
    ///
    /// For a row that a query read:
    /// - `ConditionNotMet`: another writer changed the row after it was read.
    /// - `Rejected`, `InvalidInput`: the row cannot be stored in this form.
    /// - `InvalidResponse`: the row does not fit the entity type.
    /// - [`InDoubt`](crate::ErrorKind::InDoubt): the row may have been written.
    pub fn error(&self) -> Option<&Error> {
        match &self.why {
            LeftoverReason::Rejected(error) | LeftoverReason::InDoubt(error) => Some(error),
            LeftoverReason::NotAttempted => None,
        }
    }
}

impl Leftover {
    /// Returns the place of the operation in the source, from 0.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Returns the operation, or `None` if it could not be encoded or read.
    pub fn operation(&self) -> Option<&TableOperation> {
        self.what.is_encoded().then_some(&self.what)
    }

    /// Returns the operation to send again, or `None` if it could not be encoded or read.
    pub fn into_operation(self) -> Option<TableOperation> {
        let operation = self.what.is_encoded().then_some(self.what);
        match self.why {
            LeftoverReason::InDoubt(_) => operation.map(shared),
            LeftoverReason::Rejected(_) | LeftoverReason::NotAttempted => operation,
        }
    }
}

impl<E> Leftover<Key<E>> {
    /// Returns the key of the row.
    pub fn key(&self) -> &Key<E> {
        &self.what
    }
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operation() {
            Some(operation) => write!(f, "{operation}: ")?,
            None => write!(f, "operation {} of the source: ", self.index)?,
        }
        self.why.fmt(f)
    }
}

/// Formats the error, after the key if the error itself has none.
impl<E> fmt::Display for Leftover<Key<E>> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error() {
            Some(error) if error.entity().is_some() => error.fmt(f),
            Some(error) => write!(f, "entity {}: {error}", self.what),
            None => write!(f, "entity {}: not attempted", self.what),
        }
    }
}

/// The reason for a [`Leftover`](crate::bulk::Leftover).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LeftoverReason {
    /// The service rejected the write, or it cannot be sent. It was not applied, and will not be.
    Rejected(Arc<Error>),
    /// The write may have been applied, or still be applied: a response was lost, or the service failed.
    ///
    /// Read the row before you send the operation again. Even an upsert would overwrite what others have written since.
    InDoubt(Arc<Error>),
    /// The call ended before the write was sent, or while the service throttled it. Or an earlier write of the call to
    /// this row is in doubt, and could undo it. It was not applied.
    NotAttempted,
}

impl LeftoverReason {
    /// Returns the reason for an operation that failed. Several operations of one batch share an error.
    pub(crate) fn failed(error: Arc<Error>) -> Self {
        if error.may_have_applied() {
            Self::InDoubt(error)
        } else {
            Self::Rejected(error)
        }
    }
}

impl fmt::Display for LeftoverReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(error) => error.fmt(f),
            Self::InDoubt(error) => write!(f, "in doubt: {error}"),
            Self::NotAttempted => f.write_str("not attempted"),
        }
    }
}
