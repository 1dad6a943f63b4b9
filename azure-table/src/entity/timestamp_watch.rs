//! The rows whose Timestamps the code of a thread reads, for an exploration.

use std::cell::RefCell;

use azure_table_testing::explore::dated_rows::DatedRows;

thread_local! {
    static WATCHED: RefCell<Option<DatedRows>> = const { RefCell::new(None) };
}

/// Notes that code of this thread reads the Timestamp of a row.
pub(crate) fn note(partition_key: Option<&str>, row_key: Option<&str>) {
    WATCHED.with_borrow_mut(|watched| {
        if let Some(rows) = watched {
            rows.add(partition_key, row_key);
        }
    });
}

/// Calls `run`, which must not unwind. Returns its output, and the rows whose Timestamps it read.
pub(crate) fn watch<T>(run: impl FnOnce() -> T) -> (T, DatedRows) {
    WATCHED.set(Some(DatedRows::default()));
    let output = run();
    (output, WATCHED.take().unwrap_or_default())
}
