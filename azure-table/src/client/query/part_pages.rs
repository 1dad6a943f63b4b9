//! The pages of several chains of one query. Each chain reads a part of the rows.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::client::query::concurrent::{Concurrent, ItemSource, Order};
use crate::client::query::page::Page;
use crate::client::query::page_stream::PageStream;
use crate::client::query::page_stream::PreparedQuery;
use crate::client::shape::Shape;
use crate::client::total_timeout::TotalTimeout;
use crate::model::error::{Error, Result};
use crate::pipeline::Pipeline;
use crate::pipeline::options::CallOptions;
use crate::protocol::continuation::Continuation;

/// A part of the rows: one chain of requests.
pub(crate) struct Part {
    /// The number of the part.
    pub(crate) index: usize,
    pub(crate) prepared: PreparedQuery,
    pub(crate) from: Option<Continuation>,
}

/// Pages with the index of their part. Ends after an error.
pub(crate) struct PartPages<P> {
    pipeline: Arc<Pipeline>,
    options: CallOptions,
    shape: Shape<P>,
    refused: Option<Error>,
    /// The time limit of all parts together.
    total: TotalTimeout,
    parts: Concurrent<Part, Chain<P>>,
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
        parts: Result<VecDeque<Part>>,
        total: TotalTimeout,
        (concurrency, order): (usize, Order),
    ) -> Self {
        let (parts, refused) = match parts {
            Ok(parts) => (parts, None),
            Err(e) => (VecDeque::new(), Some(e)),
        };
        Self {
            pipeline,
            options,
            shape,
            refused,
            total,
            parts: Concurrent::new(parts, concurrency, order),
        }
    }

    pub(crate) fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<(usize, Result<Page<P>>)>> {
        if let Some(refused) = self.refused.take() {
            return Poll::Ready(Some((0, Err(refused))));
        }
        self.total.begin();
        let (pipeline, options, shape, total) = (&self.pipeline, &self.options, &self.shape, self.total);
        let page = ready!(self.parts.poll(cx, |part| {
            let query = PreparedQuery { total, ..part.prepared };
            Chain {
                index: part.index,
                pages: PageStream::new(Arc::clone(pipeline), options.clone(), query, part.from, shape.clone()),
            }
        }));
        if matches!(page, Some((_, Err(_)))) {
            self.parts.clear();
        }
        Poll::Ready(page)
    }

    pub(crate) fn clear(&mut self) {
        self.parts.clear();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.refused.is_none() && self.parts.len() == 0
    }
}
