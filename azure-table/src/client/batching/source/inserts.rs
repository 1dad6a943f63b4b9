//! The source of a bulk's inserts, which writes each entity when it is read.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use azure_table_wire::error::Result;
use futures_core::Stream;

use crate::client::batching::source::bulk_entity::BulkEntity;
use crate::client::batching::source::bulk_run::BulkRun;
use crate::write::operation::TableOperation;

/// The inserts of entities into a table of `E`.
pub(crate) struct Inserts<I, E> {
    entities: I,
    entity: PhantomData<fn() -> E>,
}

impl<I, E> Inserts<I, E>
where
    I: Iterator<Item: BulkEntity<E>>,
{
    pub(crate) fn new(entities: I) -> Self {
        Self {
            entities,
            entity: PhantomData,
        }
    }

    /// Reads an entity, and pushes its insert.
    pub(crate) fn push_next(self: Pin<&mut Self>, run: &mut BulkRun, _: &mut Context<'_>) -> Poll<Option<Result<()>>> {
        let this = self.get_mut();
        let insert = |entity: I::Item| run.insert(entity.written());
        Poll::Ready(this.entities.next().map(insert).map(Ok))
    }
}

impl<I, E> Unpin for Inserts<I, E> {}

impl<I, E> Stream for Inserts<I, E>
where
    I: Iterator<Item: BulkEntity<E>>,
{
    type Item = Result<TableOperation>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let insert = |entity: I::Item| TableOperation::insert(entity.written());
        Poll::Ready(this.entities.next().map(insert).map(Ok))
    }
}
