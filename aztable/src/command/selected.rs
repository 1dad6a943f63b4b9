//! `delete` and `patch`: writes over the rows of a selection, resumable.
//!
//! A row is written under the ETag with which it was read: a row that was changed meanwhile is rejected. The selection
//! may no longer have a row that was written: after a kill, rows behind the last position may be missing in the counts.

use azure_table::query::ScanPosition;
use azure_table::{DynamicEntity, TableOperation};
use clap::Args;
use serde_json::json;

use crate::failure::{Done, usage};
use crate::place::TablePlace;
use crate::row_selection::RowSelection;
use crate::row_writer::{Item, RowWriter, WriteOptions};
use crate::rows::printed_rows::{Form, PrintedRows};
use crate::rows::read_ahead::scanned_pages;
use crate::rows::sorted::scan;
use crate::rows::unread::ReadRow;
use crate::session::Session;
use crate::value;

/// The rows that `--dry-run` prints.
const PRINTED: usize = 10;

/// The rows that are written.
#[derive(Args)]
struct Selected {
    table: TablePlace,
    #[command(flatten)]
    rows: RowSelection,
    /// All rows of the table
    #[arg(long, conflicts_with_all = ["partition", "prefix", "filter"])]
    all: bool,
    /// Print the number of rows and the first ones, and write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    options: WriteOptions,
}

#[derive(Args)]
pub(crate) struct Delete {
    #[command(flatten)]
    selected: Selected,
}

#[derive(Args)]
pub(crate) struct Patch {
    #[command(flatten)]
    selected: Selected,
    /// Properties and their new values: Name=text, or Name:TYPE=value
    #[arg(long, required = true, num_args = 1.., value_name = "NAME:TYPE=VALUE")]
    set: Vec<String>,
}

impl Delete {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        self.selected.write(session, "delete", &[]).await
    }
}

impl Patch {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        self.selected.write(session, "patch", &self.set).await
    }
}

impl Selected {
    /// Deletes the rows, or sets properties of them.
    async fn write(self, session: &Session, verb: &str, set: &[String]) -> Done<()> {
        if self.rows.is_everything() && !self.all {
            usage!("no rows are selected: --partition, --filter, or --all to {verb} all rows");
        }
        let values = value::entity("", "", set)?;
        let (service, table) = session.connections.service_and_table(&self.table)?;
        let selected = self.rows.text();
        let query = self.rows.query(&table)?;
        let (described, path) = (session.described(&self.table)?, query.plan()?.path());
        let query = query.allow_table_scan();
        if self.dry_run {
            let mut first = query.clone().limit(PRINTED).stream();
            let mut printed = PrintedRows::new(Form::of(&session.terminal, Form::Table), Vec::new())?;
            while let Some(row) = first.try_next().await? {
                printed.add(row)?;
            }
            printed.end()?;
            let count = scan(&service, query).count().await?;
            let counts = format!("{verb} {count} rows: {selected} of {described}; nothing was written");
            session.note(&counts);
            return Ok(());
        }
        let set = set.join(" ");
        let place = &self.table;
        let identity = session.connections.identity(&place.account, place.table.as_str())?;
        let default = format!("{}-{verb}.position", table.name());
        let job = [verb, &identity, &selected, &set];
        let (file, position) = self.options.position::<ScanPosition>(&default, &job)?;
        let set = if set.is_empty() { set } else { format!(", set {set}") };
        session.confirm(&format!("{verb} {selected} of {described} ({path}){set}"))?;
        file.check_writable()?;
        let writer = RowWriter::open(session, &self.table, &self.options.sending, Some(file))?;
        let keys = query.select_names(["PartitionKey", "RowKey"]);
        let pages = scanned_pages(&service, keys, position);
        let item = |row: ReadRow| row.map_or_else(|why| Item::Ended(Err(why)), |row| operation(row, &values));
        writer.write_rows(pages, item).await
    }
}

/// Returns the write of a row: a merge of the values, or a deletion without any.
pub(crate) fn operation(row: DynamicEntity, values: &DynamicEntity) -> Item {
    let key = json!([row.partition_key, row.row_key]);
    let Some(etag) = row.etag else {
        return Item::Ended(Err((key, "it has no ETag: another program may have changed it".into())));
    };
    let operation = match values.properties.is_empty() {
        true => TableOperation::delete::<DynamicEntity>((row.partition_key, row.row_key)),
        false => TableOperation::merge(&DynamicEntity {
            partition_key: row.partition_key,
            row_key: row.row_key,
            ..values.clone()
        }),
    };
    Item::write(operation.if_match(etag), key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_without_an_etag_is_not_written() {
        let row = |etag: Option<&str>| DynamicEntity {
            etag: etag.map(|etag| azure_table::ETag::new(etag.to_owned())),
            ..DynamicEntity::new("p", "r")
        };
        let mut values = DynamicEntity::default();
        for _ in ["delete", "merge"] {
            let Item::Ended(Err((key, why))) = operation(row(None), &values) else {
                panic!("it is written")
            };
            assert_eq!((key, why.contains("no ETag")), (json!(["p", "r"]), true));
            assert!(matches!(operation(row(Some("W/1")), &values), Item::Write { .. }));
            values.insert("A", 1_i32);
        }
    }
}
