//! Streams the pages of a query: decodes the rows of a chain (`page_chain.rs`) into their type.

use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use azure_table_wire::error::Result;
use futures_core::Stream;
use futures_core::stream::FusedStream;

use crate::client::query::page::Page;
use crate::client::query::page_chain::PageChain;
use crate::client::shape::Shape;
use crate::entity::row::members::RowMembers;

/// The pages of a query: a [`Stream`] with its own `try_next`.
///
/// Ends after the last page or an error. A page with a row that cannot be read is an error.
#[must_use = "nothing is sent until it is polled"]
pub struct PageStream<P> {
    /// Boxed, since streams are moved and should stay small.
    chain: Box<PageChain>,
    /// The rows of the current page that are decoded.
    rows: Vec<P>,
    shape: Shape<P>,
}

/// No row is ever pinned: rows are moved out.
impl<P> Unpin for PageStream<P> {}

impl<P> PageStream<P> {
    pub(crate) fn new(chain: PageChain, shape: Shape<P>) -> Self {
        Self {
            chain: Box::new(chain),
            rows: Vec::new(),
            shape,
        }
    }

    /// Returns the next page, or `None` after the last.
    ///
    /// Requests: 1 per page. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// See [`TableQuery`](crate::TableQuery).
    pub async fn try_next(&mut self) -> Result<Option<Page<P>>> {
        poll_fn(|cx| self.poll_whole_page(cx)).await.transpose()
    }

    /// Returns the items of all pages.
    pub(crate) async fn all(mut self) -> Result<Vec<P>> {
        let mut all = Vec::new();
        while let Some(page) = self.try_next().await? {
            if all.is_empty() {
                all = page.into_items()
            } else {
                all.extend(page.into_items())
            }
        }
        Ok(all)
    }

    /// Returns the next page, or the error of a page that is cut: the rows before it have no position to resume from.
    fn poll_whole_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Page<P>>>> {
        match ready!(self.poll_page(cx)) {
            Some(Ok(page)) if page.end.is_cut => self.poll_page(cx),
            page => Poll::Ready(page),
        }
    }

    /// Returns the next page. If a row cannot be read, the rows before it are a page that is cut, and the error
    /// follows.
    pub(crate) fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Page<P>>>> {
        let Self { chain, rows, shape } = self;
        let mut take = |members: &mut RowMembers<'_, '_>, expected: usize| {
            rows.reserve(expected);
            shape.read_into(members, rows)
        };
        let end = ready!(chain.poll_page(cx, &mut take));
        let mut items = mem::take(rows);
        Poll::Ready(end.map(|end| {
            let end = end?;
            items.truncate(end.rows);
            Ok(Page { items, end })
        }))
    }

    pub(crate) fn chain(&self) -> &PageChain {
        &self.chain
    }

    /// Returns the chain without the type of its rows.
    pub(crate) fn into_chain(self) -> PageChain {
        *self.chain
    }

    pub(crate) fn is_over(&self) -> bool {
        self.chain.is_over()
    }
}

impl<P> Stream for PageStream<P> {
    type Item = Result<Page<P>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_whole_page(cx)
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
            .field("wanted", &self.chain.wanted())
            .finish_non_exhaustive()
    }
}
