//! Delete all rows that a query selects.

use crate::client::bulk::builder::row_writes;
use crate::client::bulk::row_plan::{Plan, WritesRows};
use crate::client::bulk::row_writes::RowWrites;
use crate::client::bulk::selected_row::RowVersion;
use crate::client::query::TableQuery;
use crate::client::table::TableClient;
use crate::model::entity::TableEntity;
use crate::model::entity_key::Key;
use crate::model::error::{Error, Result};
use crate::protocol::operation::TableOperation;

/// Deletes rows. See [`TableClient::delete_where`]. Options of calls, such as `timeout`, apply to each page and each batch.
#[must_use = "nothing is sent until it is awaited"]
pub struct DeleteWhere<E> {
    rows: RowWrites<E, Delete, RowVersion<E>>,
}
row_writes!(DeleteWhere[E], Error, where E: TableEntity);

struct Delete;

impl<E> DeleteWhere<E> {
    pub(crate) fn new(table: &TableClient<E>, query: TableQuery<E, ()>) -> Self {
        Self {
            rows: RowWrites::new(table, query, Delete),
        }
    }
}

impl<E: TableEntity> WritesRows<E> for Delete {
    const OPERATION: &'static str = "delete where";
    const IS_REPEATABLE: bool = true;
    type Row = RowVersion<E>;
    type Error = Error;

    fn key(row: &RowVersion<E>) -> &Key<E> {
        &row.key
    }

    fn plan(&mut self, row: RowVersion<E>) -> Result<Plan> {
        Ok(Plan::Write(TableOperation::delete(row.key).if_match(row.etag)))
    }
}
