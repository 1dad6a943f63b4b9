//! The group of a handle: the waiting writes, and a task for each busy partition.
//!
//! A task sends batches until no write waits. After each batch it yields, so that callers of that batch can join the
//! next one. Otherwise every second batch would hold only the write that came first.

use azure_table_wire::error::Error;
use azure_table_wire::value::clock::{self, Instant};
use std::fmt;
use std::future::poll_fn;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use tokio::runtime::Handle;

use crate::account::table_name::TableName;
use crate::client::group::callers::{Callers, of_write, shut_down};
use crate::client::group::group_options::GroupOptions;
use crate::client::group::lanes::{Caller, LaneStep, Lanes, Write};
use crate::client::partition_writes::failed_batch::Recovery;
use crate::client::partition_writes::held_operations::HeldOperations;
use crate::client::partition_writes::partition_queue::BatchLimits;
use crate::client::partition_writes::partition_write::PartitionWrite;
use crate::client::sending_rate::{SendingRate, leaving_throttled};
use crate::client::total_timeout::TotalTimeout;
use crate::pipeline::Pipeline;
use crate::pipeline::observer::context::OperationContext;
use crate::pipeline::observer::trace::TraceSpan;
use crate::pipeline::observer::{Event, GroupedBatch};
use crate::pipeline::options::CallOptions;
use crate::write::batch::MAX_BATCH_OPERATIONS;
use crate::write::operation::TableOperation;

pub(crate) struct Committer {
    /// The pipeline of its batches, which has no group.
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) table: TableName,
    /// Shared by all partitions, as in a bulk.
    rate: SendingRate,
    /// The options of a batch whose callers set none.
    plain: CallOptions,
    lanes: Mutex<Lanes>,
}

impl Committer {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, options: &GroupOptions) -> Self {
        let pipeline = pipeline.ungrouped();
        let limits = BatchLimits {
            operations: MAX_BATCH_OPERATIONS,
            bytes: pipeline.endpoint.profile().rules().max_batch_bytes,
        };
        let rate = SendingRate::new(None);
        let mut plain = CallOptions::new();
        plain.get_mut().retry = Some(leaving_throttled(Arc::clone(&pipeline.retry)));
        Self {
            pipeline,
            table: table.clone(),
            rate,
            plain,
            lanes: Mutex::new(Lanes::new(options, limits)),
        }
    }

    pub(super) fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names the write of an error.
    pub(super) fn named(&self, error: Error, operation: &TableOperation) -> Error {
        of_write(
            error,
            operation.kind(),
            operation.keys().unwrap_or_default(),
            &self.table,
            1,
        )
    }

    /// Removes a write that was withdrawn.
    pub(super) fn withdraw(self: &Arc<Self>, operation: &TableOperation, number: u64) {
        let (partition_key, _) = operation.keys().unwrap_or_default();
        let removed = self.lanes().withdraw(partition_key, number);
        // Dropped after the lock is released.
        drop(removed);
        if let Ok(runtime) = Handle::try_current() {
            self.admit(&runtime);
        }
    }

    /// Accepts writes from outside while there is room.
    fn admit(self: &Arc<Self>, runtime: &Handle) {
        // Not within the loop: a runtime that shuts down drops the task at once, which takes the lock again.
        let started = self.lanes().admit();
        for key in started {
            self.start(runtime, key);
        }
    }

    /// Starts the task of a lane.
    pub(super) fn start(self: &Arc<Self>, runtime: &Handle, key: Arc<str>) {
        let task = LaneTask {
            committer: Arc::clone(self),
            key,
            is_over: false,
        };
        runtime.spawn(task.run());
    }

    /// Sends a batch, and gives each caller its result.
    async fn send(&self, key: &Arc<str>, batch: Vec<Write>) {
        let last = batch
            .iter()
            .map(|write| &write.owner)
            .max_by_key(|owner| (owner.deadline.is_none(), owner.deadline));
        let ends = last.and_then(|owner| owner.deadline);
        let total = ends.map(|end| TotalTimeout::until(end, last.and_then(|owner| owner.options.get().timeout)));
        let options = self.batch_options(&batch);
        let pipeline = self.batch_pipeline(batch.first().is_some_and(|write| write.owner.creates_table));
        let (operations, callers): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|write| (write.operation, write.owner)).unzip();
        let operations = HeldOperations::new(operations);
        // Created first: if an observer panics, they report the outcome.
        let callers = Callers {
            callers,
            operations: operations.clone(),
            pipeline: Arc::clone(&self.pipeline),
            table: self.table.clone(),
            ends,
            completed: AtomicUsize::new(0),
        };
        self.report(&callers.callers);
        let span = TraceSpan::of_group(self.table.as_str(), callers.callers.iter().map(|caller| &caller.span));
        let mut write = PartitionWrite::new(&pipeline, &self.table, Arc::clone(key), options, operations, callers);
        write.recovery = Recovery::PerCaller;
        write.rate = Some(self.rate.clone());
        write.total = total.unwrap_or_default();
        span.around(write.run(None)).await;
    }

    /// Reports a batch that is about to be sent.
    fn report(&self, callers: &[Caller]) {
        if let Some(first) = callers.iter().filter_map(|caller| caller.started).min() {
            self.pipeline.observers.notify(&Event::GroupedBatch(GroupedBatch {
                table: self.table.as_str(),
                writes: callers.len(),
                waited: first.elapsed(),
            }));
        }
    }

    /// Returns the pipeline of a batch, which creates a missing table or not.
    pub(super) fn batch_pipeline(&self, creates_table: bool) -> Arc<Pipeline> {
        if creates_table == self.pipeline.settings.creates_missing_tables {
            return Arc::clone(&self.pipeline);
        }
        let mut pipeline = Pipeline::clone(&self.pipeline);
        pipeline.settings.creates_missing_tables = creates_table;
        Arc::new(pipeline)
    }

    /// Returns the options of a batch. Its callers have equal options, except for their own timeouts and contexts.
    fn batch_options(&self, batch: &[Write]) -> CallOptions {
        let mut options = match batch.first() {
            Some(first) if !first.owner.options.is_empty() => {
                let mut options = first.owner.options.clone();
                let retry = &mut options.get_mut().retry;
                let inner = retry.take().unwrap_or_else(|| Arc::clone(&self.pipeline.retry));
                *retry = Some(leaving_throttled(inner));
                options
            }
            _ => self.plain.clone(),
        };
        if batch.iter().all(|write| write.owner.options.is_empty()) {
            return options;
        }
        let mut contexts: Vec<OperationContext> = Vec::new();
        for context in batch
            .iter()
            .filter_map(|write| write.owner.options.get().context.as_ref())
        {
            if !contexts.iter().any(|known| known.is_same(context)) {
                contexts.push(context.clone());
            }
        }
        let values = options.get_mut();
        // Limited by the latest deadline of its callers.
        values.timeout = None;
        values.context = match contexts.len() {
            0 | 1 => contexts.pop(),
            _ => Some(OperationContext::of_all(contexts)),
        };
        options
    }
}

impl fmt::Debug for Committer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Committer")
            .field("table", &self.table.as_str())
            .field("statistics", &self.lanes().statistics())
            .finish_non_exhaustive()
    }
}

/// The task of a lane. It ends when no write waits.
struct LaneTask {
    committer: Arc<Committer>,
    key: Arc<str>,
    /// The lane was removed, and its key may belong to a later one.
    is_over: bool,
}

impl LaneTask {
    async fn run(mut self) {
        loop {
            let next = self.committer.lanes().next(&self.key);
            match next {
                LaneStep::Send(batch) => {
                    let callers = batch.len();
                    self.committer.send(&self.key, batch).await;
                    let settled = self.committer.lanes().settled(&self.key);
                    // After the lock is released, since it wakes flushes.
                    drop(settled);
                    self.admit();
                    self.gather(callers).await;
                }
                LaneStep::Wait(due, hurry) => {
                    let left = due.saturating_duration_since(Instant::now());
                    let _ = clock::within(left, hurry.notified()).await;
                }
                LaneStep::End => {
                    self.is_over = true;
                    return self.admit();
                }
            }
        }
    }

    /// Yields while callers of the last batch write again and the next batch is not full.
    async fn gather(&self, callers: usize) {
        let mut waiting = 0;
        loop {
            let_others_run().await;
            let now = self.committer.lanes().waiting(&self.key);
            if now == waiting || now >= callers.min(MAX_BATCH_OPERATIONS) {
                return;
            }
            waiting = now;
        }
    }

    fn admit(&self) {
        self.committer.admit(&Handle::current());
    }
}

/// Puts the task behind those that are ready to run.
///
/// tokio's own `yield_now` waits for the I/O driver too, which costs a system call: a tenth of a single write.
async fn let_others_run() {
    let mut has_waited = false;
    poll_fn(|cx| {
        if has_waited {
            return Poll::Ready(());
        }
        has_waited = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The task may be dropped with its runtime. No caller must wait forever, and the next write starts another task.
impl Drop for LaneTask {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let (waiting, _settled) = self.committer.lanes().abandon(&self.key);
        for write in waiting {
            let error = self.committer.named(shut_down(), &write.operation);
            write.owner.slot.complete(Err(error));
        }
    }
}
