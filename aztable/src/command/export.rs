//! `export`: the rows of a table in a file, resumable.
//!
//! CSV and Parquet have the columns of all rows: the rows go to JSON lines beside the file first, and from there to the
//! file. Any file is `FILE.part` until it is complete: then a rename replaces the old one.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::pin::pin;

use azure_table::query::ScanPosition;
use clap::Args;
use futures_util::TryStreamExt as _;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::failure::{Done, Failure, InFile as _};
use crate::files::{self, is_stream, open_to_write, with_ending};
use crate::ledger::{Ledger, Outcome};
use crate::place::TablePlace;
use crate::position::PositionFile;
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
use crate::session::{Session, resumable};

/// The compression of rows from which a file with columns is made.
const COMPRESSION: Compression = Compression::Zstandard;

#[derive(Args)]
#[command(after_help = include_str!("export.txt"))]
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
    ledger: Ledger,
    bytes: u64,
    scan: ScanPosition,
    /// All rows are in the file of the scan.
    is_read: bool,
    /// The length of the complete file, which is about to replace an older one.
    complete: Option<u64>,
}

impl Export {
    pub(crate) async fn run(mut self, session: &Session) -> Done<()> {
        self.file = files::behind_links(&files::or_standard(self.file, &io::stdout()))?;
        let is_pipe = is_stream(&self.file);
        let format = FileFormat::of(&self.file, self.format)?;
        let (scanned, _folder) = self.scanned(format.form, is_pipe)?;
        let account = session.connections.described(&self.table.account)?;
        let (name, selected, columns) = (&self.table.table, self.rows.text(), self.select.join(","));
        let file_name = self.file.display().to_string();
        let path = self.resume.clone().unwrap_or(with_ending(&self.file, ".position"));
        let form = format!("{:?} {}", format.form, self.system);
        let job = [&*account, name.as_str(), &selected, &columns, &file_name, &form];
        let mut stored = PositionFile::new(&path, &job);
        let mut position: Position = stored.resumed(self.resume.is_some())?.unwrap_or_default();
        files::check_writable(&self.file, self.overwrite || stored.is_resumed, "add --overwrite")?;
        for file in [self.part(), scanned.clone()] {
            files::check_writable(&file, stored.is_resumed, files::NOT_OURS)?;
        }
        if !is_pipe {
            stored.check_writable()?;
        }
        session.note(&format!("export {selected} of {name} at {account}"));
        let is_lines = format.form == RowForm::JsonLines;
        let compression = if is_lines { format.compression } else { COMPRESSION };
        let run = async {
            self.read(session, &scanned, compression, &mut stored, &mut position)
                .await?;
            self.finish(session, format, &scanned, &mut stored, &mut position)
        };
        if let Err(error) = run.await {
            return position.ledger.end(&session.terminal, Err(resumable(error, &path)));
        }
        stored.delete()?;
        // Behind the position, which needs them.
        if !is_lines {
            fs::remove_file(&scanned).in_file(&scanned)?;
        }
        if position.ledger.ended() == 0 && !self.rows.is_everything() {
            session.note(&format!("no rows: {selected}"));
        }
        position.ledger.end(&session.terminal, Ok(()))
    }

    /// Appends the rows of the table, from the position on.
    async fn read(
        &self,
        session: &Session,
        scanned: &Path,
        compression: Compression,
        stored: &mut PositionFile,
        position: &mut Position,
    ) -> Done<()> {
        if position.is_read {
            return Ok(());
        }
        let (service, table) = session.connections.service_and_table(&self.table)?;
        let mut query = self.rows.query(&table)?;
        if !self.select.is_empty() {
            query = query.select_names(self.select.clone());
        }
        let mut pages = pin!(scanned_pages(&service, query, position.scan.clone()));
        session.interrupt.wait_for_position();
        let mut progress = session.progress(None);
        let mut page = pages.try_next().await?;
        // From now on, files beside the target are ours.
        self.store(stored, position)?;
        let mut file = AppendedFile::open(scanned, compression, position.bytes)?;
        while let Some((rows, scan)) = page {
            for row in rows {
                position.ledger.read(1);
                match row {
                    Err(rejection) => position.ledger.reject(&rejection, &session.terminal),
                    Ok(mut row) => {
                        if !self.system {
                            (row.etag, row.timestamp) = (None, None);
                        }
                        let written = json_lines::write(&mut file, &row);
                        let outcome = written.as_ref().map_or(Outcome::NotAttempted, |_| Outcome::Written);
                        position.ledger.count(outcome, 1);
                        written?;
                    }
                }
            }
            position.scan = scan;
            progress.set(position.ledger.ended());
            let stop = session.interrupt.is_set();
            if stop || stored.is_due() {
                self.save(&mut file, stored, position)?;
            }
            if stop {
                return Err(Session::interrupted(position.ledger.ended()));
            }
            page = pages.try_next().await?;
        }
        position.is_read = true;
        self.save(&mut file, stored, position)
    }

    /// Writes all rows to the disk, and then the position behind them.
    fn save(&self, file: &mut AppendedFile, stored: &mut PositionFile, position: &mut Position) -> Done<()> {
        file.flush()?;
        position.bytes = file.length();
        self.store(stored, position)
    }

    fn store(&self, stored: &mut PositionFile, position: &Position) -> Done<()> {
        match is_stream(&self.file) {
            true => Ok(()),
            false => stored.save(position),
        }
    }

    /// Writes the file from the rows of the scan. It can be repeated.
    fn finish(
        &self,
        session: &Session,
        format: FileFormat,
        scanned: &Path,
        stored: &mut PositionFile,
        position: &mut Position,
    ) -> Done<()> {
        let part = self.part();
        let rows = position.ledger.of(Outcome::Written);
        let is_new = position.complete.is_none();
        let has_columns = is_new && format.form != RowForm::JsonLines;
        if has_columns && !self.write_columns(session, format, scanned, &part, rows)? {
            return Err(Session::interrupted(rows));
        }
        if is_stream(&self.file) {
            return Ok(());
        }
        let length = |file: &Path| file.metadata().map(|found| found.len()).ok();
        if is_new {
            position.complete = length(&part);
            stored.save(&*position)?;
        }
        match (length(&part), length(&self.file)) {
            (Some(found), _) if position.complete == Some(found) => fs::rename(&part, &self.file).in_file(&self.file),
            // A run that was killed has renamed it.
            (None, Some(found)) if !is_new && position.complete == Some(found) => Ok(()),
            _ => Err(Failure::of_file(
                &part,
                "it was changed or deleted: begin without --resume",
            )),
        }
    }

    /// Names the file until it is complete.
    fn part(&self) -> PathBuf {
        match is_stream(&self.file) {
            true => self.file.clone(),
            false => with_ending(&self.file, ".part"),
        }
    }

    /// Names the file that the scan appends to: the target itself, or rows from which it is made. Those for the
    /// standard output are in a folder of their own, as long as it is held.
    fn scanned(&self, form: RowForm, is_pipe: bool) -> Done<(PathBuf, Option<TempDir>)> {
        match (form, is_pipe) {
            (RowForm::JsonLines, _) => Ok((self.part(), None)),
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
    fn write_columns(
        &self,
        session: &Session,
        format: FileFormat,
        scanned: &Path,
        new: &Path,
        rows: u64,
    ) -> Done<bool> {
        let source = || Done::Ok(JsonLines::new(scanned.to_owned(), open(scanned, COMPRESSION, None)?));
        let mut columns = Columns::new();
        let is_read = each_row(source()?, session, rows, |row| {
            columns.add(row);
            Ok(())
        })?;
        let columns = columns.into_vec();
        session.note(&format!("{rows} rows in {} columns", columns.len()));
        let failed = |error| Failure::of_file(new, error);
        Ok(is_read
            && match format.form {
                RowForm::Parquet => {
                    let file = open_to_write(new, 0)?;
                    let mut parquet = ParquetWriter::new(file, columns).map_err(failed)?;
                    let is_whole = each_row(source()?, session, rows, |row| parquet.add(row).map_err(failed))?;
                    let file = parquet.end().map_err(failed)?;
                    file.sync_all()?;
                    is_whole
                }
                _ => {
                    let file = AppendedFile::open(new, format.compression, 0)?;
                    let mut csv = CsvWriter::new(file, columns)?;
                    let is_whole = each_row(source()?, session, rows, |row| csv.add(row))?;
                    csv.end()?;
                    is_whole
                }
            })
    }
}
