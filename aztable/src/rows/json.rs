//! JSON that is not one row a line: an array of rows, or the `value` of a response of the service, as AzCopy 7 wrote
//! it.

use std::fmt;
use std::io::{self, BufRead, ErrorKind};
use std::path::PathBuf;

use azure_table::DynamicEntity;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::failure::{Done, Failure};
use crate::rows::row_source::{ReadRow, RowSource};

/// The first member of a response of the service.
const RESPONSE: &[u8] = b"{\"odata.metadata\"";

/// The members of a JSON object. Of two with the same name neither is known to be meant.
#[derive(Default)]
pub(super) struct Members {
    members: Map<String, Value>,
    doubled: Option<String>,
}

impl Members {
    /// Returns the row that the object is.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn row(&self) -> Result<DynamicEntity, String> {
        match &self.doubled {
            Some(name) => Err(format!("it has {name:?} twice")),
            None => DynamicEntity::deserialize(&self.members).map_err(|error| error.to_string()),
        }
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self::default())
    }
}

impl<'de> Visitor<'de> for Members {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            if self.members.insert(name.clone(), value).is_some() {
                self.doubled = Some(name);
            }
        }
        Ok(self)
    }
}

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
            let members = Members::deserialize(&mut serde_json::Deserializer::from_reader(&mut self.reader));
            let members = members.map_err(|error| Failure::of_file(&self.path, error))?;
            rows.push(
                members
                    .row()
                    .map_err(|why| (Value::Object(members.members).to_string(), why)),
            );
        }
        Ok(rows)
    }
}
