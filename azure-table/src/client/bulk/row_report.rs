//! What writes over a query did.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use crate::client::bulk::position::WritePosition;
use crate::model::entity_key::Key;
use crate::model::error::{Error, ErrorKind};
use crate::protocol::continuation::Continuation;

/// What writes over a query did: each row that was read is counted once, as one of these.
#[must_use = "rows may have failed, or be in doubt: see `failures` and `in_doubt`"]
pub struct WriteReport<E> {
    applied: usize,
    unchanged: usize,
    gone: usize,
    failures: Vec<RowError<E>>,
    in_doubt: Vec<RowError<E>>,
    /// Of which method and query; `None` of writes that did not begin.
    subject: Option<(String, u64)>,
    /// The page at which it is.
    from: Option<Continuation>,
    /// The rows of this page that have an outcome.
    done: Vec<Key<E>>,
    /// Rows that had theirs before, and were not met yet.
    done_before: HashSet<Key<E>>,
    is_complete: bool,
}

/// A row that was not written, or of which nobody knows, and why.
pub struct RowError<E> {
    key: Key<E>,
    /// Rows of one batch share it.
    error: Arc<Error>,
}

impl<E> RowError<E> {
    /// Which row.
    pub fn key(&self) -> &Key<E> {
        &self.key
    }

    /// Why: `ConditionNotMet` — someone changed the row since it was read; `Rejected`, `InvalidInput` — it cannot be stored so;
    /// `InvalidResponse` — it does not read as an `E`. Of a row [in doubt](WriteReport::in_doubt) what became of its answer.
    pub fn error(&self) -> &Error {
        &self.error
    }
}

impl<E> WriteReport<E> {
    /// Of writes that begin here.
    pub(crate) fn new(from: Option<Continuation>, done_before: HashSet<Key<E>>) -> Self {
        Self {
            applied: 0,
            unchanged: 0,
            gone: 0,
            failures: Vec::new(),
            in_doubt: Vec::new(),
            subject: None,
            from,
            done: Vec::new(),
            done_before,
            is_complete: false,
        }
    }

    /// Of this method over this query.
    pub(crate) fn of(mut self, operation: &str, query: u64) -> Self {
        self.subject = Some((operation.to_owned(), query));
        self
    }

    /// Rows that were deleted or written.
    pub fn applied(&self) -> usize {
        self.applied
    }

    /// Rows that were left as they are: the closure kept them, they are up to date, or
    /// [`skip_bad_rows`](crate::TableQuery::skip_bad_rows) passed over them.
    pub fn unchanged(&self) -> usize {
        self.unchanged
    }

    /// Rows that were not there any more when their write came. Of a delete whose answer was lost, and which was repeated: also
    /// those that it deleted itself.
    pub fn gone(&self) -> usize {
        self.gone
    }

    /// Rows that were not written: they are as they were, or as someone else wrote them since.
    pub fn failures(&self) -> &[RowError<E>] {
        &self.failures
    }

    /// Rows of which nobody knows whether they were written: the answer was lost, or the service failed while it worked
    /// ([`may_have_applied`](Error::may_have_applied)). Read them before writing them again.
    pub fn in_doubt(&self) -> &[RowError<E>] {
        &self.in_doubt
    }

    /// Where to go on after what has an outcome; `None` if nothing is left.
    pub fn position(&self) -> Option<WritePosition> {
        (!self.is_complete).then(|| self.place())
    }

    pub(crate) fn place(&self) -> WritePosition {
        let place = WritePosition::new(self.from.clone(), self.done.iter().chain(&self.done_before));
        match &self.subject {
            Some((operation, query)) => place.of(operation, *query),
            None => place,
        }
    }

    /// Whether this row had its outcome before.
    pub(crate) fn was_done(&mut self, key: &Key<E>) -> bool {
        let known = self.done_before.take(key);
        let was_done = known.is_some();
        self.done.extend(known);
        was_done
    }

    /// A row that was written; one that is gone now will not be met again.
    pub(crate) fn tell_applied(&mut self, key: Key<E>, is_gone: bool) {
        self.applied += 1;
        if !is_gone {
            self.done.push(key);
        }
    }

    pub(crate) fn tell_unchanged(&mut self, key: Key<E>) {
        self.unchanged += 1;
        self.done.push(key);
    }

    /// A row that was not written, and why. One that is in doubt counts as done where writing it again is not the same as
    /// writing it once.
    pub(crate) fn tell_failed(&mut self, key: Key<E>, error: Arc<Error>, is_repeatable: bool) {
        let is_in_doubt = error.may_have_applied();
        let is_gone = !is_in_doubt && error.kind() == ErrorKind::NotFound;
        let comes_again = is_in_doubt && is_repeatable;
        if !is_gone && !comes_again {
            self.done.push(key.clone());
        }
        if is_in_doubt {
            self.in_doubt.push(RowError { key, error });
        } else if is_gone {
            self.gone += 1;
        } else {
            self.failures.push(RowError { key, error });
        }
    }

    /// All rows of the page have their outcome. Where rows come in order, none up to its last is met again.
    pub(crate) fn tell_page(&mut self, next: Continuation, last: Option<&Key<E>>) {
        self.from = Some(next);
        self.done.clear();
        if let Some(last) = last {
            self.done_before.retain(|key| key > last);
        }
    }

    pub(crate) fn tell_complete(&mut self) {
        self.is_complete = true;
        (self.from, self.done, self.done_before) = (None, Vec::new(), HashSet::new());
    }
}

/// In one line: `250 rows applied, 3 unchanged, 1 gone, 2 failed, 0 in doubt`.
impl<E> fmt::Display for WriteReport<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} rows applied, {} unchanged, {} gone, {} failed, {} in doubt",
            self.applied,
            self.unchanged,
            self.gone,
            self.failures.len(),
            self.in_doubt.len()
        )
    }
}

impl<E> fmt::Debug for WriteReport<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteReport")
            .field("applied", &self.applied)
            .field("unchanged", &self.unchanged)
            .field("gone", &self.gone)
            .field("failures", &self.failures)
            .field("in_doubt", &self.in_doubt)
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

/// The keys are part of the error's text where it is of this row alone.
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
