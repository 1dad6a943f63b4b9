//! The future of a caller whose write was accepted.
//!
//! Owns the caller's own time limit, and the withdrawal of a write whose caller is dropped.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use crate::client::group::committer::Committer;
use crate::client::group::slot::{Leaving, Slot};
use crate::model::clock::{self, Instant};
use crate::model::error::{Error, ErrorKind, Result};
use crate::pipeline::transport::BoxFuture;
use crate::protocol::operation::TableOperation;
use crate::protocol::table_result::TableResult;

/// A write that was accepted, for its caller.
pub(super) struct Ticket {
    committer: Arc<Committer>,
    slot: Arc<Slot>,
    /// The place of the write among all of the group.
    number: u64,
    /// A copy, which shares the bytes: names the write in errors, and finds it.
    operation: TableOperation,
    limit: Option<Limit>,
    is_answered: bool,
}

/// The timeout of the call.
struct Limit {
    timeout: Duration,
    end: Instant,
    /// `None` once the batch ends no later than the call.
    timer: Option<BoxFuture<'static, ()>>,
}

impl Ticket {
    pub(super) fn new(
        committer: Arc<Committer>,
        slot: Arc<Slot>,
        number: u64,
        operation: TableOperation,
        timeout: Option<(Duration, Instant)>,
    ) -> Self {
        Self {
            committer,
            slot,
            number,
            operation,
            limit: timeout.map(|(timeout, end)| Limit {
                timeout,
                end,
                timer: Some(Box::pin(clock::sleep(timeout))),
            }),
            is_answered: false,
        }
    }

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
            Leaving::Withdrawn { was_throttled: false } => {
                ("before the write was sent in a batch: it was withdrawn", false)
            }
            Leaving::Withdrawn { was_throttled: true } => (
                "while the service throttled the partition: the write waited to be sent again, and was withdrawn",
                false,
            ),
            Leaving::Sent(ends) if ends.is_none_or(|ends| ends > limit.end) => {
                ("while the batch of the write was in flight: the batch continues", true)
            }
            // Its own error says more.
            Leaving::Sent(_) | Leaving::Answered => return Poll::Pending,
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
            this.is_answered = true;
            return Poll::Ready(result);
        }
        this.poll_limit(cx).map(Err)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.is_answered && matches!(self.slot.leave(), Leaving::Withdrawn { .. }) {
            self.committer.withdraw(&self.operation, self.number);
        }
    }
}
