//! What a scan has read of each of its ranges.
//!
//! A position counts whole pages: rows that were handed out are read, and a page that is half read comes again. The
//! ends of the ranges are the caller's, since the service does not tell how rows are spread.

use serde::{Deserialize, Serialize};

use crate::filter::expression::{Comparison, Expression};
use crate::model::edm::EdmValue;
use crate::model::error::Result;
use crate::model::key_shape::check_key;
use crate::model::ordinal;
use crate::protocol::continuation::Continuation;

/// The position of a scan: the last page read of each range. Serializable; taken up by
/// [`Scan::resume_from`](crate::query::Scan::resume_from) on the same query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanPosition {
    /// Of which query.
    pub(super) query: u64,
    pub(super) ranges: Vec<RangePosition>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RangePosition {
    /// The least PartitionKey; `None` is the table's.
    from: Option<String>,
    /// The first PartitionKey behind the range; `None` is the table's end.
    to: Option<String>,
    pub(super) read: Read,
}

/// What was read of a range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Read {
    Nothing,
    UpTo(Continuation),
    All,
}

/// The ranges between the ends.
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
        match (from, to) {
            (Some(from), Some(to)) => Some(from.and(to)),
            (from, to) => from.or(to),
        }
    }
}
