//! Change all rows that a query selects by a closure.

use std::marker::PhantomData;

use crate::client::bulk::builder::row_writes;
use crate::client::bulk::rewrite::{Form, rewrite};
use crate::client::bulk::row_plan::{Plan, WritesRows};
use crate::client::bulk::row_writes::RowWrites;
use crate::client::bulk::selected_row::{ReadRow, WholeRow};
use crate::client::ops::modify_entity::{Change, ModifyOutcome};
use crate::client::query::TableQuery;
use crate::client::table::TableClient;
use crate::model::entity::{ReadEntity, TableEntity};
use crate::model::entity_key::Key;
use crate::model::error::{Error, Result};
use crate::model::variant_mark::MarkedVariant;

/// Changes rows. See [`TableClient::update_where`]. Options of calls, such as `timeout`, apply to each page and each batch.
#[must_use = "nothing is sent until it is awaited"]
pub struct UpdateWhere<E, F, R> {
    rows: RowWrites<E, Update<F, R>, WholeRow<E>>,
}
row_writes!(
    UpdateWhere[E, F, R],
    R::Error,
    where E: TableEntity + ReadEntity, F: FnMut(&mut E) -> R, R: ModifyOutcome
);

struct Update<F, R> {
    change: F,
    variant: Option<&'static MarkedVariant>,
    outcome: PhantomData<fn() -> R>,
}

impl<E, F, R> UpdateWhere<E, F, R> {
    pub(crate) fn new(table: &TableClient<E>, query: TableQuery<E, ()>, change: F) -> Self {
        let update = Update {
            change,
            variant: table.pipeline().settings.variant,
            outcome: PhantomData,
        };
        Self {
            rows: RowWrites::new(table, query, update),
        }
    }
}

impl<E, F, R> WritesRows<E> for Update<F, R>
where
    E: TableEntity + ReadEntity,
    F: FnMut(&mut E) -> R,
    R: ModifyOutcome,
{
    const OPERATION: &'static str = "update where";
    // Who counts, counts twice.
    const IS_REPEATABLE: bool = false;
    type Row = WholeRow<E>;
    type Error = R::Error;

    fn key(row: &WholeRow<E>) -> &Key<E> {
        &row.version.key
    }

    fn plan(&mut self, row: WholeRow<E>) -> Result<Plan, R::Error> {
        let ReadRow { mut entity, stored } = match row.read {
            Ok(read) => read,
            Err(bad) => return Ok(Plan::Bad(bad)),
        };
        let before = match Form::of(&entity, &row.version) {
            Ok(before) => before,
            Err(e) => return Ok(Plan::Refuse(e)),
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
            Err(e) => Plan::Refuse(e),
        })
    }
}
