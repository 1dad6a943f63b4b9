//! Reads CSV: our own, that of Storage Explorer, and files without types.
//!
//! A file that is no export of ours is read twice: first for the types that all its cells show, and for rows with equal
//! keys, of which the later would replace the earlier. A pipe is read once, and such a row of it is rejected.

use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

use csv::{Reader, ReaderBuilder, StringRecord};
use serde_json::json;

use crate::failure::{Done, InFile as _, fail, usage};
use crate::files::is_stream;
use crate::rows::compression::{Compression, open};
use crate::rows::csv_columns::CsvColumns;
use crate::rows::key_survey::KeySurvey;
use crate::rows::row_source::{ColumnOptions, RowSource};
use crate::rows::unread::ReadRow;

type Bytes = Box<dyn BufRead + Send>;

/// A CSV file that is read.
pub(crate) struct CsvReader {
    path: PathBuf,
    records: Reader<Lines>,
    columns: CsvColumns,
    /// The keys of a pipe so far.
    keys: Option<KeySurvey>,
    warnings: Option<String>,
}

impl CsvReader {
    /// Reads the header of a file, and decides the types of its columns.
    ///
    /// # Errors
    /// The file cannot be read, or has other columns than a table can have.
    pub(crate) fn open(path: PathBuf, file: Bytes, compression: Compression, options: &ColumnOptions) -> Done<Self> {
        let mut records = records(file);
        let mut columns = CsvColumns::new(records.headers().in_file(&path)?, options)?;
        let is_pipe = is_stream(&path);
        let is_named = |column: &str| options.types.iter().any(|(name, _)| name == column);
        if let Some((column, _)) = columns.untyped().find(|(column, _)| is_pipe && !is_named(column)) {
            usage!("{column} has no type, and a pipe is read once: --type {column}=…, or import a file");
        }
        let mut keys = (!columns.is_export()).then(|| KeySurvey::new(options)).transpose()?;
        let survey = |keys| survey(&path, compression, &mut columns, keys);
        let warnings = keys.take_if(|_| !is_pipe).map(survey).transpose()?;
        Ok(Self {
            keys,
            warnings,
            path,
            records,
            columns,
        })
    }
}

impl RowSource for CsvReader {
    fn read(&mut self, most: usize) -> Done<Vec<ReadRow>> {
        let mut rows = Vec::new();
        while rows.len() < most
            && let Some(record) = next(&mut self.records).in_file(&self.path)?
        {
            let row = record.and_then(|record| {
                let keys = self.keys.as_mut();
                keys.map_or(Ok(()), |keys| new_key(keys, &self.columns, &record))?;
                self.columns.row(&record)
            });
            rows.push(row.map_err(|why| {
                let Lines { line, text, .. } = self.records.get_ref();
                let text = json!({ "text": String::from_utf8_lossy(text).trim_matches(['\r', '\n']) });
                (text, format!("line {line}, {why}"))
            }));
        }
        Ok(rows)
    }

    fn plan(&self) -> String {
        let types = self.columns.untyped();
        let types = types.map(|(column, edm_type)| format!("\n  {column} {edm_type}"));
        types.chain(self.warnings.clone()).collect()
    }
}

/// Reads the file once for types and keys. Returns the warnings about keys. Records that are no rows are rejected when they
/// are imported.
fn survey(path: &Path, form: Compression, columns: &mut CsvColumns, mut keys: KeySurvey) -> Done<String> {
    let mut records = records(open(path, form, None)?);
    while let Some(record) = next(&mut records).in_file(path)? {
        let Ok(record) = record else { continue };
        columns.narrow(&record);
        if let Err(why) = new_key(&mut keys, columns, &record) {
            let (path, line) = (path.display(), records.get_ref().line);
            fail!("{path}: line {line}, {why}: name other columns with --keys A,B");
        }
    }
    Ok(keys.warnings())
}

/// Adds the key of a row, if it has one.
///
/// # Errors
/// An earlier row has the key.
fn new_key(keys: &mut KeySurvey, columns: &CsvColumns, record: &StringRecord) -> Result<(), String> {
    let key = columns.keys(record).ok();
    let earlier = key.filter(|key| !keys.add((&key.0, &key.1)));
    earlier.map_or(Ok(()), |key| Err(format!("its key {key:?} is that of an earlier line")))
}

/// A file of which the reader of CSV gets a line at a time: it has read no more than its last record.
struct Lines {
    file: Bytes,
    /// The line on which that record begins, or an empty one before it.
    line: u64,
    /// The text of the record.
    text: Vec<u8>,
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let begin = self.text.len();
        let mut line = self.file.by_ref().take(buffer.len() as u64);
        let length = line.read_until(b'\n', &mut self.text)?;
        buffer[..length].copy_from_slice(&self.text[begin..]);
        Ok(length)
    }
}

fn records(file: Bytes) -> Reader<Lines> {
    let (line, text) = (1, Vec::new());
    let lines = Lines { file, line, text };
    ReaderBuilder::new().flexible(true).from_reader(lines)
}

/// Returns the next record, or the reason why it is no row, or `None` at the end.
///
/// # Errors
/// The file cannot be read.
fn next(records: &mut Reader<Lines>) -> csv::Result<Option<Result<StringRecord, String>>> {
    let expected = records.byte_headers()?.len();
    let lines = records.get_mut();
    lines.line += lines.text.iter().filter(|byte| **byte == b'\n').count() as u64;
    lines.text.clear();
    let mut record = StringRecord::new();
    match records.read_record(&mut record) {
        Ok(false) => return Ok(None),
        Err(error) if !error.is_io_error() => return Ok(Some(Err("it is not UTF-8".into()))),
        read => read?,
    };
    let &Lines { mut line, ref text, .. } = records.get_ref();
    let text = String::from_utf8_lossy(text);
    for cell in &record {
        if cell.contains('\n') && !text.contains(&format!("\"{}\"", cell.replace('"', "\"\""))) {
            let why = format!("the quote that opens on line {line} does not close where a cell ends");
            return Ok(Some(Err(why)));
        }
        line += cell.matches('\n').count() as u64;
    }
    let found = record.len();
    let why = || format!("{found} cells, the header has {expected}");
    Ok(Some((found == expected).then_some(record).ok_or_else(why)))
}
