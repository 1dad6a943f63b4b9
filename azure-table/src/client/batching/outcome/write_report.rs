//! The outcomes of writes over a query, as counts and as leftover rows.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use azure_table_wire::error::{Error, ErrorKind, Result};

use crate::client::batching::outcome::bulk_report::{Counts, FirstOf};
use crate::client::batching::outcome::interrupted::{Interrupted, Report};
use crate::client::batching::outcome::outcomes::{LeftoverReason, WriteOutcome};
use crate::client::batching::outcome::write_position::WritePosition;
use crate::key::entity_key::Key;
use crate::request::continuation::Continuation;

/// The outcomes of writes over a query.
///
/// Each row that was read is counted once.
#[must_use = "rows may be left: see `leftovers`"]
pub struct WriteReport<E> {
    counts: Counts,
    kept_unknown: u64,
    leftovers: Vec<RowError<E>>,
    /// The method and the query; `None` if the writes did not begin.
    subject: Option<(String, u64)>,
    /// The current page.
    from: Option<Continuation>,
    /// The rows of this page that have an outcome.
    done: Vec<Key<E>>,
    /// Rows that had an outcome before the writes were resumed, and were not read again yet.
    done_before: HashSet<Key<E>>,
    /// The rows in flight of a write that may not be repeated. They count as done.
    in_flight: HashSet<Key<E>>,
    is_complete: bool,
}

/// A row that was not written or is in doubt, with its error.
pub struct RowError<E> {
    key: Key<E>,
    /// Rows of one batch share it.
    error: Arc<Error>,
}

impl<E> RowError<E> {
    /// Returns the key of the row.
    pub fn key(&self) -> &Key<E> {
        &self.key
    }

    /// Returns the error of the row.
    ///
    /// - `ConditionNotMet`: another writer changed the row after it was read.
    /// - `Rejected`, `InvalidInput`: the row cannot be stored in this form.
    /// - `InvalidResponse`: the row does not fit `E`.
    /// - [`InDoubt`](crate::ErrorKind::InDoubt): the row may have been written.
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// Returns the reason in the form of a [`Leftover`](crate::bulk::Leftover) of a bulk: rejected, or in doubt.
    pub fn reason(&self) -> LeftoverReason {
        LeftoverReason::failed(Arc::clone(&self.error))
    }
}

impl<E> WriteReport<E> {
    /// Creates the report of writes that begin at this page.
    pub(crate) fn new(
        subject: Option<(String, u64)>,
        from: Option<Continuation>,
        done_before: HashSet<Key<E>>,
    ) -> Self {
        Self {
            counts: Counts::default(),
            kept_unknown: 0,
            leftovers: Vec::new(),
            subject,
            from,
            done: Vec::new(),
            done_before,
            in_flight: HashSet::new(),
            is_complete: false,
        }
    }

    /// Returns the number of rows that were deleted or written.
    pub fn applied(&self) -> u64 {
        self.counts.applied
    }

    /// Returns the number of [applied](Self::applied) rows that kept properties which the struct does not declare.
    ///
    /// [`drop_unknown`](crate::bulk::UpgradeWhere::drop_unknown) removes them. Only updates of whole entities and
    /// upgrades read them, so other writes count none.
    pub fn kept_unknown(&self) -> u64 {
        self.kept_unknown
    }

    /// Returns the number of rows that were not written.
    ///
    /// The closure kept them, they are up to date, or [`skip_bad_rows`](crate::TableQuery::skip_bad_rows) skipped them.
    pub fn unchanged(&self) -> u64 {
        self.counts.unchanged
    }

    /// Returns the number of rows that were absent when they were written.
    ///
    /// After a retried delete whose first response was lost, these may be rows that this delete removed.
    pub fn gone(&self) -> u64 {
        self.counts.gone
    }

    /// Returns the number of rows that another program changed after they were read. They were not written.
    ///
    /// Run the same call again: it reads the new rows.
    pub fn changed(&self) -> u64 {
        self.counts.changed
    }

    /// Returns the number of rows that the service rejected for another reason, or that cannot be read or sent.
    ///
    /// They were not written.
    pub fn rejected(&self) -> u64 {
        self.counts.rejected
    }

    /// Returns the number of rows in doubt: the response was lost, or the service failed.
    ///
    /// Read them before you write them again.
    pub fn in_doubt(&self) -> u64 {
        self.counts.in_doubt
    }

    /// Returns the number of rows that were read and never sent.
    ///
    /// Resume from the [`position`](Self::position) to write them.
    pub fn not_attempted(&self) -> u64 {
        self.counts.not_attempted
    }

    /// Returns the rows that others changed, that were rejected or are in doubt, with their errors.
    ///
    /// [`ensure_no_leftovers`](Self::ensure_no_leftovers) turns them into an error.
    pub fn leftovers(&self) -> &[RowError<E>] {
        &self.leftovers
    }

    /// Returns the error of the first row that was rejected or is in doubt, if any.
    ///
    /// Rows that were [unchanged](Self::unchanged) or [gone](Self::gone) are not errors.
    ///
    /// # Errors
    /// The error of the first [leftover](Self::leftovers).
    pub fn ensure_no_leftovers(&self) -> Result<()> {
        match self.leftovers.first() {
            Some(row) => Err(row.error.copy()),
            None => Ok(()),
        }
    }

    /// Returns the position to resume from, or `None` after the last row.
    ///
    /// Rows in flight of an `update_where` count as done, unless it is
    /// [`repeatable`](crate::bulk::UpdateWhere::repeatable). Those of any other write are written again.
    pub fn position(&self) -> Option<WritePosition> {
        (!self.is_complete).then(|| self.place())
    }

    fn place(&self) -> WritePosition {
        let done = self.done.iter().chain(&self.done_before).chain(&self.in_flight);
        WritePosition::new(self.subject.clone(), self.from.clone(), done)
    }

    /// Returns `true` if the row had its outcome before.
    pub(crate) fn was_done(&mut self, key: &Key<E>) -> bool {
        let known = self.done_before.take(key);
        let was_done = known.is_some();
        self.done.extend(known);
        was_done
    }

    /// Counts a row that was not written because it needs no change.
    pub(crate) fn count_unchanged(&mut self, key: Key<E>) {
        self.counts.unchanged += 1;
        self.done.push(key);
    }

    /// Counts a row with properties that the struct does not know.
    pub(crate) fn count_unknown(&mut self, has_unknown: bool, outcome: &WriteOutcome) {
        self.kept_unknown += u64::from(has_unknown && matches!(outcome, WriteOutcome::Applied(_)));
    }

    /// Records a row that is about to be sent and may not be written twice.
    pub(crate) fn send(&mut self, key: Key<E>) {
        self.in_flight.insert(key);
    }

    /// Counts a row, and records it as done if resumed writes must skip it.
    ///
    /// Rows that are absent or not attempted are not recorded, and neither are rows in doubt if the write is
    /// idempotent: resumed writes write them again.
    pub(crate) fn count(&mut self, key: Key<E>, outcome: WriteOutcome, (is_delete, is_repeatable): (bool, bool)) {
        match outcome.failure() {
            Some(error) if error.kind() == ErrorKind::ConditionNotMet => self.counts.changed += 1,
            _ => self.counts.count(&outcome),
        }
        self.in_flight.remove(&key);
        match outcome {
            WriteOutcome::Applied(_) if is_delete => {}
            WriteOutcome::Applied(_) => self.done.push(key),
            WriteOutcome::Gone | WriteOutcome::Left(LeftoverReason::NotAttempted) => {}
            WriteOutcome::Left(LeftoverReason::Rejected(error) | LeftoverReason::InDoubt(error)) => {
                if !(error.may_have_applied() && is_repeatable) {
                    self.done.push(key.clone());
                }
                self.leftovers.push(RowError { key, error });
            }
        }
    }

    /// Moves on to the next page once all rows have their outcome.
    ///
    /// If rows arrive in order, no row up to `last` arrives again.
    pub(crate) fn page_done(&mut self, next: Continuation, last: Option<&Key<E>>) {
        self.from = Some(next);
        self.done.clear();
        if let Some(last) = last {
            self.done_before.retain(|key| key > last);
        }
    }

    pub(crate) fn complete(&mut self) {
        self.is_complete = true;
        (self.from, self.done, self.done_before) = (None, Vec::new(), HashSet::new());
    }
}

impl<E, A> Interrupted<WriteReport<E>, A> {
    /// Returns the position for `resume_from`, after all rows that have an outcome.
    pub fn position(&self) -> WritePosition {
        self.report().place()
    }
}

impl<E> Report for WriteReport<E> {
    fn interrupt(&self, error: Error) -> Error {
        self.counts.interrupt(error)
    }
}

impl<E> fmt::Display for WriteReport<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.counts.fmt(f)?;
        match self.kept_unknown {
            0 => Ok(()),
            kept => write!(f, ", {kept} kept properties that the struct does not declare"),
        }
    }
}

impl<E> fmt::Debug for WriteReport<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteReport")
            .field("counts", &self.counts)
            .field("kept_unknown", &self.kept_unknown)
            .field("leftovers", &FirstOf::new(self.leftovers.iter(), self.leftovers.len()))
            .field("is_complete", &self.is_complete)
            .finish_non_exhaustive()
    }
}

impl<E> Clone for RowError<E> {
    fn clone(&self) -> Self {
        Self {
            key: self.key.clone(),
            error: Arc::clone(&self.error),
        }
    }
}

/// Formats the error, after the key if the error itself has none.
impl<E> fmt::Display for RowError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error.entity() {
            Some(_) => self.error.fmt(f),
            None => write!(f, "entity {}: {}", self.key, self.error),
        }
    }
}

impl<E> fmt::Debug for RowError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowError")
            .field("key", &self.key)
            .field("error", &self.error)
            .finish()
    }
}
