//! JSON that is not one row a line: an array of rows, or the `value` of a response of the service, as AzCopy 7 wrote
//! it.

use std::io::{self, BufRead, ErrorKind};
use std::path::PathBuf;

use serde::Deserialize as _;
use serde_json::value::RawValue;

use crate::failure::{Done, Failure};
use crate::rows::json_lines::parsed;
use crate::rows::row_source::{ReadRow, RowSource};

/// The first member of a response of the service.
const RESPONSE: &[u8] = b"{\"odata.metadata\"";

/// A JSON file that is read row by row.
pub(crate) struct Json {
    path: PathBuf,
    reader: Box<dyn BufRead + Send>,
    has_started: bool,
    /// The arrays that are open: a file that was cut off leaves one.
    open: i64,
}

impl Json {
    pub(crate) fn new(path: PathBuf, reader: Box<dyn BufRead + Send>) -> Self {
        Self {
            path,
            reader,
            has_started: false,
            open: 0,
        }
    }

    /// Skips what is between rows. Returns `false` at the end.
    fn skip(&mut self) -> io::Result<bool> {
        loop {
            let bytes = self.reader.fill_buf()?;
            let is_between = |byte: &u8| byte.is_ascii_whitespace() || b"[],}\xef\xbb\xbf".contains(byte);
            let count = bytes.iter().take_while(|byte| is_between(byte)).count();
            for byte in &bytes[..count] {
                self.open += i64::from(*byte == b'[') - i64::from(*byte == b']');
            }
            let (is_end, is_row) = (bytes.is_empty(), count < bytes.len());
            // The service's rows may begin with their own odata.metadata: only the first object is a response.
            let is_response = is_row && !self.has_started && bytes[count..].starts_with(RESPONSE);
            self.reader.consume(count);
            if is_response {
                self.reader.skip_until(b'[')?;
                self.open += 1;
            } else if is_end && self.open != 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            } else if is_end || is_row {
                self.has_started = true;
                return Ok(is_row);
            }
        }
    }
}

impl RowSource for Json {
    fn read(&mut self, most: usize) -> Done<Vec<ReadRow>> {
        let mut rows = Vec::new();
        while rows.len() < most && self.skip().map_err(|error| Failure::of_file(&self.path, error))? {
            let mut json = serde_json::Deserializer::from_reader(&mut self.reader);
            let row = Box::<RawValue>::deserialize(&mut json).map_err(|error| Failure::of_file(&self.path, error))?;
            rows.push(parsed(row.get().as_bytes()));
        }
        Ok(rows)
    }
}
