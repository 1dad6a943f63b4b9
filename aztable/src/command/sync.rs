//! `sync`: the rows of a table made equal to those of another one.
//!
//! Both are compared, and only rows that differ are written. It has no position: the same command does the rest.

use azure_table::DynamicEntity;
use clap::Args;
use futures_util::{TryStreamExt as _, future};
use indicatif::HumanCount;

use crate::command::diff::print;
use crate::command::selected::operation;
use crate::failure::Done;
use crate::ledger::{Outcome, no_rows_left};
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
    /// Write nothing: print the first rows that would be inserted (+), replaced (~) or deleted (-), and the counts
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    options: SendOptions,
}

impl Sync {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        if self.dry_run {
            let is_write = |row: &Compared| future::ready(self.delete || !matches!(row, Compared::Extra(_)));
            let rows = self.pair.compared(session, Vec::new())?.try_filter(is_write);
            let counts = print(session, rows.map_ok(Compared::reversed), PRINTED).await?;
            let [write, delete] = [counts.extra + counts.changed, counts.missing].map(HumanCount);
            session.note(&format!("would write {write}, delete {delete}; nothing was written"));
            return no_rows_left(counts.rejected);
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
        let writer = RowWriter::confirmed(session, &plan, &self.pair.to, &self.options, None).await?;
        let item = move |row| match row {
            Compared::Equal => Item::Ended(Ok(Outcome::Unchanged)),
            Compared::Missing(row) | Compared::Changed(row, _) => Item::row(row, false),
            Compared::Extra(row) if self.delete => operation(row, &DynamicEntity::default()),
            Compared::Extra(_) => Item::Ended(Ok(Outcome::Kept)),
            // The first table may have a row of this key.
            Compared::Unreadable(rejection) => Item::Ended(Err(rejection)),
        };
        let rows = self.pair.compared(session, Vec::new())?;
        let pages = rows.try_chunks(PAGE).map_err(|error| error.1);
        writer.write_rows(pages.map_ok(|rows| (rows, ())), item).await
    }
}
