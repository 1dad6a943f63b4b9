//! `copy`: the rows of a table in another one, of any place, resumable.

use azure_table::DynamicEntity;
use azure_table::query::{ScanPosition, ScanStream};
use clap::Args;
use futures_util::stream::{self, Stream, TryStreamExt as _};

use crate::failure::Done;
use crate::pair::PairOptions;
use crate::row_writer::{Item, Page, RowWriter, WriteOptions};
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
        let pair = self.pair.open(session)?;
        let selected = self.pair.rows.text();
        let (mode, insert) = match self.insert {
            true => ("insert", true),
            false => ("insert or replace", false),
        };
        let [from, to] = &pair.identities;
        let name = |text: &str| text.rsplit('/').next().unwrap_or_default().to_owned();
        let default = format!("{}-to-{}.position", name(&self.pair.from), name(&self.pair.to));
        let job = ["copy", from, to, &selected, mode];
        let writer = RowWriter::new(session, &self.pair.to, self.options, default.as_ref(), &job)?;
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
        let pages = pages(scan.resume_from(before).stream(), move |row| Item::row(row, insert));
        writer.write(pages, None).await
    }
}

/// Returns the rows of a scan as items to write, with the position after each page.
pub(crate) fn pages(
    scan: ScanStream<DynamicEntity>,
    item: impl Fn(DynamicEntity) -> Item,
) -> impl Stream<Item = Done<Page<ScanPosition>>> {
    let read = stream::try_unfold(scan, |mut scan| async move {
        let rows = scan.try_next_page().await?;
        Ok(rows.map(|rows| ((rows, scan.position().clone()), scan)))
    });
    read.map_ok(move |(rows, position)| (rows.into_iter().map(&item).collect(), position))
}
