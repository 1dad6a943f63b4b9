//! The operations of one partition that wait for their batch.
//!
//! Operations on one row are sent in sequence: never two in flight, and never two in a batch. Apart from that,
//! operations of a partition keep their order. `engine/queue.rs` decides the turns of the partitions.
//!
//! An operation waits for the batch of an earlier operation on the same row; all others may be sent. Any sequence of
//! writes therefore ends as if sent one by one, which a property test verifies. An operation also waits while a lost
//! request on its row may arrive, and is left behind if an earlier one is in doubt. Rows are compared by hash. Two rows
//! with equal hashes are treated as one row, which is slower but never wrong.

use std::collections::VecDeque;

use crate::write::operation::TableOperation;
use crate::write::row_hash::{RowHash, RowHashes};

/// An operation and its number.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) index: u64,
    pub(crate) row: RowHash,
    pub(crate) operation: TableOperation,
}

impl Queued {
    pub(crate) fn new(index: u64, operation: TableOperation) -> Self {
        let (_, row_key) = operation.keys().unwrap_or_default();
        Self {
            index,
            row: RowHash::of(row_key),
            operation,
        }
    }

    /// Returns the approximate number of bytes in the body of a batch.
    pub(crate) fn bytes_in_batch(&self) -> usize {
        self.operation.bytes() + HEAD_BYTES
    }
}

/// The bytes that each operation adds to a batch's body besides its entity and its keys. Long keys add more: the last
/// operations of such a batch are then sent in another one.
const HEAD_BYTES: usize = 512;

/// The number of a partition's operations that are searched for a batch, in batches. An operation whose row is in
/// flight is skipped.
pub(crate) const MAX_LOOKED_AT: usize = 4;

/// The growth of a partition's list, as a factor of its length.
const GROWTH: usize = 4;

/// The limits of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchLimits {
    pub(crate) operations: usize,
    pub(crate) bytes: usize,
}

/// The waiting operations of a partition, in the order of their numbers, and the rows in flight.
#[derive(Debug, Default)]
pub(crate) struct PartitionQueue {
    waiting: VecDeque<Queued>,
    /// The bytes of the waiting operations in batches.
    bytes: usize,
    /// The rows of its batches in flight and of its composed batches, and the blocked rows.
    rows: RowHashes,
    batches: usize,
    /// The number of rows in composed batches, and of blocked rows.
    composed: usize,
    /// The blocked rows that are in doubt.
    in_doubt: RowHashes,
}

impl PartitionQueue {
    /// Returns the number of batches in flight.
    pub(crate) fn batches(&self) -> usize {
        self.batches
    }

    /// Returns the approximate number of bytes of the waiting operations in batches.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of waiting operations.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns `true` if no operation waits, and none is in a batch.
    pub(crate) fn is_idle(&self) -> bool {
        self.batches == 0 && self.composed == 0 && self.waiting.is_empty()
    }

    /// Returns `true` if a full batch waits.
    pub(crate) fn is_full(&self, limits: BatchLimits) -> bool {
        self.waiting.len() >= limits.operations || self.bytes >= limits.bytes
    }

    pub(crate) fn push(&mut self, queued: Queued, limits: BatchLimits) {
        // Most partitions that have an operation will fill a batch.
        if self.waiting.len() == self.waiting.capacity() {
            let room = (GROWTH * self.waiting.len()).clamp(1, limits.operations.max(self.waiting.len()));
            self.waiting.reserve(room);
        }
        self.bytes += queued.bytes_in_batch();
        self.waiting.push_back(queued);
    }

    /// Returns the operations of the next batch, or `None` if all of them wait for rows in flight. Those on rows in doubt
    /// are left `behind`.
    pub(crate) fn take(&mut self, limits: BatchLimits, behind: &mut Vec<Queued>) -> Option<Vec<Queued>> {
        let mut taken: Vec<Queued> = Vec::with_capacity(limits.operations.min(self.waiting.len()));
        let mut left = VecDeque::new();
        let mut bytes = 0;
        self.rows.reserve(taken.capacity());
        while taken.len() < limits.operations
            && taken.len() + left.len() < MAX_LOOKED_AT * limits.operations
            && let Some(next) = self.waiting.pop_front()
        {
            if !taken.is_empty() && bytes + next.bytes_in_batch() > limits.bytes {
                left.push_back(next);
                break;
            }
            // Its row has an earlier operation that waits or is in flight.
            if !self.rows.insert(next.row) {
                if self.in_doubt.contains(&next.row) {
                    self.bytes -= next.bytes_in_batch();
                    behind.push(next);
                } else {
                    left.push_back(next);
                }
                continue;
            }
            bytes += next.bytes_in_batch();
            taken.push(next);
        }
        while let Some(next) = left.pop_back() {
            self.waiting.push_front(next);
        }
        if taken.is_empty() {
            return None;
        }
        self.batches += 1;
        self.bytes -= bytes;
        Some(taken)
    }

    /// Releases the rows of a batch that has ended.
    pub(crate) fn ended(&mut self, rows: impl Iterator<Item = RowHash>) {
        self.batches -= 1;
        if self.batches == 0 && self.composed == 0 {
            self.rows.clear();
            return;
        }
        for row in rows {
            self.rows.remove(&row);
        }
    }

    /// Puts an operation on this row into a composed batch. Returns `false` if it has to wait behind another one.
    pub(crate) fn compose(&mut self, row: RowHash) -> bool {
        let may_join = self.waiting.is_empty() && self.rows.insert(row);
        self.composed += usize::from(may_join);
        may_join
    }

    /// Returns the only waiting operation, if it may be sent.
    pub(crate) fn only(&self) -> Option<&Queued> {
        let only = self.waiting.front().filter(|_| self.waiting.len() == 1)?;
        (!self.rows.contains(&only.row)).then_some(only)
    }

    /// Puts the [only](Self::only) waiting operation into a composed batch.
    pub(crate) fn compose_only(&mut self) -> Option<Queued> {
        let only = self.waiting.pop_front()?;
        self.bytes -= only.bytes_in_batch();
        self.compose(only.row);
        Some(only)
    }

    /// Reserves capacity for the rows of a composed batch.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.rows.reserve(rows);
    }

    /// Counts a composed batch as in flight.
    pub(crate) fn started(&mut self, rows: usize) {
        self.composed -= rows;
        self.batches += 1;
    }

    /// Blocks the row of a batch that has ended: until it is [dissolved](Self::dissolve), or for ever if it `is_in_doubt`.
    pub(crate) fn block(&mut self, row: RowHash, is_in_doubt: bool) {
        self.composed += usize::from(self.rows.insert(row));
        if is_in_doubt {
            self.in_doubt.insert(row);
        }
    }

    /// Removes rows from a composed batch, or no longer blocks them.
    pub(crate) fn dissolve(&mut self, rows: &[RowHash]) {
        self.composed -= rows.len();
        for row in rows {
            self.rows.remove(row);
        }
    }

    /// Puts operations before all that wait.
    pub(crate) fn push_front(&mut self, operations: impl DoubleEndedIterator<Item = Queued>) {
        for queued in operations.rev() {
            self.bytes += queued.bytes_in_batch();
            self.waiting.push_front(queued);
        }
    }

    /// Removes and returns all waiting operations.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Queued> {
        self.bytes = 0;
        self.waiting.drain(..)
    }
}
