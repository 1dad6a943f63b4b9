//! `copy`: the rows of a table in another one, of any place, resumable.

use azure_table::query::ScanPosition;
use clap::Args;

use crate::failure::Done;
use crate::pair::PairOptions;
use crate::row_writer::{Item, RowWriter, WriteOptions};
use crate::rows::read_ahead::scanned_pages;
use crate::rows::sorted::scan;
use crate::session::Session;

#[derive(Args)]
pub(crate) struct Copy {
    #[command(flatten)]
    pair: PairOptions,
    /// Insert rows, and reject those whose key exists with other properties
    #[arg(long)]
    insert: bool,
    #[command(flatten)]
    options: WriteOptions,
}

impl Copy {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        self.pair.check(session)?;
        session.connections.create_folder(&self.pair.to.account)?;
        let pair = self.pair.open(session)?;
        let selected = self.pair.rows.text();
        let (mode, insert) = match self.insert {
            true => ("insert", true),
            false => ("insert or replace", false),
        };
        let [from, to] = &pair.identities;
        let default = format!("{}-to-{}.position", self.pair.from.table, self.pair.to.table);
        let job = ["copy", from, to, &selected, mode];
        let writer = RowWriter::new(session, &self.pair.to, &self.options, default.as_ref(), &job)?;
        let before = writer.resumed::<ScanPosition>()?.unwrap_or_default();
        let plan = format!(
            "{mode} {selected} of {} in {}",
            session.described(&self.pair.from)?,
            session.described(&self.pair.to)?
        );
        session.terminal.confirm(&plan)?;
        session.table(&self.pair.to)?.create_table_if_not_exists().await?;
        let (service, table) = &pair.from;
        let scan = scan(service, self.pair.rows.query(table)?);
        let pages = scanned_pages(scan.resume_from(before).stream());
        writer.write_rows(pages, move |row| Item::row(row, insert)).await
    }
}
