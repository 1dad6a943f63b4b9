//! The callers' side of a group: accepts a write, and returns the future that its caller awaits.
//!
//! Applies the caller's own timeout, and withdraws the write of a dropped caller. A write in flight is withdrawn once
//! the service rejects its batch.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::transport::BoxFuture;
use azure_table_wire::value::clock::{self, Instant};
use tokio::runtime::Handle;

use crate::client::group::committer::Committer;
use crate::client::group::lanes::Caller;
use crate::client::group::slot::{Leaving, Slot};
use crate::client::ops::write_entity::ExecuteOperation;
use crate::pipeline::options::CallOptions;
use crate::pipeline::write_group::{GroupStatistics, WriteGroup};
use crate::write::operation::TableOperation;
use crate::write::table_result::TableResult;

impl WriteGroup for Committer {
    fn write(
        self: Arc<Self>,
        operation: TableOperation,
        options: CallOptions,
        creates_table: bool,
    ) -> Result<BoxFuture<'static, Result<TableResult>>> {
        operation.check()?;
        let Ok(runtime) = Handle::try_current() else {
            let why = "a grouped write is sent by a task: call it inside a tokio runtime";
            return Err(self.named(Error::invalid_input(why), &operation));
        };
        let timeout = options.get().timeout;
        let timeout = timeout.and_then(|timeout| Some((timeout, Instant::now().checked_add(timeout)?)));
        let deadline = timeout.map(|(_, end)| end);
        let started = (!self.pipeline.observers.is_empty()).then(Instant::now);
        let caller = Caller::new(operation.kind(), options, creates_table, deadline, started);
        let (slot, copy) = (Arc::clone(&caller.slot), operation.copy());
        let mut lanes = self.lanes();
        if lanes.is_closed {
            let why = "the group is closed: `close()` was called on this handle or a clone; write through a handle that is not grouped";
            return Err(self.named(Error::invalid_input(why), &operation));
        }
        if lanes.is_idle() {
            lanes.runtime = Some(runtime.id());
        } else if lanes.runtime != Some(runtime.id()) {
            // The task may never run if its callers are on another runtime.
            drop(lanes);
            let pipeline = self.batch_pipeline(creates_table);
            let alone = ExecuteOperation::new(&pipeline, &self.table, operation).of_options(caller.options);
            return Ok(Box::pin(alone));
        }
        let (number, started) = lanes.accept(operation, caller);
        drop(lanes);
        for key in started {
            self.start(&runtime, key);
        }
        Ok(Box::pin(Ticket {
            committer: self,
            slot,
            number,
            operation: copy,
            limit: timeout.map(|(timeout, end)| Limit {
                timeout,
                end,
                timer: Some(Box::pin(clock::sleep(timeout))),
            }),
            is_completed: false,
        }))
    }

    fn flush(&self) -> BoxFuture<'static, ()> {
        let ends = self.lanes().flush();
        Box::pin(ends)
    }

    fn close(&self) {
        self.lanes().is_closed = true;
    }

    fn statistics(&self) -> GroupStatistics {
        self.lanes().statistics()
    }
}

/// A write that was accepted, for its caller.
struct Ticket {
    committer: Arc<Committer>,
    slot: Arc<Slot>,
    /// The number of the write within the group.
    number: u64,
    /// A copy, which shares the bytes: names the write in errors, and finds it.
    operation: TableOperation,
    limit: Option<Limit>,
    is_completed: bool,
}

/// The timeout of the call.
struct Limit {
    timeout: Duration,
    end: Instant,
    /// `None` once the batch ends no later than the call.
    timer: Option<BoxFuture<'static, ()>>,
}

impl Ticket {
    /// Waits for the end of the call's time. Returns its error, if the batch does not end as early by itself.
    fn poll_limit(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        let Some(limit) = &mut self.limit else {
            return Poll::Pending;
        };
        let Some(timer) = &mut limit.timer else {
            return Poll::Pending;
        };
        ready!(timer.as_mut().poll(cx));
        limit.timer = None;
        let (why, is_in_doubt) = match self.slot.leave() {
            Leaving::Withdrawn { was_throttled: false } => ("before the write was sent: it was withdrawn", false),
            Leaving::Withdrawn { was_throttled: true } => (
                "while the service throttled the partition: the write waited to be sent again, and was withdrawn",
                false,
            ),
            Leaving::Sent(ends) if ends.is_none_or(|ends| ends > limit.end) => {
                self.slot.abandon();
                ("while the batch of the write was in flight: the batch continues", true)
            }
            // Its own error says more.
            Leaving::Sent(_) | Leaving::Completed => return Poll::Pending,
        };
        let error = Error::new(
            ErrorKind::Timeout,
            format!("the `timeout` of {:?} ended {why}", limit.timeout),
        );
        Poll::Ready(self.committer.named(error, &self.operation).maybe_applied(is_in_doubt))
    }
}

impl Future for Ticket {
    type Output = Result<TableResult>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Poll::Ready(result) = this.slot.poll(cx) {
            this.is_completed = true;
            return Poll::Ready(result);
        }
        this.poll_limit(cx).map(Err)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.is_completed {
            return;
        }
        self.slot.abandon();
        if matches!(self.slot.leave(), Leaving::Withdrawn { .. }) {
            self.committer.withdraw(&self.operation, self.number);
        }
    }
}
