//! The pages and rows of a query as they come.
//!
//! Owns the walk from continuation to continuation, of entities and of tables. A page without rows that has a continuation
//! is not the end; the absence of the continuation is. At most two pages are held: the one that is read, and the one behind
//! it (`prefetch.rs`).

use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::vec;

use futures_core::Stream;
use futures_core::stream::FusedStream;
use http::StatusCode;

use crate::client::ops::operation::start;
use crate::client::query::part_pages::PartPages;
use crate::client::query::plan::too_much;
use crate::client::query::prefetch::{Ahead, Prefetch};
use crate::client::shape::Shape;
use crate::model::error::{Error, Result};
use crate::pipeline::observer::Event;
use crate::pipeline::options::CallOptions;
use crate::pipeline::run::{Answer, Pipeline};
use crate::pipeline::transport::BoxFuture;
use crate::protocol::answer;
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
    /// In a box: streams are moved, and stay small.
    asked: Box<Asked>,
    state: State,
    /// Whether a page was given.
    has_given: bool,
    shape: Shape<P>,
}

/// What a stream is to give.
pub(crate) struct Asked {
    pub(crate) request: QueryRequest,
    /// How many comparisons its filter has.
    pub(crate) comparisons: usize,
    /// How many rows are still wanted.
    pub(crate) limit: Option<usize>,
    pub(crate) prefetch: Prefetch,
}

enum State {
    /// The query cannot be sent, or not any further.
    Refused(Error),
    /// The page at this position is next.
    Ready(Option<Continuation>),
    Running(BoxFuture<'static, Result<Answer>>),
    /// The same, whether it is waited for or not.
    Ahead(Ahead),
    Done,
}

impl<P> PageStream<P> {
    pub(crate) fn new(
        pipeline: Arc<Pipeline>,
        options: CallOptions,
        asked: Asked,
        from: Option<Continuation>,
        shape: Shape<P>,
    ) -> Self {
        let kept = from.as_ref().and_then(|from| from.query);
        let state = if kept.is_some_and(|kept| kept != asked.request.identity()) {
            let why = "the continuation is of another query: of another table, or with other conditions";
            State::Refused(Error::invalid_input(why).in_operation(asked.request.operation(), asked.request.table()))
        } else if asked.limit == Some(0) {
            State::Done
        } else {
            State::Ready(from)
        };
        Self {
            pipeline,
            options,
            asked: Box::new(asked),
            state,
            has_given: false,
            shape,
        }
    }

    /// One that gives the error.
    pub(crate) fn refused(pipeline: Arc<Pipeline>, table: &str, error: Error, shape: Shape<P>) -> Self {
        let error = error.in_operation(query::OPERATION, Some(table));
        Self {
            pipeline,
            options: CallOptions::new(),
            asked: Box::new(Asked {
                request: QueryRequest::entities(table),
                comparisons: 0,
                limit: None,
                prefetch: Prefetch::Never,
            }),
            state: State::Refused(error),
            has_given: false,
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

    /// The items of all pages.
    pub(crate) async fn all(mut self) -> Result<Vec<P>> {
        let mut all = Vec::new();
        while let Some(page) = self.try_next().await? {
            match all.is_empty() {
                true => all = page.into_items(),
                false => all.extend(page.into_items()),
            }
        }
        Ok(all)
    }

    /// The request for the first page as text.
    pub(crate) fn request(self) -> Result<String> {
        let from = match self.state {
            State::Refused(e) => return Err(e),
            State::Ready(from) => from,
            // A limit of no rows asks for nothing.
            _ => None,
        };
        let request = &self.asked.request;
        let call = request.call(&self.pipeline.endpoint, from.as_ref());
        call.and_then(|call| self.pipeline.show(call, &self.options))
            .map_err(|e| e.in_operation(request.operation(), request.table()))
    }

    pub(crate) fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Page<P>>>> {
        loop {
            let answered = match &mut self.state {
                State::Running(running) => ready!(running.as_mut().poll(cx)),
                State::Ahead(ahead) => ready!(ahead.poll(cx)),
                State::Ready(_) | State::Refused(_) | State::Done => match mem::replace(&mut self.state, State::Done) {
                    State::Ready(from) => {
                        self.state = match self.call(from) {
                            Ok(call) => State::Running(call),
                            Err(e) => State::Refused(e),
                        };
                        continue;
                    }
                    State::Refused(e) => return Poll::Ready(Some(Err(e))),
                    _ => return Poll::Ready(None),
                },
            };
            self.state = State::Done;
            let page = answered.and_then(|answer| self.take_page(answer));
            if page.is_err() {
                self.state = State::Done;
            }
            self.has_given = true;
            return Poll::Ready(Some(page));
        }
    }

    /// The call for the page at this position.
    fn call(&self, from: Option<Continuation>) -> Result<BoxFuture<'static, Result<Answer>>> {
        let request = &self.asked.request;
        let call = request
            .call(&self.pipeline.endpoint, from.as_ref())
            .map_err(|e| e.in_operation(request.operation(), request.table()))?;
        let mut options = self.options.clone();
        if let Some(location) = from.and_then(|from| from.location) {
            options.set(|wishes| wishes.pinned = Some(location));
        }
        Ok(start(&self.pipeline, call, options))
    }

    /// Moves on to the continuation of a page, then decodes the page; with a limit the other way round, since its rows may be
    /// enough.
    fn take_page(&mut self, answer: Answer) -> Result<Page<P>> {
        let Answer { response, call, .. } = answer;
        let request_id = answer::request_id(&response);
        let mut next = match response.status() {
            StatusCode::OK => {
                Continuation::of(response.headers()).map_err(|e| call.tell(e.with_request_id(request_id.clone())))?
            }
            _ => None,
        };
        if let Some(next) = &mut next {
            next.query = Some(self.asked.request.identity());
            // What is a position in one region is none in the other.
            if self.options.get().location_mode.is_some() {
                next.location = Some(call.location);
            }
        }
        if self.asked.limit.is_none() {
            self.go_on(next.as_ref());
        }
        let rows = query::answer(response, self.shape.metadata, |row| self.shape.read_or_skip(row))
            .map_err(|e| self.advise(call.tell(e)))?;
        if let Some(table) = self.asked.request.table() {
            self.pipeline.tell(&Event::Read {
                operation: query::OPERATION,
                table,
                entities: rows.len(),
            });
        }
        let mut page = Page {
            items: rows,
            continuation: next,
            request_id,
            request_charge: call.diagnostics.request_charge(),
        };
        if let Some(wanted) = &mut self.asked.limit {
            if page.items.len() > *wanted {
                page.items.truncate(*wanted);
                page.continuation = None;
            }
            *wanted -= page.items.len();
            if *wanted > 0 {
                self.go_on(page.continuation.as_ref());
            }
        }
        Ok(page)
    }

    /// What comes after a page: the next one, which may be fetched at once.
    fn go_on(&mut self, next: Option<&Continuation>) {
        let Some(next) = next else { return };
        let is_at_once = match self.asked.prefetch {
            Prefetch::Never => false,
            Prefetch::AfterFirst => self.has_given,
            Prefetch::FromStart => true,
        };
        self.state = if is_at_once {
            match self.call(Some(next.clone())).map(Ahead::begin) {
                Ok(Ok(ahead)) => State::Ahead(ahead),
                Ok(Err(call)) => State::Running(call),
                Err(e) => State::Refused(e),
            }
        } else {
            State::Ready(Some(next.clone()))
        };
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// What a refused query may have too much of.
    fn advise(&self, error: Error) -> Error {
        let is_refused = matches!(error.status(), Some(400 | 404 | 413 | 414 | 431));
        if !is_refused || error.has_message() || error.code() == Some("TableNotFound") {
            return error;
        }
        let url = self.asked.request.call(&self.pipeline.endpoint, None);
        let characters = url.map_or(0, |call| call.request.uri().to_string().len());
        match too_much(self.asked.comparisons, characters) {
            Some(what) => error.with_message(what),
            None => error,
        }
    }
}

impl<P> Stream for PageStream<P> {
    type Item = Result<Page<P>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_page(cx)
    }
}

impl<P> FusedStream for PageStream<P> {
    fn is_terminated(&self) -> bool {
        self.is_over()
    }
}

impl<P> fmt::Debug for PageStream<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageStream")
            .field("wanted", &self.asked.limit)
            .finish_non_exhaustive()
    }
}

/// The rows of a query: a [`Stream`], with a `try_next` of its own. Ends after the last row and after an error.
#[must_use = "nothing is sent until it is polled"]
pub struct EntityStream<P> {
    pages: Pages<P>,
    rows: vec::IntoIter<P>,
    /// How many rows are still wanted of several chains; one chain knows itself.
    wanted: usize,
}

enum Pages<P> {
    Chain(PageStream<P>),
    Parts(Box<PartPages<P>>),
}

/// No row is ever pinned: rows are moved out.
impl<P> Unpin for EntityStream<P> {}

impl<P> EntityStream<P> {
    pub(crate) fn new(pages: PageStream<P>) -> Self {
        Self {
            pages: Pages::Chain(pages),
            rows: Vec::new().into_iter(),
            wanted: usize::MAX,
        }
    }

    pub(crate) fn of_parts(pages: PartPages<P>, limit: Option<usize>) -> Self {
        Self {
            pages: Pages::Parts(Box::new(pages)),
            rows: Vec::new().into_iter(),
            wanted: limit.unwrap_or(usize::MAX),
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
            if self.wanted == 0 {
                // What is on its way is wanted no longer.
                if let Pages::Parts(parts) = &mut self.pages {
                    parts.clear();
                }
                return Poll::Ready(None);
            }
            if let Some(row) = self.rows.next() {
                self.wanted -= 1;
                return Poll::Ready(Some(Ok(row)));
            }
            // The room of a page that was read is given back before the next is decoded.
            self.rows = Vec::new().into_iter();
            let page = match &mut self.pages {
                Pages::Chain(pages) => ready!(pages.poll_page(cx)),
                Pages::Parts(parts) => ready!(parts.poll_page(cx)).map(|(_, page)| page),
            };
            match page {
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
        let is_last = match &self.pages {
            Pages::Chain(pages) => pages.is_over(),
            Pages::Parts(parts) => parts.is_over(),
        };
        self.wanted == 0 || self.rows.as_slice().is_empty() && is_last
    }
}

impl<P> fmt::Debug for EntityStream<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntityStream")
            .field("held", &self.rows.as_slice().len())
            .finish_non_exhaustive()
    }
}
