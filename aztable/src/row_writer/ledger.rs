//! The rows of a source and their outcomes, page by page.
//!
//! A page settles when all of its rows, and all pages before it, have a final outcome. Then its counts and rejections
//! count for good, and the source may resume behind it. A row in doubt or not attempted keeps its page and all later
//! ones from settling: a resumed command repeats them. Memory depends on the pages in flight, not on the rows.

use std::collections::{BTreeMap, VecDeque};

use azure_table::TableOperation;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Rejection;
use crate::row_writer::{Item, Page};
use crate::tally::Tally;

/// The outcome of a row.
pub(super) enum Outcome {
    Written,
    Deleted,
    Unchanged,
    Rejected(Value, String),
    InDoubt,
    NotAttempted,
}

/// The position of a source, and the counts of the rows before it.
#[derive(Serialize, Deserialize)]
pub(crate) struct Stored<P> {
    pub(crate) source: P,
    pub(crate) tally: Tally,
    /// The length of the file of rejected rows.
    pub(crate) rejects: u64,
}

impl<P> Stored<P> {
    /// The begin of a source.
    pub(crate) fn begin(source: P, rejects: u64) -> Self {
        let tally = Tally::default();
        Self { source, tally, rejects }
    }
}

/// The rows of a page.
struct Account<P> {
    /// The number of rows that were sent before the page.
    first: u64,
    /// The number of its rows that have no outcome yet.
    open: u64,
    counts: Tally,
    rejected: Vec<Rejection>,
    /// The rows whose operations cannot be built, by their numbers: their outcomes lack them.
    unbuilt: BTreeMap<u64, Value>,
    position: P,
}

impl<P> Account<P> {
    fn count(&mut self, outcome: Outcome) {
        self.counts.read += 1;
        let count = match outcome {
            Outcome::Written => &mut self.counts.written,
            Outcome::Deleted => &mut self.counts.deleted,
            Outcome::Unchanged => &mut self.counts.unchanged,
            Outcome::Rejected(row, why) => {
                self.rejected.push((row, why));
                &mut self.counts.rejected
            }
            Outcome::InDoubt => &mut self.counts.in_doubt,
            Outcome::NotAttempted => &mut self.counts.not_attempted,
        };
        *count += 1;
    }

    fn is_repeated(&self) -> bool {
        self.counts.in_doubt + self.counts.not_attempted > 0
    }
}

/// The accounts of all pages.
pub(super) struct Ledger<P> {
    sent: u64,
    pages: VecDeque<Account<P>>,
    settled: Tally,
    position: Option<P>,
    /// Rejected rows of settled pages, since they were last taken.
    pub(super) rejected: Vec<Rejection>,
    /// Rejected rows of pages that a resumed command repeats.
    pub(super) repeated: Vec<Rejection>,
}

impl<P> Ledger<P> {
    /// Takes the rejected rows that no file has, those of settled pages first.
    pub(super) fn take_rejected(&mut self) -> [Vec<Rejection>; 2] {
        [std::mem::take(&mut self.rejected), std::mem::take(&mut self.repeated)]
    }

    /// Begins after the rows that an earlier run has counted.
    pub(super) fn new(settled: Tally) -> Self {
        Self {
            sent: 0,
            pages: VecDeque::new(),
            settled,
            position: None,
            rejected: Vec::new(),
            repeated: Vec::new(),
        }
    }

    /// Adds a page. Returns the operations to send.
    pub(super) fn add(&mut self, (items, position): Page<P>) -> Vec<TableOperation> {
        let mut operations = Vec::with_capacity(items.len());
        let mut page = Account {
            first: self.sent,
            open: 0,
            counts: Tally::default(),
            rejected: Vec::new(),
            unbuilt: BTreeMap::new(),
            position,
        };
        for item in items {
            match item {
                Item::Write(operation) => operations.push(operation),
                Item::Unbuilt(operation, row) => {
                    page.unbuilt.insert(self.sent + operations.len() as u64, row);
                    operations.push(operation);
                }
                Item::Unchanged => page.count(Outcome::Unchanged),
                Item::Bad((row, why)) => page.count(Outcome::Rejected(row, why)),
            }
        }
        page.open = operations.len() as u64;
        self.sent += page.open;
        self.pages.push_back(page);
        self.settle();
        operations
    }

    /// Counts the outcome of a row by its number among those that were sent.
    pub(super) fn end(&mut self, sent: u64, mut outcome: Outcome) {
        let after = self.pages.partition_point(|page| page.first <= sent);
        let Some(page) = after.checked_sub(1).and_then(|index| self.pages.get_mut(index)) else {
            return;
        };
        if let (Outcome::Rejected(row, _), Some(unbuilt)) = (&mut outcome, page.unbuilt.remove(&sent)) {
            *row = unbuilt;
        }
        page.open -= 1;
        page.count(outcome);
        if page.open == 0 {
            self.settle();
        }
    }

    /// Counts the rows that the bulk did not take from their page before it stopped.
    pub(super) fn end_untaken(&mut self, taken: u64) {
        (taken..self.sent).for_each(|sent| self.end(sent, Outcome::NotAttempted));
    }

    fn settle(&mut self) {
        while self.pages.front().is_some_and(|page| page.open == 0) {
            let Some(mut page) = self.pages.pop_front() else { return };
            if !page.is_repeated() {
                self.settled.add(&page.counts);
                self.rejected.append(&mut page.rejected);
                self.position = Some(page.position);
                continue;
            }
            self.repeated.append(&mut page.rejected);
            match self.pages.front_mut().filter(|next| next.open == 0) {
                // Pages that are repeated together take the memory of one.
                Some(next) => {
                    next.first = page.first;
                    next.counts.add(&page.counts);
                }
                None => return self.pages.push_front(page),
            }
        }
    }

    /// Returns the position to store, or `None` if the source has not passed one.
    pub(super) fn stored(&self, rejects: u64) -> Option<Stored<&P>> {
        let source = self.position.as_ref()?;
        let tally = self.settled.clone();
        Some(Stored { source, tally, rejects })
    }

    /// Returns the number of rows that have an outcome.
    pub(super) fn counted(&self) -> u64 {
        self.settled.read + self.pages.iter().map(|page| page.counts.read).sum::<u64>()
    }

    /// Returns the counts of all rows. Rows without an outcome are in doubt.
    pub(super) fn total(&mut self) -> Tally {
        let mut total = self.settled.clone();
        for page in &mut self.pages {
            for _ in 0..std::mem::take(&mut page.open) {
                page.count(Outcome::InDoubt);
            }
            total.add(&page.counts);
            self.repeated.append(&mut page.rejected);
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use azure_table::DynamicEntity;

    use super::*;

    fn write() -> Item {
        Item::Write(TableOperation::delete::<DynamicEntity>(("p", "r")))
    }

    fn bad() -> Item {
        Item::Bad((Value::Null, "no row".into()))
    }

    fn source(ledger: &Ledger<u64>) -> Option<u64> {
        ledger.stored(0).map(|stored| *stored.source)
    }

    #[test]
    fn a_page_settles_after_all_pages_before_it() {
        let mut ledger = Ledger::new(Tally::default());
        for position in 1..=4 {
            // The third page sends no row.
            let items = if position == 3 {
                vec![Item::Unchanged]
            } else {
                vec![Item::Unchanged, write(), bad(), write()]
            };
            ledger.add((items, position));
        }
        for sent in [5, 4, 3, 1, 2] {
            ledger.end(sent, Outcome::Written);
            assert_eq!(source(&ledger), None, "{sent}");
        }
        assert!(ledger.rejected.is_empty());
        ledger.end(0, Outcome::Written);
        assert_eq!(source(&ledger), Some(4));
        let counts = ledger.total();
        assert_eq!(
            (counts.read, counts.written, counts.unchanged, counts.rejected),
            (13, 6, 4, 3)
        );
        assert_eq!(ledger.rejected.len(), 3);
    }

    #[test]
    fn a_row_in_doubt_keeps_later_pages_from_settling() {
        let mut ledger = Ledger::new(Tally::default());
        for position in 1..=100 {
            ledger.add((vec![write(), bad()], position));
        }
        for sent in 0..100 {
            ledger.end(sent, if sent == 1 { Outcome::InDoubt } else { Outcome::Written });
        }
        assert_eq!((source(&ledger), ledger.pages.len()), (Some(1), 1));
        let total = ledger.total();
        assert_eq!(
            (total.read, total.written, total.rejected, total.in_doubt),
            (200, 99, 100, 1)
        );
        assert_eq!(ledger.stored(0).unwrap().tally.read, 2);
        assert_eq!((ledger.rejected.len(), ledger.repeated.len()), (1, 99));
    }

    #[test]
    fn rows_that_are_not_sent_take_no_memory() {
        let mut ledger = Ledger::new(Tally::default());
        for position in 0..10_000 {
            ledger.add(((0..1_000).map(|_| Item::Unchanged).collect(), position));
            assert_eq!(ledger.pages.capacity().min(8), ledger.pages.capacity());
        }
        assert_eq!((ledger.total().unchanged, source(&ledger)), (10_000_000, Some(9_999)));
    }

    #[test]
    fn rows_that_the_bulk_did_not_take_are_not_attempted() {
        let mut ledger = Ledger::new(Tally::default());
        ledger.add((vec![write(), write(), write()], 1));
        ledger.end(0, Outcome::Written);
        ledger.end_untaken(2);
        let total = ledger.total();
        assert_eq!((total.written, total.in_doubt, total.not_attempted), (1, 1, 1));
    }

    #[test]
    fn rows_without_an_outcome_are_in_doubt() {
        let mut ledger = Ledger::new(Tally::default());
        ledger.add((vec![write(), write()], 1));
        ledger.end(0, Outcome::Written);
        assert_eq!(ledger.total().in_doubt, 1);
    }
}
