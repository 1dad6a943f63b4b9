//! Operations that wait for their batch, by partition.
//!
//! Owns the order: of one row the operations are sent one after the other, never two at once and never two in a batch. Rows of
//! a partition keep the order in which they came as far as that allows.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

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
    /// Where each is that has operations.
    places: HashMap<Arc<str>, usize>,
    partitions: Vec<Partition>,
    /// Those that have none, for others.
    spare: Vec<usize>,
    /// The one that the last operation came to: the next is often of the same.
    latest: usize,
    /// The partitions with a full batch, and those with any operation, as they came to it. One that is spare may still be listed.
    full: VecDeque<usize>,
    any: VecDeque<usize>,
    batch_size: usize,
    batches_per_partition: usize,
    len: usize,
    bytes: usize,
}

struct Partition {
    key: Arc<str>,
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
            places: HashMap::new(),
            partitions: Vec::new(),
            spare: Vec::new(),
            latest: 0,
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

    /// Where a partition is, from now on.
    fn place(&mut self, partition_key: &str) -> usize {
        if let Some(latest) = self.partitions.get(self.latest)
            && !latest.is_spare()
            && *latest.key == *partition_key
        {
            return self.latest;
        }
        if let Some(place) = self.places.get(partition_key) {
            return *place;
        }
        let key: Arc<str> = partition_key.into();
        let place = match self.spare.pop() {
            Some(place) => {
                self.partitions[place].key = Arc::clone(&key);
                place
            }
            None => {
                self.partitions.push(Partition::new(Arc::clone(&key)));
                self.partitions.len() - 1
            }
        };
        self.places.insert(key, place);
        place
    }

    /// Adds an operation that has keys.
    pub(crate) fn push(&mut self, queued: Queued) {
        let Some((partition_key, _)) = queued.operation.keys() else {
            return;
        };
        let place = self.place(partition_key);
        self.latest = place;
        self.len += 1;
        self.bytes += queued.operation.bytes();
        let partition = &mut self.partitions[place];
        // Most partitions that have some will have a batch.
        if partition.waiting.len() == partition.waiting.capacity() {
            let room = (GROWTH * partition.waiting.len()).clamp(1, self.batch_size.max(partition.waiting.len()));
            partition.waiting.reserve(room);
        }
        partition.waiting.push_back(queued);
        if !partition.is_in_any {
            partition.is_in_any = true;
            self.any.push_back(place);
        }
        if partition.waiting.len() >= self.batch_size && !partition.is_in_full {
            partition.is_in_full = true;
            self.full.push_back(place);
        }
    }

    /// The operations of the next batch: a full one; or, if short ones may leave, what there is of the partition that has waited
    /// longest.
    pub(crate) fn next(&mut self, short: Short) -> Option<Vec<Queued>> {
        for _ in 0..self.full.len() {
            let place = self.full.pop_front()?;
            let batch = self.take(place);
            let partition = &mut self.partitions[place];
            partition.is_in_full = partition.waiting.len() >= self.batch_size;
            if partition.is_in_full {
                self.full.push_back(place);
            }
            if batch.is_some() {
                return batch;
            }
        }
        for _ in 0..self.any.len() {
            if short == Short::None {
                return None;
            }
            let place = self.any.pop_front()?;
            let batch = match short == Short::OfIdle && self.partitions[place].batches > 0 {
                true => None,
                false => self.take(place),
            };
            let partition = &mut self.partitions[place];
            partition.is_in_any = !partition.waiting.is_empty();
            if partition.is_in_any {
                self.any.push_back(place);
            }
            if batch.is_some() {
                return batch;
            }
        }
        None
    }

    /// A batch of this partition, if it may have one more on its way.
    fn take(&mut self, place: usize) -> Option<Vec<Queued>> {
        let partition = &mut self.partitions[place];
        if partition.batches >= self.batches_per_partition {
            return None;
        }
        let mut taken: Vec<Queued> = Vec::with_capacity(self.batch_size.min(partition.waiting.len()));
        let mut left = VecDeque::new();
        partition.rows.reserve(taken.capacity());
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
        let Some(&place) = self.places.get(partition_key) else {
            return;
        };
        let partition = &mut self.partitions[place];
        partition.batches -= 1;
        if partition.batches > 0 {
            for row in rows {
                partition.rows.remove(&row);
            }
            return;
        }
        partition.rows.clear();
        if partition.waiting.is_empty() {
            // There may be many: none keeps the memory that it had.
            (partition.waiting, partition.rows) = Default::default();
            self.places.remove(partition_key);
            self.spare.push(place);
        }
    }

    /// All that waits, in the order of the source.
    pub(crate) fn drain(&mut self) -> Vec<Queued> {
        (self.len, self.bytes) = (0, 0);
        let waiting = self
            .partitions
            .iter_mut()
            .flat_map(|partition| partition.waiting.drain(..));
        let mut all: Vec<Queued> = waiting.collect();
        all.sort_unstable_by_key(|queued| queued.index);
        all
    }
}

impl Partition {
    fn new(key: Arc<str>) -> Self {
        Self {
            key,
            waiting: VecDeque::new(),
            rows: RowHashes::default(),
            batches: 0,
            is_in_full: false,
            is_in_any: false,
        }
    }

    /// Whether it has nothing.
    fn is_spare(&self) -> bool {
        self.batches == 0 && self.waiting.is_empty()
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
