//! The chain of requests for the pages of a query.
//!
//! The chain follows the continuations, for entities and for tables. The end is a page without a continuation, not a
//! page without rows. At most two pages are held: the current one and the next one ([`Prefetch`]). The chain knows no
//! entity type: it passes each row to a function of its reader, which keeps the rows.
//!
//! Prefetch runs in a task that handles bytes only. The task is aborted with its chain. Prefetch starts when the reader
//! requests a second page, since many readers want only one. The chain yields to other tasks before it decodes a page;
//! otherwise, on a single-threaded runtime, the next request would be sent a millisecond later. With a limit the page
//! is decoded first, since its rows may suffice. A long page is decoded in several turns.

use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use azure_table_wire::error::diagnostics;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::response;
use azure_table_wire::transport::BoxFuture;
use http::StatusCode;

use crate::client::ops::start::start;
use crate::client::poll::task::Running;
use crate::client::poll::total_timeout::TotalTimeout;
use crate::client::poll::turn::Turn;
use crate::client::query::page::PageEnd;
use crate::client::query::query_plan::too_much;
use crate::pipeline::Pipeline;
use crate::pipeline::observer::Event;
use crate::pipeline::observer::history::{CallHistory, CallResponse};
use crate::pipeline::options::CallOptions;
use crate::request::continuation::{self, Continuation};
use crate::request::query::{MAX_PAGE_SIZE, PageBody, QueryRequest, TakeRow};

/// The bytes of pages that are decoded in a turn, which takes one to two milliseconds.
///
/// Each row and each property counts as a few bytes ([`PageBody::read`]). A page of 1,000 rows with ten properties
/// fits. In several turns its text is first checked to be UTF-8, which costs a tenth more.
pub(crate) const TURN_BYTES: usize = 1_280 << 10;

/// A validated query, in the form that its stream needs.
#[derive(Clone)]
pub(crate) struct PreparedQuery {
    pub(crate) request: QueryRequest,
    /// The number of comparisons of its filter.
    pub(crate) comparisons: usize,
    /// `true` if keys are among the operands of an `or`.
    pub(crate) has_keys: bool,
    /// The fault that the client found in raw text in the filter. The service may judge the text differently.
    pub(crate) fault: Option<Arc<str>>,
    /// The number of rows still wanted.
    pub(crate) limit: Option<usize>,
    /// The position of the page in flight.
    pub(crate) from: Option<Continuation>,
    pub(crate) prefetch: Prefetch,
    /// Fetches pages in a task, because a reader of several streams may be busy with one of them.
    pub(crate) in_task: bool,
    /// The time limit of all pages together.
    pub(crate) total: TotalTimeout,
}

impl PreparedQuery {
    /// Creates a query without a filter and a limit.
    pub(crate) fn new(request: QueryRequest) -> Self {
        Self {
            request,
            comparisons: 0,
            has_keys: false,
            fault: None,
            limit: None,
            from: None,
            prefetch: Prefetch::Never,
            in_task: false,
            total: TotalTimeout::default(),
        }
    }
}

/// Returns the page size.
///
/// A limit within one page is also the page size, so that no extra row is read. The size is the same on every page, as
/// the service demands.
///
/// # Errors
/// - `InvalidInput`: the page size is not 1 to 1,000.
pub(crate) fn top(page_size: Option<usize>, limit: Option<usize>) -> Result<Option<usize>> {
    if let Some(rows @ (0 | 1_001..)) = page_size {
        return Err(Error::invalid_input(format!(
            "page size {rows}: it must be 1 to {MAX_PAGE_SIZE}"
        )));
    }
    let limit = limit.filter(|rows| (1..=MAX_PAGE_SIZE).contains(rows));
    Ok(page_size.into_iter().chain(limit).min())
}

/// The point at which a stream starts to fetch pages ahead of its reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Prefetch {
    Never,
    /// Once the reader requests a second page, since many readers want only one.
    #[default]
    AfterFirst,
    FromStart,
}

impl Prefetch {
    /// Returns the prefetch for this number of pages.
    pub(crate) fn of(pages: usize) -> Result<Self> {
        match pages {
            0 => Ok(Self::Never),
            1 => Ok(Self::FromStart),
            more => Err(Error::invalid_input(format!(
                "prefetch {more}: at most 1 is possible, because a stream holds two pages"
            ))),
        }
    }
}

/// Yields to other tasks once.
///
/// Decoding a page takes about a millisecond, during which a single-threaded runtime would send nothing.
fn departure() -> BoxFuture<'static, ()> {
    Box::pin(tokio::task::yield_now())
}

/// The chain of requests for the pages of a query. Ends after the last page or an error.
pub(crate) struct PageChain {
    pipeline: Arc<Pipeline>,
    options: CallOptions,
    query: PreparedQuery,
    state: State,
    arrived: Option<Box<Arrived>>,
    turn: Turn,
    /// The turn is shared by several chains, whose owner begins the next one.
    is_part: bool,
    /// `true` once a page was yielded.
    has_yielded: bool,
}

enum State {
    /// The query cannot be sent, or its next page cannot.
    Rejected(Error),
    /// The page at this position is next.
    Ready(Option<Continuation>),
    Running(Running<CallResponse>),
    Done,
}

/// A page that is not decoded yet, or in part.
struct Arrived {
    body: PageBody,
    call: CallHistory,
    from: Option<Continuation>,
    next: Option<Continuation>,
    /// Pending until the request for the next page has been sent.
    pause: Option<BoxFuture<'static, ()>>,
}

impl PageChain {
    pub(crate) fn new(
        pipeline: Arc<Pipeline>,
        options: CallOptions,
        query: PreparedQuery,
        from: Option<Continuation>,
    ) -> Self {
        let checked = from
            .as_ref()
            .map_or(Ok(()), |from| query.request.check(from, &pipeline.endpoint));
        let state = if let Err(e) = checked {
            State::Rejected(e.in_operation(query.request.operation(), query.request.table()))
        } else if query.limit == Some(0) || from.as_ref().is_some_and(Continuation::is_finished) {
            State::Done
        } else {
            State::Ready(from)
        };
        Self {
            pipeline,
            options,
            query,
            state,
            arrived: None,
            turn: Turn::new(TURN_BYTES),
            is_part: false,
            has_yielded: false,
        }
    }

    /// Decodes in the turns that it shares with other parts of a query.
    pub(crate) fn sharing(mut self, turn: &Turn) -> Self {
        (self.turn, self.is_part) = (turn.clone(), true);
        self
    }

    /// Returns a chain that yields the error.
    pub(crate) fn rejected(pipeline: Arc<Pipeline>, request: QueryRequest, error: Error) -> Self {
        let error = error.in_operation(request.operation(), request.table());
        let mut chain = Self::new(pipeline, CallOptions::new(), PreparedQuery::new(request), None);
        chain.state = State::Rejected(error);
        chain
    }

    /// Returns the request for the first page as text.
    pub(crate) fn request(self) -> Result<String> {
        let from = match self.state {
            State::Rejected(e) => return Err(e),
            State::Ready(from) => from,
            // A limit of 0, or a query from its end: the text shows a request that is never sent.
            _ => None,
        };
        let request = &self.query.request;
        let page = request.page_request(&self.pipeline.endpoint, from.as_ref());
        page.and_then(|page| self.pipeline.show(page, &self.options))
            .map_err(|e| e.in_operation(request.operation(), request.table()))
    }

    /// Passes the rows of the next page to `take`, and returns the end of the page. If a row cannot be read, the rows
    /// before it are a page that is cut, and the error follows.
    pub(crate) fn poll_page(&mut self, cx: &mut Context<'_>, take: &mut TakeRow<'_>) -> Poll<Option<Result<PageEnd>>> {
        let polled = self.poll_decoded(cx, take);
        if self.is_part {
            polled
        } else {
            self.turn.end_if_pending(polled)
        }
    }

    fn poll_decoded(&mut self, cx: &mut Context<'_>, take: &mut TakeRow<'_>) -> Poll<Option<Result<PageEnd>>> {
        self.query.total.begin();
        loop {
            if let Some(arrived) = &mut self.arrived {
                if let Some(pause) = &mut arrived.pause {
                    ready!(pause.as_mut().poll(cx));
                    arrived.pause = None;
                }
                let bytes = ready!(self.turn.poll_left(cx));
                let read = arrived.body.read(self.query.request.metadata, bytes, take);
                self.turn
                    .spend(bytes - read.as_ref().map_or(0, |left| left.unwrap_or(0)));
                if matches!(read, Ok(None)) {
                    continue;
                }
                if let Some(arrived) = self.arrived.take() {
                    let page = match read {
                        Ok(_) => self.page(*arrived),
                        Err(e) => self.cut(*arrived, e),
                    };
                    if page.is_err() {
                        self.state = State::Done;
                    }
                    self.has_yielded = true;
                    return Poll::Ready(Some(page));
                }
            }
            let responded = match &mut self.state {
                State::Running(running) => ready!(running.poll(cx)),
                State::Ready(_) | State::Rejected(_) | State::Done => {
                    match mem::replace(&mut self.state, State::Done) {
                        State::Ready(from) => {
                            self.state = match self.call(from.as_ref()) {
                                Ok(call) => State::Running(Running::new(call, self.query.in_task)),
                                Err(e) => State::Rejected(e),
                            };
                            self.query.from = from;
                            continue;
                        }
                        State::Rejected(e) => return Poll::Ready(Some(Err(e))),
                        _ => return Poll::Ready(None),
                    }
                }
            };
            self.state = State::Done;
            match responded.and_then(|received| self.arrive(received)) {
                Ok(arrived) => self.arrived = Some(Box::new(arrived)),
                Err(e) => return Poll::Ready(Some(Err(self.query.total.name(e)))),
            }
        }
    }

    /// Returns the call for the page at this position.
    fn call(&self, from: Option<&Continuation>) -> Result<BoxFuture<'static, Result<CallResponse>>> {
        let PreparedQuery { request, total, .. } = &self.query;
        let page = total
            .check()
            .and_then(|()| request.page_request(&self.pipeline.endpoint, from))
            .map_err(|e| e.in_operation(request.operation(), request.table()))?;
        let mut options = self.options.clone();
        total.bound(&mut options);
        if let Some(location) = from.and_then(continuation::location) {
            options.get_mut().pinned = Some(location);
        }
        Ok(start(&self.pipeline, page, options))
    }

    /// Prepares or prefetches the next page before this one is decoded. With a limit it waits: the rows may suffice.
    fn arrive(&mut self, received: CallResponse) -> Result<Arrived> {
        let from = self.query.from.take();
        let CallResponse { end, call, .. } = received;
        let response = end.into_response()?;
        let mut next = match response.status() {
            StatusCode::OK => continuation::of(response.headers())
                .map_err(|e| call.complete(e.with_request_id(response::request_id(&response))))?,
            _ => None,
        };
        if let Some(next) = &mut next {
            // A continuation is valid only in the location that returned it.
            continuation::bind(next, self.identity(), call.location);
        }
        if self.query.limit.is_none() {
            self.go_on(next.as_ref());
        }
        let pause = matches!(&self.state, State::Running(next) if next.is_in_task()).then(departure);
        Ok(Arrived {
            body: PageBody::new(response),
            call,
            from,
            next,
            pause,
        })
    }

    /// Returns the page of the rows before one that cannot be read. The error follows, unless they reach the limit.
    fn cut(&mut self, mut arrived: Arrived, error: Error) -> Result<PageEnd> {
        let error = self.advise(arrived.call.complete(error));
        if arrived.body.rows() == 0 {
            return Err(error);
        }
        arrived.next = None;
        let mut page = self.page(arrived)?;
        page.is_cut = self.query.limit != Some(0);
        if page.is_cut {
            self.state = State::Rejected(error);
        }
        Ok(page)
    }

    /// Returns a page whose rows are decoded.
    fn page(&mut self, arrived: Arrived) -> Result<PageEnd> {
        let Arrived {
            body,
            mut call,
            from,
            next,
            ..
        } = arrived;
        let rows = body.rows();
        if rows == 0 {
            continuation::check_progress(from.as_ref(), next.as_ref()).map_err(|e| call.complete(e))?;
        }
        if let Some(table) = self.query.request.table() {
            self.pipeline.observers.notify(&Event::Read {
                operation: OperationKind::Query.name(),
                table,
                entities: rows,
            });
        }
        let mut page = PageEnd {
            rows,
            continuation: next.unwrap_or_else(|| continuation::end(self.identity())),
            request_id: diagnostics::take_request_id(&mut call.diagnostics),
            request_charge: call.diagnostics.request_charge(),
            is_cut: false,
        };
        if let Some(wanted) = &mut self.query.limit {
            if page.rows > *wanted {
                page.rows = *wanted;
                page.continuation = continuation::end(self.query.request.identity(&self.pipeline.endpoint));
            }
            *wanted -= page.rows;
            if *wanted > 0 {
                self.go_on(page.next());
            }
        }
        Ok(page)
    }

    /// Prepares the next page, or prefetches it.
    fn go_on(&mut self, next: Option<&Continuation>) {
        let Some(next) = next else { return };
        let is_at_once = match self.query.prefetch {
            Prefetch::Never => false,
            Prefetch::AfterFirst => self.has_yielded,
            Prefetch::FromStart => true,
        };
        self.state = if is_at_once {
            match self.call(Some(next)) {
                Ok(call) => {
                    self.query.from = Some(next.clone());
                    State::Running(Running::in_task(call))
                }
                Err(e) => State::Rejected(e),
            }
        } else {
            State::Ready(Some(next.clone()))
        };
    }

    /// Returns the identity of the query: see [`QueryRequest::identity`].
    pub(crate) fn identity(&self) -> u64 {
        self.query.request.identity(&self.pipeline.endpoint)
    }

    /// Returns the number of rows still wanted, if it is limited.
    pub(crate) fn wanted(&self) -> Option<usize> {
        self.query.limit
    }

    pub(crate) fn is_over(&self) -> bool {
        self.arrived.is_none() && matches!(self.state, State::Done)
    }

    /// Adds the likely cause to the error of a rejected query: a filter or URL that is too long.
    fn advise(&self, error: Error) -> Error {
        let is_rejected = matches!(error.status(), Some(400 | 404 | 413 | 414 | 431 | 501));
        if !is_rejected || !error.parts().message.is_empty() || error.code() == Some("TableNotFound") {
            return error;
        }
        if let (Some(fault), Some(400 | 501)) = (&self.query.fault, error.status()) {
            return error.with_message(fault.to_string());
        }
        let url = self.query.request.page_request(&self.pipeline.endpoint, None);
        let characters = url.map_or(0, |page| page.request.uri().to_string().len());
        match too_much(self.query.comparisons, characters, self.query.has_keys) {
            Some(what) => error.with_message(what),
            None => error,
        }
    }
}
