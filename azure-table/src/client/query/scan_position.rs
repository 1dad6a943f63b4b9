//! The position of a scan in each of its ranges.
//!
//! A position counts whole pages. Rows that were yielded count as read, and a half-read page is read again. The caller
//! sets the ends of the ranges, since the service does not report how rows are distributed.

use azure_table_core::filter::expression::{Comparison, Expression};
use azure_table_core::model::edm::EdmValue;
use azure_table_core::model::error::Result;
use azure_table_core::model::key_shape::check_key;
use azure_table_core::model::ordinal;
use azure_table_core::position_text;
use azure_table_core::protocol::continuation::Continuation;
use azure_table_core::protocol::position::{Owner, SCAN};
use serde::{Deserialize, Serialize};

use crate::client::query::key_condition::both;

/// The position of a scan: the last page read of each range.
///
/// Store it with serde, or as text ([`Display`](std::fmt::Display) and [`FromStr`](std::str::FromStr)). Pass it to
/// [`Scan::resume_from`](crate::query::Scan::resume_from) on the same query, also in another process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanPosition {
    #[serde(default)]
    of: Owner<SCAN>,
    /// The identity of the query.
    pub(super) query: u64,
    pub(super) ranges: Vec<RangePosition>,
}

position_text!(ScanPosition, SCAN);

impl ScanPosition {
    pub(super) fn new(query: u64, ranges: Vec<RangePosition>) -> Self {
        Self {
            of: Owner,
            query,
            ranges,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RangePosition {
    /// The least PartitionKey; `None` is the start of the table.
    from: Option<String>,
    /// The first PartitionKey after the range; `None` is the end of the table.
    to: Option<String>,
    pub(super) read: Read,
}

/// The part of a range that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Read {
    Nothing,
    UpTo(Continuation),
    All,
}

/// Returns the ranges between the ends.
pub(super) fn ranges(ends: &[String]) -> Result<Vec<RangePosition>> {
    for end in ends {
        check_key("the end of a range", end)?;
    }
    let mut ends: Vec<Option<String>> = ends.iter().cloned().map(Some).collect();
    ends.sort_by(|a, b| ordinal::compare(a.as_deref().unwrap_or_default(), b.as_deref().unwrap_or_default()));
    ends.dedup();
    let starts = [None].into_iter().chain(ends.clone());
    let ends = ends.into_iter().chain([None]);
    let range = |(from, to)| RangePosition {
        from,
        to,
        read: Read::Nothing,
    };
    Ok(starts.zip(ends).map(range).collect())
}

impl RangePosition {
    pub(super) fn condition(&self) -> Option<Expression> {
        let compare =
            |operator, end: &String| Expression::comparison("PartitionKey", operator, EdmValue::from(end.as_str()));
        let from = self.from.as_ref().map(|end| compare(Comparison::Ge, end));
        let to = self.to.as_ref().map(|end| compare(Comparison::Lt, end));
        both(from, to)
    }
}
