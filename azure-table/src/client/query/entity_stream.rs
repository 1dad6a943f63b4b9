//! Streams the rows of a query, from one chain of pages or from several.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::vec;

use azure_table_wire::error::Result;
use futures_core::Stream;
use futures_core::stream::FusedStream;

use crate::client::query::page_stream::PageStream;
use crate::client::query::part_pages::PartPages;

/// The rows of a query: a [`Stream`] with its own `try_next`.
///
/// Ends after the last row or an error.
#[must_use = "nothing is sent until it is polled"]
pub struct EntityStream<P> {
    pages: Pages<P>,
    rows: vec::IntoIter<P>,
    /// The number of rows still wanted from several chains. A single chain counts its own rows.
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
        Self::of(Pages::Chain(pages), None)
    }

    pub(crate) fn from_parts(pages: PartPages<P>, limit: Option<usize>) -> Self {
        Self::of(Pages::Parts(Box::new(pages)), limit)
    }

    fn of(pages: Pages<P>, limit: Option<usize>) -> Self {
        Self {
            pages,
            rows: Vec::new().into_iter(),
            wanted: limit.unwrap_or(usize::MAX),
        }
    }

    /// Returns the next row, or `None` after the last.
    ///
    /// Requests: 1 per page. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// See [`TableQuery`](crate::TableQuery).
    pub async fn try_next(&mut self) -> Result<Option<P>> {
        poll_fn(|cx| self.poll_row(cx)).await.transpose()
    }

    fn poll_row(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<P>>> {
        loop {
            if self.wanted == 0 {
                // Requests in flight are no longer needed.
                if let Pages::Parts(parts) = &mut self.pages {
                    parts.clear();
                }
                return Poll::Ready(None);
            }
            if let Some(row) = self.rows.next() {
                self.wanted -= 1;
                return Poll::Ready(Some(Ok(row)));
            }
            // Frees the page that was read before the next one is decoded.
            self.rows = Vec::new().into_iter();
            let page = match &mut self.pages {
                Pages::Chain(pages) => ready!(pages.poll_page(cx)),
                Pages::Parts(parts) => ready!(parts.poll_page(cx)).map(|part| part.page),
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
