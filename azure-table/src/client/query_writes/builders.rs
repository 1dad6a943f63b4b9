//! The verbs over all rows that a query selects: delete, patch, update, upgrade.
//!
//! Each is a builder and the plan of a row. The walk over pages is `query_write.rs`. The form in which a row is
//! rewritten is `current_form.rs`.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use azure_table_core::filter::assignment::{self, Assignments};
use azure_table_core::model::dynamic::DynamicEntity;
use azure_table_core::model::edm::EdmValue;
use azure_table_core::model::entity::{ReadEntity, TableEntity};
use azure_table_core::model::entity_key::Key;
use azure_table_core::model::error::{Error, ErrorInternals, Result};
use azure_table_core::model::operation_kind::OperationKind;
use azure_table_core::model::variant_mark::{AsVariant, MarkedVariant};
use azure_table_core::protocol::operation::TableOperation;

use crate::client::ops::modify_entity::{Change, ModifyOutcome};
use crate::client::query::TableQuery;
use crate::client::query_writes::current_form::{Form, has_older_names, rewrite};
use crate::client::query_writes::query_write::{QueryWrite, query_write};
use crate::client::query_writes::row_plan::{Plan, PlanRows, ReadRow, RowVersion, WholeRow};
use crate::client::table_handle::TableClient;

/// Deletes the selected rows.
///
/// See [`TableClient::delete_where`].
///
/// Call options, such as `timeout`, apply to each page and each batch.
#[must_use = "nothing is sent until it is awaited"]
pub struct DeleteWhere<'h, E> {
    rows: QueryWrite<'h, E, Delete, RowVersion<E>>,
}
query_write!(DeleteWhere<'h>[E], Error, where E: TableEntity);

struct Delete;

impl<E> DeleteWhere<'_, E> {
    pub(crate) fn new(table: &TableClient<E>, query: TableQuery<E, ()>) -> Self {
        Self {
            rows: QueryWrite::new(table, query, OperationKind::DeleteWhere, Delete),
        }
    }
}

impl<E: TableEntity> PlanRows<E> for Delete {
    const IS_REPEATABLE: bool = true;
    type Row = RowVersion<E>;
    type Error = Error;

    fn plan(&mut self, row: RowVersion<E>) -> Result<Plan> {
        Ok(Plan::Write(TableOperation::delete(row.key).if_match(row.etag)))
    }
}

/// Writes columns of the selected rows.
///
/// See [`TableClient::patch_where`].
///
/// Call options, such as `timeout`, apply to each page and each batch.
#[must_use = "nothing is sent until it is awaited"]
pub struct PatchWhere<'h, E> {
    rows: QueryWrite<'h, E, Patch, RowVersion<E>>,
}
query_write!(PatchWhere<'h>[E], Error, where E: TableEntity);

struct Patch {
    columns: Result<BTreeMap<String, EdmValue>>,
}

impl<E> PatchWhere<'_, E> {
    pub(crate) fn new(table: &TableClient<E>, query: TableQuery<E, ()>, columns: impl Assignments<E>) -> Self {
        let columns = columns.into_assignments().map(assignment::into_property).collect();
        Self {
            rows: QueryWrite::new(table, query, OperationKind::PatchWhere, Patch { columns }),
        }
    }
}

impl<E: TableEntity> PlanRows<E> for Patch {
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

    fn plan(&mut self, row: RowVersion<E>) -> Result<Plan> {
        let mut patch = DynamicEntity::new(row.key.partition_key(), row.key.row_key());
        patch.properties = self.columns.as_ref().map_err(Error::copy)?.clone();
        Ok(Plan::Write(TableOperation::merge(&patch).if_match(row.etag)))
    }
}

/// Changes the selected rows with a closure.
///
/// See [`TableClient::update_where`].
///
/// Call options, such as `timeout`, apply to each page and each batch.
#[must_use = "nothing is sent until it is awaited"]
pub struct UpdateWhere<'h, E, F, R> {
    rows: QueryWrite<'h, E, Update<F, R>, WholeRow<E>>,
}
query_write!(
    UpdateWhere<'h>[E, F, R],
    R::Error,
    where E: TableEntity + ReadEntity, F: FnMut(&mut E) -> R, R: ModifyOutcome
);

struct Update<F, R> {
    change: F,
    variant: Option<&'static MarkedVariant>,
    outcome: PhantomData<fn() -> R>,
}

impl<E, F, R> UpdateWhere<'_, E, F, R> {
    pub(crate) fn new(table: &TableClient<E>, query: TableQuery<E, ()>, change: F) -> Self {
        let update = Update {
            change,
            variant: table.pipeline().settings.variant,
            outcome: PhantomData,
        };
        Self {
            rows: QueryWrite::new(table, query, OperationKind::UpdateWhere, update),
        }
    }
}

impl<E, F, R> PlanRows<E> for Update<F, R>
where
    E: TableEntity + ReadEntity,
    F: FnMut(&mut E) -> R,
    R: ModifyOutcome,
{
    // A closure that counts would count twice.
    const IS_REPEATABLE: bool = false;
    type Row = WholeRow<E>;
    type Error = R::Error;

    fn plan(&mut self, row: WholeRow<E>) -> Result<Plan, R::Error> {
        let ReadRow { mut entity, stored } = match row.read {
            Ok(read) => read,
            Err(bad) => return Ok(Plan::Bad(bad)),
        };
        let before = match Form::of(&entity, &row.version) {
            Ok(before) => before,
            Err(e) => return Ok(Plan::Reject(e)),
        };
        if (self.change)(&mut entity).into_change()? == Change::Keep {
            return Ok(Plan::Keep);
        }
        if Key::of(&entity)? != row.version.key {
            let (partition_key, row_key) = (row.version.key.partition_key(), row.version.key.row_key());
            let why = "the closure changed the entity's key: an entity with another key is another entity; \
                       insert it and delete the old one";
            return Err(Error::invalid_input(why).at_entity(partition_key, row_key).into());
        }
        Ok(match Form::of(&entity, &row.version) {
            Ok(now) => {
                let forms = (&before, &now);
                Plan::Write(rewrite(&entity, &row.version, &stored, forms, self.variant))
            }
            Err(e) => Plan::Reject(e),
        })
    }
}

/// Rewrites rows of older forms.
///
/// See [`TableClient::upgrade_all`].
///
/// Call options, such as `timeout`, apply to each page and each batch.
#[must_use = "nothing is sent until it is awaited"]
pub struct UpgradeAll<'h, E> {
    rows: QueryWrite<'h, E, Upgrade, WholeRow<E>>,
}
query_write!(UpgradeAll<'h>[E], Error, where E: TableEntity + ReadEntity);

struct Upgrade {
    drops_unknown: bool,
    variant: Option<&'static MarkedVariant>,
}

impl<E> UpgradeAll<'_, E> {
    pub(crate) fn new(table: &TableClient<E>, query: TableQuery<E, ()>) -> Self {
        let upgrade = Upgrade {
            drops_unknown: false,
            variant: table.pipeline().settings.variant,
        };
        Self {
            rows: QueryWrite::new(table, query, OperationKind::Upgrade, upgrade),
        }
    }

    /// Removes all properties that the struct does not write: **properties that it does not know are lost**.
    ///
    /// Rows with such properties are written even if they are otherwise up to date.
    pub fn drop_unknown(mut self) -> Self {
        self.rows.writes.drops_unknown = true;
        self
    }
}

impl<E: TableEntity + ReadEntity> PlanRows<E> for Upgrade {
    const IS_REPEATABLE: bool = true;
    type Row = WholeRow<E>;
    type Error = Error;

    fn plan(&mut self, row: WholeRow<E>) -> Result<Plan> {
        let ReadRow { entity, stored } = match row.read {
            Ok(read) => read,
            Err(bad) => return Ok(Plan::Bad(bad)),
        };
        let now = match Form::of(&entity, &row.version) {
            Ok(now) => now,
            Err(e) => return Ok(Plan::Reject(e)),
        };
        let has_more = match self.drops_unknown {
            true => stored.properties.keys().any(|name| !now.has(name)),
            false => has_older_names::<E>(&stored, &now),
        };
        if now.is_stored(&stored) && !has_more {
            return Ok(Plan::Keep);
        }
        Ok(Plan::Write(match self.drops_unknown {
            true => TableOperation::replace(&AsVariant::new(&entity, self.variant)).if_match(row.version.etag),
            false => rewrite(&entity, &row.version, &stored, (&now, &now), self.variant),
        }))
    }
}
