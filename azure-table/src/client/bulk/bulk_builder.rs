//! Many writes of one's own: the builder, and what is awaited or read.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;

use crate::client::bulk::bulk_entity::BulkEntity;
use crate::client::bulk::bulk_report::{BulkOutcome, BulkReport};
use crate::client::bulk::bulk_write::BulkOutcomes;
use crate::client::bulk::engine::{BulkRun, BulkSettings};
use crate::client::bulk::interrupted::Interrupted;
use crate::client::bulk::source::{Items, Sure};
use crate::client::ops::operation::ended;
use crate::client::table::TableClient;
use crate::client::total_timeout::{TotalTimeout, total_timeout};
use crate::model::entity_key::IntoKey;
use crate::model::error::{Error, Result};
use crate::model::variant_mark::{AsVariant, MarkedVariant};
use crate::pipeline::options::{CallOptions, call_options};
use crate::protocol::batch::MAX_BATCH_OPERATIONS;
use crate::protocol::operation::TableOperation;

/// How many batches are on their way at once, by default.
const CONCURRENCY: usize = 32;
/// The same of one partition: enough for its target of 2,000 entities/s where a batch takes 200 ms.
const PARTITION_CONCURRENCY: usize = 4;
/// How many operations wait for their batch, by default.
const PENDING: usize = 20_000;
/// How many operations may fail, by default: each is held, and more of them mean that something else is wrong.
const FAILURES: u64 = 1_000;

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
    settings: BulkSettings,
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
            settings: BulkSettings {
                batch_size: MAX_BATCH_OPERATIONS,
                batch_bytes: None,
                concurrency: CONCURRENCY,
                partition_concurrency: PARTITION_CONCURRENCY,
                pending: PENDING,
                failures: FAILURES,
                takes_out: true,
                max_rate: None,
                linger: None,
                total: TotalTimeout::default(),
            },
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
        self.begin(Sure(Box::pin(operations)))
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
        BulkWrite {
            run: Some(self.run(source)),
            hear: None,
        }
    }

    pub(crate) fn run<S, X>(self, source: S) -> BulkRun<S, X>
    where
        S: Stream<Item = Result<TableOperation, X>>,
    {
        let (pipeline, table) = (self.table.pipeline(), self.table.name());
        BulkRun::new(pipeline, table, self.options, self.settings, source)
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

/// Many writes that can be awaited, for the report; or read as [`outcomes`](Self::outcomes). Made by a [`Bulk`].
///
/// [`total_timeout`](Bulk::total_timeout) ends it by time, with its report. Dropped, it sends no more, and its report is lost: tokio's
/// `timeout(time, write)` does that. To stop it at another moment and know what was done, keep it: await `&mut write` (it is
/// `Unpin`), or [`next`](BulkOutcomes::next) of its outcomes, as long as it may go on, then take the report of
/// [`finish`](BulkOutcomes::finish). Operations that were sent and have no response are left over in doubt
/// ([`Unknown`](crate::LeftReason::Unknown)). Those that were read and never sent, because they waited for their turn or for the
/// batch before, are left over as [`NotTried`](crate::LeftReason::NotTried).
///
/// ```
/// # use azure_table::{Emulator, LeftReason, ServiceModel, TableEntity, TableServiceClient};
/// use std::time::Duration;
/// # #[derive(TableEntity, Clone)]
/// # struct Reading { #[table(partition_key)] sensor: String, #[table(row_key)] at: u32, value: f64 }
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> azure_table::Result<()> {
/// # let slow = ServiceModel::new().write_latency(Duration::from_millis(1_500));
/// # let service = TableServiceClient::on(Emulator::new().with_service_model(slow));
/// # let readings = service.table::<Reading>("Readings")?;
/// # readings.create_table().await?;
/// # let many = (0..100_000).map(|n| Reading { sensor: format!("s{}", n % 7), at: n, value: 0.5 });
/// let mut write = readings.bulk().insert_or_replace(many);
/// let report = match tokio::time::timeout(Duration::from_secs(10), &mut write).await {
///     Ok(ended) => ended?,
///     Err(_) => write.outcomes().finish()?,       // until now
/// };
/// println!("{report}");                           // applied, in doubt, not tried
/// # assert!(report.applied() > 0 && report.unknown() > 0 && report.not_tried() > 0, "{report}");
/// # assert_eq!(report.leftovers().len() as u64, report.unknown() + report.not_tried());
/// # let stored = readings.query().count().await? as u64;
/// # assert!((report.applied()..=report.applied() + report.unknown()).contains(&stored), "{stored} rows, {report}");
/// # let in_doubt = |why: &LeftReason| matches!(why, LeftReason::Unknown(_));
/// # let left = report.leftovers().iter().filter(|left| in_doubt(left.why()));
/// # assert_eq!(left.count() as u64, report.unknown());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Interrupted`], which has the report: what concerns no single operation (`Unauthenticated`, `Forbidden`, `Connection`,
/// `Timeout`, `Throttled`, `ServerFault`, `NotFound` of the table); more failures than [`failures`](Bulk::failures) allows; an
/// error of the source. What was on its way then has its outcome, what waited is left over as not tried.
#[must_use = "nothing is written until it is awaited"]
pub struct BulkWrite<S, X = Error> {
    pub(super) run: Option<BulkRun<S, X>>,
    hear: Option<Box<Hear>>,
}

type Hear = dyn FnMut(&BulkReport) + Send;

impl<S, X> BulkWrite<S, X>
where
    S: Stream<Item = Result<TableOperation, X>>,
    X: From<Error>,
{
    /// Hears of what was done so far, after each batch.
    pub fn on_progress(mut self, hear: impl FnMut(&BulkReport) + Send + 'static) -> Self {
        self.hear = Some(Box::new(hear));
        self
    }

    /// The outcomes one by one, as they come.
    pub fn outcomes(self) -> BulkOutcomes<S, X> {
        BulkOutcomes::new(self)
    }

    /// The next outcome. Whoever has taken it in calls [`tell_progress`](Self::tell_progress).
    pub(super) fn poll_outcome(&mut self, cx: &mut Context<'_>) -> Poll<Option<BulkOutcome>> {
        match &mut self.run {
            Some(run) => run.poll_outcome(cx),
            None => Poll::Ready(None),
        }
    }

    /// Tells of progress where a batch's outcomes have all been taken.
    pub(super) fn tell_progress(&mut self) {
        if let (Some(hear), Some(run)) = (&mut self.hear, &self.run)
            && !run.has_more_ready()
        {
            hear(&run.report);
        }
    }

    pub(super) fn ended(run: BulkRun<S, X>) -> Result<BulkReport, Interrupted<BulkReport, X>> {
        let (report, error) = run.into_report();
        match error {
            None => Ok(report),
            Some(e) => Err(Interrupted::new(e, report)),
        }
    }
}

impl<S, X> Unpin for BulkWrite<S, X> {}

impl<S, X> Future for BulkWrite<S, X>
where
    S: Stream<Item = Result<TableOperation, X>>,
    X: From<Error>,
{
    type Output = Result<BulkReport, Interrupted<BulkReport, X>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        while let Some(outcome) = ready!(this.poll_outcome(cx)) {
            if let (BulkOutcome::Left(leftover), Some(run)) = (outcome, &mut this.run) {
                run.report.keep(leftover);
            }
            this.tell_progress();
        }
        this.tell_progress();
        Poll::Ready(match this.run.take() {
            Some(run) => Self::ended(run),
            None => Err(Interrupted::new(ended().into(), BulkReport::default())),
        })
    }
}

impl<S, X> fmt::Debug for BulkWrite<S, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BulkWrite")
            .field("report", &self.run.as_ref().map(|run| &run.report))
            .finish_non_exhaustive()
    }
}
