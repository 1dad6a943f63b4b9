//! `query`: the plan first, then rows.

use azure_table::filter::AccessPath;
use clap::Args;
use serde_json::json;

use crate::failure::{Done, usage};
use crate::place::TablePlace;
use crate::row_selection::RowSelection;
use crate::rows::printed_rows::{Form, PrintedRows};
use crate::rows::unread::read_row;
use crate::session::Session;
use crate::terminal::counted;

/// The rows of a table on the terminal, if the user names no limit.
const TABLE_LIMIT: usize = 100;
/// The rows of a page.
const PAGE: usize = 1_000;

#[derive(Args)]
#[command(after_help = "\
Examples:
  aztable query Quakes --partition banda --filter 'Magnitude ge 5.0' --select Magnitude
  aztable query Quakes --filter 'Magnitude ge 5.0' --scan --count")]
pub(crate) struct Query {
    /// The table
    table: TablePlace,
    #[command(flatten)]
    rows: RowSelection,
    /// Only these properties
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    select: Vec<String>,
    /// The number of rows: 100 in a table on the terminal, otherwise all
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Read the whole table if the filter needs it
    #[arg(long)]
    scan: bool,
    /// Print the number of rows
    #[arg(long, conflicts_with_all = ["csv", "select", "limit"])]
    count: bool,
    /// Print CSV
    #[arg(long)]
    csv: bool,
}

impl Query {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let table = session.table(&self.table)?;
        let form = Form::of(&session.terminal, if self.csv { Form::Csv } else { Form::Table });
        let is_table = form == Form::Table && !self.count;
        let limit = self.limit.or(is_table.then_some(TABLE_LIMIT));
        let mut query = self.rows.query(&table)?;
        // The first rows of a table are a page, not a scan.
        let is_first_page = self.rows.is_everything() && limit.is_some_and(|limit| limit <= PAGE);
        let plan = query.plan()?;
        if plan.path() == AccessPath::TableScan && !self.scan && !is_first_page {
            usage!("this query reads the whole table: add --partition, --scan, or --limit 1000 without a filter");
        }
        let path = plan.path().to_string();
        let path = if is_first_page { "the first page" } else { &*path };
        let (requests, text) = (counted(plan.requests() as u64, "request"), plan.request_text());
        let request = text.lines().next().unwrap_or_default();
        let text = format!("plan: {path}, {requests} and one more for each {PAGE} rows\n  {request}");
        session.note(&text);
        if self.count {
            let count = query.count().await?;
            return session.terminal.either(json!({ "count": count }), count);
        }
        if let Some(limit) = limit {
            query = query.limit(limit);
        }
        let mut rows = match self.select.is_empty() {
            true => query.lenient().stream(),
            false => query.select_names(self.select.clone()).lenient().stream(),
        };
        let mut printed = PrintedRows::new(form, self.select)?;
        let (mut read, mut shown) = (0, 0);
        while let Some(row) = rows.try_next().await? {
            read += 1;
            if let Some(row) = session.readable(read_row(row)) {
                printed.add(row)?;
                shown += 1;
            }
        }
        printed.end()?;
        session.note(&counted(shown, "row"));
        if self.limit.is_none() && limit == Some(read) {
            session.note("there may be more: --limit N");
        }
        Ok(())
    }
}
