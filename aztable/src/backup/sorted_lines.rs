//! The files of a backup: a JSON value a line, in the order of the keys.

use std::cmp::Ordering;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use azure_table::{DateTime, DynamicEntity, ETag};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::failure::{Done, Failure};
use crate::rows::compression::{Compression, open};

/// A line of a file of keys: PartitionKey, RowKey, ETag, Timestamp.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyLine(
    pub(crate) String,
    pub(crate) String,
    pub(crate) Option<ETag>,
    pub(crate) Option<DateTime>,
);

/// A row, or its key.
pub(crate) trait Keyed: DeserializeOwned {
    fn key(&self) -> (&str, &str);
}

impl KeyLine {
    pub(crate) fn etag(&self) -> Option<&ETag> {
        self.2.as_ref()
    }
}

impl Keyed for KeyLine {
    fn key(&self) -> (&str, &str) {
        (&self.0, &self.1)
    }
}

impl Keyed for DynamicEntity {
    fn key(&self) -> (&str, &str) {
        (&self.partition_key, &self.row_key)
    }
}

/// Compares keys as the service orders them: by UTF-16 unit.
pub(crate) fn compare(one: (&str, &str), other: (&str, &str)) -> Ordering {
    let texts = |one: &str, other: &str| match one.is_ascii() || other.is_ascii() {
        true => one.cmp(other),
        false => one.encode_utf16().cmp(other.encode_utf16()),
    };
    texts(one.0, other.0).then_with(|| texts(one.1, other.1))
}

/// A reader of a file that shows the next line before it is taken.
pub(crate) struct SortedLines<T> {
    path: PathBuf,
    reader: Box<dyn BufRead + Send>,
    line: Vec<u8>,
    next: Option<T>,
}

impl<T: Keyed> SortedLines<T> {
    /// Opens a file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn open(path: &Path) -> Done<Self> {
        let mut lines = Self {
            path: path.to_owned(),
            reader: open(path, Compression::Zstandard, None)?,
            line: Vec::new(),
            next: None,
        };
        lines.advance()?;
        Ok(lines)
    }

    /// Returns the next line, and takes it.
    ///
    /// # Errors
    /// The line behind it cannot be read, or is not in the order of the keys.
    pub(crate) fn take(&mut self) -> Done<Option<T>> {
        let taken = self.next.take();
        self.advance()?;
        match (&taken, &self.next) {
            (Some(taken), Some(next)) if compare(taken.key(), next.key()) != Ordering::Less => {
                Err(Failure::of_file(&self.path, not_in_order(next)))
            }
            _ => Ok(taken),
        }
    }

    /// Skips lines up to a key. Returns the line of that key, without taking it.
    ///
    /// # Errors
    /// The errors of [`take`](Self::take).
    pub(crate) fn seek(&mut self, key: (&str, &str)) -> Done<Option<&T>> {
        let order = |next: &T| compare(next.key(), key);
        while self.next.as_ref().map(order) == Some(Ordering::Less) {
            self.take()?;
        }
        Ok(self.next.as_ref().filter(|next| order(next) == Ordering::Equal))
    }

    fn advance(&mut self) -> Done<()> {
        self.line.clear();
        let damaged = |error: io::Error| Failure::of_file(&self.path, format!("damaged: {error}"));
        self.next = match self.reader.read_until(b'\n', &mut self.line).map_err(damaged)? {
            0 => None,
            _ => Some(serde_json::from_slice(&self.line).map_err(|error| damaged(error.into()))?),
        };
        Ok(())
    }
}

/// Returns the error of a row that does not follow the row before it.
pub(crate) fn not_in_order(row: &impl Keyed) -> String {
    format!("the row {:?} is not in the order of the keys", row.key())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_by_utf16_units() {
        let ordered = [
            ("", "b"),
            ("a", ""),
            ("a", "Z"),
            ("a", "a"),
            ("b", ""),
            ("\u{10000}", ""),
            ("\u{e000}", ""),
        ];
        for pair in ordered.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
        }
    }
}
