//! `import`: the rows of a file in a table, resumable.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use azure_table::DynamicEntity;
use clap::Args;
use futures_util::stream;
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::failure::{Done, fail, usage};
use crate::files::{is_stream, or_standard};
use crate::place::TablePlace;
use crate::position::hexadecimal;
use crate::row_writer::{Item, RowWriter, WriteOptions};
use crate::rows::file_format::{FileFormat, RowForm};
use crate::rows::key_survey::KeySurvey;
use crate::rows::open_rows::open_rows;
use crate::rows::read_ahead::read_ahead;
use crate::rows::row_source::{ColumnOptions, PAGE, Rows};
use crate::rows::unread::ReadRow;
use crate::session::Session;
use crate::terminal::Total;

#[derive(Args)]
#[command(after_help = include_str!("import.txt"))]
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

/// The rows of a file that are read, and a hash of them: a file that has changed there has another one.
#[derive(PartialEq, Serialize, Deserialize, Default)]
struct Position {
    rows: u64,
    sha256: String,
}

/// Reads a file, and knows the position behind each page, and which rows have the key of an earlier one.
struct Source {
    open: Box<dyn Fn() -> Done<Rows> + Send>,
    file: Rows,
    rows: u64,
    hash: Sha256,
    /// The greatest key of a file in key order, which has each key once and needs no memory for them.
    last: (String, String),
    keys: Option<KeySurvey>,
    /// The part of the file that is read.
    read: ProgressBar,
    /// The rows of the file, if the rest of it has rows of the same length.
    total: Total,
}

impl Source {
    fn read(&mut self, most: u64) -> Done<Vec<(ReadRow, bool)>> {
        let rows = self.file.read(usize::try_from(most).unwrap_or(PAGE).min(PAGE))?;
        let mut read = Vec::with_capacity(rows.len());
        for row in rows {
            self.hash.update(serde_json::to_vec(&row)?);
            let is_repeated = row.as_ref().map_or(Ok(false), |row| self.is_repeated(row))?;
            self.rows += 1;
            read.push((row, is_repeated));
        }
        let share = self.read.position() as f64 / self.read.length().unwrap_or_default() as f64;
        self.total.store((self.rows as f64 / share) as u64, Ordering::Relaxed);
        Ok(read)
    }

    fn is_repeated(&mut self, row: &DynamicEntity) -> Done<bool> {
        let key = (&*row.partition_key, &*row.row_key);
        if self.keys.is_none() {
            if self.rows == 0 || key > (&self.last.0, &self.last.1) {
                self.last = (key.0.to_owned(), key.1.to_owned());
                return Ok(false);
            }
            let mut earlier = (self.open)()?;
            let (mut keys, mut rows) = (KeySurvey::default(), 0);
            while rows < self.rows {
                let read = earlier.read(PAGE.min((self.rows - rows) as usize))?;
                if read.is_empty() {
                    fail!("the file has become shorter while it was read");
                }
                rows += read.len() as u64;
                for row in read.iter().flatten() {
                    keys.add((&row.partition_key, &row.row_key));
                }
            }
            self.keys = Some(keys);
        }
        Ok(self.keys.as_mut().is_some_and(|keys| !keys.add(key)))
    }

    fn position(&self) -> Position {
        Position {
            rows: self.rows,
            sha256: hexadecimal(&self.hash.clone().finalize()),
        }
    }
}

impl Import {
    pub(crate) async fn run(mut self, session: &Session) -> Done<()> {
        self.file = or_standard(self.file, &io::stdin());
        let is_pipe = is_stream(&self.file);
        let format = FileFormat::of(&self.file, self.format)?;
        let account = session.connections.described(&self.table.account)?;
        let file_name = self.file.display().to_string();
        let name = if is_pipe { "stdin" } else { &*file_name };
        // The number of rows belongs to the meaning of the columns.
        let columns = format!("{:?} {:?}", format.form, self.columns);
        let mode = if self.insert { "insert" } else { "insert or replace" };
        let job = [&*account, self.table.table.as_str(), &file_name, mode, &columns];
        let (position, before) = self.options.position::<Position>(&format!("{name}.position"), &job)?;
        let length = self.file.metadata().ok().filter(|_| !is_pipe).map(|found| found.len());
        let read = ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden());
        let file = open_rows(&self.file, format, &self.columns, &read)?;
        let size = length.map_or_else(String::new, |length| format!(" ({})", HumanBytes(length)));
        let (table, types) = (&self.table, file.plan());
        let plan = format!("{mode} the rows of {file_name}{size} in {table} at {account}{types}");
        let columns = self.columns.clone();
        let path = self.file.clone();
        let mut source = Source {
            open: Box::new(move || open_rows(&path, format, &columns, &ProgressBar::hidden())),
            file,
            rows: 0,
            hash: Sha256::new(),
            last: Default::default(),
            // A pipe is read once.
            keys: is_pipe.then(KeySurvey::default),
            read,
            total: Total::default(),
        };
        while source.rows < before.rows && !source.read(before.rows - source.rows)?.is_empty() {}
        if position.is_resumed && source.position() != before {
            usage!("{file_name}: its rows have changed since the position was stored: begin without --resume");
        }
        let mut writer = RowWriter::confirmed(session, &plan, table, &self.options.sending, Some(position)).await?;
        writer.total = length.map(|_| Total::clone(&source.total));
        let pages = stream::try_unfold(source, |mut source| async move {
            // A pipe may be slow: the requests go on.
            let read = tokio::task::block_in_place(|| source.read(PAGE as u64))?;
            Ok((!read.is_empty()).then(|| ((read, source.position()), source)))
        });
        let item = move |(row, is_repeated)| Item::read(row, self.insert).repeated(is_repeated);
        writer.write_rows(read_ahead(pages), item).await
    }
}
