//! What a call does to which rows.
//!
//! Owns [`RowWrites`], which a call carries until it has its answer, and [`RowWrite`], one of them. What they are needed for,
//! if the answer is lost, is `read_back.rs`.

use std::sync::Arc;

use crate::model::guid::Guid;
use crate::model::operation_kind::OperationKind;
use crate::protocol::operation::TableOperation;
use crate::protocol::sent_batch::SentBatch;

/// What a write does to a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowWrite<'a> {
    pub(crate) kind: OperationKind,
    pub(crate) partition_key: &'a str,
    pub(crate) row_key: &'a str,
    /// The entity as JSON; empty of a delete.
    pub(crate) body: &'a [u8],
    /// What the entity's `write_id` field was given.
    pub(crate) write_id: Option<Guid>,
    pub(crate) facts: WriteFacts,
}

/// The rest of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteFacts {
    /// Whether its answer was to have the entity.
    pub(crate) is_echoed: bool,
    /// Whether it is for one version of the row: a condition on an ETag.
    pub(crate) is_of_one_version: bool,
    /// Whether only its write id can show that it was applied: others may write the same content.
    pub(crate) needs_write_id: bool,
}

/// The writes of a call.
#[derive(Debug, Default)]
pub(crate) enum RowWrites {
    #[default]
    None,
    /// An operation alone, of any kind.
    One(TableOperation),
    Batch(Arc<SentBatch>),
}

impl Clone for RowWrites {
    fn clone(&self) -> Self {
        match self {
            Self::None => Self::None,
            Self::One(operation) => Self::One(operation.copy()),
            Self::Batch(batch) => Self::Batch(Arc::clone(batch)),
        }
    }
}

impl RowWrites {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(operation) => operation.row_write().iter().len(),
            Self::Batch(batch) => batch.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = RowWrite<'_>> {
        let one = match self {
            Self::One(operation) => operation.row_write(),
            _ => None,
        };
        let batch = match self {
            Self::Batch(batch) => Some(batch.row_writes()),
            _ => None,
        };
        one.into_iter().chain(batch.into_iter().flatten())
    }
}
