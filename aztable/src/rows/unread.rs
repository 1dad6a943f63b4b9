//! Rows that a table has and the program cannot hold, such as a text with half of a surrogate pair.
//!
//! They are rejected with their keys. A command that moves or compares rows reads them as items among the others. One
//! that only shows rows skips them, and is not done if it has skipped one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use azure_table::query::BadRow;
use azure_table::{DynamicEntity, TableQuery};
use serde_json::json;

use crate::failure::{Rejection, with_causes};
use crate::terminal::Terminal;

/// A row of a file or a table, or what is there instead.
pub(crate) type ReadRow = Result<DynamicEntity, Rejection>;

/// Returns the key of a row, and why it cannot be read.
fn rejection(bad: &BadRow) -> Rejection {
    (json!(bad.error().entity()), with_causes(bad.error()))
}

/// Returns a row of a table, or its rejection.
pub(crate) fn read_row(row: Result<DynamicEntity, BadRow>) -> ReadRow {
    row.map_err(|bad| rejection(&bad))
}

/// The number of rows that were skipped.
#[derive(Clone)]
pub(crate) struct Unread {
    terminal: Terminal,
    count: Arc<AtomicU64>,
}

impl Unread {
    pub(crate) fn new(terminal: Terminal) -> Self {
        let count = Arc::default();
        Self { terminal, count }
    }

    /// Skips the rows of a query that cannot be read, and prints their keys.
    pub(crate) fn skip(&self, query: TableQuery<DynamicEntity>) -> TableQuery<DynamicEntity> {
        let skipped = self.clone();
        query.skip_bad_rows(move |bad| skipped.add(&rejection(bad)))
    }

    /// Prints the key of a row, and counts it.
    pub(crate) fn add(&self, rejection: &Rejection) {
        self.terminal.rejected(rejection);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of rows that were skipped.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}
