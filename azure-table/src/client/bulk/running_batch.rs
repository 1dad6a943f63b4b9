//! A batch of a bulk that is in flight.
//!
//! Owns its operations until it ends, and returns them to the bulk. The write itself is `partition_write.rs`.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::client::bulk::outcomes::{SharedOutcomes, Written};
use crate::client::bulk::partition_write::PartitionWrite;
use crate::model::error::Error;
use crate::pipeline::transport::BoxFuture;
use crate::protocol::operation::TableOperation;
use crate::protocol::row_hash::RowHash;

/// Operations of one partition that were sent together.
pub(crate) struct Batch {
    /// The numbers and the rows of the operations.
    places: Vec<(u64, RowHash)>,
    operations: Arc<Vec<TableOperation>>,
}

impl Batch {
    pub(crate) fn partition_key(&self) -> &str {
        let keys = self.operations.first().and_then(TableOperation::keys);
        keys.map_or("", |(partition_key, _)| partition_key)
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = RowHash> {
        self.places.iter().map(|(_, row)| *row)
    }

    /// Returns the number of bytes of its operations.
    pub(crate) fn bytes(&self) -> usize {
        self.operations.iter().map(TableOperation::bytes).sum()
    }

    /// Returns each operation with its number.
    pub(crate) fn operations(self) -> impl Iterator<Item = (u64, TableOperation)> {
        // The write that shared them has ended, so this copies nothing.
        let operations = Arc::try_unwrap(self.operations);
        let operations = operations.unwrap_or_else(|shared| shared.iter().map(TableOperation::copy).collect());
        self.places.into_iter().map(|(index, _)| index).zip(operations)
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
    pub(crate) fn new(places: Vec<(u64, RowHash)>, write: PartitionWrite<SharedOutcomes>) -> Self {
        let outcomes = write.outcomes().clone();
        let written = outcomes.clone();
        Self {
            batch: Some(Batch {
                places,
                operations: Arc::clone(write.operations()),
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
        self.batch.as_ref().map_or(0, |batch| batch.places.len())
    }

    pub(crate) fn bytes(&self) -> usize {
        self.batch.as_ref().map_or(0, Batch::bytes)
    }
}

impl Future for RunningBatch {
    type Output = (Batch, Written);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let written = ready!(self.write.as_mut().poll(cx));
        match self.batch.take() {
            Some(batch) => {
                // Drops the write, which shares the operations.
                self.write = Box::pin(std::future::pending());
                Poll::Ready((batch, written))
            }
            None => Poll::Pending,
        }
    }
}
