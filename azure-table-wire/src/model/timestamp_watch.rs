//! The rows whose Timestamps the code of a thread reads, for an exploration.
//!
//! All Timestamps of a service come from one clock, so the Timestamps of two rows show which was written first. An
//! exploration otherwise takes writes to different rows as equal in both orders.

use std::cell::RefCell;
use std::collections::BTreeSet;

/// The rows whose Timestamps were read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DatedRows {
    /// The keys, in whatever table.
    keys: BTreeSet<(String, String)>,
    /// A Timestamp was read without the keys of its row.
    is_any: bool,
}

impl DatedRows {
    /// Returns the rows of a service whose Timestamps a query compares.
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
        before != (self.is_any, self.keys.len())
    }
}

thread_local! {
    static WATCHED: RefCell<Option<DatedRows>> = const { RefCell::new(None) };
}

/// Notes that code of this thread reads the Timestamp of a row.
pub fn note(partition_key: Option<&str>, row_key: Option<&str>) {
    WATCHED.with_borrow_mut(|watched| match (watched, partition_key, row_key) {
        (None, ..) => {}
        (Some(rows), Some(partition_key), Some(row_key)) => {
            rows.keys.insert((partition_key.to_owned(), row_key.to_owned()));
        }
        (Some(rows), ..) => rows.is_any = true,
    });
}

/// Calls `run`, which must not unwind. Returns its output, and the rows whose Timestamps it read.
pub fn watch<T>(run: impl FnOnce() -> T) -> (T, DatedRows) {
    WATCHED.set(Some(DatedRows::default()));
    let output = run();
    (output, WATCHED.take().unwrap_or_default())
}
