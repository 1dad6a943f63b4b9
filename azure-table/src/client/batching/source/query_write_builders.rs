//! The verbs over all rows that a query selects: delete, patch, update, upgrade.
//!
//! Each is a builder that plans the write of a row. `query_write.rs` reads the pages, and `current_form.rs` rewrites a
//! row.

use std::marker::PhantomData;

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};

use crate::client::batching::source::atomic::{Atomic, atomic};
use crate::client::batching::source::current_form::{Form, has_older_names, rewrite};
use crate::client::batching::source::query_write::{QueryWrite, query_write};
use crate::client::batching::source::row_plan::{Plan, PlanRows, RowVersion, TypedRow};
use crate::client::ops::modify_entity::{Change, ModifyOutcome};
use crate::client::query::table_query::TableQuery;
use crate::client::table_handle::TableClient;
use crate::entity::table_entity::{ReadEntity, TableEntity};
use crate::filter::assignment::{AssignedProperties, Assignments};
use crate::filter::projection::{UpdatableRow, Updated};
use crate::key::entity_key::Key;
use crate::write::operation::TableOperation;

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
atomic!(DeleteWhere<'h>[E], Error, where E: TableEntity);

struct Delete;

impl<E> DeleteWhere<'_, E> {
    pub(crate) fn new(table: &TableClient<E>, query: TableQuery<E, ()>) -> Self {
        Self {
            rows: QueryWrite::new(table, query, OperationKind::DeleteWhere, Delete),
        }
    }
}

impl<E: TableEntity> PlanRows<E> for Delete {
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
atomic!(PatchWhere<'h>[E], Error, where E: TableEntity);

struct Patch {
    columns: Result<AssignedProperties>,
}

impl<E> PatchWhere<'_, E> {
    pub(crate) fn new(table: &TableClient<E>, query: TableQuery<E, ()>, columns: impl Assignments<E>) -> Self {
        let columns = AssignedProperties::of(columns);
        Self {
            rows: QueryWrite::new(table, query, OperationKind::PatchWhere, Patch { columns }),
        }
    }
}

impl<E: TableEntity> PlanRows<E> for Patch {
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
        let columns = self.columns.as_ref().map_err(Error::copy)?;
        let keys = (row.key.partition_key(), row.key.row_key());
        let patch = TableOperation::merge_properties(keys, &mut |writer| columns.write(writer));
        Ok(Plan::Write(patch.if_match(row.etag)))
    }
}

/// Changes the selected rows with a closure.
///
/// See [`TableClient::update_where`].
///
/// Call options, such as `timeout`, apply to each page and each batch.
#[must_use = "nothing is sent until it is awaited"]
pub struct UpdateWhere<'h, E, P, F, R> {
    rows: QueryWrite<'h, E, Update<P, F, R>, TypedRow<E, P>>,
}
query_write!(
    UpdateWhere<'h>[E, P, F, R],
    R::Error,
    where E: TableEntity, P: UpdatableRow<E>, F: FnMut(&mut P) -> R, R: ModifyOutcome
);
atomic!(
    UpdateWhere<'h>[E, P, F, R],
    R::Error,
    where E: TableEntity, P: UpdatableRow<E>, F: FnMut(&mut P) -> R, R: ModifyOutcome
);

struct Update<P, F, R> {
    change: F,
    /// `true` if the rows are [`DynamicEntity`]s with some of their properties.
    is_partial: bool,
    /// `true` if a row may be changed twice.
    is_repeatable: bool,
    closure: PhantomData<fn(&mut P) -> R>,
}

impl<E, P: ReadEntity, F, R> UpdateWhere<'_, E, P, F, R> {
    pub(crate) fn new(table: &TableClient<E>, query: TableQuery<E, ()>, change: F) -> Self {
        let select = P::SELECT.map_or_else(|| query.shape.form.select.clone(), |_| None);
        let update = Update {
            change,
            is_partial: select.is_some(),
            is_repeatable: false,
            closure: PhantomData,
        };
        let mut rows = QueryWrite::new(table, query, OperationKind::UpdateWhere, update);
        rows.select = select;
        Self { rows }
    }

    /// Declares that the closure may change a row twice, because it sets the same values both times.
    ///
    /// A resumed run then misses no row: it changes rows again that were in doubt or in flight at its
    /// [position](crate::bulk::WriteReport::position). By default it skips them.
    ///
    /// ```
    /// # use azure_table::{Emulator, TableEntity, TableServiceClient};
    /// # #[derive(TableEntity)]
    /// # struct Blog { #[table(partition_key)] channel: String, #[table(row_key)] id: u32, rating: i32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let blogs = TableServiceClient::from_transport(Emulator::new()).table::<Blog>("Blogs")?;
    /// # blogs.create_table().await?;
    /// # blogs.insert(&Blog { channel: "Channel9".into(), id: 1, rating: 9 }).await?;
    /// let cap = blogs.update_where(blogs.query(), |blog| blog.rating = blog.rating.min(5)).repeatable();
    /// assert_eq!(cap.await?.applied(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn repeatable(mut self) -> Self {
        self.rows.writes.is_repeatable = true;
        self
    }
}

impl<E, P, F, R> PlanRows<E> for Update<P, F, R>
where
    E: TableEntity,
    P: UpdatableRow<E>,
    F: FnMut(&mut P) -> R,
    R: ModifyOutcome,
{
    type Row = TypedRow<E, P>;
    type Error = R::Error;

    // Calling the closure again would repeat its side effects.
    fn is_repeatable(&self) -> bool {
        self.is_repeatable
    }

    fn plan(&mut self, row: TypedRow<E, P>) -> Result<Plan, R::Error> {
        let version = row.version;
        let mut read = match row.read {
            Ok(read) => read,
            Err(bad) => return Ok(Plan::Bad(bad)),
        };
        let before = match Form::of(&read.row, &version) {
            Ok(before) => before,
            Err(e) => return Ok(Plan::Reject(e)),
        };
        if (self.change)(&mut read.row).into_change()? == Change::Keep {
            return Ok(Plan::Keep);
        }
        let now = Form::of(&read.row, &version);
        let has_key = match read.row.updated() {
            Updated::Entity(entity) => Key::of(entity)? == version.key,
            Updated::Projection(_) => now.as_ref().map_or(true, |now| now.has_key_of(&before)),
        };
        if !has_key {
            let why = "the closure changed the entity's key: an entity with another key is another entity; \
                       insert it and delete the old one";
            let (partition_key, row_key) = (version.key.partition_key(), version.key.row_key());
            return Err(Error::invalid_input(why).at_entity(partition_key, row_key).into());
        }
        let planned = now.and_then(|now| match read.row.updated() {
            Updated::Entity(entity) if !self.is_partial => Ok(rewrite(entity, &read, &version, (&before, &now))),
            _ => Ok(now.patch(&before, &version)?.map_or(Plan::Keep, Plan::Write)),
        });
        Ok(planned.unwrap_or_else(Plan::Reject))
    }
}

/// Rewrites rows that are stored in an older form.
///
/// See [`TableClient::upgrade_where`].
///
/// Call options, such as `timeout`, apply to each page and each batch.
#[must_use = "nothing is sent until it is awaited"]
pub struct UpgradeWhere<'h, E> {
    rows: QueryWrite<'h, E, Upgrade, TypedRow<E>>,
}
query_write!(UpgradeWhere<'h>[E], Error, where E: TableEntity + ReadEntity);
atomic!(UpgradeWhere<'h>[E], Error, where E: TableEntity + ReadEntity);

struct Upgrade {
    drops_unknown: bool,
}

impl<E> UpgradeWhere<'_, E> {
    pub(crate) fn new(table: &TableClient<E>, query: TableQuery<E, ()>) -> Self {
        let upgrade = Upgrade { drops_unknown: false };
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
    type Row = TypedRow<E>;
    type Error = Error;

    fn plan(&mut self, row: TypedRow<E>) -> Result<Plan> {
        let read = match row.read {
            Ok(read) => read,
            Err(bad) => return Ok(Plan::Bad(bad)),
        };
        let (entity, stored) = (&read.row, &read.stored);
        let now = match Form::of(entity, &row.version) {
            Ok(now) => now,
            Err(e) => return Ok(Plan::Reject(e)),
        };
        let has_more = if self.drops_unknown {
            stored.properties.keys().any(|name| !now.has(name))
        } else {
            has_older_names::<E>(stored, &now)
        };
        if now.is_stored(&read.stored) && !has_more {
            return Ok(Plan::Keep);
        }
        Ok(if self.drops_unknown {
            let replace = TableOperation::replace(entity);
            Plan::Write(replace.if_match(row.version.etag))
        } else {
            rewrite(entity, &read, &row.version, (&now, &now))
        })
    }
}
