//! The position of a scan in each of its ranges.
//!
//! A position counts whole pages. Rows that were yielded count as read, and a half-read page is read again. A range
//! that the caller set stays in the position to the end of the scan. A range that the scan found is replaced by its
//! rest and removed at its end, so that the position of a long scan stays short.

use azure_table_wire::error::Result;
use azure_table_wire::filter::expression::{Comparison, Expression};
use azure_table_wire::value::edm::EdmValue;
use azure_table_wire::value::location::Location;
use azure_table_wire::value::ordinal;
use serde::{Deserialize, Serialize};

use crate::client::query::key_condition::both;
use crate::key::key_shape::check_key;
use crate::request::continuation::Continuation;
use crate::request::position::position_text;
use crate::request::position::{PositionKind, SCAN};

/// The position of a scan: the last page that was read in each range.
///
/// Store it with serde, or as text ([`Display`](std::fmt::Display) and [`FromStr`](std::str::FromStr)). Pass it to
/// [`Scan::resume_from`](crate::query::Scan::resume_from) on the same query, even in another process. The default is
/// the start of any query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanPosition {
    #[serde(default)]
    kind: PositionKind<SCAN>,
    /// The identity of the query.
    pub(super) query: u64,
    pub(super) ranges: Vec<RangePosition>,
}

position_text!(ScanPosition, SCAN);

impl ScanPosition {
    pub(super) fn new(query: u64, ranges: Vec<RangePosition>) -> Self {
        Self {
            kind: PositionKind,
            query,
            ranges,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RangePosition {
    /// The least PartitionKey; `None` is the start of the table.
    from: Option<String>,
    /// The part of the partition `from` that is before the range. Missing in ranges that the caller set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<After>,
    /// The first PartitionKey after the range; `None` is the end of the table.
    pub(super) to: Option<String>,
    /// The location of the page before it, as in a continuation: the rows of one partition come from one location.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) location: Option<Location>,
    pub(super) read: Read,
}

/// The last row before a range, in its first partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum After {
    /// The range begins after the whole partition.
    Partition,
    /// The range begins after the row with this RowKey.
    Row(String),
    /// The range begins after the row with this RowKey, and ends with the partition.
    RowInPartition(String),
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
        after: None,
        to,
        location: None,
        read: Read::Nothing,
    };
    Ok(starts.zip(ends).map(range).collect())
}

impl RangePosition {
    pub(super) fn condition(&self) -> Option<Expression> {
        let compare =
            |operator, end: &String| Expression::comparison("PartitionKey", operator, EdmValue::from(end.as_str()));
        let row = |key: &String| Expression::comparison("RowKey", Comparison::Gt, EdmValue::from(key.as_str()));
        let to = self.to.as_ref().map(|end| compare(Comparison::Lt, end));
        let Some(key) = &self.from else { return to };
        let from = match &self.after {
            None => compare(Comparison::Ge, key),
            Some(After::Partition) => compare(Comparison::Gt, key),
            Some(After::Row(last)) => {
                let rows = compare(Comparison::Ge, key);
                let rows = to.into_iter().fold(rows, Expression::and);
                return Some(rows.and(compare(Comparison::Gt, key).or(row(last))));
            }
            Some(After::RowInPartition(last)) => return Some(compare(Comparison::Eq, key).and(row(last))),
        };
        both(Some(from), to)
    }

    /// Returns the PartitionKey at which the range begins. With `true` the range begins in the middle of this partition
    /// or after it.
    pub(super) fn start(&self) -> (Option<&str>, bool) {
        (self.from.as_deref(), self.after.is_some())
    }

    /// Returns `true` if the range begins after the partition of this key.
    pub(super) fn is_after(&self, partition_key: &str) -> bool {
        self.after == Some(After::Partition) && self.from.as_deref() == Some(partition_key)
    }

    pub(super) fn is_of_one_partition(&self) -> bool {
        matches!(self.after, Some(After::RowInPartition(_)))
    }

    /// Returns the range from `after` in the partition `from` to the end of this range.
    pub(super) fn rest(&self, from: &str, after: After) -> Self {
        let is_one = matches!(after, After::RowInPartition(_));
        Self {
            from: Some(from.to_owned()),
            after: Some(after),
            to: self.to.clone().filter(|_| !is_one),
            location: self.location,
            read: Read::Nothing,
        }
    }

    /// Ends the range before `bound`, and returns the range from there on.
    pub(super) fn split_off(&mut self, bound: String) -> Self {
        let to = self.to.replace(bound.clone());
        Self {
            from: Some(bound),
            after: None,
            to,
            location: self.location,
            read: Read::Nothing,
        }
    }
}
