//! The write of each row that a query selects.

use crate::client::query::bad_row::BadRow;
use crate::model::entity::ReadEntity;
use crate::model::entity_key::Key;
use crate::model::error::{Error, Result};
use crate::protocol::operation::TableOperation;

/// Plans the write of each row that a query selects.
pub(crate) trait WritesRows<E> {
    const OPERATION: &'static str;
    /// `true` if the write is idempotent.
    const IS_REPEATABLE: bool;
    type Row: ReadEntity;
    type Error: From<Error>;

    /// Validates the write before the first page.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn key(row: &Self::Row) -> &Key<E>;

    /// Returns the plan for a row.
    ///
    /// # Errors
    /// Returns an error that stops the whole operation.
    fn plan(&mut self, row: Self::Row) -> Result<Plan, Self::Error>;
}

/// The plan for a row.
pub(crate) enum Plan {
    Write(TableOperation),
    Keep,
    /// The row cannot be read as an entity.
    Bad(BadRow),
    /// The row cannot be written.
    Refuse(Error),
}
