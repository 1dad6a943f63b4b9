//! The rows that show the order of their writes to the code under exploration.
//!
//! All Timestamps of a service come from one clock, so the Timestamps of two rows show which was written first. Cosmos
//! DB shows it for all rows, which queries return in the order of their inserts. Otherwise an exploration treats writes
//! to different rows as equal in both orders.

use std::collections::BTreeSet;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

/// The rows that show the order of their writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DatedRows {
    /// The keys, whatever the table.
    keys: BTreeSet<(String, String)>,
    /// All rows show it, or a Timestamp was read without the keys of its row.
    is_any: bool,
}

impl DatedRows {
    fn add(&mut self, partition_key: Option<&str>, row_key: Option<&str>) {
        match (partition_key, row_key) {
            (Some(partition_key), Some(row_key)) => {
                self.keys.insert((partition_key.to_owned(), row_key.to_owned()));
            }
            _ => self.is_any = true,
        }
    }

    /// Returns all rows: a query compares their Timestamps, or shows the order of their inserts.
    pub fn any() -> Self {
        Self {
            is_any: true,
            ..Self::default()
        }
    }

    pub fn contains(&self, partition_key: &str, row_key: &str) -> bool {
        self.is_any || self.keys.contains(&(partition_key.to_owned(), row_key.to_owned()))
    }

    pub fn is_empty(&self) -> bool {
        !self.is_any && self.keys.is_empty()
    }

    /// Adds the rows of `other`. Returns `true` if they are not all known.
    pub fn extend(&mut self, other: Self) -> bool {
        let before = (self.is_any, self.keys.len());
        self.is_any |= other.is_any;
        self.keys.extend(other.keys);
        !before.0 && before != (self.is_any, self.keys.len())
    }
}

/// Notes the rows whose Timestamps are read. The emulator of a run puts it into its responses, which
/// carry it to the reader of their rows.
#[derive(Clone, Debug, Default)]
pub struct TimestampWatch(Arc<Mutex<DatedRows>>);

impl TimestampWatch {
    /// Adds a row whose Timestamp was read.
    pub fn note(&self, partition_key: Option<&str>, row_key: Option<&str>) {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rows.add(partition_key, row_key);
    }

    /// Returns the rows that were noted since the last call.
    pub fn take(&self) -> DatedRows {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// All watches are equal: a watch is not part of the value that carries it.
impl PartialEq for TimestampWatch {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for TimestampWatch {}
