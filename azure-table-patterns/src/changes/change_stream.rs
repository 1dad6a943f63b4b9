//! The polls of a tail of changes.
//!
//! [`ChangeStream`] waits between polls and moves the position. A poll is one chain of pages. The next poll reads from
//! the service's time in the first response, less the duration of that request and less the overlap. Subtracting the
//! duration ensures that this time is never later than the start of the poll. Rows written after a page was read have
//! later Timestamps, however long the poll takes. A failed page is requested again, in the same poll.

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use std::vec;

use azure_table::query::PageStream;
use azure_table::telemetry::OperationContext;
use azure_table::{
    CallOptions, Continuation, DateTime, ETag, Error, Key, Page, ReadEntity, Result, TableEntity, Versioned,
};
use futures_core::Stream;
use futures_core::stream::FusedStream;
use tokio::time::Sleep;

use super::{ChangePosition, Changes, poll};

/// The progress of a [`ChangeStream`] in numbers.
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

/// The rows of a tail of [`Changes`]. Also a `futures::Stream`.
///
/// Dropping a pending `try_next` loses no row.
///
/// # Errors
/// The stream does not end: the next read waits as after a poll without changes, then requests the failed page again.
/// - The errors of [`TableQuery`](azure_table::TableQuery). A row that does not fit the entity type fails its page each
///   time; [`skip_bad_rows`](azure_table::TableQuery::skip_bad_rows) on the query continues after it.
/// - [`Other`](azure_table::ErrorKind::Other): the first response of a poll has no header `Date`.
#[must_use = "nothing is sent until it is polled"]
pub struct ChangeStream<E> {
    changes: Changes<E>,
    filters_timestamps: bool,
    position: ChangePosition,
    /// The last yielded version of each row that a later poll may return again.
    seen: HashMap<Key<E>, (ETag, DateTime)>,
    poll: CurrentPoll,
    /// The attempts that fetch `pages`.
    context: OperationContext,
    /// The remaining pages of the poll, once they are requested.
    pages: Option<PageStream<Versioned<E>>>,
    rows: vec::IntoIter<Versioned<E>>,
    /// The wait before the next request.
    pause: Option<Pin<Box<Sleep>>>,
    /// The next wait between two polls.
    wait: Duration,
    progress: ChangeProgress,
    is_over: bool,
}

/// The part of a poll that was read.
#[derive(Default)]
struct CurrentPoll {
    /// The time from which the next poll reads, known from the first page on.
    next_since: Option<DateTime>,
    /// The page to request after an error.
    from: Continuation,
    has_changes: bool,
}

/// No row is ever pinned: rows are moved out.
impl<E> Unpin for ChangeStream<E> {}

impl<E> ChangeStream<E> {
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
            remembered: self.seen.len(),
            ..self.progress
        }
    }
}

impl<E: TableEntity + ReadEntity> ChangeStream<E> {
    pub(super) fn new(changes: Changes<E>, position: ChangePosition, filters_timestamps: bool) -> Self {
        Self {
            is_over: changes.polls == Some(0),
            wait: changes.interval,
            changes,
            filters_timestamps,
            position,
            seen: HashMap::new(),
            poll: CurrentPoll::default(),
            context: OperationContext::new(),
            pages: None,
            rows: Vec::new().into_iter(),
            pause: None,
            progress: ChangeProgress::default(),
        }
    }

    /// Waits for the next row. Returns `None` only if the number of polls is limited, after the last one.
    ///
    /// Requests: 1 per page of each poll. Lost response: [harmless](azure_table::guide::operations).
    pub async fn try_next(&mut self) -> Result<Option<Versioned<E>>> {
        poll_fn(|cx| self.poll_row(cx)).await.transpose()
    }

    fn poll_row(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Versioned<E>>>> {
        loop {
            if let Some(row) = self.rows.next() {
                self.progress.changes += 1;
                self.end_page_without_rows();
                return Poll::Ready(Some(Ok(row)));
            }
            if self.is_over {
                return Poll::Ready(None);
            }
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(cx));
                self.pause = None;
            }
            let mut pages = self.pages.take().unwrap_or_else(|| self.request());
            let page = Pin::new(&mut pages).poll_next(cx);
            self.pages = Some(pages);
            let taken = match ready!(page) {
                Some(page) => page.and_then(|page| self.take_page(page)),
                None => {
                    self.end_poll();
                    Ok(())
                }
            };
            if let Err(e) = taken {
                self.pages = None;
                self.back_off();
                self.pause_for(self.wait);
                return Poll::Ready(Some(Err(e)));
            }
        }
    }

    /// Returns the remaining pages of the poll.
    fn request(&mut self) -> PageStream<Versioned<E>> {
        self.context = OperationContext::new();
        let query = self.changes.query.clone().resume_from(self.poll.from.clone());
        let query = query.with(&CallOptions::new().context(&self.context));
        // No row is older than the first date stored, and the service rejects the literal.
        let is_later = |time: &DateTime| self.filters_timestamps && *time > DateTime::MIN_STORED;
        let query = match self.position.since.filter(is_later) {
            Some(time) => poll(query, time),
            None => query,
        };
        query.pages()
    }

    /// Takes the rows of a page that were not yielded yet.
    fn take_page(&mut self, page: Page<Versioned<E>>) -> Result<()> {
        let since = self.position.since.unwrap_or(DateTime::MIN);
        let next_since = match self.poll.next_since {
            Some(next) => next,
            None => since.max(sent_at(&self.context)? - self.changes.overlap),
        };
        let next = page.continuation().clone();
        let received = page.into_items().into_iter();
        let received: Vec<_> = received
            .map(|row| Ok((Key::of(&row.entity)?, row)))
            .collect::<Result<_>>()?;
        (self.poll.next_since, self.poll.from) = (Some(next_since), next);
        self.progress.pages += 1;
        self.progress.rows += received.len() as u64;
        if let Some(rate) = self.changes.rate {
            self.pause_for(Duration::from_secs(received.len() as u64) / rate);
        }
        let mut rows = Vec::with_capacity(received.len());
        for (key, row) in received {
            // Cosmos DB also returns older rows.
            if row.timestamp < since {
                continue;
            }
            if self.seen.get(&key).is_some_and(|(etag, _)| *etag == row.etag) {
                self.progress.duplicates += 1;
                continue;
            }
            if row.timestamp >= next_since {
                self.seen.insert(key, (row.etag.clone(), row.timestamp));
            }
            rows.push(row);
        }
        self.poll.has_changes |= !rows.is_empty();
        self.rows = rows.into_iter();
        self.end_page_without_rows();
        Ok(())
    }

    /// Ends the poll once all rows of its last page were yielded.
    fn end_page_without_rows(&mut self) {
        if self.rows.as_slice().is_empty() && self.poll.from.is_finished() {
            self.end_poll();
        }
    }

    /// Moves the position, and waits for the next poll.
    fn end_poll(&mut self) {
        let poll = mem::take(&mut self.poll);
        if let Some(since) = poll.next_since {
            self.position.since = Some(since);
            self.seen.retain(|_, (_, timestamp)| *timestamp >= since);
            // Frees memory after a burst of writes.
            self.seen.shrink_to(4 * self.seen.len());
        }
        self.pages = None;
        self.progress.polls += 1;
        if poll.has_changes {
            self.wait = self.changes.interval;
        } else {
            self.back_off();
        }
        self.is_over = self.changes.polls.is_some_and(|most| self.progress.polls >= most);
        self.pause_for(self.wait);
    }

    fn back_off(&mut self) {
        let most = self.changes.max_interval.max(self.changes.interval);
        self.wait = self.wait.saturating_mul(2).min(most);
    }

    /// Waits until `time` from now, or for a longer wait that was set before.
    fn pause_for(&mut self, time: Duration) {
        let pause = Box::pin(tokio::time::sleep(time));
        let is_longer = |other: &Pin<Box<Sleep>>| other.deadline() > pause.deadline();
        if !self.pause.as_ref().is_some_and(is_longer) {
            self.pause = Some(pause);
        }
    }
}

/// Returns the service's time at which the attempts began, or a little earlier: the time of a response less the
/// duration of its attempt.
fn sent_at(context: &OperationContext) -> Result<DateTime> {
    let attempts = context.attempts();
    let sent = attempts
        .iter()
        .filter_map(|attempt| attempt.service_time()?.checked_sub(attempt.elapsed()));
    let first = sent.min().and_then(|time| DateTime::try_from(time).ok());
    first.ok_or_else(|| {
        Error::other("the response has no header `Date`: a tail of changes needs the service's time to continue")
    })
}

impl<E: TableEntity + ReadEntity> Stream for ChangeStream<E> {
    type Item = Result<Versioned<E>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_row(cx)
    }
}

impl<E: TableEntity + ReadEntity> FusedStream for ChangeStream<E> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<E> fmt::Debug for ChangeStream<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeStream")
            .field("position", &self.position)
            .field("progress", &self.progress())
            .finish_non_exhaustive()
    }
}
