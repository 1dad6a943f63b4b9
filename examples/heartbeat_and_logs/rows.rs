//! The rows of lines and heartbeats, and the flush of an instance.

use std::collections::BTreeMap;
use std::error::Error;

use azure_table::key::{Bucket, Day};
use azure_table::{DateTime, TableEntity};
use azure_table_patterns::TablePerPeriod;

/// A line of a log. The component comes first, because the most frequent reads name it.
#[derive(TableEntity)]
#[table(partition_key = "{component};{instance};{bucket}")]
pub(super) struct Line {
    pub(super) component: String,
    pub(super) instance: u16,
    pub(super) bucket: Bucket<4>,
    /// An instance gives no two lines the same time.
    #[table(row_key)]
    pub(super) at: DateTime,
    pub(super) is_error: bool,
    pub(super) text: String,
}

/// The last sign of life of an instance: one row, overwritten again and again.
#[derive(TableEntity)]
pub(super) struct Heartbeat {
    #[table(partition_key)]
    pub(super) component: String,
    #[table(row_key)]
    pub(super) instance: u16,
    pub(super) at: DateTime,
}

/// Writes what an instance has logged since its last flush: one batch for each day, as all lines have one bucket.
pub(super) async fn write(logs: &TablePerPeriod<Line>, lines: Vec<Line>) -> Result<(), Box<dyn Error>> {
    // A line belongs to the table of its own time: those after midnight to the next one.
    let mut days: BTreeMap<Day, Vec<Line>> = BTreeMap::new();
    for line in lines {
        days.entry(line.at.into()).or_default().push(line);
    }
    for (day, lines) in days {
        let report = logs.at(day.start())?.bulk().insert_or_replace(lines).await?;
        report.ensure_no_leftovers()?;
    }
    Ok(())
}
