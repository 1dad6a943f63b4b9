//! A batch of a bulk on its way: what is sent, and where it was in the source.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::client::bulk::known::Known;
use crate::client::bulk::partition_write::{Operations, PartitionWrite, Written};
use crate::model::error::Error;
use crate::pipeline::transport::BoxFuture;
use crate::protocol::operation::TableOperation;
use crate::protocol::row_hash::RowHash;

/// Operations of one partition.
pub(crate) struct Batch {
    /// Their places in the source, and their rows.
    places: Vec<(u64, RowHash)>,
    operations: Operations,
}

impl Batch {
    pub(crate) fn partition_key(&self) -> &str {
        let keys = self.operations.first().and_then(TableOperation::keys);
        keys.map_or("", |(partition_key, _)| partition_key)
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = RowHash> {
        self.places.iter().map(|(_, row)| *row)
    }

    /// Each operation with its place.
    pub(crate) fn operations(self) -> impl Iterator<Item = (u64, TableOperation)> {
        // Who has sent them has none of them any more.
        let operations = Arc::try_unwrap(self.operations);
        let operations = operations.unwrap_or_else(|shared| shared.iter().map(TableOperation::copy).collect());
        self.places.into_iter().map(|(index, _)| index).zip(operations)
    }
}

/// A batch on its way. Gives it back with what became of it.
pub(crate) struct Running {
    /// Until it has ended.
    batch: Option<Batch>,
    known: Known,
    write: BoxFuture<'static, Written>,
}

impl Running {
    pub(crate) fn new(places: Vec<(u64, RowHash)>, write: PartitionWrite) -> Self {
        Self {
            batch: Some(Batch {
                places,
                operations: write.operations(),
            }),
            known: write.known(),
            write: Box::pin(write.run()),
        }
    }

    /// Its operations and what is known of them, if nobody waits any more: of what has no answer, this.
    pub(crate) fn given_up(self, error: &Arc<Error>) -> Option<(Batch, Written)> {
        drop(self.write);
        let outcomes = self.known.given_up(error);
        let stopped = None;
        Some((self.batch?, Written { outcomes, stopped }))
    }

    pub(crate) fn len(&self) -> usize {
        self.batch.as_ref().map_or(0, |batch| batch.places.len())
    }
}

impl Future for Running {
    type Output = (Batch, Written);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let written = ready!(self.write.as_mut().poll(cx));
        match self.batch.take() {
            Some(batch) => {
                // It shares the operations.
                self.write = Box::pin(std::future::pending());
                Poll::Ready((batch, written))
            }
            None => Poll::Pending,
        }
    }
}
