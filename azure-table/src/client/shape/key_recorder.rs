//! The keys of the rows on a page, for readers that do not know the row type.
//!
//! A shape notes the keys of each row in a [`KeyRecorder`], and the owner of the chain takes them with the page.

use std::sync::{Arc, Mutex, PoisonError};

use crate::client::shape::key_split::Alphabet;
use crate::entity::row::Row;

/// The keys of the rows of one page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageKeys {
    /// The first PartitionKey.
    pub(crate) first: String,
    /// The last PartitionKey.
    pub(crate) last: String,
    /// The RowKey of the last row.
    pub(crate) last_row: String,
    /// The characters at which the PartitionKeys differ.
    pub(crate) alphabet: Alphabet,
    has_rows: bool,
}

/// Records the keys of a chain's current page. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct KeyRecorder {
    keys: Arc<Mutex<PageKeys>>,
    rows: RecordedRows,
}

/// The rows that a recording shape reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordedRows {
    All,
    /// The first row of each partition.
    FirstOfPartition,
}

impl KeyRecorder {
    pub(crate) fn new(rows: RecordedRows) -> Self {
        Self {
            keys: Arc::default(),
            rows,
        }
    }

    /// Notes the keys of a row, and returns `true` if the row is wanted.
    pub(crate) fn note(&self, row: &Row<'_>) -> bool {
        // A row without keys cannot be a position: the reader reports it, or takes no position.
        let (Ok(partition_key), Ok(row_key)) = (row.partition_key(), row.row_key()) else {
            return true;
        };
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = !keys.has_rows || keys.last != partition_key;
        if !keys.has_rows {
            keys.has_rows = true;
            keys.first.push_str(partition_key);
            keys.last.push_str(partition_key);
        } else if is_first {
            let PageKeys { last, alphabet, .. } = &mut *keys;
            alphabet.learn(last, partition_key);
            last.clear();
            last.push_str(partition_key);
        }
        keys.last_row.clear();
        keys.last_row.push_str(row_key);
        is_first || self.rows == RecordedRows::All
    }

    /// Takes the keys of the page, or returns `None` if it had no rows.
    pub(crate) fn take(&self) -> Option<PageKeys> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = std::mem::take(&mut *keys);
        keys.has_rows.then_some(keys)
    }
}
