//! The builder of a bulk: its settings, and what it takes as an entity.
//!
//! What is awaited or read is `bulk_write.rs`.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use crate::client::bulk::bulk_run::BulkRun;
use crate::client::bulk::bulk_write::BulkWrite;
use crate::client::bulk::engine::{Engine, EngineSettings};
use crate::client::table::TableClient;
use crate::client::total_timeout::total_timeout;
use crate::model::entity::{TableEntity, WritesEntity};
use crate::model::entity_key::IntoKey;
use crate::model::error::Result;
use crate::model::operation_kind::OperationKind;
use crate::model::variant_mark::{AsVariant, MarkedVariant};
use crate::model::versioned::Versioned;
use crate::pipeline::options::{CallOptions, call_options};
use crate::protocol::batch::MAX_BATCH_OPERATIONS;
use crate::protocol::operation::TableOperation;

/// Writes any number of entities, of many partitions: in batches of one partition, some at once. **Not atomic**: a batch is, the
/// whole is not, and each operation has an outcome of its own. Made by [`TableClient::bulk`].
///
/// What is written is read from its source as there is room. Operations on one row are sent in their order, one after the other;
/// on different rows in any. Where one operation makes a batch fail, it is taken out and the others go again. More than 1,000 that
/// fail end the whole, unless [`failures`](Self::failures) says another number.
///
/// ```
/// use azure_table::{Emulator, TableEntity, TableServiceClient};
/// # #[derive(TableEntity, Clone)]
/// # struct Reading { #[table(partition_key)] sensor: String, #[table(row_key)] at: u32, value: f64 }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// # let readings = TableServiceClient::on(Emulator::new()).table::<Reading>("Readings")?;
/// # readings.create_table().await?;
/// let many = (0..1_000).map(|n| Reading { sensor: format!("s{}", n % 7), at: n, value: 0.5 });
/// let report = readings.bulk().insert_or_replace(many).await?;
/// assert_eq!(report.applied(), 1_000);
/// for left in report.into_leftovers() {
///     println!("{left}");                      // why, and the operation to be sent again
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is written until its write is awaited"]
pub struct Bulk<E> {
    table: TableClient<E>,
    options: CallOptions,
    settings: EngineSettings,
}

call_options!(Bulk[E], options);
total_timeout!(
    Bulk[E],
    settings.total,
    "When it is over, the bulk is [`Interrupted`] by an error of kind `Timeout`, with its report: operations in flight are in doubt, \
     those that wait are not tried."
);

impl<E> TableClient<E> {
    /// Writes any number of entities, not atomically: see [`Bulk`].
    pub fn bulk(&self) -> Bulk<E> {
        Bulk {
            table: self.clone(),
            options: CallOptions::new(),
            settings: EngineSettings::new(OperationKind::Bulk, "operations"),
        }
    }
}

impl<E> Bulk<E> {
    /// How many operations a batch has at most: 1 to 100, which is the default and the cheapest. Of the sizes that the storage
    /// team measured 20 had the best latency.
    ///
    /// Source: "How to get the most out of Windows Azure Tables" (2010), figures 5 and 6.
    pub fn batch_size(mut self, operations: usize) -> Self {
        self.settings.batch_size = operations.clamp(1, MAX_BATCH_OPERATIONS);
        self
    }

    /// How many bytes the body of a batch has at most; without it what the service takes, 4 MiB (2 MB on Cosmos DB). An operation that
    /// is longer goes alone.
    pub fn batch_bytes(mut self, bytes: usize) -> Self {
        self.settings.batch_bytes = Some(bytes);
        self
    }

    /// How many batches are on their way at once, of all partitions: 32 by default, at least one.
    pub fn concurrency(mut self, batches: usize) -> Self {
        self.settings.concurrency = batches.max(1);
        self
    }

    /// How many batches of one partition are on their way at once: 4 by default, which is its target of 2,000 entities/s where a
    /// batch takes 200 ms.
    ///
    /// Source: REST "Scalability and performance targets for Table storage".
    pub fn partition_concurrency(mut self, batches: usize) -> Self {
        self.settings.partition_concurrency = batches.max(1);
        self
    }

    /// How many entities are sent per second at most, of all partitions: leaves room for others. Without it the rate is found out: what
    /// the service refuses because there is too much is sent again, a little more slowly than it was seen to take.
    pub fn max_rate(mut self, entities_per_second: u32) -> Self {
        self.settings.max_rate = Some(f64::from(entities_per_second.max(1)));
        self
    }

    /// How many operations wait for their batch: 20,000 by default, and 64 MiB of them in any case. When there are as many, no more
    /// are read, and batches leave that are not full. More of them make fuller batches where operations of many partitions come
    /// mixed.
    pub fn pending(mut self, operations: usize) -> Self {
        self.settings.pending = operations.max(1);
        self
    }

    /// How many operations may fail or be in doubt before the whole ends: 1,000 by default; with 0 the first ends it, with
    /// [`u64::MAX`] none. One more, and it is [`Interrupted`], which has the report. That holds each of them, with its operation,
    /// unless they are read as [`outcomes`](BulkWrite::outcomes).
    #[doc(alias = "on_error")]
    pub fn failures(mut self, most: u64) -> Self {
        self.settings.failures = most;
        self
    }

    /// Sends no operation again because another one made their batch fail: all of them are left over, with that one's error.
    pub fn whole_batches(mut self) -> Self {
        self.settings.takes_out = false;
        self
    }

    /// Makes new entities; one whose key is taken is rejected (`AlreadyExists`).
    pub fn insert<T: BulkEntity<E>>(
        self,
        entities: impl IntoIterator<Item = T>,
    ) -> BulkWrite<impl Stream<Item = Result<TableOperation>>> {
        let variant = self.variant();
        let make = move |entity: T| TableOperation::insert(&AsVariant::new(entity.written(), variant));
        self.begin(Items::new(entities, make))
    }

    /// Makes entities or puts them in the place of stored ones.
    pub fn insert_or_replace<T: BulkEntity<E>>(
        self,
        entities: impl IntoIterator<Item = T>,
    ) -> BulkWrite<impl Stream<Item = Result<TableOperation>>> {
        let variant = self.variant();
        let make = move |entity: T| TableOperation::insert_or_replace(&AsVariant::new(entity.written(), variant));
        self.begin(Items::new(entities, make))
    }

    /// Makes entities or writes their properties into stored ones.
    pub fn insert_or_merge<T: BulkEntity<E>>(
        self,
        entities: impl IntoIterator<Item = T>,
    ) -> BulkWrite<impl Stream<Item = Result<TableOperation>>> {
        let variant = self.variant();
        let make = move |entity: T| TableOperation::insert_or_merge(&AsVariant::new(entity.written(), variant));
        self.begin(Items::new(entities, make))
    }

    /// Puts entities in the place of stored ones; one that is not there, or has another version than was read, is rejected.
    pub fn replace<T: BulkEntity<E>>(
        self,
        entities: impl IntoIterator<Item = T>,
    ) -> BulkWrite<impl Stream<Item = Result<TableOperation>>> {
        let variant = self.variant();
        let make = move |entity: T| TableOperation::replace(&AsVariant::new(entity.written(), variant));
        self.begin(Items::new(entities, make))
    }

    /// Writes the properties of entities into stored ones; one that is not there, or has another version than was read, is rejected.
    pub fn merge<T: BulkEntity<E>>(
        self,
        entities: impl IntoIterator<Item = T>,
    ) -> BulkWrite<impl Stream<Item = Result<TableOperation>>> {
        let variant = self.variant();
        let make = move |entity: T| TableOperation::merge(&AsVariant::new(entity.written(), variant));
        self.begin(Items::new(entities, make))
    }

    /// Removes entities; one that is not there is rejected (`NotFound`), or applied where an answer was lost before.
    /// Writes by key see the key alone: they change whatever row has it, by the handle of a [`variant`](TableClient::variant) too.
    pub fn delete<K: IntoKey<E>>(
        self,
        keys: impl IntoIterator<Item = K>,
    ) -> BulkWrite<impl Stream<Item = Result<TableOperation>>> {
        self.begin(Items::new(keys, |key: K| TableOperation::delete(key)))
    }

    /// Runs operations of any kind and entity type.
    pub fn write(
        self,
        operations: impl IntoIterator<Item = TableOperation>,
    ) -> BulkWrite<impl Stream<Item = Result<TableOperation>>> {
        self.begin(Items::new(operations, |operation| operation))
    }

    /// Runs operations as they come. Where none comes for now, those that wait leave in batches that are not full, one of each
    /// partition at a time.
    pub fn write_stream(
        self,
        operations: impl Stream<Item = TableOperation>,
    ) -> BulkWrite<impl Stream<Item = Result<TableOperation>>> {
        self.begin(Infallible(Box::pin(operations)))
    }

    /// The same with a stream that may fail: an error ends it, and what came before is written.
    pub fn write_try_stream<S, X>(self, operations: S) -> BulkWrite<S, X>
    where
        S: Stream<Item = Result<TableOperation, X>>,
    {
        self.begin(operations)
    }

    /// The variant whose rows alone the handle writes.
    pub(crate) fn variant(&self) -> Option<&'static MarkedVariant> {
        self.table.pipeline().settings.variant
    }

    fn begin<S, X>(self, source: S) -> BulkWrite<S, X>
    where
        S: Stream<Item = Result<TableOperation, X>>,
    {
        BulkWrite::new(self.run(), source)
    }

    pub(crate) fn run(self) -> BulkRun {
        let (pipeline, table) = (self.table.pipeline(), self.table.name());
        // The only place where those of the client are added.
        let options = pipeline.settings.defaults.clone().with(&self.options);
        BulkRun::new(Engine::new(pipeline, table, options, self.settings).paced())
    }
}

impl<E> fmt::Debug for Bulk<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bulk")
            .field("table", &self.table.name().as_str())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// What is written as an entity `E` by a [`Bulk`](crate::Bulk): `E`, [`Versioned<E>`](crate::Versioned), or a reference to one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not written to a table of `{E}`",
    label = "expected `{E}`, `Versioned<{E}>` or a reference to one",
    note = "operations of any entity type are written by `bulk().write(..)`"
)]
pub trait BulkEntity<E> {
    #[doc(hidden)]
    type Written: WritesEntity<E>;

    #[doc(hidden)]
    fn written(&self) -> &Self::Written;
}

impl<E: TableEntity> BulkEntity<E> for E {
    type Written = E;

    fn written(&self) -> &E {
        self
    }
}

impl<E: TableEntity> BulkEntity<E> for &E {
    type Written = E;

    fn written(&self) -> &E {
        self
    }
}

impl<E: TableEntity> BulkEntity<E> for Versioned<E> {
    type Written = Self;

    fn written(&self) -> &Self {
        self
    }
}

impl<E: TableEntity> BulkEntity<E> for &Versioned<E> {
    type Written = Versioned<E>;

    fn written(&self) -> &Versioned<E> {
        self
    }
}

/// An iterator, each item made an operation when it is asked for.
struct Items<I, F> {
    items: I,
    make: F,
}

impl<I, F> Items<I, F> {
    fn new(items: impl IntoIterator<IntoIter = I>, make: F) -> Self {
        Self {
            items: items.into_iter(),
            make,
        }
    }
}

/// Items are moved out, nothing is pinned.
impl<I, F> Unpin for Items<I, F> {}

impl<I: Iterator, F: FnMut(I::Item) -> TableOperation> Stream for Items<I, F> {
    type Item = Result<TableOperation>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.items.next();
        Poll::Ready(next.map(|item| Ok((self.make)(item))))
    }
}

/// A stream that cannot fail.
struct Infallible<S>(Pin<Box<S>>);

impl<S: Stream<Item = TableOperation>> Stream for Infallible<S> {
    type Item = Result<TableOperation>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx).map(|next| next.map(Ok))
    }
}
