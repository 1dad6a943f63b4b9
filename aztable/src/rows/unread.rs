//! Rows that a table has and the program cannot hold, such as a text with half of a surrogate pair.
//!
//! They are rejected with their keys. A command with a position reads them as items of their pages, so that its
//! position counts them. Others skip them, and a run that has skipped one is not done.

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

/// Returns the rows of a page, of which some may be unreadable.
pub(crate) fn read_rows(page: Vec<Result<DynamicEntity, BadRow>>) -> Vec<ReadRow> {
    page.into_iter().map(|row| row.map_err(|bad| rejection(&bad))).collect()
}

/// Returns the rows that can be read. Prints and counts the others.
pub(crate) fn readable(rows: Vec<ReadRow>, terminal: &Terminal, rejected: &mut u64) -> Vec<DynamicEntity> {
    let mut reject = |rejection| {
        terminal.rejected(&rejection);
        *rejected += 1;
    };
    rows.into_iter()
        .filter_map(|row| row.map_err(&mut reject).ok())
        .collect()
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
        query.skip_bad_rows(move |bad| {
            skipped.terminal.rejected(&rejection(bad));
            skipped.count.fetch_add(1, Ordering::Relaxed);
        })
    }

    /// Takes the number of rows since the last call.
    pub(crate) fn take(&self) -> u64 {
        self.count.swap(0, Ordering::Relaxed)
    }
}
