//! `import`: the rows of a file in a table, resumable.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clap::Args;
use futures_util::stream;
use indicatif::HumanBytes;

use crate::failure::{Done, InFile as _, fail};
use crate::place::TablePlace;
use crate::row_writer::{Item, RowWriter, WriteOptions};
use crate::rows::file_format::{FileFormat, RowForm, is_pipe};
use crate::rows::open_rows::open_rows;
use crate::rows::read_ahead::read_ahead;
use crate::rows::row_source::{ColumnOptions, PAGE};
use crate::session::Session;

/// The bytes of a file by which its position knows it.
const BEGIN: u64 = 64 << 10;

const AFTER_HELP: &str = "\
Examples:
  aztable import quakes.jsonl.zst Quakes
  gunzip -c quakes.jsonl.gz | aztable import - Quakes --insert --yes

CSV: types are those of the header (Age:Edm.Int32, as export writes it), of a column Age@type beside Age (Storage \
Explorer), of --type, or those that all cells of a column show: 0010, +49 and 1.10 are texts. Columns ETag and \
Timestamp are left out. Of the CSV of AzCopy 7, types are those that the cells show: its *.schema.csv is not read.

Of rows with the same key the last one stays. A CSV file of another program is searched for them first; from a pipe, \
which is read once, the later ones are rejected.

JSON: an array of rows, rows one after the other, or responses of the service, with odata.type members.

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
        let is_pipe = is_pipe(&self.file);
        let format = FileFormat::of(&self.file, self.format)?;
        let account = session.connections.described(&self.table.account)?;
        let (length, begin) = match is_pipe {
            true => (0, Vec::new()),
            false => begin(&self.file).in_file(&self.file)?,
        };
        let file_name = self.file.display().to_string();
        let name = if is_pipe { "stdin" } else { &*file_name };
        // The number of rows belongs to this file as it is, and to the meaning of its columns.
        let columns = format!("{:?} {:?} {length} {begin:?}", format.form, self.columns);
        let job = [
            &*account,
            &self.table.to_string(),
            &file_name,
            if self.insert { "insert" } else { "" },
            &columns,
        ];
        let (position, before) = self.options.position::<u64>(&format!("{name}.position"), &job)?;
        let mut source = open_rows(&self.file, format, &self.columns)?;
        let mode = if self.insert { "insert" } else { "insert or replace" };
        let size = (!is_pipe).then(|| format!(" ({})", HumanBytes(length)));
        let (size, table, types) = (size.unwrap_or_default(), &self.table, source.plan());
        let plan = format!("{mode} the rows of {file_name}{size} in {table} at {account}{types}");
        let writer = RowWriter::confirmed(session, &plan, &self.table, &self.options.sending, Some(position)).await?;
        let mut left = before;
        while left > 0 {
            let rows = source.read(usize::try_from(left).unwrap_or(PAGE).min(PAGE))?;
            if rows.is_empty() {
                fail!("{file_name}: {left} rows less than its position: the file has changed");
            }
            left -= rows.len() as u64;
        }
        let pages = stream::try_unfold((source, before), move |(mut source, rows)| async move {
            // A pipe may be slow: the requests go on.
            let read = tokio::task::block_in_place(|| source.read(PAGE))?;
            if read.is_empty() {
                return Ok(None);
            }
            let rows = rows + read.len() as u64;
            Ok(Some(((read, rows), (source, rows))))
        });
        let item = move |row| Item::read(row, self.insert);
        writer.write_rows(read_ahead(pages), item).await
    }
}

/// Returns the length of a file, and its first bytes: another file has others.
fn begin(path: &Path) -> io::Result<(u64, Vec<u8>)> {
    let (file, mut begin) = (File::open(path)?, Vec::new());
    let length = file.metadata()?.len();
    file.take(BEGIN).read_to_end(&mut begin)?;
    Ok((length, begin))
}
