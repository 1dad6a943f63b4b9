//! The engine of all bulk writes: it takes planned operations, and returns an outcome for each.
//!
//! It manages the batches in flight and the sending rate, and ends the writes: at the limit of failures, at the total
//! timeout, or when its owner cancels. `engine_settings.rs` has the limits, `queue.rs` orders the operations, and
//! `partition` writes a batch. The owners in `source` push operations and poll for outcomes. The engine spawns no
//! task, so the report stays correct when its owner stops polling.

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, ErrorKind, MAY_HAVE_APPLIED};
use azure_table_wire::transport::BoxFuture;
use azure_table_wire::value::clock;
use futures_core::Stream;
use futures_util::stream::FuturesUnordered;
use std::collections::VecDeque;
use std::future::{Future as _, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::task::coop;

use crate::account::table_name::TableName;
use crate::client::batching::engine::batch_retry::batch_policy;
use crate::client::batching::engine::engine_settings::EngineSettings;
use crate::client::batching::engine::queue::{PartialBatch, Queue};
use crate::client::batching::engine::running_batch::{BulkBatch, RunningBatch, Settled};
use crate::client::batching::outcome::leftover::LeftoverReason;
use crate::client::batching::outcome::outcomes::WriteOutcome;
use crate::client::batching::partition::partition_queue::Queued;
use crate::client::batching::partition::partition_write::PartitionWrite;
use crate::client::batching::partition::sending_rate::{SendingRate, leaving_throttled};
use crate::client::poll::turn::Turn;
use crate::entity::table_entity::TableEntity;
use crate::key::entity_key::key_texts;
use crate::pipeline::Pipeline;
use crate::pipeline::options::CallOptions;
use crate::write::batch::ChangeSet;
use crate::write::operation::TableOperation;

mod batch_retry;
pub(crate) mod composed_batch;
pub(crate) mod engine_settings;
mod queue;
pub(crate) mod running_batch;

/// The number of operations read in a turn, which takes less than a millisecond.
const TURN_UNITS: usize = 128;
/// The number of encoded bytes that cost one more unit: a whole turn is 512 KiB.
const UNIT_BYTES: usize = 4 << 10;
/// The cost of a response, with the outcomes of its operations.
const RESPONSE_UNITS: usize = 16;

/// The maximum number of bytes held by waiting operations and operations in flight. Operations in flight count twice:
/// they are in the body of their request, which is longer than they are, and those that are sent again are in memory
/// beside it.
///
/// Up to eight of the largest batches are in flight, or as many smaller ones as fit.
const MAX_BYTES: usize = 64 << 20;
/// The maximum number of waiting bytes: the rest is for batches in flight.
const MAX_WAITING_BYTES: usize = MAX_BYTES / 2;

/// The state of the source that pushes operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// More operations follow.
    Open,
    /// More operations may follow, but none now.
    Idle,
    /// No operation follows until the pushed ones have their outcomes.
    Closed,
}

pub(crate) struct Engine {
    pipeline: Arc<Pipeline>,
    table: TableName,
    /// The options of the calls, the client's included.
    options: CallOptions,
    pub(crate) settings: EngineSettings,
    pub(crate) input: Input,
    /// Sends batches that are not full, until no operation waits.
    pub(crate) flushes: bool,
    queue: Queue,
    /// The operations of the batches that [`announce`](Self::announce) starts. Without it, the engine starts batches
    /// itself.
    announced: Option<Vec<u64>>,
    /// If absent, the retry policy handles throttling.
    rate: Option<SendingRate>,
    /// Each is polled only when woken, since there may be many.
    running: FuturesUnordered<RunningBatch>,
    /// The bytes of the operations in flight.
    bytes_in_flight: usize,
    pub(crate) turn: Turn,
    /// The service's limit for the body of a batch.
    batch_bytes: usize,
    /// The known outcomes, in the order in which they became known.
    ready: VecDeque<Settled>,
    /// Fires when the first waiting operation has waited long enough.
    timer: Option<BoxFuture<'static, ()>>,
    /// Fires at the total timeout.
    end: Option<BoxFuture<'static, ()>>,
    failures: u64,
    /// The error that concerns no single operation.
    stopped: Option<Arc<Error>>,
}

impl Engine {
    /// Creates an engine. Its calls have these `options`, which already contain the client's.
    pub(crate) fn new(
        pipeline: &Arc<Pipeline>,
        table: &TableName,
        mut options: CallOptions,
        settings: EngineSettings,
    ) -> Self {
        let policy = batch_policy(&options);
        options.get_mut().retry = Some(policy);
        let batch_bytes = pipeline.endpoint.profile().rules().max_batch_bytes;
        Self {
            pipeline: Arc::clone(pipeline),
            table: table.clone(),
            options,
            queue: Queue::new(settings.batch_size, batch_bytes, settings.partition_concurrency),
            bytes_in_flight: 0,
            turn: Turn::new(TURN_UNITS),
            batch_bytes,
            settings,
            input: Input::Closed,
            flushes: false,
            announced: None,
            rate: None,
            running: FuturesUnordered::new(),
            ready: VecDeque::new(),
            timer: None,
            end: None,
            failures: 0,
            stopped: None,
        }
    }

    /// Sends throttled batches again at the measured rate, instead of by the retry policy.
    pub(crate) fn paced(mut self) -> Self {
        let retry = &mut self.options.get_mut().retry;
        *retry = retry.take().map(leaving_throttled);
        self.rate = Some(SendingRate::new(self.settings.max_rate));
        self
    }

    /// Spends the cost of reading an operation or a row. Returns `false`, and wakes the task, if the turn is over.
    pub(crate) fn may_read(&self, cx: &Context<'_>) -> bool {
        let is_left = self.turn.poll_left(cx).is_ready();
        self.turn.spend(1);
        is_left
    }

    /// Adds an operation. An operation that cannot be sent is rejected.
    pub(crate) fn push(&mut self, index: u64, operation: TableOperation) {
        self.turn.spend(operation.bytes() / UNIT_BYTES);
        let checked = match operation.kind() {
            OperationKind::Get => {
                let why = "a bulk only writes: read entities with `get_many`";
                Err(Error::invalid_input(why))
            }
            _ => operation.check(),
        };
        match checked {
            Ok(()) => self.queue.push(Queued::new(index, operation)),
            Err(error) => {
                let outcome = WriteOutcome::Left(LeftoverReason::Rejected(Arc::new(self.named(error))));
                self.ready.push_back(Settled {
                    index,
                    operation,
                    outcome,
                });
            }
        }
    }

    /// Adds the insert of an entity. It is written into the body of its batch, if its partition has an open one.
    pub(crate) fn insert<E: TableEntity + ?Sized>(&mut self, index: u64, entity: &E) {
        let keys = match key_texts(entity) {
            // If the caller limits the bytes of a batch, it is divided when it is sent.
            Ok(keys) if self.settings.batch_bytes.is_none() => keys,
            keys => return self.push(index, TableOperation::insert_with_keys(entity, keys)),
        };
        let (bytes, texts) = (self.queue.bytes(), keys.pair());
        let new = || {
            let change_set = ChangeSet::new(&self.pipeline.endpoint, self.table.as_str());
            change_set.with_distinct_rows(self.settings.batch_size)
        };
        if self
            .queue
            .write(index, texts, new, |batch| batch.insert_plain(entity, texts))
        {
            self.turn.spend((self.queue.bytes() - bytes) / UNIT_BYTES);
            keys.done();
        } else {
            self.push(index, TableOperation::insert_with_keys(entity, Ok(keys)));
        }
    }

    /// Counts a failure without an operation.
    pub(crate) fn reject(&mut self, error: Error) -> Arc<Error> {
        let error = Arc::new(self.named(error));
        self.failures += 1;
        if self.failures > self.settings.failures {
            self.stop_for_failures(&error, error.to_string());
        }
        error
    }

    fn named(&self, error: Error) -> Error {
        error.in_operation(self.settings.operation, Some(self.table.as_str()))
    }

    /// Returns the next outcome, or `None` once every operation has one and the input is closed.
    pub(crate) fn poll_outcome(&mut self, cx: &mut Context<'_>) -> Poll<Option<Settled>> {
        loop {
            if let Some(settled) = self.next_ready() {
                return Poll::Ready(Some(settled));
            }
            let is_out_of_time = self.settings.total.poll_is_over(&mut self.end, cx);
            if !is_out_of_time {
                self.queue.release(cx);
                if self.announced.is_none() {
                    self.linger(cx);
                    self.start();
                }
                self.leave_behind();
            }
            let has_ended = self.finish(cx);
            if is_out_of_time && self.has_more_to_do() {
                self.stop_for_time();
                self.abandon(self.settings.total.error());
            }
            if self.stopped.is_some() && self.running.is_empty() {
                self.leave_waiting();
            }
            if !self.ready.is_empty() || has_ended {
                continue;
            }
            return if self.is_over() {
                Poll::Ready(None)
            } else {
                Poll::Pending
            };
        }
    }

    /// Returns the next outcome that is already known.
    pub(crate) fn next_ready(&mut self) -> Option<Settled> {
        let settled = self.take_ready()?;
        self.count_failure(&settled);
        Some(settled)
    }

    /// Returns the next outcome that is already known. The limit of failures does not apply to it.
    pub(crate) fn take_ready(&mut self) -> Option<Settled> {
        self.ready.pop_front()
    }

    /// Returns `true` if known outcomes remain.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    fn has_more_to_do(&self) -> bool {
        self.input != Input::Closed || !self.running.is_empty() || self.queue.len() > 0
    }

    pub(crate) fn is_over(&self) -> bool {
        self.ready.is_empty() && !self.has_more_to_do()
    }

    /// Returns the number of operations without an outcome.
    pub(crate) fn pending(&self) -> usize {
        self.queue.len() + self.running.iter().map(RunningBatch::len).sum::<usize>()
    }

    /// Returns the number of requests that were throttled and sent again.
    pub(crate) fn throttled(&self) -> u64 {
        self.rate.as_ref().map_or(0, SendingRate::throttled_requests)
    }

    /// Returns the error that ends all writes.
    pub(crate) fn stopped(&self) -> Option<Error> {
        self.stopped.as_deref().map(Error::copy)
    }

    /// Returns `true` if more operations may be pushed.
    pub(crate) fn is_room(&self) -> bool {
        !self.is_full() && self.bytes() < MAX_BYTES
    }

    /// Returns `true` if the maximum number of operations or bytes waits.
    fn is_full(&self) -> bool {
        self.queue.len() >= self.settings.pending || self.queue.bytes() >= MAX_WAITING_BYTES
    }

    /// Returns the number of bytes held.
    fn bytes(&self) -> usize {
        self.queue.bytes() + 2 * self.bytes_in_flight
    }

    /// Returns `true` if another batch may be in flight.
    fn may_start(&self) -> bool {
        let is_within = self.running.is_empty() || self.bytes() + self.batch_bytes <= MAX_BYTES;
        is_within && self.running.len() < self.settings.concurrency && self.stopped.is_none()
    }

    /// Returns `true` if more operations would be sent now.
    ///
    /// Otherwise the source is not read: waiting operations would fall out of the processor's cache before they are
    /// sent.
    pub(crate) fn wants_more(&mut self) -> bool {
        // Rejected operations are reported first: they may exceed the limit of failures.
        if !self.ready.is_empty() || self.input == Input::Closed || self.running.len() >= self.settings.concurrency {
            return false;
        }
        self.settings.total.begin();
        !self.settings.total.is_over()
    }

    /// Cancels the engine for its owner. Operations in flight are in doubt, pending ones are not sent.
    pub(crate) fn cancel(&mut self) {
        self.abandon(Error::new(
            ErrorKind::Timeout,
            "the bulk was cancelled while this operation was in flight",
        ));
    }

    fn abandon(&mut self, error: Error) {
        self.input = Input::Closed;
        let error = Arc::new(error.maybe_applied(true));
        self.bytes_in_flight = 0;
        for running in std::mem::take(&mut self.running) {
            if let Some(batch) = running.cancel(&error) {
                self.take_in(batch);
            }
        }
        // Waiting operations are reported after the cancelled batches, which may contain the same rows.
        self.leave_waiting();
    }

    /// Releases operations that have waited long enough.
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

    /// Sends full batches. Sends short ones too if no more operations follow, or none do now.
    pub(crate) fn start(&mut self) {
        // An idle input sends the waiting operations, one batch per partition.
        let is_idle = self.settings.linger.is_none() && self.input == Input::Idle;
        while self.may_start() {
            let short = match self.flushes || self.input == Input::Closed || self.is_full() {
                true => PartialBatch::Always,
                false if is_idle => PartialBatch::IfIdle,
                false => PartialBatch::Never,
            };
            let Some(batch) = self.queue.next(short) else { return };
            let (batch, composed) = batch.into_batch(&self.pipeline, &self.table);
            if let Some(announced) = &mut self.announced {
                announced.extend(&batch.indices);
            }
            let key = Arc::clone(&batch.partition_key);
            let (operations, outcomes) = (batch.operations.clone(), batch.outcomes.clone());
            let options = self.options.clone();
            let mut write = PartitionWrite::new(&self.pipeline, &self.table, key, options, operations, outcomes);
            write.max_bytes = self.settings.batch_bytes;
            write.recovery = self.settings.recovery;
            write.total = self.settings.total;
            write.rate = self.rate.clone();
            self.bytes_in_flight += batch.bytes;
            self.running.push(RunningBatch::new(batch, write.run(composed)));
        }
    }

    /// Starts the batches that may be in flight, and returns the numbers of their operations. Nothing of them is sent
    /// before the next outcome is polled. From then on, the owner starts all batches in this way.
    pub(crate) fn announce(&mut self) -> Vec<u64> {
        self.announced.get_or_insert_default();
        self.settings.total.begin();
        // Known outcomes come first: they may exceed the limit of failures.
        if self.ready.is_empty() && !self.settings.total.is_over() {
            self.start();
        }
        self.announced.replace(Vec::new()).unwrap_or_default()
    }

    /// Collects finished batches. Returns `true` if there were any.
    fn finish(&mut self, cx: &mut Context<'_>) -> bool {
        let mut any = false;
        while !self.running.is_empty()
            && self.turn.poll_left(cx).is_ready()
            && let Poll::Ready(Some((batch, stopped))) = self.poll_running(cx)
        {
            any = true;
            self.turn.spend(RESPONSE_UNITS);
            self.bytes_in_flight -= batch.bytes;
            self.queue.ended(&batch.partition_key, batch.rows.iter().copied());
            self.queue.block(&batch, self.settings.failures == u64::MAX);
            self.take_in(batch);
            if let Some(error) = stopped {
                if self.settings.total.ended(&error) {
                    self.stop_for_time()
                } else {
                    self.stop(error)
                }
            }
        }
        any
    }

    /// Polls the batches in flight. The turn limits them, not the budget that tokio gives the task.
    fn poll_running(&mut self, cx: &mut Context<'_>) -> Poll<Option<(BulkBatch, Option<Arc<Error>>)>> {
        let next = poll_fn(|cx| Pin::new(&mut self.running).poll_next(cx));
        pin!(coop::unconstrained(next)).poll(cx)
    }

    fn take_in(&mut self, batch: BulkBatch) {
        let expects_gone = self.settings.expects_gone;
        self.ready.extend(batch.into_settled().map(|settled| Settled {
            outcome: match settled.outcome {
                WriteOutcome::Left(LeftoverReason::Rejected(e)) if expects_gone && e.kind() == ErrorKind::NotFound => {
                    WriteOutcome::Gone
                }
                WriteOutcome::Gone if !expects_gone => WriteOutcome::Applied(None),
                outcome => outcome,
            },
            ..settled
        }));
    }

    fn count_failure(&mut self, settled: &Settled) {
        let Some(error) = settled.outcome.failure() else { return };
        self.failures += 1;
        if self.failures > self.settings.failures && self.stopped.is_none() {
            self.stop_for_failures(error, settled.to_string());
        }
    }

    /// Stops the engine after more failures than allowed. Outcomes that are ready count as well.
    fn stop_for_failures(&mut self, error: &Arc<Error>, last: String) {
        let ready = || self.ready.iter().filter(|settled| settled.outcome.failure().is_some());
        let failures = self.failures + ready().count() as u64;
        let latest = ready().next_back();
        let error = latest.and_then(|settled| settled.outcome.failure()).unwrap_or(error);
        let (kind, is_in_doubt) = (error.cause_kind(), error.may_have_applied());
        let last = latest.map_or(last, Settled::to_string);
        let why = format!(
            "{failures} {} failed, and `.max_failures(..)` allows {}; the last: {last}",
            self.settings.unit, self.settings.failures
        );
        // An error in doubt ends with the same words.
        let why = why.strip_suffix(MAY_HAVE_APPLIED).unwrap_or(&why).to_owned();
        self.stop(Arc::new(self.named(Error::new(kind, why).maybe_applied(is_in_doubt))));
    }

    fn stop_for_time(&mut self) {
        self.stop(Arc::new(self.named(self.settings.total.error())));
    }

    /// Sends no more operations. Batches in flight continue.
    ///
    /// Waiting operations are reported after these batches end, since both may write the same rows.
    fn stop(&mut self, error: Arc<Error>) {
        self.stopped.get_or_insert(error);
        self.input = Input::Closed;
    }

    /// Leaves operations on rows in doubt, as failures: an endless source might have no end of them.
    fn leave_behind(&mut self) {
        let behind = std::mem::take(&mut self.queue.behind);
        for _ in &behind {
            let why = "an earlier operation on its row is in doubt";
            self.reject(Error::new(ErrorKind::Timeout, why).maybe_applied(true));
        }
        self.leave(behind);
    }

    fn leave_waiting(&mut self) {
        let waiting = self.queue.drain();
        self.leave(waiting);
    }

    fn leave(&mut self, operations: Vec<Queued>) {
        self.ready.extend(operations.into_iter().map(|queued| Settled {
            index: queued.index,
            operation: queued.operation,
            outcome: WriteOutcome::Left(LeftoverReason::NotAttempted),
        }));
    }
}
