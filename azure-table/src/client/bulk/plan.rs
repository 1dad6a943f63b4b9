//! What a write over a query makes of each row.

use crate::client::query::bad_row::BadRow;
use crate::model::entity::ReadEntity;
use crate::model::entity_key::Key;
use crate::model::error::{Error, Result};
use crate::protocol::operation::TableOperation;

/// What is done to each row that a query selects.
pub(crate) trait WritesRows<E> {
    const OPERATION: &'static str;
    /// Whether to write a row twice is the same as to write it once.
    const IS_REPEATABLE: bool;
    type Row: ReadEntity;
    type Error: From<Error>;

    /// What is wrong before anything is read.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn key(row: &Self::Row) -> &Key<E>;

    /// What becomes of a row.
    ///
    /// # Errors
    /// What ends it all.
    fn plan(&mut self, row: Self::Row) -> Result<Plan, Self::Error>;
}

/// What becomes of a row.
pub(crate) enum Plan {
    Write(TableOperation),
    Keep,
    /// It does not read as an entity.
    Bad(BadRow),
    /// It cannot be written.
    Refuse(Error),
}
