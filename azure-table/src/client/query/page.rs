//! A page, as its reader has it.

use crate::protocol::continuation::Continuation;

/// One page of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<P> {
    pub(super) items: Vec<P>,
    pub(super) continuation: Option<Continuation>,
    pub(super) request_id: Option<String>,
    pub(super) request_charge: Option<f64>,
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
