//! Write the same columns of all rows that a query selects.

use std::collections::BTreeMap;

use crate::client::bulk::builder::row_writes;
use crate::client::bulk::row_plan::{Plan, WritesRows};
use crate::client::bulk::row_writes::RowWrites;
use crate::client::bulk::selected_row::RowVersion;
use crate::client::query::TableQuery;
use crate::client::table::TableClient;
use crate::filter::assignment::AssignmentOf;
use crate::model::dynamic::DynamicEntity;
use crate::model::edm::EdmValue;
use crate::model::entity::TableEntity;
use crate::model::entity_key::Key;
use crate::model::error::{Error, Result};
use crate::protocol::operation::TableOperation;

/// Writes columns of rows. See [`TableClient::patch_where`]. Options of calls, such as `timeout`, apply to each page and each batch.
#[must_use = "nothing is sent until it is awaited"]
pub struct PatchWhere<E> {
    rows: RowWrites<E, Patch, RowVersion<E>>,
}
row_writes!(PatchWhere[E], Error, where E: TableEntity);

struct Patch {
    columns: Result<BTreeMap<String, EdmValue>>,
}

impl<E> PatchWhere<E> {
    pub(crate) fn new(
        table: &TableClient<E>,
        query: TableQuery<E, ()>,
        columns: impl IntoIterator<Item: AssignmentOf<E>>,
    ) -> Self {
        let columns = columns.into_iter();
        let columns = columns.map(|column| column.into_assignment().into_property()).collect();
        Self {
            rows: RowWrites::new(table, query, Patch { columns }),
        }
    }
}

impl<E: TableEntity> WritesRows<E> for Patch {
    const OPERATION: &'static str = "patch where";
    const IS_REPEATABLE: bool = true;
    type Row = RowVersion<E>;
    type Error = Error;

    fn check(&self) -> Result<()> {
        match &self.columns {
            Ok(columns) if columns.is_empty() => Err(Error::invalid_input("no column is set")),
            Ok(_) => Ok(()),
            Err(e) => Err(e.copy()),
        }
    }

    fn key(row: &RowVersion<E>) -> &Key<E> {
        &row.key
    }

    fn plan(&mut self, row: RowVersion<E>) -> Result<Plan> {
        let mut patch = DynamicEntity::new(row.key.partition_key(), row.key.row_key());
        patch.properties = self.columns.as_ref().map_err(Error::copy)?.clone();
        Ok(Plan::Write(TableOperation::merge(&patch).if_match(row.etag)))
    }
}
