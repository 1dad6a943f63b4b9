//! The two tables of `copy`, `diff` and `sync`.

use azure_table::{DynamicEntity, TableClient, TableServiceClient};
use clap::Args;
use futures_util::stream::Stream;

use crate::failure::{Done, Failure};
use crate::place::TablePlace;
use crate::row_selection::RowSelection;
use crate::rows::compared::{Compared, compared};
use crate::rows::sorted::{KeyedRow, sorted_rows};
use crate::session::Session;

/// Two tables on the command line, and the rows that are meant.
#[derive(Args)]
pub(crate) struct PairOptions {
    /// The table that is read
    pub(crate) from: TablePlace,
    /// The table that is written or compared
    pub(crate) to: TablePlace,
    #[command(flatten)]
    pub(crate) rows: RowSelection,
}

type Opened = (TableServiceClient, TableClient<DynamicEntity>);

/// Two tables that are not the same.
pub(crate) struct Pair {
    pub(crate) from: Opened,
    to: Opened,
    /// The parts that a position depends on.
    pub(crate) identities: [String; 2],
    rows: RowSelection,
}

impl PairOptions {
    /// Checks the selection, before a folder or a table is created.
    ///
    /// # Errors
    /// It cannot be sent.
    pub(crate) fn check(&self, session: &Session) -> Done<()> {
        let (_, from) = session.connections.service_and_table(&self.from)?;
        self.rows.query(&from).map(drop)?;
        Ok(())
    }

    /// Opens both tables.
    ///
    /// # Errors
    /// Both texts name one table, the selection cannot be sent, or the errors of opening them.
    pub(crate) fn open(&self, session: &Session) -> Done<Pair> {
        self.check(session)?;
        let connections = &session.connections;
        let identities = [connections.identity(&self.from)?, connections.identity(&self.to)?];
        let [from, to] = &identities;
        if from == to {
            return Err(Failure::usage(format!(
                "{} and {} are the same table",
                self.from, self.to
            )));
        }
        Ok(Pair {
            from: connections.service_and_table(&self.from)?,
            to: connections.service_and_table(&self.to)?,
            identities,
            rows: self.rows.clone(),
        })
    }
}

impl Pair {
    /// Compares the rows of both tables, in key order.
    ///
    /// # Errors
    /// A key of the selection is not allowed.
    pub(crate) fn compared(&self, session: &Session, ignored: Vec<String>) -> Done<impl Stream<Item = Done<Compared>>> {
        let sorted = |(service, table): &Opened| -> Done<_> {
            Ok(sorted_rows(service, self.rows.query(table)?, session.interrupt.clone()))
        };
        let ignoring = move |(key, mut row): KeyedRow| {
            row.properties.retain(|name, _| !ignored.contains(name));
            (key, row)
        };
        Ok(compared(sorted(&self.from)?, sorted(&self.to)?, ignoring))
    }
}
