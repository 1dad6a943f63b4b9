//! A batch of a bulk that is in flight.
//!
//! It returns its operations to the bulk when it ends. `partition` performs the write.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use azure_table_wire::error::Error;
use azure_table_wire::transport::BoxFuture;

use crate::client::batching::outcome::outcomes::{SharedOutcomes, WriteOutcome};
use crate::client::batching::partition::held_operations::HeldOperations;
use crate::write::operation::TableOperation;
use crate::write::row_hash::RowHash;

/// Operations of one partition that were sent together.
pub(crate) struct BulkBatch {
    pub(crate) partition_key: Arc<str>,
    /// The numbers of the operations, and their rows.
    pub(crate) indices: Vec<u64>,
    pub(crate) rows: Vec<RowHash>,
    pub(crate) operations: HeldOperations,
    pub(crate) outcomes: SharedOutcomes,
    /// The number of bytes of the operations.
    pub(crate) bytes: usize,
}

impl BulkBatch {
    /// Returns the operations with their numbers and outcomes. The write has ended.
    pub(crate) fn into_settled(self) -> impl Iterator<Item = Settled> {
        let numbered = self.indices.into_iter().zip(self.operations.take());
        let settled = numbered.zip(self.outcomes.take());
        settled.map(|((index, operation), outcome)| Settled {
            index,
            operation,
            outcome,
        })
    }
}

/// A batch in flight. Returns the batch, and the error that concerns no single row: further writes would fail with it
/// too.
pub(crate) struct RunningBatch {
    /// `None` once the batch has ended.
    batch: Option<BulkBatch>,
    write: BoxFuture<'static, Option<Arc<Error>>>,
}

impl RunningBatch {
    pub(crate) fn new(batch: BulkBatch, write: impl Future<Output = Option<Arc<Error>>> + Send + 'static) -> Self {
        Self {
            batch: Some(batch),
            write: Box::pin(write),
        }
    }

    /// Returns its operations and their outcomes so far. `error` is the error of operations without a response.
    pub(crate) fn cancel(self, error: &Arc<Error>) -> Option<BulkBatch> {
        drop(self.write);
        self.batch.inspect(|batch| batch.outcomes.cancel(error))
    }

    pub(crate) fn len(&self) -> usize {
        self.batch.as_ref().map_or(0, |batch| batch.indices.len())
    }
}

impl Future for RunningBatch {
    type Output = (BulkBatch, Option<Arc<Error>>);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let stopped = ready!(self.write.as_mut().poll(cx));
        match self.batch.take() {
            Some(batch) => Poll::Ready((batch, stopped)),
            None => Poll::Pending,
        }
    }
}

/// An operation with its outcome.
#[derive(Debug)]
pub(crate) struct Settled {
    /// The number it was pushed with.
    pub(crate) index: u64,
    pub(crate) operation: TableOperation,
    pub(crate) outcome: WriteOutcome,
}

impl fmt::Display for Settled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operation.keys() {
            Some(_) => write!(f, "{}: ", self.operation)?,
            None => write!(f, "operation {} of the source: ", self.index)?,
        }
        match &self.outcome {
            WriteOutcome::Left(why) => why.fmt(f),
            WriteOutcome::Applied(_) | WriteOutcome::Gone => f.write_str("applied"),
        }
    }
}
