//! Reads CSV: our own, that of Storage Explorer, and files without types.
//!
//! A file that is no export of ours is read twice: first for the types that all its cells show, and for rows with equal
//! keys, of which the later would replace the earlier. A pipe is read once, and such a row of it is rejected. Keys take
//! up to 40 bytes of memory for each row.

use std::collections::HashSet;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use csv::{ErrorKind, Reader, StringRecord};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::failure::{Done, Failure, InFile as _, usage};
use crate::rows::compression::{Compression, open};
use crate::rows::csv_columns::CsvColumns;
use crate::rows::file_format::is_pipe;
use crate::rows::row_source::{ColumnOptions, RowSource};
use crate::rows::unread::ReadRow;

type Records = Reader<Box<dyn BufRead + Send>>;

/// A CSV file that is read.
pub(crate) struct CsvReader {
    path: PathBuf,
    records: Records,
    columns: CsvColumns,
    record: StringRecord,
    /// The keys of a pipe so far.
    keys: Option<Keys>,
}

/// Hashes of keys.
#[derive(Default)]
struct Keys(HashSet<[u8; 16]>);

impl Keys {
    /// Adds the key of a row.
    ///
    /// # Errors
    /// An earlier row has it.
    fn add(&mut self, columns: &CsvColumns, record: &StringRecord) -> Result<(), String> {
        let (key, line) = (columns.keys(record), columns.line(record));
        let hash = Sha256::digest(format!("{key:?}"));
        let mut half = [0; 16];
        half.copy_from_slice(&hash[..16]);
        match self.0.insert(half) {
            true => Ok(()),
            false => Err(format!("line {line} has the key {key:?} of an earlier line")),
        }
    }
}

impl CsvReader {
    /// Opens a file, and decides the types of its columns.
    ///
    /// # Errors
    /// The file cannot be read, or has other columns than a table can have.
    pub(crate) fn open(path: PathBuf, compression: Compression, options: &ColumnOptions) -> Done<Self> {
        let mut records = Reader::from_reader(open(&path, compression)?);
        let headers = records.headers().cloned().in_file(&path)?;
        let mut columns = CsvColumns::new(&headers, records.position().line(), options)?;
        let is_pipe = is_pipe(&path);
        if let Some((column, _)) = columns.untyped().next().filter(|_| is_pipe) {
            usage!("{column} has no type, and a pipe is read once: --type {column}=…, or import a file");
        }
        if !is_pipe && !columns.is_export() {
            survey(&path, compression, &mut columns)?;
        }
        Ok(Self {
            keys: (is_pipe && !columns.is_export()).then(Keys::default),
            path,
            records,
            columns,
            record: StringRecord::new(),
        })
    }
}

impl RowSource for CsvReader {
    fn read(&mut self, most: usize) -> Done<Vec<ReadRow>> {
        let mut rows = Vec::new();
        while rows.len() < most {
            match self.records.read_record(&mut self.record) {
                Ok(false) => break,
                Ok(true) => {
                    let record = &self.record;
                    let keys = self.keys.as_mut();
                    let is_new = keys.map_or(Ok(()), |keys| keys.add(&self.columns, record));
                    rows.push(is_new.and_then(|()| self.columns.row(record)).map_err(|why| {
                        let cells: Vec<_> = record.iter().collect();
                        (json!({ "text": cells.join(",") }), why)
                    }));
                }
                Err(error) => rows.push(Err((json!({ "text": "" }), unreadable(&self.path, error)?))),
            }
        }
        Ok(rows)
    }

    fn plan(&self) -> String {
        let types = self.columns.untyped();
        let types = types.map(|(column, edm_type)| format!("\n  {column} {edm_type}"));
        types.chain(self.columns.warnings()).collect()
    }
}

/// Returns why a record cannot be read.
///
/// # Errors
/// The file itself cannot be read.
fn unreadable(path: &Path, error: csv::Error) -> Done<String> {
    match error.kind() {
        ErrorKind::Io(_) => Err(Failure::of_file(path, error)),
        _ => Ok(error.to_string()),
    }
}

/// Reads the file once for types and keys. Records that cannot be read are rejected when they are imported.
fn survey(path: &Path, compression: Compression, columns: &mut CsvColumns) -> Done<()> {
    let mut records = Reader::from_reader(open(path, compression)?);
    let (mut record, mut keys) = (StringRecord::new(), Keys::default());
    loop {
        match records.read_record(&mut record) {
            Ok(false) => return Ok(()),
            Ok(true) => {
                columns.narrow(&record);
                let is_new = keys.add(columns, &record);
                let advice = "name other columns with --keys A,B";
                is_new.map_err(|why| Failure::of_file(path, format!("{why}: {advice}")))?;
            }
            Err(error) => drop(unreadable(path, error)?),
        }
    }
}
