//! JSON lines: a row is the JSON of the service, with the type of each property that JSON does not show.

use std::io::BufRead;
use std::path::PathBuf;

use azure_table::DynamicEntity;

use crate::failure::{Done, Failure};
use crate::rows::json::Members;
use crate::rows::row_source::{ReadRow, RowSource};

/// Appends a row. ETag and Timestamp are those of the stored row: `system` keeps them.
///
/// # Errors
/// The row has no JSON form.
pub(crate) fn write(lines: &mut Vec<u8>, mut row: DynamicEntity, system: bool) -> Done<()> {
    if !system {
        (row.etag, row.timestamp) = (None, None);
    }
    serde_json::to_writer(&mut *lines, &row)?;
    lines.push(b'\n');
    Ok(())
}

/// Reads up to `most` rows. Empty lines are none. An empty result is the end.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn read(reader: &mut impl BufRead, most: usize) -> std::io::Result<Vec<ReadRow>> {
    let (mut rows, mut line) = (Vec::new(), Vec::new());
    while rows.len() < most {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let members = serde_json::from_slice::<Members>(&line).map_err(|error| error.to_string());
        rows.push(members.and_then(|members| members.row()).map_err(|why| {
            let text = String::from_utf8_lossy(line.trim_ascii()).into_owned();
            (text, why)
        }));
    }
    Ok(rows)
}

/// A file of JSON lines that is read.
pub(crate) struct JsonLines {
    path: PathBuf,
    reader: Box<dyn BufRead + Send>,
}

impl JsonLines {
    pub(crate) fn new(path: PathBuf, reader: Box<dyn BufRead + Send>) -> Self {
        Self { path, reader }
    }
}

impl RowSource for JsonLines {
    fn read(&mut self, most: usize) -> Done<Vec<ReadRow>> {
        read(&mut self.reader, most).map_err(|error| Failure::of_file(&self.path, error))
    }
}
