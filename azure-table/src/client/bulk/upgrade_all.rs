//! Write rows of older forms in the form of their struct.

use crate::client::bulk::builder::row_writes;
use crate::client::bulk::rewrite::{Form, has_older_names, rewrite};
use crate::client::bulk::row_plan::{Plan, WritesRows};
use crate::client::bulk::row_writes::RowWrites;
use crate::client::bulk::selected_row::{ReadRow, WholeRow};
use crate::client::query::TableQuery;
use crate::client::table::TableClient;
use crate::model::entity::{ReadEntity, TableEntity};
use crate::model::entity_key::Key;
use crate::model::error::{Error, Result};
use crate::model::variant_mark::{AsVariant, MarkedVariant};
use crate::protocol::operation::TableOperation;

/// Writes rows of older forms anew. See [`TableClient::upgrade_all`]. Options of calls, such as `timeout`, apply to each page and each batch.
#[must_use = "nothing is sent until it is awaited"]
pub struct UpgradeAll<E> {
    rows: RowWrites<E, Upgrade, WholeRow<E>>,
}
row_writes!(UpgradeAll[E], Error, where E: TableEntity + ReadEntity);

struct Upgrade {
    drops_unknown: bool,
    variant: Option<&'static MarkedVariant>,
}

impl<E> UpgradeAll<E> {
    pub(crate) fn new(table: &TableClient<E>, query: TableQuery<E, ()>) -> Self {
        let upgrade = Upgrade {
            drops_unknown: false,
            variant: table.pipeline().settings.variant,
        };
        Self {
            rows: RowWrites::new(table, query, upgrade),
        }
    }

    /// Leaves nothing of a row but what the struct writes: **properties that it does not know are lost**. Rows that have such are
    /// written though all else is up to date.
    pub fn drop_unknown(mut self) -> Self {
        self.rows.writes.drops_unknown = true;
        self
    }
}

impl<E: TableEntity + ReadEntity> WritesRows<E> for Upgrade {
    const OPERATION: &'static str = "upgrade";
    const IS_REPEATABLE: bool = true;
    type Row = WholeRow<E>;
    type Error = Error;

    fn key(row: &WholeRow<E>) -> &Key<E> {
        &row.version.key
    }

    fn plan(&mut self, row: WholeRow<E>) -> Result<Plan> {
        let ReadRow { entity, stored } = match row.read {
            Ok(read) => read,
            Err(bad) => return Ok(Plan::Bad(bad)),
        };
        let now = match Form::of(&entity, &row.version) {
            Ok(now) => now,
            Err(e) => return Ok(Plan::Refuse(e)),
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
