//! The builder of a bulk: its settings, and the entities that it accepts.
//!
//! `bulk_write.rs` has the future and the stream of its writes.

use std::fmt;

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use futures_core::Stream;
use futures_util::{StreamExt as _, stream};

use crate::client::bulk::bulk_entity::BulkEntity;
use crate::client::bulk::bulk_run::BulkRun;
use crate::client::bulk::bulk_write::BulkWrite;
use crate::client::bulk::engine::Engine;
use crate::client::bulk::engine_settings::EngineSettings;
use crate::client::bulk::inserts::Inserts;
use crate::client::partition_writes::failed_batch::Recovery;
use crate::client::table_handle::TableClient;
use crate::client::total_timeout::total_timeout;
use crate::filter::assignment::Assignments;
use crate::key::entity_key::IntoKey;
use crate::pipeline::options::{CallOptions, call_options};
use crate::write::batch::MAX_BATCH_OPERATIONS;
use crate::write::operation::TableOperation;

/// A builder of bulk writes: any number of entities, in concurrent batches of one partition each.
///
/// Built by [`TableClient::bulk`].
///
/// **Not atomic**: each batch is atomic, the whole bulk is not. Each operation has its own outcome. Operations are read
/// from their source when there is room for them. Operations on one row are sent in their order, operations on
/// different rows in any order. The client removes an operation that makes its batch fail, and sends the others again.
/// More than 1,000 failures end the whole bulk; see [`max_failures`](Self::max_failures).
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
    table: TableClient<E>,
    options: CallOptions,
    settings: EngineSettings,
}

call_options!(Bulk[E], options);
total_timeout!(
    Bulk[E],
    settings.total,
    "At the deadline the bulk ends with [`Interrupted`](crate::bulk::Interrupted), which holds the report and an error \
     of kind `Timeout`. Operations in flight are in doubt. Waiting operations are not attempted."
);

impl<E> TableClient<E> {
    /// Returns a builder for any number of writes, which are not atomic: see [`Bulk`].
    pub fn bulk(&self) -> Bulk<E> {
        Bulk {
            table: self.clone(),
            options: CallOptions::new(),
            settings: EngineSettings::new(OperationKind::Bulk, "operations"),
        }
    }
}

impl<E> Bulk<E> {
    /// Sets the maximum number of operations in a batch: 1 to 100. Other values are clamped.
    ///
    /// The default, 100, costs least. Of the sizes that the storage team measured, 20 had the best latency.
    ///
    /// Source: "How to get the most out of Windows Azure Tables" (2010), figures 5 and 6.
    pub fn batch_size(mut self, operations: usize) -> Self {
        self.settings.batch_size = operations.clamp(1, MAX_BATCH_OPERATIONS);
        self
    }

    /// Sets the maximum size of a batch body in bytes.
    ///
    /// The default is the service's limit, 4 MiB (2 MB on Cosmos DB). A longer operation is sent alone.
    pub fn batch_bytes(mut self, bytes: usize) -> Self {
        self.settings.batch_bytes = Some(bytes);
        self
    }

    /// Sets the number of batches in flight across all partitions: 32 by default, at least 1.
    ///
    /// Waiting operations and operations in flight take at most 64 MiB together. Operations in flight count twice: once
    /// for the body of their batch, and once because they may be sent again. At most eight batches of 4 MiB are
    /// therefore in flight.
    pub fn concurrency(mut self, batches: usize) -> Self {
        self.settings.concurrency = batches.max(1);
        self
    }

    /// Sets the number of batches in flight per partition: 4 by default, at least 1.
    ///
    /// The default reaches the target of a partition, 2,000 entities/s, if a batch takes 200 ms.
    ///
    /// Source: REST "Scalability and performance targets for Table storage".
    pub fn partition_concurrency(mut self, batches: usize) -> Self {
        self.settings.partition_concurrency = batches.max(1);
        self
    }

    /// Limits the entities sent per second across all partitions, to leave room for other clients. At least 1.
    ///
    /// No limit by default: the sending rate adapts to the service's throttling responses, and throttled batches are
    /// sent again.
    pub fn max_rate(mut self, entities_per_second: u32) -> Self {
        self.settings.max_rate = Some(f64::from(entities_per_second.max(1)));
        self
    }

    /// Limits the operations that wait for a batch: 20,000 by default, at least 1, and never more than 32 MiB.
    ///
    /// At the limit the source is not read, and batches are sent before they are full. A higher limit fills batches
    /// better if the source mixes partitions.
    pub fn max_pending(mut self, operations: usize) -> Self {
        self.settings.pending = operations.max(1);
        self
    }

    /// Sets the number of operations that may be rejected or in doubt: 1,000 by default.
    ///
    /// One more ends the whole bulk with [`Interrupted`](crate::bulk::Interrupted), which holds the report. With 0 the
    /// first failure ends it. With [`usize::MAX`] no failure does. The report holds each failed operation, unless you
    /// read the [`outcomes`](BulkWrite::outcomes).
    #[doc(alias = "on_error")]
    pub fn max_failures(mut self, most: usize) -> Self {
        self.settings.failures = most as u64;
        self
    }

    /// Reports all operations of a failed batch as leftovers, and sends none of them again.
    ///
    /// Each has the error of the operation that failed.
    pub fn fail_whole_batches(mut self) -> Self {
        self.settings.recovery = Recovery::FailTogether;
        self
    }

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
        BulkWrite::of_inserts(self.run(), inserts)
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
    /// of the key is deleted whatever its variant is.
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
    /// A delete whose row is absent counts as applied if an earlier response was lost. Another client may have deleted
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
    /// While the stream is pending, waiting operations are sent in batches that are not full, one batch per partition
    /// at a time.
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    pub fn write_stream(
        self,
        operations: impl Stream<Item = TableOperation>,
    ) -> BulkWrite<'static, impl Stream<Item = Result<TableOperation>>> {
        BulkWrite::new(self.run(), operations.map(Ok))
    }

    /// Writes the operations of a stream that may fail.
    ///
    /// An error of the stream ends the whole bulk. The operations before it are written.
    ///
    /// The bulk ends with an error of the stream or of its own. The stream's error type `X` must therefore implement
    /// `From<Error>` for the crate's [`Error`](crate::Error), as `Box<dyn Error + Send + Sync>` and `anyhow::Error` do.
    /// An enum of `thiserror` does so by a variant `Table(#[from] azure_table::Error)`: the example `csv_import` in the
    /// repository leaves out bad lines of a file with it.
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    pub fn write_try_stream<S, X>(self, operations: S) -> BulkWrite<'static, S, X>
    where
        S: Stream<Item = Result<TableOperation, X>>,
        X: From<Error>,
    {
        BulkWrite::new(self.run(), operations)
    }

    /// Writes the operations that `make` encodes. Each is encoded when its item is read.
    fn start<T>(
        self,
        items: impl IntoIterator<Item = T>,
        make: impl Fn(T) -> TableOperation,
    ) -> BulkWrite<'static, impl Stream<Item = Result<TableOperation>>> {
        let operations = items.into_iter().map(move |item| Ok(make(item)));
        BulkWrite::new(self.run(), stream::iter(operations))
    }

    pub(crate) fn run(self) -> BulkRun {
        let (pipeline, table) = (self.table.pipeline(), self.table.name());
        // The options of the client are added only here.
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
