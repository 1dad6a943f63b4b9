//! The polls of a tail of changes.
//!
//! [`ChangeStream`] waits between polls and moves the position. A poll is one chain of pages. The next poll reads from
//! the service's time in the first response, less the duration of that request and less the overlap. Subtracting the
//! duration ensures that this time is never later than the start of the poll. Rows written after a page was read have
//! later Timestamps, however long the poll takes. A failed page is requested again, in the same poll.

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::filter::expression::{Comparison, Expression};
use azure_table_wire::transport::BoxFuture;
use azure_table_wire::value::clock::{self, Instant};
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::edm::EdmValue;
use futures_core::Stream;
use futures_core::stream::FusedStream;
use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use std::vec;

use crate::client::query::changes::change_position::ChangePosition;
use crate::client::query::changes::change_window::ChangeWindow;
use crate::client::query::key_condition::both;
use crate::client::query::page::Page;
use crate::client::query::page_chain::{PageChain, PreparedQuery};
use crate::client::query::page_stream::PageStream;
use crate::client::sending_rate::SendingRate;
use crate::client::shape::Shape;
use crate::client::total_timeout::TotalTimeout;
use crate::entity::versioned::Versioned;
use crate::key::entity_key::Key;
use crate::pipeline::Pipeline;
use crate::pipeline::options::CallOptions;
use crate::request::continuation::Continuation;

/// A received row with its key.
pub(super) type Found<P> = (Key<P>, Versioned<P>);

/// The query of each poll, without its time.
pub(super) struct ChangeQuery<P> {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) options: CallOptions,
    pub(super) shape: Shape<Found<P>>,
    pub(super) prepared: PreparedQuery,
    pub(super) filter: Option<Expression>,
}

/// The settings of a tail of changes.
#[derive(Debug)]
pub(super) struct ChangeSettings {
    pub(super) overlap: Duration,
    pub(super) interval: Duration,
    pub(super) max_interval: Duration,
    /// The number of polls; `None` is without end.
    pub(super) polls: Option<u64>,
    /// The number of rows to yield.
    pub(super) limit: usize,
    pub(super) rate: Option<SendingRate>,
    pub(super) total: TotalTimeout,
}

/// Returns the condition of a poll from `time` on. `None` is the beginning.
pub(super) fn since(filter: Option<Expression>, time: Option<DateTime>) -> Option<Expression> {
    // No row is older, and the service rejects the literal.
    let time = time.filter(|time| *time > DateTime::MIN_STORED);
    let is_later = time.map(|time| Expression::comparison("Timestamp", Comparison::Ge, EdmValue::from(time)));
    both(filter, is_later)
}

/// The progress of a tail of changes in numbers, since its stream began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangeProgress {
    /// The number of complete polls.
    pub polls: u64,
    /// The number of pages read: requests without their retries.
    pub pages: u64,
    /// The number of rows received.
    pub rows: u64,
    /// The number of rows received in a version that was yielded before. They are not yielded again.
    pub duplicates: u64,
    /// The number of rows yielded.
    pub changes: u64,
    /// The number of rows whose version is remembered: the rows of the overlap and of the current poll.
    pub remembered: usize,
}

/// The rows of a tail of [`Changes`](crate::query::Changes): a [`Stream`] with its own `try_next`.
///
/// An error of a request does not end it. Dropping a pending `try_next` loses no row.
#[must_use = "nothing is sent until it is polled"]
pub struct ChangeStream<P> {
    /// The query, or the reason that none is sent.
    query: Result<Box<ChangeQuery<P>>, Option<Error>>,
    settings: ChangeSettings,
    position: ChangePosition,
    window: ChangeWindow<P>,
    poll: CurrentPoll,
    /// The pages of the poll from its next one on, once they are requested.
    pages: Option<PageStream<Found<P>>>,
    /// The continuation after the page whose rows are yielded; `Some(None)` after the last page.
    held: Option<Option<Continuation>>,
    rows: vec::IntoIter<Versioned<P>>,
    /// The wait before the rows of a page, or before the next request.
    pause: Option<BoxFuture<'static, ()>>,
    /// The next wait between two polls.
    wait: Duration,
    /// Wakes the task at the deadline while it pauses.
    timer: Option<BoxFuture<'static, ()>>,
    progress: ChangeProgress,
    is_over: bool,
}

/// The part of a poll that was read.
#[derive(Default)]
struct CurrentPoll {
    /// The time from which the next poll reads, known from the first page on.
    next_since: Option<DateTime>,
    /// The page to request after an error.
    from: Option<Continuation>,
    has_changes: bool,
}

/// No row is ever pinned: rows are moved out.
impl<P> Unpin for ChangeStream<P> {}

impl<P> ChangeStream<P> {
    pub(super) fn new(query: Result<ChangeQuery<P>>, settings: ChangeSettings, position: ChangePosition) -> Self {
        Self {
            query: query.map(Box::new).map_err(Some),
            is_over: settings.polls == Some(0) || settings.limit == 0,
            wait: settings.interval,
            settings,
            position,
            window: ChangeWindow::new(),
            poll: CurrentPoll::default(),
            pages: None,
            held: None,
            rows: Vec::new().into_iter(),
            pause: None,
            timer: None,
            progress: ChangeProgress::default(),
        }
    }

    /// Returns the next row. Waits for one, unless the number of polls or rows is limited: then `None` after the last.
    ///
    /// Requests: 1 per page of each poll. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// See [`Changes`](crate::query::Changes).
    pub async fn try_next(&mut self) -> Result<Option<Versioned<P>>> {
        poll_fn(|cx| self.poll_row(cx)).await.transpose()
    }

    /// Returns the position to resume from. It moves when the last row of a poll is yielded.
    ///
    /// Store it after the rows that were yielded so far are processed. A tail that resumes from it yields all rows of
    /// an incomplete poll again.
    pub fn position(&self) -> &ChangePosition {
        &self.position
    }

    /// Returns the progress in numbers.
    pub fn progress(&self) -> ChangeProgress {
        ChangeProgress {
            remembered: self.window.len(),
            ..self.progress
        }
    }

    fn poll_row(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Versioned<P>>>> {
        loop {
            if self.is_over {
                return Poll::Ready(None);
            }
            self.settings.total.begin();
            if let Some(pause) = &mut self.pause {
                if self.settings.total.poll_is_over(&mut self.timer, cx) {
                    self.is_over = true;
                    return Poll::Ready(Some(Err(self.named(self.settings.total.error()))));
                }
                ready!(pause.as_mut().poll(cx));
                (self.pause, self.timer) = (None, None);
            }
            if let Some(row) = self.rows.next() {
                self.progress.changes += 1;
                self.settings.limit -= 1;
                if self.rows.as_slice().is_empty() {
                    self.page_read();
                }
                if self.settings.limit == 0 {
                    (self.is_over, self.pages) = (true, None);
                }
                return Poll::Ready(Some(Ok(row)));
            }
            let pages = match (&mut self.pages, &mut self.query) {
                (Some(pages), _) => pages,
                (pages, Ok(query)) => {
                    pages.insert(query.pages(self.position.since(), self.poll.from.as_ref(), self.settings.total))
                }
                (None, Err(rejected)) => {
                    self.is_over = true;
                    return Poll::Ready(rejected.take().map(Err));
                }
            };
            let page = ready!(pages.poll_page(cx)).transpose();
            if let Err(e) = page.and_then(|page| self.take_page(page)) {
                self.pages = None;
                self.is_over = self.settings.total.ended(&e);
                self.back_off();
                self.pause_for(self.wait);
                return Poll::Ready(Some(Err(e)));
            }
        }
    }

    /// Takes the rows of a page that were not yielded yet.
    fn take_page(&mut self, page: Option<Page<Found<P>>>) -> Result<()> {
        let Some(page) = page else {
            self.complete_poll();
            return Ok(());
        };
        let since = self.position.since().unwrap_or(DateTime::MIN);
        let next_since = match (self.poll.next_since, page.end.requested_at) {
            (Some(next), _) => next,
            (None, Some(started)) => since.max(started - self.settings.overlap),
            (None, None) => {
                return Err(self.named(Error::invalid_response(
                    "the response has no header `Date`: a tail of changes needs the service's time to continue",
                )));
            }
        };
        self.poll.next_since = Some(next_since);
        // A page that is cut is requested again after its error, so all of its rows are remembered.
        self.held = (!page.end.is_cut).then(|| page.end.next().cloned());
        let remembered_from = if page.end.is_cut { DateTime::MIN } else { next_since };
        self.progress.pages += 1;
        self.wait_for_rate(page.items().len());
        let received = page.into_items();
        self.progress.rows += received.len() as u64;
        let mut rows = Vec::with_capacity(received.len());
        for (key, row) in received {
            // A service that does not filter by Timestamp also returns older rows.
            if row.timestamp < since {
                continue;
            }
            if self.window.is_new(key, &row, remembered_from) {
                rows.push(row);
            } else {
                self.progress.duplicates += 1;
            }
        }
        self.poll.has_changes |= !rows.is_empty();
        self.rows = rows.into_iter();
        if self.rows.as_slice().is_empty() {
            self.page_read();
        }
        Ok(())
    }

    /// Records that all rows of the page were yielded.
    fn page_read(&mut self) {
        match self.held.take() {
            Some(Some(next)) => self.poll.from = Some(next),
            Some(None) => self.complete_poll(),
            None => {}
        }
    }

    /// Moves the position, and waits for the next poll.
    fn complete_poll(&mut self) {
        let poll = mem::take(&mut self.poll);
        if let Some(since) = poll.next_since {
            self.position.since = Some(since);
            self.window.forget_before(since);
        }
        self.pages = None;
        self.progress.polls += 1;
        if poll.has_changes {
            self.wait = self.settings.interval
        } else {
            self.back_off()
        }
        self.is_over = self.settings.polls.is_some_and(|most| self.progress.polls >= most);
        self.pause_for(self.wait);
    }

    fn back_off(&mut self) {
        let most = self.settings.max_interval.max(self.settings.interval);
        self.wait = self.wait.saturating_mul(2).min(most);
    }

    /// Waits until `time` from now, and for any wait that was set before.
    fn pause_for(&mut self, time: Duration) {
        let (before, started) = (self.pause.take(), Instant::now());
        self.pause = Some(Box::pin(async move {
            if let Some(before) = before {
                before.await;
            }
            clock::sleep(time.saturating_sub(started.elapsed())).await;
        }));
    }

    /// Waits before the next page as long as the rate requires for this number of rows.
    fn wait_for_rate(&mut self, rows: usize) {
        if let Some(rate) = self.settings.rate.clone() {
            self.pause = Some(Box::pin(async move {
                rate.acquire("", rows).await;
            }));
        }
    }

    /// Returns the error of the stream itself, with the operation and the table.
    fn named(&self, error: Error) -> Error {
        let table = self
            .query
            .as_ref()
            .ok()
            .and_then(|query| query.prepared.request.table());
        error.in_operation(OperationKind::Query, table)
    }
}

impl<P> ChangeQuery<P> {
    /// Returns the pages of a poll, or its remaining pages from a continuation on.
    fn pages(&self, time: Option<DateTime>, from: Option<&Continuation>, total: TotalTimeout) -> PageStream<Found<P>> {
        // Otherwise the service returns all rows, and the stream selects.
        let filters_timestamps = self.pipeline.endpoint.profile().rules().filters_timestamps;
        let time = time.filter(|_| filters_timestamps);
        let filter = since(self.filter.clone(), time);
        let query = PreparedQuery {
            total,
            ..self.prepared.filtered(filter.as_ref())
        };
        let (pipeline, options) = (Arc::clone(&self.pipeline), self.options.clone());
        let chain = PageChain::new(pipeline, options, query, from.cloned());
        PageStream::new(chain, self.shape.clone())
    }
}

impl<P> Stream for ChangeStream<P> {
    type Item = Result<Versioned<P>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_row(cx)
    }
}

impl<P> FusedStream for ChangeStream<P> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<P> fmt::Debug for ChangeStream<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeStream")
            .field("position", &self.position)
            .field("progress", &self.progress())
            .finish_non_exhaustive()
    }
}
