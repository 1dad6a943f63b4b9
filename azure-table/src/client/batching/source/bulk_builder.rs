//! The builder of a bulk: its settings, and the entities that it accepts.
//!
//! `bulk_write.rs` has the future and the stream of its writes.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use futures_core::Stream;
use futures_util::{StreamExt as _, stream};

use crate::client::batching::engine::engine_settings::EngineSettings;
use crate::client::batching::source::bulk_entity::BulkEntity;
use crate::client::batching::source::bulk_plan::{BulkPlan, bulk_settings};
use crate::client::batching::source::bulk_write::BulkWrite;
use crate::client::batching::source::inserts::Inserts;
use crate::client::table_handle::TableClient;
use crate::filter::assignment::Assignments;
use crate::key::entity_key::IntoKey;
use crate::pipeline::options::CallOptions;
use crate::write::operation::TableOperation;

/// A builder of bulk writes: any number of entities, in concurrent batches of one partition each.
///
/// Built by [`TableClient::bulk`].
///
/// **Not atomic**: each batch is, but the whole bulk is not. Each operation has its own outcome. The client reads
/// operations from the source when it has room for them. It keeps the order of operations on one row, but not across
/// rows. If an operation makes its batch fail, the client removes it and sends the others again. More than 1,000
/// failures end the whole bulk; see [`max_failures`](Self::max_failures). Set a callback for the progress on the write:
/// [`BulkWrite::on_progress`].
/// ```
/// use azure_table::{Emulator, TableEntity, TableServiceClient};
/// # #[derive(TableEntity, Clone)]
/// # struct Reading { #[table(partition_key)] sensor: String, #[table(row_key)] at: u32, value: f64 }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// # let readings = TableServiceClient::from_transport(Emulator::new()).table::<Reading>("Readings")?;
/// # readings.create_table().await?;
/// let many = (0..1_000).map(|n| Reading { sensor: format!("s{}", n % 7), at: n, value: 0.5 });
/// let report = readings.bulk().insert_or_replace(many).await?;
/// assert_eq!(report.applied(), 1_000);
/// for left in report.into_leftovers() {
///     println!("{left}");                      // the reason, and the operation to send again
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is written until its write is awaited"]
pub struct Bulk<E> {
    pub(crate) plan: BulkPlan<'static>,
    entity: PhantomData<fn() -> E>,
}

bulk_settings!(Bulk[E], plan);

impl<E> TableClient<E> {
    /// Returns a builder for any number of writes, which are not atomic: see [`Bulk`].
    pub fn bulk(&self) -> Bulk<E> {
        Bulk {
            plan: BulkPlan {
                pipeline: Arc::clone(self.pipeline()),
                table: self.name().clone(),
                options: CallOptions::new(),
                settings: EngineSettings::new(OperationKind::Bulk, "operations"),
                callback: None,
            },
            entity: PhantomData,
        }
    }
}

impl<E> Bulk<E> {
    /// Inserts entities.
    ///
    /// An entity whose key exists is rejected (`AlreadyExists`).
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    pub fn insert<T: BulkEntity<E>>(
        self,
        entities: impl IntoIterator<Item = T>,
    ) -> BulkWrite<'static, impl Stream<Item = Result<TableOperation>>> {
        let inserts = Inserts::new(entities.into_iter());
        BulkWrite::from_inserts(self.plan, inserts)
    }

    /// Inserts entities, or replaces the stored ones.
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    pub fn insert_or_replace<T: BulkEntity<E>>(
        self,
        entities: impl IntoIterator<Item = T>,
    ) -> BulkWrite<'static, impl Stream<Item = Result<TableOperation>>> {
        self.start(entities, |entity| TableOperation::insert_or_replace(entity.written()))
    }

    /// Inserts entities, or merges them into the stored ones.
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    pub fn insert_or_merge<T: BulkEntity<E>>(
        self,
        entities: impl IntoIterator<Item = T>,
    ) -> BulkWrite<'static, impl Stream<Item = Result<TableOperation>>> {
        self.start(entities, |entity| TableOperation::insert_or_merge(entity.written()))
    }

    /// Replaces stored entities.
    ///
    /// An entity that is absent, or whose ETag differs, is rejected.
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    pub fn replace<T: BulkEntity<E>>(
        self,
        entities: impl IntoIterator<Item = T>,
    ) -> BulkWrite<'static, impl Stream<Item = Result<TableOperation>>> {
        self.start(entities, |entity| TableOperation::replace(entity.written()))
    }

    /// Merges entities into stored ones.
    ///
    /// An entity that is absent, or whose ETag differs, is rejected.
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    pub fn merge<T: BulkEntity<E>>(
        self,
        entities: impl IntoIterator<Item = T>,
    ) -> BulkWrite<'static, impl Stream<Item = Result<TableOperation>>> {
        self.start(entities, |entity| TableOperation::merge(entity.written()))
    }

    /// Writes single columns of stored entities.
    ///
    /// Each item is a key and its columns, as in [`TableClient::patch`]. All other properties stay unchanged. An entity
    /// that is absent is rejected.
    /// ```
    /// # use azure_table::{Emulator, TableEntity, TableServiceClient};
    /// # #[derive(TableEntity)]
    /// # struct Reading { #[table(partition_key)] sensor: String, #[table(row_key)] at: u32, value: f64 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let readings = TableServiceClient::from_transport(Emulator::new()).table::<Reading>("Readings")?;
    /// # readings.create_table().await?;
    /// # let many = (0..10).map(|at| Reading { sensor: "s1".into(), at, value: 0.5 });
    /// # readings.bulk().insert(many).await?;
    /// let corrections = (0..10).map(|at| (("s1", at), [Reading::VALUE.set(0.0)]));
    /// assert_eq!(readings.bulk().patch(corrections).await?.applied(), 10);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    pub fn patch<K, C>(
        self,
        patches: impl IntoIterator<Item = (K, C)>,
    ) -> BulkWrite<'static, impl Stream<Item = Result<TableOperation>>>
    where
        K: IntoKey<E>,
        C: Assignments<E>,
    {
        self.start(patches, |(key, columns): (K, C)| TableOperation::patch(key, columns))
    }

    /// Deletes entities by key.
    ///
    /// An entity that is absent is rejected (`NotFound`), or counts as applied if an earlier response was lost. The row
    /// is deleted whatever its variant.
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    pub fn delete<K: IntoKey<E>>(
        self,
        keys: impl IntoIterator<Item = K>,
    ) -> BulkWrite<'static, impl Stream<Item = Result<TableOperation>>> {
        self.start(keys, |key: K| TableOperation::delete(key))
    }

    /// Writes operations of any kind and entity type.
    ///
    /// If a response was lost, a delete whose row is absent counts as applied, though another client may have deleted
    /// it.
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    pub fn write(
        self,
        operations: impl IntoIterator<Item = TableOperation>,
    ) -> BulkWrite<'static, impl Stream<Item = Result<TableOperation>>> {
        self.start(operations, |operation| operation)
    }

    /// Writes the operations of a stream.
    ///
    /// While the stream is pending, the client sends waiting operations in batches that are not full, one per partition
    /// at a time.
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    pub fn write_stream(
        self,
        operations: impl Stream<Item = TableOperation>,
    ) -> BulkWrite<'static, impl Stream<Item = Result<TableOperation>>> {
        BulkWrite::new(self.plan, operations.map(Ok))
    }

    /// Writes the operations of a stream that may fail.
    ///
    /// An error of the stream ends the whole bulk. The operations before it are written. With
    /// [`unreadable_as_leftovers`](BulkWrite::unreadable_as_leftovers) it becomes a leftover instead.
    ///
    /// The bulk fails with an error of the stream or with its own. The stream's error type `X` must therefore implement
    /// `From` for the crate's [`Error`](crate::Error), as `Box<dyn Error + Send + Sync>` and `anyhow::Error` do. With
    /// `thiserror`, add a variant `Table(#[from] azure_table::Error)`. The example `csv_import` in the repository skips
    /// bad lines of a file this way.
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    pub fn write_try_stream<S, X>(self, operations: S) -> BulkWrite<'static, S, X>
    where
        S: Stream<Item = Result<TableOperation, X>>,
        X: From<Error>,
    {
        BulkWrite::new(self.plan, operations)
    }

    /// Writes the operations that `make` encodes. Each is encoded when its item is read.
    fn start<T>(
        self,
        items: impl IntoIterator<Item = T>,
        make: impl Fn(T) -> TableOperation,
    ) -> BulkWrite<'static, impl Stream<Item = Result<TableOperation>>> {
        let operations = items.into_iter().map(move |item| Ok(make(item)));
        BulkWrite::new(self.plan, stream::iter(operations))
    }
}

impl<E> fmt::Debug for Bulk<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bulk")
            .field("table", &self.plan.table.as_str())
            .field("settings", &self.plan.settings)
            .finish_non_exhaustive()
    }
}
