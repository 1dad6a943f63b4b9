//! Decides when a scan splits one of its ranges, and into how many.
//!
//! [`ScanRanges`] estimates the ranges in progress. `client/shape/key_split.rs` computes the bounds.
//!
//! After a page, the rest of its range is split while fewer ranges are read than the concurrency allows. The rest
//! becomes new ranges with conditions of their own, from the last row that was read. The chain of the range ends, since
//! a continuation belongs to its condition. No row is in two ranges, and no rows are read again.
//!
//! The share of a range is estimated by interpolation between its first key, its last key and its end. A range that
//! ends early costs a request, so the number of ranges is limited by the number of pages.

use std::collections::BTreeMap;

use crate::client::query::scan::scan_position::{After, RangePosition};
use crate::client::shape::key_recorder::{PageKeys, RecordedRows};
use crate::client::shape::key_split::{Alphabet, Rest};

/// The ranges that a scan may add for each of its first pages.
const RANGES_PER_PAGE: u64 = 4;
/// The ranges that a scan may add in any case, once it has read enough pages.
const RANGES: u64 = 64;
/// The pages for which a scan may add one more range.
const PAGES_PER_RANGE: u64 = 8;
/// The least number of pages that are worth a range of their own.
const MIN_PAGES: f64 = 2.0;

/// The ranges in progress of a scan that finds its own.
#[derive(Debug)]
pub(super) struct ScanRanges {
    rows: RecordedRows,
    concurrency: usize,
    alphabet: Alphabet,
    /// By the number of the range.
    estimates: BTreeMap<usize, Estimate>,
    pages: u64,
    added: u64,
}

/// The share of a range in the rest of the table.
#[derive(Clone, Debug, Default)]
struct Estimate {
    pages: u32,
    /// The first PartitionKey that was read.
    first: Option<String>,
    /// The number of pages left, if known.
    left: Option<f64>,
}

impl ScanRanges {
    pub(super) fn new(concurrency: usize, rows: RecordedRows) -> Self {
        Self {
            rows,
            concurrency,
            alphabet: Alphabet::default(),
            estimates: BTreeMap::new(),
            pages: 0,
            added: 0,
        }
    }

    /// Returns `true` if only the first row of each partition is read.
    pub(super) fn is_list(&self) -> bool {
        self.rows == RecordedRows::FirstOfPartition
    }

    /// Forgets a range that was read to its end.
    pub(super) fn end(&mut self, number: usize) {
        self.pages += 1;
        self.estimates.remove(&number);
    }

    /// Returns the ranges that replace the rest of a range after a page, or none if its chain continues.
    ///
    /// `to` limits the range where the query does. `free` is the number of further ranges that can be read
    /// concurrently.
    pub(super) fn replace(
        &mut self,
        number: usize,
        range: &RangePosition,
        to: Option<&str>,
        keys: Option<&PageKeys>,
        free: usize,
    ) -> Vec<RangePosition> {
        self.pages += 1;
        let Some(keys) = keys else { return Vec::new() };
        let own = self.estimates.entry(number).or_default();
        own.pages += 1;
        let first = own.first.get_or_insert_with(|| keys.first.clone()).clone();
        let pages = f64::from(own.pages);
        let (from, is_after) = range.start();
        let rest = Rest {
            from,
            is_after,
            first: &first,
            last: &keys.last,
            to,
        };
        let next = match self.rows {
            RecordedRows::FirstOfPartition => Some(After::Partition),
            RecordedRows::All if keys.first == keys.last => None,
            RecordedRows::All => Some(After::Row(keys.last_row.clone())),
        };
        let count = if range.is_of_one_partition() || to == Some(&*keys.last) {
            0
        } else {
            self.count(
                number,
                &rest,
                keys,
                pages,
                free.saturating_sub(usize::from(next.is_none())),
            )
        };
        let bounds = rest.bounds(&self.alphabet, count);
        let is_split = match next {
            Some(After::Row(_)) => !bounds.is_empty(),
            Some(_) => true,
            // The rest of the partition is a range even without a bound, such as after an empty PartitionKey.
            None => count > 0,
        };
        if !is_split {
            return Vec::new();
        }
        let mut ranges = Vec::with_capacity(bounds.len() + 2);
        let mut from = match next {
            Some(next) => range.rest(&keys.last, next),
            None => {
                // The partition may have any number of rows, and the condition of all its rows would read it again.
                ranges.push(range.rest(&keys.last, After::RowInPartition(keys.last_row.clone())));
                range.rest(&keys.last, After::Partition)
            }
        };
        for bound in bounds {
            let behind = from.split_off(bound);
            ranges.push(from);
            from = behind;
        }
        ranges.push(from);
        ranges
    }

    /// Enters ranges that replace another one.
    pub(super) fn enter(&mut self, replaced: usize, numbers: impl ExactSizeIterator<Item = usize>) {
        self.added += numbers.len().saturating_sub(1) as u64;
        let old = self.estimates.remove(&replaced).unwrap_or_default();
        let left = old.left.map(|left| left / numbers.len() as f64);
        for number in numbers {
            let estimate = Estimate {
                left,
                ..Estimate::default()
            };
            self.estimates.insert(number, estimate);
        }
    }

    /// Returns the number of bounds, so that each part of the rest is about as long as the other ranges.
    fn count(&mut self, number: usize, rest: &Rest<'_>, keys: &PageKeys, pages: f64, free: usize) -> usize {
        self.alphabet.merge(&keys.alphabet);
        rest.teach(&mut self.alphabet);
        let left = rest.ratio(&self.alphabet).map(|ratio| ratio * pages);
        if let Some(own) = self.estimates.get_mut(&number) {
            own.left = left;
        }
        // One less: the rest of a partition may be a range too.
        let limit = (RANGES_PER_PAGE * self.pages - 1).min(RANGES - 1 + self.pages / PAGES_PER_RANGE);
        let allowed = usize::try_from(limit.saturating_sub(self.added)).unwrap_or(usize::MAX);
        let free = free.min(allowed);
        let Some(left) = left else { return free };
        let known: f64 = self.estimates.values().filter_map(|other| other.left).sum();
        let share = (known / self.concurrency as f64).max(MIN_PAGES);
        // A cast saturates.
        let parts = (left / share).round() as usize;
        parts.saturating_sub(1).min(free)
    }
}
