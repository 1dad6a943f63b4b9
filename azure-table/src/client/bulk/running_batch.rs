//! A batch of a bulk that is in flight.
//!
//! Returns its operations to the bulk when it ends. The write itself is `client/partition_writes`.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use azure_table_core::model::error::Error;
use azure_table_core::protocol::row_hash::RowHash;
use azure_table_core::transport::BoxFuture;

use crate::client::partition_writes::held_operations::{HeldOperation, HeldOperations};
use crate::client::partition_writes::outcomes::{SharedOutcomes, Written};
use crate::client::partition_writes::partition_write::PartitionWrite;

/// Operations of one partition that were sent together.
pub(crate) struct Batch {
    pub(crate) partition_key: Arc<str>,
    /// The numbers of the operations, and their rows.
    pub(crate) indices: Vec<u64>,
    pub(crate) rows: Vec<RowHash>,
    operations: HeldOperations,
    /// The number of bytes of the operations.
    pub(crate) bytes: usize,
}

impl Batch {
    /// Takes the operations. The write has ended.
    pub(crate) fn take_operations(&self) -> Vec<HeldOperation> {
        self.operations.take()
    }
}

/// A batch in flight. Returns the batch with the outcomes of its operations.
pub(crate) struct RunningBatch {
    /// `None` once the batch has ended.
    batch: Option<Batch>,
    outcomes: SharedOutcomes,
    write: BoxFuture<'static, Written>,
}

impl RunningBatch {
    /// Creates it from the numbers, the rows and the bytes of the operations of `write`.
    pub(crate) fn new(
        indices: Vec<u64>,
        rows: Vec<RowHash>,
        bytes: usize,
        write: PartitionWrite<SharedOutcomes>,
    ) -> Self {
        let outcomes = write.outcomes().clone();
        let written = outcomes.clone();
        Self {
            batch: Some(Batch {
                partition_key: Arc::clone(write.partition_key()),
                indices,
                rows,
                operations: write.operations().clone(),
                bytes,
            }),
            outcomes,
            write: Box::pin(async move {
                let stopped = write.run().await;
                let outcomes = written.take();
                Written { outcomes, stopped }
            }),
        }
    }

    /// Returns its operations and their outcomes so far. `error` is that of operations without a response.
    pub(crate) fn cancel(self, error: &Arc<Error>) -> Option<(Batch, Written)> {
        drop(self.write);
        let outcomes = self.outcomes.cancel(error);
        let stopped = None;
        Some((self.batch?, Written { outcomes, stopped }))
    }

    pub(crate) fn len(&self) -> usize {
        self.batch.as_ref().map_or(0, |batch| batch.indices.len())
    }
}

impl Future for RunningBatch {
    type Output = (Batch, Written);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let written = ready!(self.write.as_mut().poll(cx));
        match self.batch.take() {
            Some(batch) => Poll::Ready((batch, written)),
            None => Poll::Pending,
        }
    }
}
