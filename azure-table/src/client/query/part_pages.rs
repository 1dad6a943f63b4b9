//! The pages of several chains of one query. Each chain reads a part of the rows.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::location::Location;

use crate::client::poll::turn::Turn;
use crate::client::query::concurrent::{Concurrent, ItemSource, Order};
use crate::client::query::page::Page;
use crate::client::query::page_chain::{PageChain, PreparedQuery, TURN_BYTES};
use crate::client::query::page_stream::PageStream;
use crate::client::query::scan::split::PartFilter;
use crate::client::shape::Shape;
use crate::client::shape::key_recorder::{KeyRecorder, PageKeys, RecordedRows};
use crate::pipeline::Pipeline;
use crate::pipeline::options::CallOptions;
use crate::request::continuation::Continuation;

/// A part of the rows: one chain of requests.
pub(crate) struct Part {
    /// The number of the part.
    pub(crate) index: usize,
    pub(crate) filter: PartFilter,
    pub(crate) from: Option<Continuation>,
    /// The location to read from, if that is decided.
    pub(crate) location: Option<Location>,
}

/// Pages with the index of their part. Ends after an error.
pub(crate) struct PartPages<P> {
    pipeline: Arc<Pipeline>,
    options: CallOptions,
    shape: Shape<P>,
    /// The query of each part, except for its filter; or the error that prevents it.
    query: Result<PreparedQuery, Option<Error>>,
    parts: Concurrent<Part, Chain<P>>,
    turn: Turn,
    /// The rows that are read, if their keys are noted.
    recorded: Option<RecordedRows>,
}

/// A page of one part.
pub(crate) struct PartPage<P> {
    /// The number of the part.
    pub(crate) part: usize,
    pub(crate) page: Result<Page<P>>,
    /// The keys of its rows, if they are noted and it has rows.
    pub(crate) keys: Option<PageKeys>,
}

struct Chain<P> {
    index: usize,
    pages: PageStream<P>,
    key_recorder: Option<KeyRecorder>,
}

impl<P> ItemSource for Chain<P> {
    type Item = PartPage<P>;

    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let page = ready!(self.pages.poll_page(cx));
        Poll::Ready(page.map(|page| PartPage {
            part: self.index,
            page,
            keys: self.key_recorder.as_ref().and_then(KeyRecorder::take),
        }))
    }

    fn is_over(&self) -> bool {
        self.pages.is_over()
    }
}

impl<P> PartPages<P> {
    pub(crate) fn new(
        pipeline: Arc<Pipeline>,
        options: CallOptions,
        shape: Shape<P>,
        parts: Result<(PreparedQuery, VecDeque<Part>)>,
        (concurrency, order): (usize, Order),
    ) -> Self {
        let (query, parts) = match parts {
            Ok((query, parts)) => (Ok(query), parts),
            Err(e) => (Err(Some(e)), VecDeque::new()),
        };
        Self {
            pipeline,
            options,
            shape,
            query,
            parts: Concurrent::new(parts, concurrency, order),
            turn: Turn::new(TURN_BYTES),
            recorded: None,
        }
    }

    /// Notes the keys of the rows on each page. The query selects them.
    pub(crate) fn recording(mut self, rows: Option<RecordedRows>) -> Self {
        self.recorded = rows;
        self
    }

    /// Returns the number of further parts that can be read concurrently.
    pub(crate) fn free(&self) -> usize {
        self.parts.free()
    }

    /// Replaces the rest of the part whose page was yielded last.
    pub(crate) fn replace(&mut self, part: usize, others: impl IntoIterator<Item = Part>) {
        self.parts.stop(|chain| chain.index == part);
        others.into_iter().for_each(|other| self.parts.push(other));
    }

    pub(crate) fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<PartPage<P>>> {
        let query = match &mut self.query {
            Ok(query) => query,
            Err(rejected) => {
                return Poll::Ready(rejected.take().map(|e| PartPage {
                    part: 0,
                    page: Err(e),
                    keys: None,
                }));
            }
        };
        query.total.begin();
        let (turn, recorded) = (&self.turn, self.recorded);
        let (pipeline, options, shape) = (&self.pipeline, &self.options, &self.shape);
        let page = ready!(turn.end_if_pending(self.parts.poll(cx, |part| {
            // The filter is added only now, because each part may have a long one.
            let query = query.filtered(part.filter.expression().as_ref());
            let key_recorder = recorded.map(KeyRecorder::new);
            let shape = match &key_recorder {
                Some(recorder) => shape.clone().recording(recorder),
                None => shape.clone(),
            };
            let mut options = options.clone();
            if part.location.is_some() {
                options.get_mut().pinned = part.location;
            }
            let chain = PageChain::new(Arc::clone(pipeline), options, query, part.from);
            Chain {
                index: part.index,
                pages: PageStream::new(chain.sharing(turn), shape),
                key_recorder,
            }
        })));
        if matches!(page, Some(PartPage { page: Err(_), .. })) {
            self.parts.clear();
        }
        Poll::Ready(page)
    }

    pub(crate) fn clear(&mut self) {
        self.parts.clear();
    }

    pub(crate) fn is_over(&self) -> bool {
        !matches!(self.query, Err(Some(_))) && self.parts.len() == 0
    }
}
