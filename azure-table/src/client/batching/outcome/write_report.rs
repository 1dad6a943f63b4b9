//! The report of writes over a query, with the rows of the current page that have an outcome.

use std::collections::HashSet;
use std::fmt;

use crate::client::batching::outcome::interrupted::Interrupted;
use crate::client::batching::outcome::leftover::{Leftover, LeftoverReason};
use crate::client::batching::outcome::outcomes::WriteOutcome;
use crate::client::batching::outcome::report::Report;
use crate::client::batching::outcome::write_position::WritePosition;
use crate::key::entity_key::Key;
use crate::request::continuation::Continuation;

/// The report of writes over a query.
pub type WriteReport<E> = Report<Key<E>, QueryProgress<E>>;

/// The progress of writes over a query.
pub struct QueryProgress<E> {
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

impl<E> WriteReport<E> {
    /// Creates the report of writes that begin at this page.
    pub(crate) fn new(
        subject: Option<(String, u64)>,
        from: Option<Continuation>,
        done_before: HashSet<Key<E>>,
    ) -> Self {
        Self::with_progress(QueryProgress {
            subject,
            from,
            done: Vec::new(),
            done_before,
            in_flight: HashSet::new(),
            is_complete: false,
        })
    }

    /// Returns the number of [applied](Self::applied) rows with properties that the struct does not declare.
    ///
    /// [`drop_unknown`](crate::bulk::UpgradeWhere::drop_unknown) removes such properties. Only updates of whole
    /// entities and upgrades read them, so this is 0 for other writes.
    pub fn kept_unknown(&self) -> u64 {
        self.counts.kept_unknown
    }

    /// Returns the position to resume from, or `None` after the last row.
    ///
    /// An `update_where` skips rows that were in flight, unless it is
    /// [`repeatable`](crate::bulk::UpdateWhere::repeatable). Any other write writes them again.
    pub fn position(&self) -> Option<WritePosition> {
        (!self.progress.is_complete).then(|| self.progress.place())
    }

    /// Returns `true` if the row had its outcome before.
    pub(crate) fn was_done(&mut self, key: &Key<E>) -> bool {
        let known = self.progress.done_before.take(key);
        let was_done = known.is_some();
        self.progress.done.extend(known);
        was_done
    }

    /// Counts a row that was not written because it needs no change.
    pub(crate) fn count_unchanged(&mut self, key: Key<E>) {
        self.counts.unchanged += 1;
        self.progress.done.push(key);
    }

    /// Counts a row with properties that the struct does not know.
    pub(crate) fn count_unknown(&mut self, has_unknown: bool, outcome: &WriteOutcome) {
        self.counts.kept_unknown += u64::from(has_unknown && matches!(outcome, WriteOutcome::Applied(_)));
    }

    /// Records a row that is about to be sent and may not be written twice.
    pub(crate) fn send(&mut self, key: Key<E>) {
        self.progress.in_flight.insert(key);
    }

    /// Counts a row, and records it as done if resumed writes must skip it.
    ///
    /// Rows that are absent or not attempted are not recorded, and neither are rows in doubt if the write is
    /// idempotent: resumed writes write them again.
    pub(crate) fn count(&mut self, key: Key<E>, outcome: WriteOutcome, (is_delete, is_repeatable): (bool, bool)) {
        // Outcomes arrive one by one, in the order of the leftovers.
        let index = self.leftovers().len() as u64;
        self.count_row(index, &outcome);
        self.progress.in_flight.remove(&key);
        match outcome {
            WriteOutcome::Applied(_) if is_delete => {}
            WriteOutcome::Applied(_) => self.progress.done.push(key),
            WriteOutcome::Gone | WriteOutcome::Left(LeftoverReason::NotAttempted) => {}
            WriteOutcome::Left(why) => {
                if !(matches!(why, LeftoverReason::InDoubt(_)) && is_repeatable) {
                    self.progress.done.push(key.clone());
                }
                self.keep(Leftover { index, what: key, why });
            }
        }
    }

    /// Moves on to the next page once all rows have their outcome.
    ///
    /// If rows arrive in order, no row up to `last` arrives again.
    pub(crate) fn page_done(&mut self, next: Continuation, last: Option<&Key<E>>) {
        let progress = &mut self.progress;
        progress.from = Some(next);
        progress.done.clear();
        if let Some(last) = last {
            progress.done_before.retain(|key| key > last);
        }
    }

    pub(crate) fn complete(&mut self) {
        let progress = &mut self.progress;
        progress.is_complete = true;
        (progress.from, progress.done, progress.done_before) = (None, Vec::new(), HashSet::new());
    }
}

impl<E> QueryProgress<E> {
    fn place(&self) -> WritePosition {
        let done = self.done.iter().chain(&self.done_before).chain(&self.in_flight);
        WritePosition::new(self.subject.clone(), self.from.clone(), done)
    }
}

impl<E, A> Interrupted<WriteReport<E>, A> {
    /// Returns the position for `resume_from`, after all rows that have an outcome.
    pub fn position(&self) -> WritePosition {
        self.report().progress.place()
    }
}

impl<E> fmt::Debug for QueryProgress<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryProgress")
            .field("is_complete", &self.is_complete)
            .finish_non_exhaustive()
    }
}
