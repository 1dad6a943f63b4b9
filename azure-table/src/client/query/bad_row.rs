//! A row that does not fit the type it is read as.

use std::fmt;

use crate::model::dynamic::DynamicEntity;
use crate::model::entity::ReadEntity as _;
use crate::model::error::Error;
use crate::model::row::Row;

/// A row that does not fit, as [`TableQuery::lenient`](crate::TableQuery::lenient) and
/// [`TableQuery::skip_bad_rows`](crate::TableQuery::skip_bad_rows) tell of it: why, and all that it has.
#[derive(Debug)]
pub struct BadRow {
    error: Error,
    row: Option<DynamicEntity>,
}

/// Who hears of rows that are left out.
pub(crate) type OnBadRow = dyn Fn(&BadRow) + Send + Sync;

impl BadRow {
    pub(crate) fn of(row: &Row<'_>, error: Error) -> Self {
        Self {
            error: row.locate(error),
            row: DynamicEntity::read(row).ok(),
        }
    }

    /// Why it does not fit: its keys and the property are named.
    pub fn error(&self) -> &Error {
        &self.error
    }

    pub(crate) fn into_error(self) -> Error {
        self.error
    }

    /// The row with all its properties; `None` if not even that can be made of it.
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
