//! The rows of a source and their outcomes, page by page.
//!
//! A page settles when all of its rows, and all pages before it, have a final outcome. Then its counts and rejections
//! count for good, and the source may resume behind it. A row in doubt or not attempted keeps its page and all later
//! ones from settling: a resumed command repeats them. Memory depends on the pages in flight, not on the rows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use azure_table::TableOperation;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Rejection;
use crate::ledger::{Ledger, Outcome, RowEnd};
use crate::row_writer::{Item, Page};

/// The position of a source, and the counts of the rows before it.
#[derive(Serialize, Deserialize, Default)]
pub(crate) struct Stored<P> {
    pub(crate) source: P,
    pub(crate) ledger: Ledger,
    /// The length of the file of rejected rows.
    pub(crate) rejects: u64,
}

/// The rows of a page.
struct Account<P> {
    /// The number of rows that were sent before the page.
    first: u64,
    /// The number of its rows that have no outcome yet.
    open: u64,
    counts: Ledger,
    rejected: Vec<Rejection>,
    /// The rows whose operations cannot be built, by their numbers: their outcomes lack them.
    unbuilt: BTreeMap<u64, Value>,
    /// The numbers of rows whose keys earlier rows have.
    repeated: BTreeSet<u64>,
    position: P,
}

impl<P> Account<P> {
    fn count(&mut self, end: RowEnd) {
        let outcome = end.unwrap_or_else(|rejection| {
            self.rejected.push(rejection);
            Outcome::Rejected
        });
        self.counts.count(outcome, 1);
    }
}

/// The accounts of all pages.
pub(super) struct PageLedger<P> {
    sent: u64,
    pages: VecDeque<Account<P>>,
    settled: Ledger,
    position: Option<P>,
    /// Rejected rows of settled pages, since they were last taken.
    pub(super) rejected: Vec<Rejection>,
    /// Rejected rows of pages that a resumed command repeats.
    pub(super) repeated: Vec<Rejection>,
}

impl<P> PageLedger<P> {
    /// Takes the rejected rows that no file has, those of settled pages first.
    pub(super) fn take_rejected(&mut self) -> [Vec<Rejection>; 2] {
        [std::mem::take(&mut self.rejected), std::mem::take(&mut self.repeated)]
    }

    /// Begins after the rows that an earlier run has counted.
    pub(super) fn new(settled: Ledger) -> Self {
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
    pub(super) fn add(&mut self, page: Page<P>) -> Vec<TableOperation> {
        let mut operations = Vec::with_capacity(page.items.len());
        let mut account = Account {
            first: self.sent,
            open: 0,
            counts: Ledger::default(),
            rejected: Vec::new(),
            unbuilt: BTreeMap::new(),
            repeated: BTreeSet::new(),
            position: page.position,
        };
        account.counts.read(page.read);
        for item in page.items {
            match item {
                Item::Write {
                    operation,
                    unbuilt,
                    is_repeated,
                } => {
                    let sent = self.sent + operations.len() as u64;
                    account.unbuilt.extend(unbuilt.map(|row| (sent, row)));
                    account.repeated.extend(is_repeated.then_some(sent));
                    operations.push(operation);
                }
                Item::Ended(end) => account.count(end),
            }
        }
        account.open = operations.len() as u64;
        self.sent += account.open;
        self.pages.push_back(account);
        self.settle();
        operations
    }

    /// Counts the outcome of a row by its number among those that were sent.
    pub(super) fn end(&mut self, sent: u64, mut end: RowEnd) {
        let after = self.pages.partition_point(|page| page.first <= sent);
        let Some(page) = after.checked_sub(1).and_then(|index| self.pages.get_mut(index)) else {
            return;
        };
        if let (Err((row, _)), Some(unbuilt)) = (&mut end, page.unbuilt.remove(&sent)) {
            *row = unbuilt;
        }
        if end == Ok(Outcome::Superseded) && !page.repeated.contains(&sent) {
            end = Ok(Outcome::Written);
        }
        page.open -= 1;
        page.count(end);
        if page.open == 0 {
            self.settle();
        }
    }

    /// Counts the rows that the bulk did not take from their page before it stopped.
    pub(super) fn end_untaken(&mut self, taken: u64) {
        (taken..self.sent).for_each(|sent| self.end(sent, Ok(Outcome::NotAttempted)));
    }

    fn settle(&mut self) {
        while self.pages.front().is_some_and(|page| page.open == 0) {
            let Some(mut page) = self.pages.pop_front() else { return };
            if page.counts.is_final() {
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
        let ledger = self.settled.clone();
        Some(Stored {
            source,
            ledger,
            rejects,
        })
    }

    /// Returns the number of rows that have an outcome.
    pub(super) fn counted(&self) -> u64 {
        self.settled.ended() + self.pages.iter().map(|page| page.counts.ended()).sum::<u64>()
    }

    /// Returns the counts of all rows. Those of a run that was cut off are in doubt if they have no outcome.
    pub(super) fn total(&mut self, is_cut_off: bool) -> Ledger {
        let mut total = self.settled.clone();
        for page in &mut self.pages {
            if is_cut_off {
                page.counts.count(Outcome::InDoubt, std::mem::take(&mut page.open));
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
        Item::write(TableOperation::delete::<DynamicEntity>(("p", "r")), ())
    }

    fn bad() -> Item {
        Item::Ended(Err((Value::Null, "no row".into())))
    }

    fn unchanged() -> Item {
        Item::Ended(Ok(Outcome::Unchanged))
    }

    fn page(items: Vec<Item>, position: u64) -> Page<u64> {
        Page {
            read: items.len(),
            items,
            position,
        }
    }

    fn source(ledger: &PageLedger<u64>) -> Option<u64> {
        ledger.stored(0).map(|stored| *stored.source)
    }

    #[test]
    fn a_page_settles_after_all_pages_before_it() {
        let mut ledger = PageLedger::new(Ledger::default());
        for position in 1..=4 {
            // The third page sends no row.
            let items = if position == 3 {
                vec![unchanged()]
            } else {
                vec![unchanged(), write(), bad(), write()]
            };
            ledger.add(page(items, position));
        }
        for sent in [5, 4, 3, 1, 2] {
            ledger.end(sent, Ok(Outcome::Written));
            assert_eq!(source(&ledger), None, "{sent}");
        }
        assert!(ledger.rejected.is_empty());
        ledger.end(0, Ok(Outcome::Written));
        assert_eq!(source(&ledger), Some(4));
        assert_eq!(
            ledger.total(true).to_string(),
            "13 read, 6 written, 4 unchanged, 3 rejected"
        );
        assert_eq!(ledger.rejected.len(), 3);
    }

    #[test]
    fn a_row_in_doubt_keeps_later_pages_from_settling() {
        let mut ledger = PageLedger::new(Ledger::default());
        for position in 1..=100 {
            ledger.add(page(vec![write(), bad()], position));
        }
        for sent in 0..100 {
            ledger.end(sent, Ok(if sent == 1 { Outcome::InDoubt } else { Outcome::Written }));
        }
        assert_eq!((source(&ledger), ledger.pages.len()), (Some(1), 1));
        assert_eq!(
            ledger.total(true).to_string(),
            "200 read, 99 written, 100 rejected, 1 in doubt"
        );
        assert_eq!(ledger.stored(0).unwrap().ledger.ended(), 2);
        assert_eq!((ledger.rejected.len(), ledger.repeated.len()), (1, 99));
    }

    #[test]
    fn rows_that_are_not_sent_take_no_memory() {
        let mut ledger = PageLedger::new(Ledger::default());
        for position in 0..10_000 {
            ledger.add(page((0..1_000).map(|_| unchanged()).collect(), position));
            assert_eq!(ledger.pages.capacity().min(8), ledger.pages.capacity());
        }
        let total = ledger.total(true).of(Outcome::Unchanged);
        assert_eq!((total, source(&ledger)), (10_000_000, Some(9_999)));
    }

    #[test]
    fn rows_that_the_bulk_did_not_take_are_not_attempted() {
        let mut ledger = PageLedger::new(Ledger::default());
        ledger.add(page(vec![write(), write(), write()], 1));
        ledger.end(0, Ok(Outcome::Written));
        ledger.end_untaken(2);
        let total = ledger.total(true).to_string();
        assert_eq!(total, "3 read, 1 written, 1 in doubt, 1 not attempted");
    }

    #[test]
    fn rows_without_an_outcome_are_in_doubt() {
        let mut ledger = PageLedger::new(Ledger::default());
        ledger.add(page(vec![write(), write()], 1));
        ledger.end(0, Ok(Outcome::Written));
        assert_eq!(ledger.total(false).to_string(), "2 read, 1 written");
        assert_eq!(ledger.total(true).to_string(), "2 read, 1 written, 1 in doubt");
    }

    #[test]
    fn page_that_has_lost_a_row_does_not_settle() {
        let mut ledger = PageLedger::new(Ledger::default());
        ledger.add(Page {
            read: 2,
            ..page(vec![unchanged()], 1)
        });
        assert_eq!(source(&ledger), None);
        let ended = ledger.total(false).end(&crate::terminal::Terminal::default(), Ok(()));
        assert!(ended.unwrap_err().to_string().contains("a fault of aztable"));
    }
}
