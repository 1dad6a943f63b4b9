//! A row that does not fit the type in which it is read.

use std::fmt;

use azure_table_wire::error::Error;

use crate::entity::dynamic::DynamicEntity;
use crate::entity::row::{self, Row};
use crate::entity::table_entity::ReadEntity as _;

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
            error: row::locate(row, error),
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

    /// Returns the row with the properties that the query requests, or `None` if they cannot be read.
    ///
    /// A query for whole entities requests all properties. With a projection or selected columns, all others are
    /// missing.
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
