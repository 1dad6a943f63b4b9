//! One page of a query, and a row of it that does not fit.

use std::fmt;

use crate::model::datetime::DateTime;
use crate::model::dynamic::DynamicEntity;
use crate::model::entity::ReadEntity as _;
use crate::model::error::Error;
use crate::model::row::Row;
use crate::protocol::continuation::Continuation;

/// One page of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<P> {
    pub(super) items: Vec<P>,
    pub(super) continuation: Option<Continuation>,
    pub(super) request_id: Option<String>,
    pub(super) request_charge: Option<f64>,
    /// The service's time at which it was requested, or a little earlier.
    pub(super) requested_at: Option<DateTime>,
}

impl<P> Page<P> {
    /// Returns the rows.
    ///
    /// A page may be empty although others follow.
    pub fn items(&self) -> &[P] {
        &self.items
    }

    /// Returns the rows.
    pub fn into_items(self) -> Vec<P> {
        self.items
    }

    /// Returns the continuation token of the next page.
    ///
    /// `None` on the last page, and on a page that [`limit`](crate::TableQuery::limit) cut short.
    pub fn continuation(&self) -> Option<&Continuation> {
        self.continuation.as_ref()
    }

    /// Returns the request id that the service assigned.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// Returns the cost of the page in request units, all attempts included.
    ///
    /// Only Cosmos DB reports it.
    pub fn request_charge(&self) -> Option<f64> {
        self.request_charge
    }
}

/// A row that does not fit the row type, with its error and its properties.
///
/// Reported by [`TableQuery::lenient`](crate::TableQuery::lenient) and
/// [`TableQuery::skip_bad_rows`](crate::TableQuery::skip_bad_rows).
#[derive(Debug)]
pub struct BadRow {
    error: Error,
    row: Option<DynamicEntity>,
}

/// A callback for rows that are skipped.
pub(crate) type OnBadRow = dyn Fn(&BadRow) + Send + Sync;

impl BadRow {
    pub(crate) fn of(row: &Row<'_>, error: Error) -> Self {
        Self {
            error: row.locate(error),
            row: DynamicEntity::read(row).ok(),
        }
    }

    /// Returns the error, which names the keys and the property.
    pub fn error(&self) -> &Error {
        &self.error
    }

    pub(crate) fn into_error(self) -> Error {
        self.error
    }

    /// Returns the row with all its properties, or `None` if they cannot be read.
    pub fn row(&self) -> Option<&DynamicEntity> {
        self.row.as_ref()
    }
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for BadRow {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}
