//! The pages of several chains of one query. Each chain reads a part of the rows.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use azure_table_core::filter::split::PartFilter;
use azure_table_core::model::error::{Error, Result};
use azure_table_core::protocol::continuation::Continuation;

use crate::client::query::concurrent::{Concurrent, ItemSource, Order};
use crate::client::query::page_stream::{Page, PageStream, PreparedQuery, TURN_BYTES};
use crate::client::shape::Shape;
use crate::client::turn::Turn;
use crate::pipeline::Pipeline;
use crate::pipeline::options::CallOptions;

/// A part of the rows: one chain of requests.
pub(crate) struct Part {
    /// The number of the part.
    pub(crate) index: usize,
    pub(crate) filter: PartFilter,
    pub(crate) from: Option<Continuation>,
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
}

struct Chain<P> {
    index: usize,
    pages: PageStream<P>,
}

impl<P> ItemSource for Chain<P> {
    type Item = (usize, Result<Page<P>>);

    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let page = ready!(self.pages.poll_page(cx));
        Poll::Ready(page.map(|page| (self.index, page)))
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
        }
    }

    pub(crate) fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<(usize, Result<Page<P>>)>> {
        let query = match &mut self.query {
            Ok(query) => query,
            Err(rejected) => return Poll::Ready(rejected.take().map(|e| (0, Err(e)))),
        };
        query.total.begin();
        let turn = &self.turn;
        let (pipeline, options, shape) = (&self.pipeline, &self.options, &self.shape);
        let page = ready!(turn.end_if_pending(self.parts.poll(cx, |part| {
            // The filter is added only now, because each part may have a long one.
            let query = query.filtered(part.filter.expression().as_ref());
            let pages = PageStream::new(Arc::clone(pipeline), options.clone(), query, part.from, shape.clone());
            Chain {
                index: part.index,
                pages: pages.sharing(turn),
            }
        })));
        if matches!(page, Some((_, Err(_)))) {
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
