//! The batches that leave the queue of a bulk.
//!
//! While a source stays with one partition, its inserts are written into the body of a [`ComposedBatch`] as they are
//! read. All other operations wait as values, since a source may mix any number of partitions.

use std::sync::Arc;

use crate::account::table_name::TableName;
use crate::client::batching::engine::running_batch::BulkBatch;
use crate::client::batching::outcome::outcomes::SharedOutcomes;
use crate::client::batching::partition::held_operations::HeldOperations;
use crate::client::batching::partition::partition_queue::Queued;
use crate::client::ops::submission::Submission;
use crate::pipeline::Pipeline;
use crate::write::batch::ChangeSet;
use crate::write::operation::TableOperation;
use crate::write::row_hash::RowHash;

/// A batch whose operations exist only in its body, not as values.
pub(crate) struct ComposedBatch {
    pub(crate) change_set: ChangeSet,
    /// The numbers of the operations, and their rows.
    pub(crate) indices: Vec<u64>,
    pub(crate) rows: Vec<RowHash>,
    /// The number of bytes of the operations.
    pub(crate) bytes: usize,
    /// No other operation joins it.
    pub(crate) is_full: bool,
}

impl ComposedBatch {
    /// Creates the batch of a first operation, if the service would accept it.
    pub(crate) fn new(mut change_set: ChangeSet, first: &Queued) -> Option<Self> {
        // An operation with a rare part, such as a condition, cannot be rebuilt from its place in a body.
        let is_added = first.operation.is_plain() && change_set.put(&first.operation).is_ok();
        is_added.then(|| Self {
            change_set,
            indices: vec![first.index],
            rows: vec![first.row],
            bytes: first.operation.bytes(),
            is_full: false,
        })
    }

    /// Returns its operations as values.
    pub(crate) fn into_queued(self) -> Vec<Queued> {
        let numbered = self.indices.into_iter().zip(self.change_set.into_operations());
        numbered
            .map(|(index, operation)| Queued::new(index, operation))
            .collect()
    }
}

/// A batch to send.
pub(crate) enum NextBatch {
    Values(Vec<Queued>),
    Composed(Box<ComposedBatch>),
}

impl NextBatch {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Values(operations) => operations.len(),
            Self::Composed(batch) => batch.rows.len(),
        }
    }

    /// Returns the number of bytes of the operations.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Values(operations) => operations.iter().map(|queued| queued.operation.bytes()).sum(),
            Self::Composed(batch) => batch.bytes,
        }
    }

    /// Returns the batch without outcomes, and its request if its body is composed.
    pub(crate) fn into_batch(self, pipeline: &Arc<Pipeline>, table: &TableName) -> (BulkBatch, Option<Submission>) {
        let bytes = self.bytes();
        let (indices, rows, operations, composed): (Vec<_>, _, Vec<_>, _) = match self {
            Self::Values(batch) => {
                let (indices, rows) = batch.iter().map(|queued| (queued.index, queued.row)).unzip();
                let operations = batch.into_iter().map(|queued| queued.operation).collect();
                (indices, rows, operations, None)
            }
            Self::Composed(batch) => {
                let composed = Submission::new(pipeline, table, batch.change_set);
                let operations = TableOperation::all_in_batch(&composed.batch).collect();
                (batch.indices, batch.rows, operations, Some(composed))
            }
        };
        let (partition_key, _) = operations.first().and_then(TableOperation::keys).unwrap_or_default();
        let batch = BulkBatch {
            partition_key: partition_key.into(),
            outcomes: SharedOutcomes::new(indices.len()),
            operations: HeldOperations::new(operations),
            indices,
            rows,
            bytes,
        };
        (batch, composed)
    }
}
