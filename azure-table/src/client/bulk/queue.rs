//! Operations that wait for their batch, by partition.
//!
//! Owns the order: of one row the operations are sent one after the other, never two at once and never two in a batch. Rows of
//! a partition keep the order in which they came as far as that allows.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::protocol::operation::TableOperation;
use crate::protocol::row_hash::{RowHash, RowHashes};

/// An operation and its place in the source.
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
}

/// How many of a partition's operations are looked at for a batch, in batches: those behind a row that is on its way wait.
const MOST_LOOKED_AT: usize = 4;

/// By how many times its length the list of a partition grows.
const GROWTH: usize = 4;

/// How many keys of partitions that are gone may be listed.
const MOST_STALE: usize = 1_024;

/// Which batches leave that are not full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Short {
    None,
    /// Of partitions that have nothing on their way.
    OfIdle,
    Any,
}

/// What waits, and what is on its way.
pub(crate) struct Queue {
    partitions: HashMap<Box<str>, Partition>,
    /// The partitions with a full batch, and those with any operation, as they came to it.
    full: VecDeque<Box<str>>,
    any: VecDeque<Box<str>>,
    batch_size: usize,
    batches_per_partition: usize,
    len: usize,
    bytes: usize,
}

#[derive(Default)]
struct Partition {
    waiting: VecDeque<Queued>,
    /// The rows of its batches that are on their way.
    rows: RowHashes,
    batches: usize,
    is_in_full: bool,
    is_in_any: bool,
}

impl Queue {
    pub(crate) fn new(batch_size: usize, batches_per_partition: usize) -> Self {
        Self {
            partitions: HashMap::new(),
            full: VecDeque::new(),
            any: VecDeque::new(),
            batch_size,
            batches_per_partition,
            len: 0,
            bytes: 0,
        }
    }

    /// How many operations wait.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// About how many bytes wait.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds an operation that has keys.
    pub(crate) fn push(&mut self, queued: Queued) {
        let Some((partition_key, _)) = queued.operation.keys() else {
            return;
        };
        self.len += 1;
        self.bytes += queued.operation.bytes();
        let partition = match self.partitions.get_mut(partition_key) {
            Some(partition) => partition,
            None => self.partitions.entry(partition_key.into()).or_default(),
        };
        let becomes_full = partition.waiting.len() + 1 >= self.batch_size && !partition.is_in_full;
        let key: Option<Box<str>> = (becomes_full || !partition.is_in_any).then(|| partition_key.into());
        // Most partitions that have some will have a batch.
        if partition.waiting.len() == partition.waiting.capacity() {
            let room = (GROWTH * partition.waiting.len()).clamp(1, self.batch_size.max(partition.waiting.len()));
            partition.waiting.reserve(room);
        }
        partition.waiting.push_back(queued);
        let Some(key) = key else { return };
        if !partition.is_in_any {
            partition.is_in_any = true;
            self.any.push_back(key.clone());
        }
        if becomes_full {
            partition.is_in_full = true;
            self.full.push_back(key);
        }
    }

    /// The operations of the next batch: a full one; or, if short ones may leave, what there is of the partition that has waited
    /// longest.
    pub(crate) fn next(&mut self, short: Short) -> Option<Vec<Queued>> {
        for _ in 0..self.full.len() {
            let key = self.full.pop_front()?;
            let batch = self.take(&key);
            if let Some(partition) = self.partitions.get_mut(&key) {
                partition.is_in_full = partition.waiting.len() >= self.batch_size;
                if partition.is_in_full {
                    self.full.push_back(key);
                }
            }
            if batch.is_some() {
                return batch;
            }
        }
        for _ in 0..self.any.len() {
            if short == Short::None {
                return None;
            }
            let key = self.any.pop_front()?;
            let is_busy = |partition: &Partition| partition.batches > 0;
            let batch = match short == Short::OfIdle && self.partitions.get(&key).is_some_and(is_busy) {
                true => None,
                false => self.take(&key),
            };
            if let Some(partition) = self.partitions.get_mut(&key) {
                partition.is_in_any = !partition.waiting.is_empty();
                if partition.is_in_any {
                    self.any.push_back(key);
                }
            }
            if batch.is_some() {
                return batch;
            }
        }
        None
    }

    /// A batch of this partition, if it may have one more on its way.
    fn take(&mut self, partition_key: &str) -> Option<Vec<Queued>> {
        let partition = self.partitions.get_mut(partition_key)?;
        if partition.batches >= self.batches_per_partition {
            return None;
        }
        let mut taken: Vec<Queued> = Vec::with_capacity(self.batch_size.min(partition.waiting.len()));
        let mut left = VecDeque::new();
        while taken.len() < self.batch_size
            && taken.len() + left.len() < MOST_LOOKED_AT * self.batch_size
            && let Some(next) = partition.waiting.pop_front()
        {
            // Behind an operation on the same row that has to wait, or that has not ended.
            if !partition.rows.insert(next.row) {
                left.push_back(next);
                continue;
            }
            taken.push(next);
        }
        while let Some(next) = left.pop_back() {
            partition.waiting.push_front(next);
        }
        if taken.is_empty() {
            return None;
        }
        partition.batches += 1;
        self.len -= taken.len();
        self.bytes -= taken.iter().map(|queued| queued.operation.bytes()).sum::<usize>();
        Some(taken)
    }

    /// A batch of these rows has ended.
    pub(crate) fn ended(&mut self, partition_key: &str, rows: impl Iterator<Item = RowHash>) {
        let Some(partition) = self.partitions.get_mut(partition_key) else {
            return;
        };
        partition.batches -= 1;
        for row in rows {
            partition.rows.remove(&row);
        }
        if partition.waiting.is_empty() && partition.batches == 0 {
            self.partitions.remove(partition_key);
            // Partitions whose batches all left full are still listed.
            if self.any.len() > 2 * self.partitions.len() + MOST_STALE {
                let mut listed = HashSet::new();
                let partitions = &self.partitions;
                self.any
                    .retain(|key| partitions.contains_key(key) && listed.insert(key.clone()));
            }
        }
    }

    /// All that waits, in the order of the source.
    pub(crate) fn drain(&mut self) -> Vec<Queued> {
        (self.len, self.bytes) = (0, 0);
        self.full.clear();
        self.any.clear();
        let waiting = self.partitions.drain().flat_map(|(_, partition)| partition.waiting);
        let mut all: Vec<Queued> = waiting.collect();
        all.sort_unstable_by_key(|queued| queued.index);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dynamic::DynamicEntity;

    fn indices(batch: Option<Vec<Queued>>) -> Vec<u64> {
        batch.into_iter().flatten().map(|queued| queued.index).collect()
    }

    /// An operation waits for the batch of the one before it on its row; others pass it.
    #[test]
    fn of_one_row_one_is_on_its_way() {
        let mut queue = Queue::new(2, 4);
        for (index, row) in ["a", "b", "a", "a", "c"].into_iter().enumerate() {
            let operation = TableOperation::insert(&DynamicEntity::new("p", row));
            queue.push(Queued::new(index as u64, operation));
        }
        assert_eq!(indices(queue.next(Short::None)), [0, 1]);
        assert_eq!(indices(queue.next(Short::None)), [4]);
        assert_eq!(indices(queue.next(Short::Any)), [0; 0]);
        queue.ended("p", [RowHash::of("a"), RowHash::of("b")].into_iter());
        assert_eq!(indices(queue.next(Short::Any)), [2]);
        assert_eq!(indices(queue.next(Short::Any)), [0; 0]);
        queue.ended("p", [RowHash::of("a")].into_iter());
        assert_eq!(indices(queue.next(Short::Any)), [3]);
        assert_eq!((queue.len(), queue.bytes()), (0, 0));
    }
}
