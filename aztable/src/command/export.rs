//! `export`: the rows of a table in a file, resumable.

use std::path::PathBuf;

use azure_table::query::ScanPosition;
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::connection::place_of;
use crate::failure::{Done, Failure};
use crate::position::PositionFile;
use crate::row_selection::RowSelection;
use crate::rows::appended_file::AppendedFile;
use crate::rows::file_format::{FileFormat, RowForm};
use crate::rows::json_lines;
use crate::rows::sorted::scan;
use crate::session::Session;
use crate::tally::Tally;

/// The bytes of rows that are appended together.
const APPENDED: usize = 4 << 20;

#[derive(Args)]
pub(crate) struct Export {
    table: String,
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
        let format = match self.file.as_os_str() == "-" && self.format.is_none() {
            true => FileFormat::of("-.jsonl".as_ref(), None)?,
            false => FileFormat::of(&self.file, self.format)?,
        };
        if format.form != RowForm::JsonLines {
            return Err(Failure::new("not yet"));
        }
        let (service, table) = session.connections.service_and_table(&self.table)?;
        let account = session.connections.described(&place_of(&self.table)?.account)?;
        let (selected, columns) = (self.rows.text(), self.select.join(","));
        let file_name = self.file.display().to_string();
        let position_path = self
            .resume
            .clone()
            .unwrap_or_else(|| format!("{file_name}.position").into());
        let system = if self.system { "system" } else { "" };
        let job = [
            &*account,
            table.name().as_str(),
            &selected,
            &columns,
            &file_name,
            system,
        ];
        let mut stored = PositionFile::new(position_path, &job);
        let is_pipe = file_name == "-";
        let mut position = match (is_pipe, stored.load::<Position>()?) {
            (false, Some(position)) if self.resume.is_some() => position,
            (false, Some(_)) => return Err(session.unfinished(stored.path())),
            _ => Position::default(),
        };
        let mut file = match position.rows {
            0 => AppendedFile::create(&self.file, format.compression, self.overwrite || self.resume.is_some())?,
            _ => AppendedFile::resume(&self.file, format.compression, position.bytes)?,
        };
        session
            .terminal
            .note(&format!("export {selected} of {} at {account}", table.name()));
        let query = self.rows.query(&table)?;
        let scan = match self.select.is_empty() {
            true => scan(&service, query),
            false => scan(&service, query.select_names(self.select.clone())),
        };
        let mut pages = scan.resume_from(position.scan.clone()).stream();
        let mut progress = session.progress(None);
        let mut lines = Vec::new();
        while let Some(page) = pages.try_next_page().await? {
            position.rows += page.len() as u64;
            for row in page {
                json_lines::write(&mut lines, row, self.system)?;
            }
            progress.set(position.rows);
            let stop = session.interrupt.is_set();
            if stop || lines.len() >= APPENDED || stored.is_due() {
                file.append(std::mem::take(&mut lines))?;
                position.bytes = file.length();
                position.scan = pages.position().clone();
                if !is_pipe {
                    stored.save(&position)?;
                }
            }
            if stop {
                progress.end();
                return Err(session.interrupted(position.rows, (!is_pipe).then(|| stored.path())));
            }
        }
        file.append(lines)?;
        progress.end();
        if !is_pipe {
            stored.delete()?;
        }
        Tally {
            read: position.rows,
            written: position.rows,
            ..Tally::default()
        }
        .report(&session.terminal)
    }
}
