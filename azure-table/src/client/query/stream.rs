//! The pages and rows of a query as they come.
//!
//! Owns the walk from continuation to continuation. A page without rows that has a continuation is not the end; the
//! absence of the continuation is. At most one page is held; it is decoded before the next one is asked for.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::vec;

use futures_core::Stream;
use futures_core::stream::FusedStream;

use crate::client::ops::operation::{ended, start};
use crate::client::shape::Shape;
use crate::model::error::{Error, Result};
use crate::model::name::TableName;
use crate::pipeline::observer::Event;
use crate::pipeline::options::CallOptions;
use crate::pipeline::run::{Answer, Pipeline};
use crate::pipeline::transport::BoxFuture;
use crate::protocol::continuation::Continuation;
use crate::protocol::query::{self, QueryRequest};

/// One page of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<P> {
    items: Vec<P>,
    continuation: Option<Continuation>,
    request_id: Option<String>,
    request_charge: Option<f64>,
}

impl<P> Page<P> {
    /// The rows; a page may have none though others follow.
    pub fn items(&self) -> &[P] {
        &self.items
    }

    /// The rows.
    pub fn into_items(self) -> Vec<P> {
        self.items
    }

    /// Where the next page begins. `None` on the last page, and on one that [`limit`](crate::TableQuery::limit) cut
    /// short.
    pub fn continuation(&self) -> Option<&Continuation> {
        self.continuation.as_ref()
    }

    /// The service's id of the request.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// What the page cost with all attempts, in request units of Cosmos DB; Storage never says.
    pub fn request_charge(&self) -> Option<f64> {
        self.request_charge
    }
}

/// The pages of a query: a [`Stream`], with a `try_next` of its own. Ends after the last page and after an error.
#[must_use = "nothing is sent until it is polled"]
pub struct PageStream<P> {
    pipeline: Arc<Pipeline>,
    options: CallOptions,
    state: State,
    /// How many rows are still wanted.
    remaining: Option<usize>,
    shape: Shape<P>,
}

enum State {
    /// The query cannot be sent.
    Refused(Error),
    /// The page at this position is next.
    Ready(QueryRequest, Option<Continuation>),
    Running(QueryRequest, BoxFuture<'static, Result<Answer>>),
    Done,
}

impl<P> PageStream<P> {
    pub(crate) fn new(
        pipeline: Arc<Pipeline>,
        options: CallOptions,
        table: &TableName,
        request: Result<QueryRequest>,
        from: Option<Continuation>,
        limit: Option<usize>,
        shape: Shape<P>,
    ) -> Self {
        let state = match request {
            Err(e) => State::Refused(e.in_operation(query::OPERATION, Some(table.as_str()))),
            Ok(request) if is_of_another(&request, from.as_ref()) => State::Refused(
                Error::invalid_input(
                    "the continuation is of another query: of another table, or with other conditions",
                )
                .in_operation(query::OPERATION, Some(&request.table)),
            ),
            Ok(_) if limit == Some(0) => State::Done,
            Ok(request) => State::Ready(request, from),
        };
        Self {
            pipeline,
            options,
            state,
            remaining: limit,
            shape,
        }
    }

    /// The next page; `None` after the last.
    ///
    /// # Errors
    /// See [`TableQuery`](crate::TableQuery).
    pub async fn try_next(&mut self) -> Result<Option<Page<P>>> {
        poll_fn(|cx| self.poll_page(cx)).await.transpose()
    }

    /// The request for the next page as text.
    pub(crate) fn request(self) -> Result<String> {
        let (request, from) = match self.state {
            State::Refused(e) => return Err(e),
            State::Ready(request, from) => (request, from),
            State::Running(..) | State::Done => return Err(ended()),
        };
        let call = request.call(&self.pipeline.endpoint, from.as_ref());
        call.and_then(|call| self.pipeline.show(call, &self.options))
            .map_err(|e| e.in_operation(query::OPERATION, Some(&request.table)))
    }

    fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Page<P>>>> {
        loop {
            match std::mem::replace(&mut self.state, State::Done) {
                State::Done => return Poll::Ready(None),
                State::Refused(e) => return Poll::Ready(Some(Err(e))),
                State::Ready(request, from) => match request.call(&self.pipeline.endpoint, from.as_ref()) {
                    Ok(call) => {
                        let mut options = self.options.clone();
                        if let Some(location) = from.and_then(|from| from.location) {
                            options.set(|wishes| wishes.pinned = Some(location));
                        }
                        self.state = State::Running(request, start(&self.pipeline, call, options));
                    }
                    Err(e) => {
                        let e = e.in_operation(query::OPERATION, Some(&request.table));
                        return Poll::Ready(Some(Err(e)));
                    }
                },
                State::Running(request, mut running) => match running.as_mut().poll(cx) {
                    Poll::Pending => {
                        self.state = State::Running(request, running);
                        return Poll::Pending;
                    }
                    Poll::Ready(Err(e)) => return Poll::Ready(Some(Err(e))),
                    Poll::Ready(Ok(answer)) => return Poll::Ready(Some(self.take_page(request, answer))),
                },
            }
        }
    }

    /// Decodes a page and moves on to its continuation.
    fn take_page(&mut self, request: QueryRequest, answer: Answer) -> Result<Page<P>> {
        let page = query::answer(answer.response, self.shape.metadata, |row| self.shape.read_or_skip(row))
            .map_err(|e| answer.call.tell(e))?;
        self.pipeline.tell(&Event::Read {
            operation: query::OPERATION,
            table: &request.table,
            entities: page.rows.len(),
        });
        let mut page = Page {
            items: page.rows,
            continuation: page.continuation,
            request_id: page.request_id,
            request_charge: answer.call.diagnostics.request_charge(),
        };
        if let Some(next) = &mut page.continuation {
            next.query = Some(request.identity());
            // What is a position in one region is none in the other.
            if self.options.get().location_mode.is_some() {
                next.location = Some(answer.call.location);
            }
        }
        if let Some(remaining) = &mut self.remaining {
            if page.items.len() > *remaining {
                page.items.truncate(*remaining);
                page.continuation = None;
            }
            *remaining -= page.items.len();
        }
        if let Some(next) = &page.continuation
            && self.remaining != Some(0)
        {
            self.state = State::Ready(request, Some(next.clone()));
        }
        Ok(page)
    }
}

fn is_of_another(request: &QueryRequest, from: Option<&Continuation>) -> bool {
    let kept = from.and_then(|from| from.query);
    kept.is_some_and(|kept| kept != request.identity())
}

impl<P> Stream for PageStream<P> {
    type Item = Result<Page<P>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_page(cx)
    }
}

impl<P> FusedStream for PageStream<P> {
    fn is_terminated(&self) -> bool {
        matches!(self.state, State::Done)
    }
}

impl<P> fmt::Debug for PageStream<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageStream")
            .field("remaining", &self.remaining)
            .finish_non_exhaustive()
    }
}

/// The rows of a query: a [`Stream`], with a `try_next` of its own. Ends after the last row and after an error.
#[must_use = "nothing is sent until it is polled"]
pub struct EntityStream<P> {
    pages: PageStream<P>,
    rows: vec::IntoIter<P>,
}

/// No row is ever pinned: rows are moved out.
impl<P> Unpin for EntityStream<P> {}

impl<P> EntityStream<P> {
    pub(crate) fn new(pages: PageStream<P>) -> Self {
        Self {
            pages,
            rows: Vec::new().into_iter(),
        }
    }

    /// The next row; `None` after the last.
    ///
    /// # Errors
    /// See [`TableQuery`](crate::TableQuery).
    pub async fn try_next(&mut self) -> Result<Option<P>> {
        poll_fn(|cx| self.poll_row(cx)).await.transpose()
    }

    fn poll_row(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<P>>> {
        loop {
            if let Some(row) = self.rows.next() {
                return Poll::Ready(Some(Ok(row)));
            }
            match ready!(self.pages.poll_page(cx)) {
                Some(Ok(page)) => self.rows = page.into_items().into_iter(),
                Some(Err(e)) => return Poll::Ready(Some(Err(e))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl<P> Stream for EntityStream<P> {
    type Item = Result<P>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_row(cx)
    }
}

impl<P> FusedStream for EntityStream<P> {
    fn is_terminated(&self) -> bool {
        self.rows.as_slice().is_empty() && self.pages.is_terminated()
    }
}

impl<P> fmt::Debug for EntityStream<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntityStream")
            .field("held", &self.rows.as_slice().len())
            .finish_non_exhaustive()
    }
}
