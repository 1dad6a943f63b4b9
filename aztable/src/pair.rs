//! The two tables of `copy`, `diff` and `sync`.

use clap::Args;
use futures_util::stream::Stream;

use crate::failure::{Done, usage};
use crate::place::TablePlace;
use crate::row_selection::RowSelection;
use crate::rows::compared::{Compared, compared};
use crate::rows::sorted::{KeyedRow, sorted_rows};
use crate::session::Session;

/// Two tables on the command line, and the rows that are meant.
#[derive(Args)]
pub(crate) struct Pair {
    /// The table that is read
    pub(crate) from: TablePlace,
    /// The table that is written or compared
    pub(crate) to: TablePlace,
    #[command(flatten)]
    pub(crate) rows: RowSelection,
}

impl Pair {
    /// Checks the tables and the selection, before anything is created. Returns the parts that a position depends on.
    ///
    /// # Errors
    /// Both texts name one table, the selection cannot be sent, or the first table's account cannot be opened.
    pub(crate) fn identities(&self, session: &Session) -> Done<[String; 2]> {
        self.rows.query(&session.table(&self.from)?)?.plan()?;
        let identity = |place: &TablePlace| session.connections.identity(&place.account, place.table.as_str());
        let (from, to) = (identity(&self.from)?, identity(&self.to)?);
        if from == to {
            usage!("{} and {} are the same table", self.from, self.to);
        }
        Ok([from, to])
    }

    /// Compares the rows of both tables, in key order.
    ///
    /// # Errors
    /// The errors of [`identities`](Self::identities), and of opening the second table's account.
    pub(crate) fn compared(&self, session: &Session, ignored: Vec<String>) -> Done<impl Stream<Item = Done<Compared>>> {
        self.identities(session)?;
        let sorted = |table| -> Done<_> {
            let (service, table) = session.connections.service_and_table(table)?;
            Ok(sorted_rows(
                &service,
                self.rows.query(&table)?,
                session.interrupt.clone(),
            ))
        };
        let ignoring = move |(key, mut row): KeyedRow| {
            if let Ok(row) = &mut row {
                row.properties.retain(|name, _| !ignored.contains(name));
            }
            (key, row)
        };
        Ok(compared(sorted(&self.from)?, sorted(&self.to)?, ignoring))
    }
}
