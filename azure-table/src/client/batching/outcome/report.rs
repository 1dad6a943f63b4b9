//! The report of writes, as counts and leftovers: one type for the operations of a source and for the rows of a query.
//!
//! `bulk_report.rs` and `write_report.rs` add the progress of the writes.

use std::fmt;
use std::sync::Arc;

use azure_table_wire::error::{Error, ErrorKind, Result};

use crate::client::batching::outcome::interrupted::Interrupted;
use crate::client::batching::outcome::leftover::{Leftover, LeftoverReason};
use crate::client::batching::outcome::outcomes::WriteOutcome;
use crate::key::entity_key::Key;

/// The number of leftovers in the `Debug` text of a report.
const MAX_SHOWN: usize = 3;

/// The report of the writes of one call.
///
/// Each write is counted once; indexed entities that an outage left unwritten are not counted. `W` identifies a write
/// in its [`Leftover`], and `P` is the progress of writes that can be resumed:
///
/// | report | of | `W` | resumes from |
/// |---|---|---|---|
/// | [`BulkReport`](crate::BulkReport) | a bulk | the operation | [`settled`](Self::settled) operations of its source |
/// | [`WriteReport<E>`](crate::bulk::WriteReport) | a write by query | the key of the row | its [`position`](Self::position) |
/// | `Report<Key<E>>` | a write by query over indexed entities | the key of the row | |
#[must_use = "writes may be left: see `leftovers`"]
pub struct Report<W, P = ()> {
    pub(super) counts: Counts,
    leftovers: Vec<Leftover<W>>,
    /// The first write in doubt, or else the first that was rejected, by its index, and its error.
    first_failure: Option<(u64, Arc<Error>)>,
    pub(super) progress: P,
}

impl<W, P> Report<W, P> {
    pub(super) fn with_progress(progress: P) -> Self {
        Self {
            counts: Counts::default(),
            leftovers: Vec::new(),
            first_failure: None,
            progress,
        }
    }

    /// Returns the number of writes that were applied.
    pub fn applied(&self) -> u64 {
        self.counts.applied
    }

    /// Returns the number of rows that were left as they are.
    ///
    /// The closure kept them, they are up to date, or [`skip_bad_rows`](crate::TableQuery::skip_bad_rows) skipped them.
    /// Always 0 for a bulk.
    pub fn unchanged(&self) -> u64 {
        self.counts.unchanged
    }

    /// Returns the number of rows that were absent when they were written.
    ///
    /// If a delete was retried after a lost response, it may itself have removed them. Always 0 for a bulk.
    pub fn gone(&self) -> u64 {
        self.counts.gone
    }

    /// Returns the number of rows that another program changed after they were read. They were not written.
    ///
    /// Run the same call again to read and write the new rows. Always 0 for a bulk, which reads no rows.
    pub fn changed(&self) -> u64 {
        self.counts.changed
    }

    /// Returns the number of writes that the service rejected, or that cannot be sent or read. They were not applied.
    /// Rows that others [changed](Self::changed) are not included.
    pub fn rejected(&self) -> u64 {
        self.counts.rejected
    }

    /// Returns the number of writes in doubt: the response was lost, or the service failed.
    ///
    /// Read their rows before you write them again.
    pub fn in_doubt(&self) -> u64 {
        self.counts.in_doubt
    }

    /// Returns the number of writes that were read from their source or query but never sent.
    ///
    /// A write by query sends them when it resumes from its [`position`](Self::position).
    pub fn not_attempted(&self) -> u64 {
        self.counts.not_attempted
    }

    /// Returns the writes that were not applied or are in doubt. Those of a bulk are in the order of its source.
    ///
    /// [`ensure_no_leftovers`](Self::ensure_no_leftovers) turns them into an error. Rows of a query that were
    /// [unchanged](Self::unchanged), [gone](Self::gone) or [not attempted](Self::not_attempted) are not included.
    ///
    /// Nor are operations that the [outcomes](crate::bulk::BulkWrite::outcomes) of a bulk yielded. After
    /// [`finish`](crate::bulk::BulkOutcomes::finish), operations that were in flight or waiting are included.
    pub fn leftovers(&self) -> &[Leftover<W>] {
        &self.leftovers
    }

    /// Returns the [`leftovers`](Self::leftovers), to send them again.
    pub fn into_leftovers(self) -> Vec<Leftover<W>> {
        self.leftovers
    }

    /// Returns the error of the first write in doubt, or else of the first that was not applied, if any.
    ///
    /// It covers all writes that the report counts, including those that the
    /// [outcomes](crate::bulk::BulkWrite::outcomes) of a bulk yielded. Other writes may have been applied, as the
    /// report says. Call it if all writes must succeed:
    /// ```
    /// # use azure_table::{DynamicEntity, Emulator, ErrorKind, TableServiceClient};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let blogs = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
    /// # blogs.create_table().await?;
    /// # let rows = || (0..5).map(|n| DynamicEntity::new("Channel9", n.to_string()));
    /// blogs.bulk().insert(rows()).await?.ensure_no_leftovers()?;
    ///
    /// // The rows exist now.
    /// let report = blogs.bulk().insert(rows()).await?;
    /// let error = report.ensure_no_leftovers().unwrap_err();
    /// assert_eq!((error.kind(), report.rejected()), (ErrorKind::AlreadyExists, 5));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - The error of the first write in doubt, or else of the first that was rejected or whose row others changed.
    /// - `Timeout`: no write has an error, but the call ended before some were sent.
    pub fn ensure_no_leftovers(&self) -> Result<()> {
        match (&self.first_failure, self.counts.not_attempted) {
            (Some((_, error)), _) => Err(error.copy()),
            (None, 0) => Ok(()),
            (None, count) => {
                let why = format!("the writes ended before {count} of them were sent");
                Err(Error::new(ErrorKind::Timeout, why))
            }
        }
    }

    /// Counts an outcome. `index` is the place of the write among all.
    pub(super) fn count_outcome(&mut self, index: u64, outcome: &WriteOutcome) {
        self.counts.count(outcome);
        self.note_failure(index, outcome);
    }

    /// Counts an outcome of a row that was read.
    pub(super) fn count_row(&mut self, index: u64, outcome: &WriteOutcome) {
        match outcome.failure() {
            Some(error) if error.kind() == ErrorKind::ConditionNotMet => self.counts.changed += 1,
            _ => self.counts.count(outcome),
        }
        self.note_failure(index, outcome);
    }

    fn note_failure(&mut self, index: u64, outcome: &WriteOutcome) {
        let rank = |index: u64, error: &Error| (!error.may_have_applied(), index);
        if let Some(error) = outcome.failure()
            && (self.first_failure.as_ref()).is_none_or(|(at, first)| rank(index, error) < rank(*at, first))
        {
            self.first_failure = Some((index, Arc::clone(error)));
        }
    }

    pub(crate) fn keep(&mut self, leftover: Leftover<W>) {
        self.leftovers.push(leftover);
    }

    /// Sorts the leftovers in the order of the source, so that two writes to one row are sent again in their order.
    pub(crate) fn sort_leftovers(&mut self) {
        self.leftovers.sort_by_key(|left| left.index);
    }
}

// For azure-table-patterns, whose writes have no engine.
impl<E> Report<Key<E>> {
    #[doc(hidden)]
    pub fn add_unchanged(&mut self) {
        self.counts.unchanged += 1;
    }

    /// Adds the end of a write: `NotFound` counts as gone.
    #[doc(hidden)]
    pub fn add(&mut self, key: Key<E>, written: Result<()>) {
        let outcome = match written {
            Ok(()) => WriteOutcome::Applied(None),
            Err(error) if error.kind() == ErrorKind::NotFound => WriteOutcome::Gone,
            Err(error) => WriteOutcome::Left(LeftoverReason::failed(Arc::new(error))),
        };
        let index = self.leftovers.len() as u64;
        self.count_row(index, &outcome);
        if let WriteOutcome::Left(why) = outcome {
            self.keep(Leftover { index, what: key, why });
        }
    }
}

impl<W, P: Default> Default for Report<W, P> {
    fn default() -> Self {
        Self::with_progress(P::default())
    }
}

/// Without the report, the error is in doubt if any of the writes was or may have been applied.
impl<W, P> From<Interrupted<Report<W, P>>> for Error {
    fn from(interrupted: Interrupted<Report<W, P>>) -> Self {
        let (error, Report { counts, .. }) = interrupted.into_parts();
        match (counts.applied + counts.gone, counts.in_doubt) {
            (0, 1) => error.maybe_applied(true),
            (applied, in_doubt) => error.after_writes(applied + in_doubt > 0),
        }
    }
}

/// Formats the counts in one line, leaving out zeros: `250 applied, 3 unchanged, 1 gone, 2 rejected`.
impl<W, P> fmt::Display for Report<W, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        write!(f, "{} applied", counts.applied)?;
        for (count, what) in [
            (counts.unchanged, "unchanged"),
            (counts.gone, "gone"),
            (counts.changed, "changed by others"),
            (counts.rejected, "rejected"),
            (counts.in_doubt, "in doubt"),
            (counts.not_attempted, "not attempted"),
            (counts.kept_unknown, "kept properties that the struct does not declare"),
        ] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}

/// Shows the counts and only the first leftovers, since every write may be left over. Leftovers with an error come
/// first.
impl<W: fmt::Debug, P: fmt::Debug> fmt::Debug for Report<W, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_error = |left: &&Leftover<W>| left.error().is_some();
        let failed = self.leftovers.iter().filter(has_error);
        let others = self.leftovers.iter().filter(|left| !has_error(left));
        let first = FirstOf {
            shown: failed.chain(others).take(MAX_SHOWN).collect(),
            others: self.leftovers.len().saturating_sub(MAX_SHOWN),
        };
        f.debug_struct("Report")
            .field("counts", &self.counts)
            .field("leftovers", &first)
            .field("progress", &self.progress)
            .finish()
    }
}

/// Shows the first items of a list, then the number of the others.
struct FirstOf<'a, T> {
    shown: Vec<&'a T>,
    others: usize,
}

impl<T: fmt::Debug> fmt::Debug for FirstOf<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        list.entries(&self.shown);
        if self.others > 0 {
            list.entry(&format_args!("and {} more", self.others));
        }
        list.finish()
    }
}

/// The number of writes with each outcome.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    applied: u64,
    pub(super) unchanged: u64,
    gone: u64,
    changed: u64,
    rejected: u64,
    in_doubt: u64,
    not_attempted: u64,
    /// Applied rows with properties that the struct does not declare.
    pub(super) kept_unknown: u64,
}

impl Counts {
    fn count(&mut self, outcome: &WriteOutcome) {
        *match outcome {
            WriteOutcome::Applied(_) => &mut self.applied,
            WriteOutcome::Gone => &mut self.gone,
            WriteOutcome::Left(LeftoverReason::Rejected(_)) => &mut self.rejected,
            WriteOutcome::Left(LeftoverReason::InDoubt(_)) => &mut self.in_doubt,
            WriteOutcome::Left(LeftoverReason::NotAttempted) => &mut self.not_attempted,
        } += 1;
    }
}
