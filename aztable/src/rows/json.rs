//! JSON that is not one row a line: an array of rows, rows one after the other, or responses of the service, which
//! AzCopy 7 wrote.
//!
//! An object with an array `value` is a response, whose array has the rows. Its other members are left out.

use std::io::{self, BufRead, ErrorKind};
use std::path::PathBuf;

use crate::failure::{Done, InFile as _};
use crate::rows::json_lines::parsed;
use crate::rows::row_source::RowSource;
use crate::rows::unread::ReadRow;

/// A JSON file that is read row by row.
pub(crate) struct Json {
    path: PathBuf,
    reader: Box<dyn BufRead + Send>,
    /// The arrays that are open, and whether each is that of a response: a file that was cut off leaves one.
    open: Vec<bool>,
}

impl Json {
    pub(crate) fn new(path: PathBuf, reader: Box<dyn BufRead + Send>) -> Self {
        let open = Vec::new();
        Self { path, reader, open }
    }

    /// Reads the text of the next row: an object with balanced braces. Returns `None` at the end.
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let (mut text, mut depth, mut in_string, mut is_escaped) = (Vec::new(), 0, false, false);
        // Behind the array of a response.
        let mut is_rest = false;
        loop {
            let bytes = self.reader.fill_buf()?;
            if bytes.is_empty() {
                return match (self.open.is_empty(), text.is_empty()) {
                    (true, true) => Ok(None),
                    _ => Err(ErrorKind::UnexpectedEof.into()),
                };
            }
            for (index, &byte) in bytes.iter().enumerate() {
                match byte {
                    _ if is_escaped => is_escaped = false,
                    b'\\' if in_string => is_escaped = true,
                    b'"' if depth > 0 => in_string = !in_string,
                    _ if in_string => {}
                    b'{' => depth += 1,
                    b'[' if depth == 0 || depth == 1 && is_after_value(&text) => {
                        self.open.push(depth == 1);
                        (depth, text, is_rest) = (0, Vec::new(), false);
                        continue;
                    }
                    b'}' if depth > 0 => depth -= 1,
                    b']' if depth == 0 && !self.open.is_empty() => {
                        is_rest = self.open.pop() == Some(true);
                        if is_rest {
                            (depth, text) = (1, vec![b'{']);
                        }
                        continue;
                    }
                    b',' | b'\xef' | b'\xbb' | b'\xbf' if depth == 0 => {}
                    _ if depth == 0 && !byte.is_ascii_whitespace() => {
                        return Err(io::Error::new(
                            ErrorKind::InvalidData,
                            "no JSON object where a row should begin",
                        ));
                    }
                    _ => {}
                }
                if depth > 0 || byte == b'}' && !text.is_empty() {
                    text.push(byte);
                }
                if depth == 0 && is_rest {
                    (text, is_rest) = (Vec::new(), false);
                }
                if depth == 0 && !text.is_empty() {
                    self.reader.consume(index + 1);
                    return Ok(Some(text));
                }
            }
            let length = bytes.len();
            self.reader.consume(length);
        }
    }
}

/// Returns whether the array `value` of a response begins behind a text.
fn is_after_value(text: &[u8]) -> bool {
    let name = text.trim_ascii_end().strip_suffix(b":");
    name.is_some_and(|text| text.trim_ascii_end().ends_with(b"\"value\""))
}

impl RowSource for Json {
    fn read(&mut self, most: usize) -> Done<Vec<ReadRow>> {
        let mut rows = Vec::new();
        while rows.len() < most
            && let Some(row) = self.next().in_file(&self.path)?
        {
            rows.push(parsed(&row));
        }
        Ok(rows)
    }
}
