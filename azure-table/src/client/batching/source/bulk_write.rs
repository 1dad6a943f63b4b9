//! The writes of a bulk, as a future of their report or as a stream of outcomes.
//!
//! The future reads only as many operations from the source as the engine would send now.

use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use azure_table_wire::error::{Error, Result};
use futures_core::Stream;
use futures_core::stream::FusedStream;

use crate::client::batching::engine::Input;
use crate::client::batching::outcome::bulk_report::{BulkOutcome, BulkReport};
use crate::client::batching::outcome::interrupted::Interrupted;
use crate::client::batching::source::bulk_entity::BulkEntity;
use crate::client::batching::source::bulk_plan::{BulkPlan, bulk_settings};
use crate::client::batching::source::bulk_run::BulkRun;
use crate::client::batching::source::inserts::Inserts;
use crate::client::ops::start::already_completed;
use crate::write::operation::TableOperation;

/// The writes of a [`Bulk`](crate::Bulk): await them for the report, or read their [`outcomes`](Self::outcomes).
///
/// To limit the total time and keep the report, use [`total_timeout`](crate::Bulk::total_timeout). If you drop the
/// write, it sends nothing more and its report is lost. Tokio's `timeout(time, write)` drops it. To stop a write and
/// keep its report, await `&mut write` (it is `Unpin`) or the [`next`](BulkOutcomes::next) of its outcomes, then call
/// [`finish`](BulkOutcomes::finish). Operations that were sent but have no response are left over as
/// [`InDoubt`](crate::bulk::LeftoverReason::InDoubt), operations that were never sent as
/// [`NotAttempted`](crate::bulk::LeftoverReason::NotAttempted).
/// ```
/// # use azure_table::{Emulator, TableEntity, TableServiceClient};
/// # use azure_table::bulk::LeftoverReason;
/// # use azure_table::emulator::ServiceModel;
/// use std::time::Duration;
/// # #[derive(TableEntity, Clone)]
/// # struct Reading { #[table(partition_key)] sensor: String, #[table(row_key)] at: u32, value: f64 }
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> azure_table::Result<()> {
/// # let slow = ServiceModel::new().write_latency(Duration::from_millis(1_500));
/// # let service = TableServiceClient::from_transport(Emulator::new().service_model(slow));
/// # let readings = service.table::<Reading>("Readings")?;
/// # readings.create_table().await?;
/// # let many = (0..100_000).map(|n| Reading { sensor: format!("s{}", n % 7), at: n, value: 0.5 });
/// let mut write = readings.bulk().insert_or_replace(many);
/// let report = match tokio::time::timeout(Duration::from_secs(10), &mut write).await {
///     Ok(ended) => ended?,
///     Err(_) => write.outcomes().finish()?,       // the report so far
/// };
/// println!("{report}");                           // applied, in doubt, not attempted
/// # assert!(report.applied() > 0 && report.in_doubt() > 0 && report.not_attempted() > 0, "{report}");
/// # assert_eq!(report.leftovers().len() as u64, report.in_doubt() + report.not_attempted());
/// # let stored = readings.query().count().await? as u64;
/// # assert!((report.applied()..=report.applied() + report.in_doubt()).contains(&stored), "{stored} rows, {report}");
/// # let in_doubt = |why: &LeftoverReason| matches!(why, LeftoverReason::InDoubt(_));
/// # let left = report.leftovers().iter().filter(|left| in_doubt(left.reason()));
/// # assert_eq!(left.count() as u64, report.in_doubt());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Returns [`Interrupted`], which has the report, on any of these:
/// - An error that is not about a single operation: `Unauthenticated`, `Forbidden`, `Connection`, `Timeout`,
///   `Throttled`, `ServerFault`, `TableNotFound`.
/// - More failures than [`max_failures`](crate::Bulk::max_failures) allows.
/// - An error of the source, unless [`unreadable_as_leftovers`](BulkWrite::unreadable_as_leftovers) is set.
///
/// The client first waits for operations in flight. Waiting operations are left over as not attempted.
#[must_use = "nothing is written until it is awaited"]
pub struct BulkWrite<'h, S, X = Error> {
    plan: BulkPlan<'h>,
    /// `None` before it starts, and after its end.
    run: Option<BulkRun>,
    has_started: bool,
    source: Option<Pin<Box<S>>>,
    push_next: PushNext<S, X>,
    /// Converts an error of the source to the error of a leftover. If absent, the error ends the bulk.
    unreadable: Option<Unreadable<X>>,
    /// The error that ended the source early.
    source_error: Option<X>,
    /// The reader of the outcomes has one, and has not requested another.
    is_due: bool,
}

/// Pushes the next operation of a source.
type PushNext<S, X> = fn(Pin<&mut S>, &mut BulkRun, &mut Context<'_>) -> Poll<Option<Result<(), X>>>;

/// The error of a leftover whose operation could not be read.
type Unreadable<X> = fn(X) -> Error;

bulk_settings!(BulkWrite<'h>[S, X], plan);

impl<'h, S, X> BulkWrite<'h, S, X> {
    /// Reports each error of the source as a rejected leftover without an operation, and continues. Its
    /// [`index`](crate::bulk::Leftover::index) is its place in the source.
    ///
    /// Without it, the first error of a source ends the bulk. [`max_failures`](Self::max_failures) counts such
    /// leftovers.
    ///
    /// ```
    /// # use azure_table::{DynamicEntity, Emulator, TableOperation, TableServiceClient};
    /// # use futures::stream;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// # let table = TableServiceClient::from_transport(Emulator::new()).dynamic_table("People")?;
    /// # table.create_table().await?;
    /// let lines = ["1,Ada", "no comma", "2,Alan"].map(|line| {
    ///     let (id, name) = line.split_once(',').ok_or(format!("bad line: {line}"))?;
    ///     let mut person = DynamicEntity::new("people", id);
    ///     person.insert("Name", name);
    ///     Ok::<_, Box<dyn std::error::Error + Send + Sync>>(TableOperation::insert(&person))
    /// });
    /// let report = table
    ///     .bulk()
    ///     .write_try_stream(stream::iter(lines))
    ///     .unreadable_as_leftovers()
    ///     .await?;
    /// assert_eq!((report.applied(), report.rejected()), (2, 1));
    /// assert_eq!(report.leftovers()[0].index(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn unreadable_as_leftovers(mut self) -> Self
    where
        X: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.unreadable = Some(|error| {
            let error = error.into();
            Error::invalid_input(format!("the source has an error: {error}")).with_source(error)
        });
        self
    }

    fn reading(plan: BulkPlan<'h>, source: S, push_next: PushNext<S, X>) -> Self {
        Self {
            plan,
            run: None,
            has_started: false,
            source: Some(Box::pin(source)),
            push_next,
            unreadable: None,
            source_error: None,
            is_due: false,
        }
    }

    fn start(&mut self) {
        if !mem::replace(&mut self.has_started, true) {
            let mut run = self.plan.start();
            run.engine.input = Input::Open;
            self.run = Some(run);
        }
    }
}

impl<'h, S: Stream<Item = Result<TableOperation, X>>, X> BulkWrite<'h, S, X> {
    pub(crate) fn new(plan: BulkPlan<'h>, source: S) -> Self {
        Self::reading(plan, source, |source, run, cx| {
            let operation = ready!(source.poll_next(cx));
            Poll::Ready(operation.map(|operation| operation.map(|operation| run.push(operation))))
        })
    }
}

impl<'h, I, E> BulkWrite<'h, Inserts<I, E>>
where
    I: Iterator<Item: BulkEntity<E>>,
{
    pub(crate) fn from_inserts(plan: BulkPlan<'h>, inserts: Inserts<I, E>) -> Self {
        Self::reading(plan, inserts, Inserts::push_next)
    }
}

impl<'h, S, X> BulkWrite<'h, S, X>
where
    S: Stream<Item = Result<TableOperation, X>>,
    X: From<Error>,
{
    /// Calls `callback` with the report so far after each batch.
    ///
    /// With [`outcomes`](Self::outcomes), it runs once you request more than the outcomes of the batch. The report then
    /// covers only outcomes that you have processed.
    ///
    /// The closure may borrow from the caller.
    pub fn on_progress(mut self, callback: impl FnMut(&BulkReport) + Send + 'h) -> Self {
        self.plan.callback = Some(Box::new(callback));
        self
    }

    /// Returns a stream of the outcomes.
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    pub fn outcomes(mut self) -> BulkOutcomes<'h, S, X> {
        self.start();
        BulkOutcomes(self)
    }

    /// Returns the next outcome by `poll`. The caller then calls [`report_progress`](Self::report_progress).
    ///
    /// Polls the batches in flight before it reads from the source, and again after each batch of operations that it
    /// has read.
    fn poll_outcome<T>(
        &mut self,
        cx: &mut Context<'_>,
        poll: impl Fn(&mut BulkRun, &mut Context<'_>) -> Poll<Option<T>>,
    ) -> Poll<Option<T>> {
        self.start();
        let Some(run) = &mut self.run else {
            return Poll::Ready(None);
        };
        let mut has_read = true;
        loop {
            let outcome = poll(run, cx);
            if outcome.is_ready() {
                return outcome;
            }
            if !has_read || !run.engine.wants_more() {
                run.engine.turn.end();
                return Poll::Pending;
            }
            let unreadable = self.unreadable;
            has_read = Self::read_batch(
                run,
                &mut self.source,
                (self.push_next, unreadable),
                &mut self.source_error,
                cx,
            );
            if run.engine.input == Input::Closed {
                self.source = None;
            }
        }
    }

    /// Reads up to one batch of operations, while there is room and the turn is not over. Returns `true` if it has read
    /// any.
    fn read_batch(
        run: &mut BulkRun,
        source: &mut Option<Pin<Box<S>>>,
        (push_next, unreadable): (PushNext<S, X>, Option<Unreadable<X>>),
        source_error: &mut Option<X>,
        cx: &mut Context<'_>,
    ) -> bool {
        let Some(source) = source else { return false };
        let before = run.pushed;
        for _ in 0..run.engine.settings.batch_size {
            if !run.engine.is_room() || run.engine.has_ready() || !run.engine.may_read(cx) {
                break;
            }
            match push_next(source.as_mut(), run, cx) {
                Poll::Ready(Some(Ok(()))) => run.engine.input = Input::Open,
                Poll::Ready(Some(Err(e))) => match unreadable {
                    Some(unreadable) => {
                        run.push(TableOperation::unreadable(unreadable(e)));
                        run.engine.input = Input::Open;
                    }
                    None => {
                        *source_error = Some(e);
                        run.engine.input = Input::Closed;
                        break;
                    }
                },
                Poll::Ready(None) => {
                    run.engine.input = Input::Closed;
                    break;
                }
                Poll::Pending => {
                    run.engine.input = Input::Idle;
                    break;
                }
            }
        }
        run.pushed > before
    }

    /// Reports progress once all outcomes of a batch have been taken.
    fn report_progress(&mut self) {
        if let (Some(callback), Some(run)) = (&mut self.plan.callback, &self.run)
            && !run.engine.has_ready()
        {
            callback(&run.report);
        }
    }

    /// Returns the report, or the error that interrupted the write.
    fn end(&mut self) -> Result<BulkReport, Interrupted<BulkReport, X>> {
        self.start();
        let Some(run) = self.run.take() else {
            return Err(Interrupted::new(already_completed().into(), BulkReport::default()));
        };
        let (report, stopped) = run.into_report();
        match self.source_error.take().or(stopped.map(X::from)) {
            None => Ok(report),
            Some(e) => Err(Interrupted::new(e, report)),
        }
    }
}

impl<S, X> Unpin for BulkWrite<'_, S, X> {}

impl<S, X> Future for BulkWrite<'_, S, X>
where
    S: Stream<Item = Result<TableOperation, X>>,
    X: From<Error>,
{
    type Output = Result<BulkReport, Interrupted<BulkReport, X>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        while ready!(this.poll_outcome(cx, BulkRun::poll_recorded)).is_some() {
            this.report_progress();
        }
        this.report_progress();
        Poll::Ready(this.end())
    }
}

impl<S, X> fmt::Debug for BulkWrite<'_, S, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BulkWrite")
            .field("report", &self.run.as_ref().map(|run| &run.report))
            .finish_non_exhaustive()
    }
}

/// The outcomes of a [`BulkWrite`]: a [`Stream`] with its own `next`.
///
/// Batches are sent only while you poll it. If you do not poll it for the `attempt_timeout` (60 s by default), a batch
/// in flight ends in doubt.
///
/// This program stops after a time or on a signal, and prints the report:
/// ```
/// # use azure_table::{BulkOutcome, Emulator, TableEntity, TableServiceClient};
/// # use azure_table::emulator::ServiceModel;
/// # use std::time::Duration;
/// # #[derive(TableEntity, Clone)]
/// # struct Reading { #[table(partition_key)] sensor: String, #[table(row_key)] at: u32, value: f64 }
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> azure_table::Result<()> {
/// # let slow = ServiceModel::new().write_latency(Duration::from_millis(100));
/// # let service = TableServiceClient::from_transport(Emulator::new().service_model(slow));
/// # let readings = service.table::<Reading>("Readings")?;
/// # readings.create_table().await?;
/// # let mut rows = (0..50_000).map(|n| Reading { sensor: format!("s{}", n % 7), at: n, value: 0.5 });
/// # let stop = tokio::time::sleep(Duration::from_millis(250));
/// let mut outcomes = readings.bulk().insert_or_replace(&mut rows).outcomes();
/// tokio::pin!(stop);                              // any future: a signal, a timer
/// loop {
///     tokio::select! {
///         outcome = outcomes.next() => match outcome {
///             Some(BulkOutcome::Leftover(left)) => eprintln!("{left}"),
///             Some(_) => {}
///             None => break,
///         },
///         () = &mut stop => break,
///     }
/// }
/// let report = outcomes.finish().unwrap_or_else(|interrupted| {
///     eprintln!("{interrupted}");
///     interrupted.into_parts().1
/// });
/// println!("{report}");                           // applied, in doubt, not attempted
/// # assert!(report.applied() > 0 && report.in_doubt() > 0 && report.not_attempted() > 0, "{report}");
/// # assert_eq!(report.leftovers().len() as u64, report.in_doubt() + report.not_attempted());
/// # let read = report.applied() + report.in_doubt() + report.not_attempted();
/// # assert_eq!(rows.next().map(|row| u64::from(row.at)), Some(read));
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is written until it is polled"]
pub struct BulkOutcomes<'h, S, X = Error>(BulkWrite<'h, S, X>);

impl<S, X> Unpin for BulkOutcomes<'_, S, X> {}

impl<S, X> BulkOutcomes<'_, S, X>
where
    S: Stream<Item = Result<TableOperation, X>>,
    X: From<Error>,
{
    /// Returns the next outcome, or `None` after the last.
    ///
    /// Dropping the future loses no outcome.
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](crate::guide::operations).
    pub async fn next(&mut self) -> Option<BulkOutcome> {
        poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<BulkOutcome>> {
        if mem::take(&mut self.0.is_due) {
            self.0.report_progress();
        }
        let outcome = ready!(self.0.poll_outcome(cx, BulkRun::poll_outcome));
        match outcome {
            Some(_) => self.0.is_due = self.0.plan.callback.is_some(),
            None => self.0.report_progress(),
        }
        Poll::Ready(outcome)
    }

    /// Returns the report so far.
    pub fn report(&self) -> Option<&BulkReport> {
        self.0.run.as_ref().map(|run| &run.report)
    }

    /// Cancels the rest and returns the report.
    ///
    /// Operations without a response are in doubt; operations that were not sent are not attempted. Both are [left
    /// over](BulkReport::leftovers).
    ///
    /// # Errors
    /// Returns the errors of awaiting [`BulkWrite`].
    pub fn finish(mut self) -> Result<BulkReport, Interrupted<BulkReport, X>> {
        if let Some(run) = &mut self.0.run {
            run.engine.cancel();
        }
        self.0.end()
    }
}

impl<S, X> Stream for BulkOutcomes<'_, S, X>
where
    S: Stream<Item = Result<TableOperation, X>>,
    X: From<Error>,
{
    type Item = BulkOutcome;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<BulkOutcome>> {
        self.get_mut().poll(cx)
    }
}

impl<S, X> FusedStream for BulkOutcomes<'_, S, X>
where
    S: Stream<Item = Result<TableOperation, X>>,
    X: From<Error>,
{
    fn is_terminated(&self) -> bool {
        !self.0.is_due && self.0.run.as_ref().is_none_or(|run| run.engine.is_over())
    }
}

impl<S, X> fmt::Debug for BulkOutcomes<'_, S, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
