//! Reads CSV: our own, that of Storage Explorer, and files without types.
//!
//! A file that is no export of ours is read twice: first for the types that all its cells show, and for rows with equal
//! keys, of which the later would replace the earlier. That takes 8 bytes of memory for each row.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::BufRead;
use std::path::{Path, PathBuf};

use csv::{ErrorKind, Reader, StringRecord};

use crate::failure::{Done, Failure};
use crate::rows::compression::{Compression, open};
use crate::rows::csv_columns::CsvColumns;
use crate::rows::row_source::{ColumnOptions, ReadRow, RowSource};

type Records = Reader<Box<dyn BufRead + Send>>;

/// A CSV file that is read.
pub(crate) struct CsvReader {
    path: PathBuf,
    records: Records,
    columns: CsvColumns,
    record: StringRecord,
}

impl CsvReader {
    /// Opens a file, and decides the types of its columns.
    ///
    /// # Errors
    /// The file cannot be read, or has other columns than a table can have.
    pub(crate) fn open(path: PathBuf, compression: Compression, options: &ColumnOptions) -> Done<Self> {
        let mut records = Reader::from_reader(open(&path, compression)?);
        let headers = records.headers().cloned();
        let headers = headers.map_err(|error| Failure::of_file(&path, error))?;
        let mut columns = CsvColumns::new(&headers, records.position().line(), options)?;
        let is_pipe = path.as_os_str() == "-";
        if let Some((column, _)) = columns.untyped().next().filter(|_| is_pipe) {
            let text = format!("{column} has no type, and a pipe is read once: --type {column}=…, or import a file");
            return Err(Failure::usage(text));
        }
        if !is_pipe && !columns.is_export() {
            survey(&path, compression, &mut columns)?;
        }
        let record = StringRecord::new();
        Ok(Self {
            path,
            records,
            columns,
            record,
        })
    }
}

impl RowSource for CsvReader {
    fn read(&mut self, most: usize) -> Done<Vec<ReadRow>> {
        let mut rows = Vec::new();
        while rows.len() < most {
            match self.records.read_record(&mut self.record) {
                Ok(false) => break,
                Ok(true) => rows.push(self.columns.row(&self.record).map_err(|why| {
                    let cells: Vec<_> = self.record.iter().collect();
                    (cells.join(","), why)
                })),
                Err(error) => rows.push(Err((String::new(), unreadable(&self.path, error)?))),
            }
        }
        Ok(rows)
    }

    fn plan(&self) -> String {
        let lines = self.columns.untyped();
        lines
            .map(|(column, edm_type)| format!("\n  {column} {edm_type}"))
            .collect()
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

/// Reads all records. Those that cannot be read are rejected when they are imported.
fn each_record(
    path: &Path,
    compression: Compression,
    mut use_record: impl FnMut(&StringRecord) -> Done<()>,
) -> Done<()> {
    let mut records = Reader::from_reader(open(path, compression)?);
    let mut record = StringRecord::new();
    loop {
        match records.read_record(&mut record) {
            Ok(false) => return Ok(()),
            Ok(true) => use_record(&record)?,
            Err(error) => drop(unreadable(path, error)?),
        }
    }
}

/// Reads the file once for types and keys.
fn survey(path: &Path, compression: Compression, columns: &mut CsvColumns) -> Done<()> {
    let hash = |keys: (&str, &str)| {
        let mut hasher = DefaultHasher::new();
        keys.hash(&mut hasher);
        hasher.finish()
    };
    let mut hashes = Vec::new();
    each_record(path, compression, |record| {
        columns.narrow(record);
        hashes.push(hash(columns.keys(record)));
        Ok(())
    })?;
    hashes.sort_unstable();
    let equal: HashSet<u64> = hashes
        .windows(2)
        .filter(|pair| pair[0] == pair[1])
        .map(|pair| pair[0])
        .collect();
    drop(hashes);
    if equal.is_empty() {
        return Ok(());
    }
    let mut lines = HashMap::new();
    each_record(path, compression, |record| {
        let (partition, row) = columns.keys(record);
        let line = columns.line(record);
        if equal.contains(&hash((partition, row)))
            && let Some(earlier) = lines.insert((partition.to_owned(), row.to_owned()), line)
        {
            let text = format!("line {line} has the key of line {earlier}: name other columns with --keys A,B");
            return Err(Failure::of_file(path, text));
        }
        Ok(())
    })
}
