//! JSON lines: a row is the JSON of the service, with the type of each property that JSON does not show.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use serde::Serialize;
use serde_json::json;

use crate::failure::{Done, InFile as _};
use crate::rows::row_source::RowSource;
use crate::rows::unread::ReadRow;

/// Writes a value as a line. Returns its length.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write(lines: &mut impl Write, value: &impl Serialize) -> Done<u64> {
    // Most rows fit.
    let mut line = Vec::with_capacity(1_024);
    serde_json::to_writer(&mut line, value)?;
    line.push(b'\n');
    lines.write_all(&line)?;
    Ok(line.len() as u64)
}

/// Reads up to `most` rows. Empty lines are none, and a byte order mark is no part of a line. An empty result is the end.
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
        let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line).trim_ascii();
        if !text.is_empty() {
            rows.push(parsed(text));
        }
    }
    Ok(rows)
}

/// Returns the row that a JSON object is, or its text and the reason why it is none.
pub(super) fn parsed(json: &[u8]) -> ReadRow {
    serde_json::from_slice(json).map_err(|error| (json!({ "text": String::from_utf8_lossy(json) }), error.to_string()))
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
        read(&mut self.reader, most).in_file(&self.path)
    }
}
