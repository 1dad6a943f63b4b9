//! A page of a query.

use crate::request::continuation::Continuation;

/// One page of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<P> {
    pub(super) items: Vec<P>,
    pub(crate) end: PageEnd,
}

/// A page without its rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PageEnd {
    /// The number of its rows that the query wants.
    pub(super) rows: usize,
    pub(super) continuation: Continuation,
    pub(super) request_id: Option<String>,
    pub(super) request_charge: Option<f64>,
    /// A row of the page cannot be read. These are the rows before it, and the error follows. It is never public.
    pub(crate) is_cut: bool,
}

impl PageEnd {
    /// Returns the continuation of the next page, if any.
    pub(crate) fn next(&self) -> Option<&Continuation> {
        Some(&self.continuation).filter(|next| !next.is_finished())
    }
}

impl<P> Page<P> {
    /// Returns the rows.
    ///
    /// A page may be empty even if others follow.
    pub fn items(&self) -> &[P] {
        &self.items
    }

    /// Returns the rows.
    pub fn into_items(self) -> Vec<P> {
        self.items
    }

    /// Converts all items of the page, and keeps its position and cost.
    pub fn map<T>(self, map: impl FnOnce(Vec<P>) -> Vec<T>) -> Page<T> {
        let Self { items, end } = self;
        Page { items: map(items), end }
    }

    /// Returns the position after this page: the continuation token of the next page.
    ///
    /// It [is finished](Continuation::is_finished) after the last page, and after a page that
    /// [`limit`](crate::TableQuery::limit) cut short.
    pub fn continuation(&self) -> &Continuation {
        &self.end.continuation
    }

    /// Returns `true` if the query continues after this page, for example to show a link to the next page.
    ///
    /// The next page may be empty. After a page that [`limit`](crate::TableQuery::limit) cut short, returns `false`:
    /// use `page_size` to page through results.
    pub fn has_more(&self) -> bool {
        !self.end.continuation.is_finished()
    }

    /// Returns the request id that the service assigned.
    pub fn request_id(&self) -> Option<&str> {
        self.end.request_id.as_deref()
    }

    /// Returns the cost of the page in request units, all attempts included.
    ///
    /// Only Cosmos DB reports it.
    pub fn request_charge(&self) -> Option<f64> {
        self.end.request_charge
    }
}
