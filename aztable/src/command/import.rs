//! `import`: the rows of a file in a table, resumable.

use std::path::PathBuf;

use clap::Args;
use futures_util::stream;
use indicatif::HumanBytes;

use crate::failure::{Done, Failure};
use crate::place::TablePlace;
use crate::row_writer::{Item, RowWriter, WriteOptions};
use crate::rows::file_format::{FileFormat, RowForm};
use crate::rows::open_rows::open_rows;
use crate::rows::read_ahead::read_ahead;
use crate::rows::row_source::{ColumnOptions, PAGE, ReadRow};
use crate::session::Session;

const AFTER_HELP: &str = "\
Examples:
  aztable import quakes.jsonl.zst Quakes
  gunzip -c quakes.jsonl.gz | aztable import - Quakes --insert --yes

CSV: types are those of the header (Age:Edm.Int32, as export writes it), of a column Age@type beside Age (Storage \
Explorer), of --type, or those that all cells of a column show: 0010, +49 and 1.10 are texts. Columns ETag and \
Timestamp are left out. Of the CSV of AzCopy 7, types are those that the cells show: its *.schema.csv is not read.

Of rows with the same key the last one stays. A CSV file of another program is searched for them first.

JSON: an array of rows, or rows one after the other, with odata.type members, as AzCopy 7 wrote them.

Parquet: our own has the types in its metadata; other files are read by their logical types.";

#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Import {
    /// The file: *.jsonl, *.json, *.csv, *.parquet, with .gz or .zst; or - for the standard input
    file: PathBuf,
    /// The table, which is created if it does not exist
    table: TablePlace,
    /// The format, if the ending does not name it
    #[arg(long)]
    format: Option<RowForm>,
    /// Insert rows, and reject those whose key exists with other properties
    #[arg(long)]
    insert: bool,
    #[command(flatten)]
    columns: ColumnOptions,
    #[command(flatten)]
    options: WriteOptions,
}

impl Import {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let is_pipe = self.file.as_os_str() == "-";
        let format = FileFormat::of(&self.file, self.format)?;
        session.connections.create_folder(&self.table.account)?;
        let account = session.connections.described(&self.table.account)?;
        let length = match is_pipe {
            true => 0,
            false => std::fs::metadata(&self.file)
                .map_err(|error| Failure::of_file(&self.file, error))?
                .len(),
        };
        let file_name = self.file.display().to_string();
        let name = if is_pipe { "stdin" } else { &*file_name };
        let default = PathBuf::from(format!("{name}.position"));
        self.options.check(Some(&self.file))?;
        // The number of rows belongs to this file as it is, and to the meaning of its columns.
        let columns = format!("{:?} {:?}", format.form, self.columns);
        let job = [
            &*account,
            &self.table.to_string(),
            &file_name,
            &length.to_string(),
            if self.insert { "insert" } else { "" },
            &columns,
        ];
        let writer = RowWriter::new(session, &self.table, &self.options, &default, &job)?;
        let before = writer.resumed::<u64>()?.unwrap_or_default();
        let mut source = open_rows(&self.file, format, &self.columns)?;
        let mode = if self.insert { "insert" } else { "insert or replace" };
        session.terminal.confirm(&format!(
            "{mode} the rows of {file_name}{} in {} at {account}{}",
            match length {
                0 => String::new(),
                length => format!(" ({})", HumanBytes(length)),
            },
            self.table,
            source.plan()
        ))?;
        session.table(&self.table)?.create_table_if_not_exists().await?;

        let mut skipped = 0;
        while skipped < before {
            let most = usize::try_from(before - skipped).unwrap_or(PAGE).min(PAGE);
            let rows = source.read(most)?;
            if rows.is_empty() {
                let text = format!("it has {skipped} rows, its position is {before}: the file has changed");
                return Err(Failure::of_file(&self.file, text));
            }
            skipped += rows.len() as u64;
        }
        let insert = self.insert;
        let pages = stream::try_unfold((source, before), move |(mut source, rows)| async move {
            // A pipe may be slow: the requests go on.
            let read = tokio::task::block_in_place(|| source.read(PAGE))?;
            if read.is_empty() {
                return Ok(None);
            }
            let rows = rows + read.len() as u64;
            Ok(Some(((read, rows), (source, rows))))
        });
        let item = move |row: ReadRow| match row {
            Ok(row) => Item::row(row, insert),
            Err((text, why)) => Item::Bad { text, why },
        };
        writer.write_rows(read_ahead(pages), item).await
    }
}
