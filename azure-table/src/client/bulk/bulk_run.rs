//! A bulk as it goes on: operations from a source, in batches, some at once.
//!
//! Owns the way from source to outcome: what is read and when, which batches are on their way, when it ends. The order of
//! operations is `queue.rs`, what becomes of a batch `partition_write.rs`. Polled by hand: no task is spawned, and whoever stops
//! polling has a report that is right.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use futures_util::stream::FuturesUnordered;

use crate::client::bulk::outcome::{AppliedOperation, BulkOutcome, BulkReport, LeftReason, Leftover};
use crate::client::bulk::pace::{LeavesThrottled, Pace};
use crate::client::bulk::partition_write::{Outcome, PartitionWrite, Written};
use crate::client::bulk::queue::{Queue, Queued, Short};
use crate::client::bulk::running::{Batch, Running};
use crate::client::total_timeout::TotalTimeout;
use crate::model::clock;
use crate::model::error::{Error, ErrorKind};
use crate::model::name::TableName;
use crate::model::operation_kind::OperationKind;
use crate::pipeline::Pipeline;
use crate::pipeline::options::CallOptions;
use crate::pipeline::transport::BoxFuture;
use crate::protocol::operation::TableOperation;

/// How a bulk goes on.
#[derive(Clone, Debug)]
pub(crate) struct BulkSettings {
    pub(crate) batch_size: usize,
    pub(crate) batch_bytes: Option<usize>,
    pub(crate) concurrency: usize,
    pub(crate) partition_concurrency: usize,
    pub(crate) pending: usize,
    pub(crate) failures: u64,
    pub(crate) takes_out: bool,
    pub(crate) max_rate: Option<f64>,
    /// How long an operation waits for others; without it batches that are not full leave when nothing else is on its way.
    pub(crate) linger: Option<Duration>,
    pub(crate) total: TotalTimeout,
}

/// The most bytes of bodies that wait: 16 of the largest batches.
const MOST_PENDING_BYTES: usize = 64 << 20;

pub(crate) struct BulkRun<S, X> {
    pipeline: Arc<Pipeline>,
    table: TableName,
    options: CallOptions,
    pub(crate) settings: BulkSettings,
    source: Option<Pin<Box<S>>>,
    /// Why the source ended early.
    source_error: Option<X>,
    /// Whether it has none for now.
    source_waits: bool,
    read: u64,
    queue: Queue,
    pace: Pace,
    /// Each is polled when it was woken: there may be many.
    running: FuturesUnordered<Running>,
    ready: VecDeque<BulkOutcome>,
    /// Until the first that waits has waited long enough.
    timer: Option<BoxFuture<'static, ()>>,
    /// Until the time of the whole is over.
    end: Option<BoxFuture<'static, ()>>,
    /// Whether batches leave that are not full, until nothing waits.
    pub(crate) flushes: bool,
    /// What concerns no single operation.
    stopped: Option<Arc<Error>>,
    pub(crate) report: BulkReport,
}

impl<S, X> BulkRun<S, X>
where
    S: Stream<Item = Result<TableOperation, X>>,
{
    pub(crate) fn new(
        pipeline: &Arc<Pipeline>,
        table: &TableName,
        options: CallOptions,
        settings: BulkSettings,
        source: S,
    ) -> Self {
        let pace = Pace::new(settings.max_rate);
        // The only place where those of the client are added.
        let mut options = pipeline.settings.defaults.clone().with(&options);
        let inner = options.get().retry.as_ref().unwrap_or(&pipeline.retry);
        let policy = LeavesThrottled {
            inner: Arc::clone(inner),
            pace: pace.clone(),
        };
        options.set(|wishes| wishes.retry = Some(Arc::new(policy)));
        Self {
            pace,
            pipeline: Arc::clone(pipeline),
            table: table.clone(),
            options,
            queue: Queue::new(settings.batch_size, settings.partition_concurrency),
            settings,
            source: Some(Box::pin(source)),
            source_error: None,
            source_waits: false,
            read: 0,
            running: FuturesUnordered::new(),
            ready: VecDeque::new(),
            timer: None,
            end: None,
            flushes: false,
            stopped: None,
            report: BulkReport::default(),
        }
    }

    /// Returns the next outcome, or `None` once every operation has one.
    pub(crate) fn poll_outcome(&mut self, cx: &mut Context<'_>) -> Poll<Option<BulkOutcome>> {
        loop {
            if let Some(outcome) = self.ready.pop_front() {
                self.report.tell(&outcome);
                if self.report.failures() > self.settings.failures {
                    self.stop_for_failures(&outcome);
                }
                return Poll::Ready(Some(outcome));
            }
            let is_out_of_time = self.settings.total.poll_is_over(&mut self.end, cx);
            match is_out_of_time {
                // Operations that a writer has accepted get an outcome too.
                true => self.read(cx),
                false => self.fill(cx),
            }
            let has_ended = self.finish(cx);
            if is_out_of_time && self.has_more_to_do() {
                self.stop_for_time();
                self.abandon(self.settings.total.error());
            }
            if self.stopped.is_some() && self.running.is_empty() {
                self.leave_waiting();
            }
            self.report.throttled = self.pace.refusals();
            if !self.ready.is_empty() || has_ended {
                continue;
            }
            return match self.is_over() {
                true => Poll::Ready(None),
                false => Poll::Pending,
            };
        }
    }

    fn has_more_to_do(&self) -> bool {
        self.source.is_some() || !self.running.is_empty() || self.queue.len() > 0
    }

    /// How many operations have no outcome yet, those of the source aside.
    pub(crate) fn pending(&self) -> usize {
        self.queue.len() + self.running.iter().map(Running::len).sum::<usize>()
    }

    /// Why it sends no more.
    pub(crate) fn stopped(&self) -> Option<Error> {
        self.stopped.as_deref().map(Error::copy)
    }

    /// Whether outcomes wait to be taken.
    pub(crate) fn has_more_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.ready.is_empty() && !self.has_more_to_do()
    }

    /// What was done, and why it ended before its end. What was not taken of outcomes is taken in.
    pub(crate) fn into_report(mut self) -> (BulkReport, Option<X>)
    where
        X: From<Error>,
    {
        for outcome in std::mem::take(&mut self.ready) {
            self.report.tell(&outcome);
            if let BulkOutcome::Left(leftover) = outcome {
                self.report.keep(leftover);
            }
        }
        self.report.sort_leftovers();
        let stopped = self.stopped.map(|error| error.copy().into());
        (self.report, self.source_error.or(stopped))
    }

    /// Ends it because its owner gives up.
    pub(crate) fn give_up(&mut self) {
        self.abandon(Error::new(
            ErrorKind::Timeout,
            "the bulk was given up while this was on its way",
        ));
    }

    /// Ends it: what is in flight is in doubt because of this, what waits was not tried.
    fn abandon(&mut self, error: Error) {
        self.source = None;
        let error = Arc::new(error.maybe_applied(true));
        for running in std::mem::take(&mut self.running) {
            if let Some((batch, written)) = running.given_up(&error) {
                self.take_in(batch, written);
            }
        }
        // Behind what may be of the same rows.
        self.leave_waiting();
    }

    /// Whether more is read.
    pub(crate) fn is_room(&self) -> bool {
        self.queue.len() < self.settings.pending && self.queue.bytes() < MOST_PENDING_BYTES
    }

    /// Reads, and puts batches on their way, as many as may be. No more is read than that takes: what waits is cold by the time
    /// that it is sent.
    fn fill(&mut self, cx: &mut Context<'_>) {
        loop {
            let is_busy = self.running.len() >= self.settings.concurrency;
            // Who lingers has taken what it was given.
            if is_busy && self.settings.linger.is_none() {
                return;
            }
            let before = self.read;
            self.read(cx);
            self.linger(cx);
            self.start();
            // What was refused is told first: it may be too much.
            if self.read == before || !self.ready.is_empty() {
                return;
            }
        }
    }

    /// Reads as many operations as a batch has, if there is room.
    fn read(&mut self, cx: &mut Context<'_>) {
        for _ in 0..self.settings.batch_size {
            if !self.is_room() || !self.ready.is_empty() {
                return;
            }
            let Some(source) = &mut self.source else { return };
            let operation = match source.as_mut().poll_next(cx) {
                Poll::Pending => {
                    self.source_waits = true;
                    return;
                }
                Poll::Ready(Some(Ok(operation))) => operation,
                Poll::Ready(Some(Err(e))) => {
                    self.source_error = Some(e);
                    self.source = None;
                    return;
                }
                Poll::Ready(None) => {
                    self.source = None;
                    return;
                }
            };
            self.source_waits = false;
            let index = self.read;
            self.read += 1;
            let checked = match operation.kind() {
                OperationKind::Get => {
                    let why = "a bulk writes: entities are read by `get_many`";
                    Err(Error::invalid_input(why))
                }
                _ => operation.check(),
            };
            match checked {
                Ok(()) => self.queue.push(Queued::new(index, operation)),
                Err(error) => {
                    let error = error.in_operation(OperationKind::Bulk, Some(self.table.as_str()));
                    self.ready.push_back(BulkOutcome::Left(Leftover {
                        index,
                        operation: operation.if_encoded(),
                        why: LeftReason::Rejected(Arc::new(error)),
                    }));
                }
            }
        }
    }

    /// Lets what has waited long enough leave.
    fn linger(&mut self, cx: &mut Context<'_>) {
        let Some(time) = self.settings.linger else { return };
        if self.queue.len() == 0 {
            (self.timer, self.flushes) = (None, false);
            return;
        }
        let timer = self.timer.get_or_insert_with(|| Box::pin(clock::sleep(time)));
        if !self.flushes {
            self.flushes = timer.as_mut().poll(cx).is_ready();
        }
    }

    /// Puts batches on their way: full ones, and short ones where no more will come, or none for now.
    fn start(&mut self) {
        // Who waits for its source sends what it has, of each partition one batch.
        let is_idle = self.settings.linger.is_none() && self.source_waits;
        while self.running.len() < self.settings.concurrency && self.stopped.is_none() {
            let short = match self.flushes || self.source.is_none() || !self.is_room() {
                true => Short::Any,
                false if is_idle => Short::OfIdle,
                false => Short::None,
            };
            let Some(batch) = self.queue.next(short) else { return };
            let queued = batch.into_iter();
            let (places, operations) = queued.map(|q| ((q.index, q.row), q.operation)).unzip();
            let write = PartitionWrite::new(&self.pipeline, &self.table, &self.options, operations)
                .with(self.settings.batch_bytes, self.settings.takes_out)
                .of_distinct_rows()
                .within(self.settings.total)
                .at(&self.pace);
            self.running.push(Running::new(places, write));
        }
    }

    /// Takes in the batches that have ended. Whether there were any.
    fn finish(&mut self, cx: &mut Context<'_>) -> bool {
        let mut any = false;
        while let Poll::Ready(Some((batch, mut written))) = Pin::new(&mut self.running).poll_next(cx) {
            any = true;
            self.queue.ended(batch.partition_key(), batch.rows());
            let stopped = written.stopped.take();
            self.take_in(batch, written);
            if let Some(error) = stopped {
                match self.settings.total.ended(&error) {
                    true => self.stop_for_time(),
                    false => self.stop(error),
                }
            }
        }
        any
    }

    fn take_in(&mut self, batch: Batch, written: Written) {
        for ((index, operation), outcome) in batch.operations().zip(written.outcomes) {
            let etag = match outcome {
                Outcome::Applied(_, etag) => Ok(etag),
                // A delete has what it wanted where nothing is left to delete.
                Outcome::Gone(_) => Ok(None),
                Outcome::Failed(error) if error.may_have_applied() => Err(LeftReason::Unknown(error)),
                Outcome::Failed(error) => Err(LeftReason::Rejected(error)),
                Outcome::NotTried => Err(LeftReason::NotTried),
            };
            self.ready.push_back(match etag {
                Ok(etag) => BulkOutcome::Applied(AppliedOperation { index, operation, etag }),
                Err(why) => BulkOutcome::Left(Leftover {
                    index,
                    operation: operation.if_encoded(),
                    why,
                }),
            });
        }
    }

    fn stop_for_failures(&mut self, last: &BulkOutcome) {
        if let (BulkOutcome::Left(leftover), None) = (last, &self.stopped)
            && let LeftReason::Rejected(e) | LeftReason::Unknown(e) = &leftover.why
        {
            let why = format!(
                "{} operations failed, and `.failures(..)` allows {}; the last: {leftover}",
                self.report.failures(),
                self.settings.failures
            );
            let error = Error::new(e.kind(), why).in_operation(OperationKind::Bulk, Some(self.table.as_str()));
            self.stop(Arc::new(error));
        }
    }

    fn stop_for_time(&mut self) {
        let error = self.settings.total.error();
        self.stop(Arc::new(
            error.in_operation(OperationKind::Bulk, Some(self.table.as_str())),
        ));
    }

    /// Reads and sends no more; what is on its way goes on. What waits is told when that has ended: it may be of the same rows.
    fn stop(&mut self, error: Arc<Error>) {
        self.stopped.get_or_insert(error);
        self.source = None;
    }

    fn leave_waiting(&mut self) {
        for Queued { index, operation, .. } in self.queue.drain() {
            self.ready.push_back(BulkOutcome::Left(Leftover {
                index,
                operation: Some(operation),
                why: LeftReason::NotTried,
            }));
        }
    }
}
