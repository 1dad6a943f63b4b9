//! Many writes as a stream of what became of each.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use futures_core::stream::FusedStream;

use crate::client::bulk::bulk_builder::BulkWrite;
use crate::client::bulk::bulk_report::{BulkOutcome, BulkReport};
use crate::client::bulk::engine::BulkRun;
use crate::client::bulk::interrupted::Interrupted;
use crate::client::ops::operation::ended;
use crate::model::error::{Error, Result};
use crate::protocol::operation::TableOperation;

/// The outcomes of many writes: a [`Stream`], with a `next` of its own. They go on while it is polled; what is on its way and not
/// polled for the time of an attempt, 60 s by default, ends in doubt.
#[must_use = "nothing is written until it is polled"]
pub struct BulkOutcomes<S, X = Error>(BulkWrite<S, X>);

impl<S, X> Unpin for BulkOutcomes<S, X> {}

impl<S, X> BulkOutcomes<S, X>
where
    S: Stream<Item = Result<TableOperation, X>>,
    X: From<Error>,
{
    pub(super) fn new(write: BulkWrite<S, X>) -> Self {
        Self(write)
    }

    /// The next outcome; `None` after the last. A `next` that is dropped loses nothing.
    pub async fn next(&mut self) -> Option<BulkOutcome> {
        poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<BulkOutcome>> {
        let outcome = ready!(self.0.poll_outcome(cx));
        self.0.tell_progress();
        Poll::Ready(outcome)
    }

    /// What was done so far, in numbers.
    pub fn report(&self) -> Option<&BulkReport> {
        self.0.run.as_ref().map(|run| &run.report)
    }

    /// Ends it where it is: what was sent and has no answer is in doubt, what was not sent is not tried, and both are
    /// [left over](BulkReport::leftovers); or, after the last outcome, how it ended.
    ///
    /// # Errors
    /// As awaiting [`BulkWrite`].
    pub fn finish(self) -> Result<BulkReport, Interrupted<BulkReport, X>> {
        match self.0.run {
            Some(mut run) => {
                run.give_up();
                BulkWrite::ended(run)
            }
            None => Err(Interrupted::new(ended().into(), BulkReport::default())),
        }
    }
}

impl<S, X> Stream for BulkOutcomes<S, X>
where
    S: Stream<Item = Result<TableOperation, X>>,
    X: From<Error>,
{
    type Item = BulkOutcome;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<BulkOutcome>> {
        self.get_mut().poll(cx)
    }
}

impl<S, X> FusedStream for BulkOutcomes<S, X>
where
    S: Stream<Item = Result<TableOperation, X>>,
    X: From<Error>,
{
    fn is_terminated(&self) -> bool {
        self.0.run.as_ref().is_none_or(BulkRun::is_over)
    }
}

impl<S, X> fmt::Debug for BulkOutcomes<S, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
