//! What became of the operations of a bulk, one by one and in numbers.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use crate::model::error::Error;
use crate::model::etag::ETag;
use crate::protocol::operation::{OperationKind, TableOperation};

/// What became of one operation of a bulk.
#[derive(Debug)]
#[non_exhaustive]
pub enum BulkOutcome {
    /// It was applied.
    Applied(AppliedOperation),
    /// It was not, or nobody knows.
    Left(Leftover),
}

/// An operation that was applied.
#[derive(Debug)]
pub struct AppliedOperation {
    pub(crate) index: u64,
    pub(crate) operation: TableOperation,
    pub(crate) etag: Option<ETag>,
}

impl AppliedOperation {
    /// Its place in the source, from 0.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// What it was.
    pub fn kind(&self) -> OperationKind {
        self.operation.kind()
    }

    /// PartitionKey and RowKey.
    pub fn keys(&self) -> (&str, &str) {
        self.operation.keys().unwrap_or_default()
    }

    /// The entity's new version; `None` after a delete.
    pub fn etag(&self) -> Option<&ETag> {
        self.etag.as_ref()
    }
}

/// An operation that was not applied, or of which nobody knows: as it was, to be sent again, and why.
#[derive(Debug)]
pub struct Leftover {
    pub(crate) index: u64,
    pub(crate) operation: Option<TableOperation>,
    pub(crate) why: LeftReason,
}

/// Why an operation is left.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LeftReason {
    /// The service refused it, or it cannot be sent. Nothing was applied.
    Rejected(Arc<Error>),
    /// It was sent, and its answer was lost or not waited for, or the service failed while it worked. Read the row before sending
    /// it again; an upsert can simply be sent.
    Unknown(Arc<Error>),
    /// The bulk ended before its turn. Nothing was applied.
    NotTried,
}

impl Leftover {
    /// Its place in the source, from 0.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The operation; `None` if it could not be encoded at all.
    pub fn operation(&self) -> Option<&TableOperation> {
        self.operation.as_ref()
    }

    /// The operation, to be sent again; `None` if it could not be encoded at all.
    pub fn into_operation(self) -> Option<TableOperation> {
        self.operation
    }

    /// Why it is left.
    pub fn why(&self) -> &LeftReason {
        &self.why
    }
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.operation {
            Some(operation) => write!(f, "{operation}: ")?,
            None => write!(f, "operation {} of the source: ", self.index)?,
        }
        match &self.why {
            LeftReason::Rejected(e) => e.fmt(f),
            LeftReason::Unknown(e) => write!(f, "in doubt: {e}"),
            LeftReason::NotTried => f.write_str("not tried"),
        }
    }
}

/// What became of all operations of a bulk: each that was read is counted once.
#[derive(Debug, Default)]
#[must_use = "operations may be left: see `leftovers`"]
pub struct BulkReport {
    applied: u64,
    rejected: u64,
    unknown: u64,
    not_tried: u64,
    pub(crate) throttled: u64,
    leftovers: Vec<Leftover>,
    settled: u64,
    /// From the first that has no outcome: which have one.
    ahead: VecDeque<bool>,
    /// The first that will never be applied or refused: nothing behind it counts.
    stays: Option<u64>,
}

impl BulkReport {
    /// Operations that were applied.
    pub fn applied(&self) -> u64 {
        self.applied
    }

    /// Operations that the service refused, or that cannot be sent.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// Operations of which nobody knows whether they were applied.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Operations that were read from the source, and whose turn never came.
    pub fn not_tried(&self) -> u64 {
        self.not_tried
    }

    /// Requests that the service refused because there was too much; they were sent again, more slowly.
    pub fn throttled(&self) -> u64 {
        self.throttled
    }

    /// All that were not applied, or of which nobody knows, in the order of the source, as ready operations with the reason of each.
    ///
    /// Those that [outcomes](crate::BulkWrite::outcomes) gave one by one are not here. After
    /// [`finish`](crate::BulkOutcomes::finish) those are that nobody took: what was on its way, and what waited.
    pub fn leftovers(&self) -> &[Leftover] {
        &self.leftovers
    }

    /// The same, to be sent again.
    pub fn into_leftovers(self) -> Vec<Leftover> {
        self.leftovers
    }

    /// How many operations from the source's first on were all applied or refused: where another process goes on, by leaving out
    /// as many. Operations behind it may have been applied, too.
    pub fn settled(&self) -> u64 {
        self.settled
    }

    pub(crate) fn keep(&mut self, leftover: Leftover) {
        self.leftovers.push(leftover);
    }

    /// In the order of the source: of two writes to one row the second is sent again behind the first.
    pub(crate) fn sort_leftovers(&mut self) {
        self.leftovers.sort_by_key(|left| left.index);
    }

    pub(crate) fn failures(&self) -> u64 {
        self.rejected + self.unknown
    }

    pub(crate) fn tell(&mut self, outcome: &BulkOutcome) {
        let index = match outcome {
            BulkOutcome::Applied(applied) => {
                self.applied += 1;
                applied.index
            }
            BulkOutcome::Left(left) => {
                match left.why {
                    LeftReason::Rejected(_) => self.rejected += 1,
                    LeftReason::Unknown(_) => self.unknown += 1,
                    LeftReason::NotTried => self.not_tried += 1,
                }
                if !matches!(left.why, LeftReason::Rejected(_)) {
                    self.stays = Some(self.stays.map_or(left.index, |first| first.min(left.index)));
                    return;
                }
                left.index
            }
        };
        if self.stays.is_some_and(|first| index > first) {
            return;
        }
        let Ok(place) = usize::try_from(index - self.settled) else {
            return;
        };
        if self.ahead.len() <= place {
            self.ahead.resize(place + 1, false);
        }
        self.ahead[place] = true;
        while self.ahead.front() == Some(&true) {
            self.ahead.pop_front();
            self.settled += 1;
        }
    }
}

impl fmt::Display for BulkReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} applied", self.applied)?;
        for (count, what) in [
            (self.rejected, "rejected"),
            (self.unknown, "in doubt"),
            (self.not_tried, "not tried"),
        ] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}
