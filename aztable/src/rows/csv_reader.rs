//! Reads CSV: our own, that of Storage Explorer, and files without types.
//!
//! A file that is no export of ours is read twice: first for the types that all its cells show, and for rows with equal
//! keys, of which the later would replace the earlier. A pipe is read once, and such a row of it is rejected.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use csv::{ErrorKind, Reader, StringRecord};
use serde_json::json;

use crate::failure::{Done, Failure, InFile as _, fail, usage};
use crate::files::is_stream;
use crate::rows::compression::{Compression, open};
use crate::rows::csv_columns::CsvColumns;
use crate::rows::key_survey::KeySurvey;
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
    keys: Option<KeySurvey>,
    warnings: String,
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
        let is_pipe = is_stream(&path);
        if let Some((column, _)) = columns.untyped().next().filter(|_| is_pipe) {
            usage!("{column} has no type, and a pipe is read once: --type {column}=…, or import a file");
        }
        let mut keys = (!columns.is_export()).then(|| KeySurvey::new(options)).transpose()?;
        let mut warnings = String::new();
        if let Some(mut keys) = keys.take_if(|_| !is_pipe) {
            survey(&path, compression, &mut columns, &mut keys)?;
            warnings = keys.warnings();
        }
        Ok(Self {
            keys,
            warnings,
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
                    let is_new = keys.map_or(Ok(()), |keys| new_key(keys, &self.columns, record));
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
        types.chain([self.warnings.clone()]).collect()
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
fn survey(path: &Path, compression: Compression, columns: &mut CsvColumns, keys: &mut KeySurvey) -> Done<()> {
    let mut records = Reader::from_reader(open(path, compression)?);
    let mut record = StringRecord::new();
    loop {
        match records.read_record(&mut record) {
            Ok(false) => return Ok(()),
            Ok(true) => {
                columns.narrow(&record);
                if let Err(why) = new_key(keys, columns, &record) {
                    fail!("{}: {why}: name other columns with --keys A,B", path.display());
                }
            }
            Err(error) => drop(unreadable(path, error)?),
        }
    }
}

/// # Errors
/// An earlier row has the key.
fn new_key(keys: &mut KeySurvey, columns: &CsvColumns, record: &StringRecord) -> Result<(), String> {
    let key = columns.keys(record);
    match keys.add((&key.0, &key.1)) {
        true => Ok(()),
        false => Err(format!(
            "line {} has the key {key:?} of an earlier line",
            columns.line(record)
        )),
    }
}
