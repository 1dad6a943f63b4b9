//! `diff`: the rows in which two tables differ.

use std::pin::pin;

use clap::Args;
use futures_util::{Stream, TryStreamExt as _};
use serde_json::json;

use crate::failure::{Done, Failure};
use crate::ledger::no_rows_left;
use crate::pair::Pair;
use crate::rows::compared::{Compared, Counts};
use crate::session::Session;

#[derive(Args)]
pub(crate) struct Diff {
    #[command(flatten)]
    pair: Pair,
    /// Compare without these properties
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    ignore: Vec<String>,
    /// The number of rows that are printed
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u64,
}

impl Diff {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let rows = self.pair.compared(session, self.ignore)?;
        let counts = print(session, rows, self.limit).await?;
        match counts.different() {
            0 => no_rows_left(counts.rejected),
            different => Err(Failure::new(format!("{different} rows differ"))),
        }
    }
}

/// Prints up to `limit` that differ, or all as JSON lines, and the counts.
///
/// # Errors
/// A place cannot be read, or a signal came.
pub(crate) async fn print(session: &Session, rows: impl Stream<Item = Done<Compared>>, limit: u64) -> Done<Counts> {
    let terminal = &session.terminal;
    let (mut counts, mut read) = (Counts::default(), 0);
    let mut progress = session.progress(None);
    let mut rows = pin!(rows);
    while let Some(row) = rows.try_next().await? {
        counts.add(&row);
        read += 1;
        session.advance(&mut progress, read)?;
        if let Compared::Unreadable(rejection) = &row {
            terminal.rejected(rejection);
        }
        match row.json() {
            None => {}
            Some(json) if terminal.json => terminal.result(json)?,
            Some(_) if counts.different() <= limit => terminal.result(&row)?,
            Some(_) => {}
        }
    }
    drop(progress);
    match terminal.json {
        true => terminal.event("end", &json!(counts)),
        false => terminal.note(&counts.to_string()),
    }
    if !terminal.json && counts.different() > limit {
        let text = "of the rows that differ are printed: `aztable diff --limit N` prints more";
        terminal.note(&format!("{limit} {text}"));
    }
    Ok(counts)
}
