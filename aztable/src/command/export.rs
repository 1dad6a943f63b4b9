//! `export`: the rows of a table in a file, resumable.
//!
//! CSV and Parquet have the columns of all rows: the rows go to JSON lines beside the file first, resumable as those,
//! and from there to the file, which is replaced by a rename when it is complete.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::pin::pin;

use azure_table::query::ScanPosition;
use clap::Args;
use futures_util::TryStreamExt as _;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::failure::{Done, Failure};
use crate::place::TablePlace;
use crate::position::{PositionFile, create_private, with_ending};
use crate::row_selection::RowSelection;
use crate::rows::appended_file::AppendedFile;
use crate::rows::columns::Columns;
use crate::rows::compression::{Compression, open};
use crate::rows::csv_writer::CsvWriter;
use crate::rows::file_format::{FileFormat, RowForm};
use crate::rows::json_lines::{self, JsonLines};
use crate::rows::parquet_writer::ParquetWriter;
use crate::rows::read_ahead::scanned_pages;
use crate::rows::row_source::each_row;
use crate::rows::sorted::scan;
use crate::session::Session;
use crate::tally::Tally;

/// The compression of rows from which a file with columns is made.
const COMPRESSION: Compression = Compression::Zstandard;

const AFTER_HELP: &str = "\
Examples:
  aztable export Quakes quakes.jsonl.zst
  aztable export Quakes - --partition banda | jq .Magnitude

CSV: the header has the type of each column, as Age:Edm.Int32, and a property of two types has two columns. An empty \
cell is an absent property; an empty text is a cell of two quotes. Binary is base64.

Parquet: times are timestamps in microseconds; a column Name@100ns has what is behind them, if a row needs it. A \
property of two types has the columns Age:Edm.Int32 and Age:Edm.String.

Both need the columns of all rows: the rows are first written to FILE.rows.jsonl.zst, which is deleted at the end.";

#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Export {
    /// The table
    table: TablePlace,
    /// The file: *.jsonl, *.csv, *.parquet, with .gz or .zst; or - for the standard output
    file: PathBuf,
    #[command(flatten)]
    rows: RowSelection,
    /// Only these properties
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    select: Vec<String>,
    /// The format, if the ending does not name it
    #[arg(long)]
    format: Option<RowForm>,
    /// Write ETag and Timestamp too
    #[arg(long)]
    system: bool,
    /// Replace a file that exists
    #[arg(long)]
    overwrite: bool,
    /// Go on from the position in this file
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
}

/// The position of an export.
#[derive(Serialize, Deserialize, Default)]
struct Position {
    rows: u64,
    bytes: u64,
    scan: ScanPosition,
}

impl Export {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let is_pipe = self.file.as_os_str() == "-";
        let format = FileFormat::of(&self.file, self.format)?;
        let is_target = format.form == RowForm::JsonLines;
        let (scanned, _folder) = self.scanned(format.form, is_pipe)?;
        let compression = if is_target { format.compression } else { COMPRESSION };
        let (service, table) = session.connections.service_and_table(&self.table)?;
        let account = session.connections.described(&self.table.account)?;
        let (selected, columns) = (self.rows.text(), self.select.join(","));
        let file_name = self.file.display().to_string();
        let position_path = self
            .resume
            .clone()
            .unwrap_or_else(|| format!("{file_name}.position").into());
        let system = if self.system { "system" } else { "" };
        let form = format!("{:?}", format.form);
        let job = [
            &*account,
            table.name().as_str(),
            &selected,
            &columns,
            &file_name,
            system,
            &form,
        ];
        let mut stored = PositionFile::new(position_path, &job);
        let mut position: Position = stored.resumed(self.resume.is_some())?.unwrap_or_default();
        let stopped = |rows, stored: &PositionFile| session.interrupted(rows, (!is_pipe).then(|| stored.path()));
        let may_replace = self.overwrite || self.resume.is_some();
        if !is_pipe && !may_replace && self.file.exists() {
            return Err(Failure::usage(format!("{file_name} exists: add --overwrite")));
        }
        session
            .terminal
            .note(&format!("export {selected} of {} at {account}", table.name()));
        let query = self.rows.query(&table)?;
        let scan = match self.select.is_empty() {
            true => scan(&service, query),
            false => scan(&service, query.select_names(self.select.clone())),
        };
        let mut pages = pin!(scanned_pages(scan.resume_from(position.scan.clone()).stream()));
        session.interrupt.wait_for_position();
        let mut progress = session.progress(None);
        let mut page = pages.try_next().await?;
        // Only now, as an error of the table or the filter must not cost the file that is there.
        let mut file = AppendedFile::resume(&scanned, compression, position.bytes)?;
        loop {
            let is_end = page.is_none();
            if let Some((rows, scanned)) = page {
                position.scan = scanned;
                position.rows += rows.len() as u64;
                for mut row in rows {
                    if !self.system {
                        (row.etag, row.timestamp) = (None, None);
                    }
                    json_lines::write(&mut file, &row)?;
                }
            }
            progress.set(position.rows);
            let stop = session.interrupt.is_set();
            if stop || is_end || stored.is_due() {
                file.flush()?;
                position.bytes = file.length();
                // Behind the end of JSON lines there is nothing to resume, behind that of rows for columns there is.
                let is_done = is_end && is_target;
                if !is_pipe && !is_done {
                    stored.save(&position)?;
                }
            }
            if is_end {
                break;
            }
            if stop {
                drop(progress);
                return Err(stopped(position.rows, &stored));
            }
            page = pages.try_next().await?;
        }
        drop(progress);
        if !is_target && !self.write_columns(session, format, &scanned, position.rows)? {
            return Err(stopped(position.rows, &stored));
        }
        if !is_pipe {
            stored.delete()?;
        }
        // Behind the position, which needs them.
        if !is_target {
            fs::remove_file(&scanned).map_err(|error| Failure::of_file(&scanned, error))?;
        }
        Tally {
            read: position.rows,
            written: position.rows,
            ..Tally::default()
        }
        .report(&session.terminal)
    }

    /// Names the file that the scan appends to: the target itself, or rows from which it is made. Those for the
    /// standard output are in a folder of their own, as long as it is held.
    fn scanned(&self, form: RowForm, is_pipe: bool) -> Done<(PathBuf, Option<TempDir>)> {
        match (form, is_pipe) {
            (RowForm::JsonLines, _) => Ok((self.file.clone(), None)),
            (RowForm::Csv, true) => {
                let folder = tempfile::Builder::new().prefix("aztable-").tempdir()?;
                Ok((folder.path().join("rows.jsonl.zst"), Some(folder)))
            }
            (RowForm::Csv | RowForm::Parquet, false) => Ok((with_ending(&self.file, ".rows.jsonl.zst"), None)),
            (RowForm::Parquet, true) => Err(Failure::usage("Parquet needs a file, not the standard output")),
            (RowForm::Json, _) => Err(Failure::usage("JSON is exported as .jsonl, a row a line")),
        }
    }

    /// Writes the file with columns from the rows of the scan. Returns `false` if a signal came.
    fn write_columns(&self, session: &Session, format: FileFormat, scanned: &Path, rows: u64) -> Done<bool> {
        let source = || -> Done<JsonLines> { Ok(JsonLines::new(scanned.to_owned(), open(scanned, COMPRESSION)?)) };
        let mut columns = Columns::new();
        let is_read = each_row(source()?, session, rows, |row| {
            columns.add(row);
            Ok(())
        })?;
        let columns = columns.into_vec();
        session
            .terminal
            .note(&format!("{rows} rows in {} columns", columns.len()));
        let new = match self.file.as_os_str() == "-" {
            true => self.file.clone(),
            false => with_ending(&self.file, ".new"),
        };
        let failed = |error| Failure::of_file(&new, error);
        let is_whole = is_read
            && match format.form {
                RowForm::Parquet => {
                    let file = create_private(&new)?;
                    let mut parquet = ParquetWriter::new(file, columns).map_err(failed)?;
                    let is_whole = each_row(source()?, session, rows, |row| parquet.add(row).map_err(failed))?;
                    let file = parquet.end().map_err(failed)?;
                    file.sync_all()?;
                    is_whole
                }
                _ => {
                    let file = AppendedFile::create(&new, format.compression)?;
                    let mut csv = CsvWriter::new(file, columns)?;
                    let is_whole = each_row(source()?, session, rows, |row| csv.add(row))?;
                    csv.end()?;
                    is_whole
                }
            };
        if is_whole && new != self.file {
            fs::rename(&new, &self.file).map_err(|error| Failure::of_file(&self.file, error))?;
        }
        Ok(is_whole)
    }
}
