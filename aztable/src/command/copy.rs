//! `copy`: the rows of a table in another one, of any place, resumable.

use azure_table::query::ScanPosition;
use clap::Args;

use crate::failure::Done;
use crate::pair::Pair;
use crate::row_writer::{Item, RowWriter, WriteOptions};
use crate::rows::read_ahead::scanned_pages;
use crate::session::Session;

#[derive(Args)]
pub(crate) struct Copy {
    #[command(flatten)]
    pair: Pair,
    /// Insert rows, and reject those whose key exists with other properties
    #[arg(long)]
    insert: bool,
    #[command(flatten)]
    options: WriteOptions,
}

impl Copy {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let [from, to] = self.pair.identities(session)?;
        let selected = self.pair.rows.text();
        let mode = if self.insert { "insert" } else { "insert or replace" };
        let default = format!("{}-to-{}.position", self.pair.from.table, self.pair.to.table);
        let job = ["copy", &from, &to, &selected, mode];
        let (position, before) = self.options.position::<ScanPosition>(&default, &job)?;
        let (from, to) = (session.described(&self.pair.from)?, session.described(&self.pair.to)?);
        let plan = format!("{mode} {selected} of {from} in {to}");
        let writer = RowWriter::confirmed(session, &plan, &self.pair.to, &self.options.sending, Some(position)).await?;
        let (service, table) = session.connections.service_and_table(&self.pair.from)?;
        let pages = scanned_pages(&service, self.pair.rows.query(&table)?, before);
        writer.write_rows(pages, move |row| Item::read(row, self.insert)).await
    }
}
