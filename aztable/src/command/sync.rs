//! `sync`: the rows of a table made equal to those of another one.
//!
//! Both are compared, and only rows that differ are written. It has no position: the same command does the rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use azure_table::DynamicEntity;
use clap::Args;
use futures_util::TryStreamExt as _;

use crate::command::diff::print;
use crate::command::selected::operation;
use crate::failure::Done;
use crate::pair::Pair;
use crate::row_writer::{Item, RowWriter, SendOptions};
use crate::rows::compared::Compared;
use crate::session::Session;

/// The rows that are compared before they are written.
const PAGE: usize = 1_000;
/// The differences that `--dry-run` prints.
const PRINTED: u64 = 10;

#[derive(Args)]
pub(crate) struct Sync {
    #[command(flatten)]
    pair: Pair,
    /// Delete rows that the first table lacks. Not with a filter: the first table may have them with other values
    #[arg(long, conflicts_with = "filter")]
    delete: bool,
    /// Compare only: print the first differences and the counts
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    options: SendOptions,
}

impl Sync {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        if self.dry_run {
            return print(session, &self.pair, Vec::new(), PRINTED).await.map(drop);
        }
        self.pair.identities(session)?;
        let extra = if self.delete { "delete" } else { "keep" };
        let plan = format!(
            "make {} of {} equal to {}: insert or replace the rows that differ, {extra} its other rows\n  \
             --dry-run counts them first; after a stop the same command does the rest",
            self.pair.rows.text(),
            session.described(&self.pair.to)?,
            session.described(&self.pair.from)?,
        );
        self.options.check()?;
        let mut writer = RowWriter::confirmed(session, &plan, &self.pair.to, &self.options, None).await?;
        let kept = Arc::new(AtomicU64::new(0));
        let (count, delete) = (Arc::clone(&kept), self.delete);
        let item = move |row| match row {
            Compared::Equal => Some(Item::Unchanged),
            Compared::Missing(row) | Compared::Changed(row, _) => Some(Item::row(row, false)),
            Compared::Extra(row) if delete => Some(operation(row, &DynamicEntity::default())),
            Compared::Extra(_) => {
                count.fetch_add(1, Ordering::Relaxed);
                None
            }
        };
        let rows = self.pair.compared(session, Vec::new())?;
        let pages = rows.try_chunks(PAGE).map_err(|error| error.1);
        let pages = pages.map_ok(move |rows| (rows.into_iter().filter_map(&item).collect(), ()));
        let written = writer.write(pages, None).await;
        match kept.load(Ordering::Relaxed) {
            0 => {}
            kept => session.note(&format!("{kept} other rows are kept: --delete deletes them")),
        }
        written?.check()
    }
}
