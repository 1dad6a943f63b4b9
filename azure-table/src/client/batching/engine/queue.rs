//! The queue of operations that wait for their batch, by partition.
//!
//! Full batches are sent first, then a batch of the partition that has waited longest.
//! `partition/partition_queue.rs` orders the operations within a partition.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::{Context, Poll};

use azure_table_wire::transport::BoxFuture;
use azure_table_wire::value::clock::{self, Instant};

use crate::client::batching::engine::composed_batch::{ComposedBatch, NextBatch};
use crate::client::batching::engine::running_batch::BulkBatch;
use crate::client::batching::partition::partition_queue::{BatchLimits, PartitionQueue, Queued};
use crate::pipeline::lost_write::sent_time::MAX_IN_FLIGHT;
use crate::write::batch::{BatchRule, ChangeSet};
use crate::write::row_hash::RowHash;

/// Selects the batches that are sent although they are not full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartialBatch {
    Never,
    /// Batches of partitions that have none in flight.
    IfIdle,
    Always,
}

/// The number of operations after which a composed batch will probably be filled.
const SOME_OPERATIONS: usize = 8;

/// The waiting operations, and the rows in flight.
pub(crate) struct Queue {
    /// The index of each partition that has operations.
    places: HashMap<Arc<str>, usize>,
    partitions: Vec<Partition>,
    /// The indices without operations, free for other partitions.
    spare: Vec<usize>,
    /// The index of the last operation's partition. The next operation often has the same one.
    latest: usize,
    /// The number of composed batches that wait.
    composed: usize,
    /// The partitions with a full batch, and those with any operation, in order of arrival.
    ///
    /// A spare index may still be listed. Its next partition takes that turn, so no list is longer than the number of
    /// indices.
    full: VecDeque<usize>,
    any: VecDeque<usize>,
    limits: BatchLimits,
    batches_per_partition: usize,
    len: usize,
    bytes: usize,
    /// The operations on rows in doubt, which are not sent.
    pub(crate) behind: Vec<Queued>,
    /// The blocked rows of a batch each, once none of its attempts can arrive any more, in this order.
    late: VecDeque<BoxFuture<'static, (Arc<str>, Vec<RowHash>)>>,
}

struct Partition {
    key: Arc<str>,
    queue: PartitionQueue,
    /// The batches composed while the source stayed with the partition, before the operations that wait as values. Only
    /// the last one may not be full.
    composed: VecDeque<Box<ComposedBatch>>,
    is_in_full: bool,
    is_in_any: bool,
}

impl Queue {
    pub(crate) fn new(batch_size: usize, batch_bytes: usize, batches_per_partition: usize) -> Self {
        Self {
            places: HashMap::new(),
            partitions: Vec::new(),
            spare: Vec::new(),
            latest: 0,
            composed: 0,
            full: VecDeque::new(),
            any: VecDeque::new(),
            limits: BatchLimits {
                operations: batch_size,
                bytes: batch_bytes,
            },
            batches_per_partition,
            len: 0,
            bytes: 0,
            behind: Vec::new(),
            late: VecDeque::new(),
        }
    }

    /// Returns `true` if the partition at this index has a full batch.
    fn is_full(&self, place: usize) -> bool {
        let Partition { queue, composed, .. } = &self.partitions[place];
        let fills = |first: &ComposedBatch| first.is_full || first.rows.len() + queue.len() >= self.limits.operations;
        composed.front().is_some_and(|first| fills(first)) || queue.is_full(self.limits)
    }

    /// Returns the number of waiting operations.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the approximate number of waiting bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns `true` if the last operation was of this partition.
    fn is_latest(&self, partition_key: &str) -> bool {
        let latest = self.partitions.get(self.latest);
        latest.is_some_and(|latest| !latest.is_spare() && *latest.key == *partition_key)
    }

    /// Returns the index of a partition, and assigns one if it has none.
    fn place(&mut self, partition_key: &str) -> usize {
        if self.is_latest(partition_key) {
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
        partition.queue.push(queued, self.limits);
        self.list(place);
    }

    /// Lists a partition that has received an operation, so that it gets a turn.
    fn list(&mut self, place: usize) {
        let is_full = self.is_full(place);
        let partition = &mut self.partitions[place];
        if !partition.is_in_any {
            partition.is_in_any = true;
            self.any.push_back(place);
        }
        if is_full && !partition.is_in_full {
            partition.is_in_full = true;
            self.full.push_back(place);
        }
    }

    /// Adds an operation to the open batch of its partition by `write`, which returns its bytes. Returns `true` if it
    /// is added.
    ///
    /// The second of two consecutive operations on one partition opens a batch, which `new` creates. The caller must
    /// [push](Self::push) an operation that is not added: its partition has no open batch, or it has to wait for
    /// another operation.
    pub(crate) fn write(
        &mut self,
        index: u64,
        (partition_key, row_key): (&str, &str),
        new: impl FnOnce() -> ChangeSet,
        write: impl FnOnce(&mut ChangeSet) -> Result<usize, BatchRule>,
    ) -> bool {
        let Some(place) = self.open_batch(partition_key, new) else {
            return false;
        };
        let Partition { queue, composed, .. } = &mut self.partitions[place];
        let row = RowHash::of(row_key);
        let Some(batch) = composed.back_mut().filter(|_| queue.compose(row)) else {
            return false;
        };
        let written = write(&mut batch.change_set);
        if let Ok(bytes) = written {
            batch.bytes += bytes;
            batch.indices.push(index);
            batch.rows.push(row);
            (self.len, self.bytes) = (self.len + 1, self.bytes + bytes);
        } else {
            queue.dissolve(&[row]);
        }
        let count = batch.rows.len();
        if count == SOME_OPERATIONS {
            let more = self.limits.operations - count;
            batch.indices.reserve(more);
            batch.rows.reserve(more);
            queue.reserve(more);
        }
        batch.is_full = written == Err(BatchRule::Bytes) || count >= self.limits.operations;
        self.latest = place;
        self.list(place);
        written.is_ok()
    }

    /// Returns the partition, if it has an open batch.
    fn open_batch(&mut self, partition_key: &str, new: impl FnOnce() -> ChangeSet) -> Option<usize> {
        let is_latest = self.is_latest(partition_key);
        let place = match is_latest {
            true => self.latest,
            false if self.composed == 0 => return None,
            false => *self.places.get(partition_key)?,
        };
        let Partition { queue, composed, .. } = &mut self.partitions[place];
        if composed.back().is_none_or(|last| last.is_full) {
            let first = queue.only().filter(|_| is_latest && self.limits.operations > 1)?;
            composed.push_back(Box::new(ComposedBatch::new(new(), first)?));
            queue.compose_only();
            self.composed += 1;
        }
        Some(place)
    }

    /// Returns the operations of the next batch.
    ///
    /// It is a full batch, or else, if short batches may be sent, one of the partition that has waited longest.
    pub(crate) fn next(&mut self, partial: PartialBatch) -> Option<NextBatch> {
        for _ in 0..self.full.len() {
            let place = self.full.pop_front()?;
            let batch = self.take(place);
            let is_full = self.is_full(place);
            self.partitions[place].is_in_full = is_full;
            if is_full {
                self.full.push_back(place);
            }
            if batch.is_some() {
                return batch;
            }
        }
        for _ in 0..self.any.len() {
            if partial == PartialBatch::Never {
                return None;
            }
            let place = self.any.pop_front()?;
            let batch = if partial == PartialBatch::IfIdle && self.partitions[place].queue.batches() > 0 {
                None
            } else {
                self.take(place)
            };
            let partition = &mut self.partitions[place];
            partition.is_in_any = partition.is_waiting();
            if partition.is_in_any {
                self.any.push_back(place);
            }
            if batch.is_some() {
                return batch;
            }
        }
        None
    }

    /// Returns a batch of this partition, if it may have one more in flight.
    fn take(&mut self, place: usize) -> Option<NextBatch> {
        let Partition { queue, composed, .. } = &mut self.partitions[place];
        if queue.batches() >= self.batches_per_partition {
            return None;
        }
        let is_next = composed
            .front()
            .is_some_and(|first| first.is_full || !queue.is_waiting());
        let next = if is_next { composed.pop_front() } else { None };
        let batch = match next {
            Some(first) => {
                queue.started(first.rows.len());
                self.composed -= 1;
                NextBatch::Composed(first)
            }
            None => {
                // Operations that wait behind a batch with room join it as values.
                self.dissolve(place);
                let (queue, before) = (&mut self.partitions[place].queue, self.behind.len());
                let taken = queue.take(self.limits, &mut self.behind);
                for queued in &self.behind[before..] {
                    (self.len, self.bytes) = (self.len - 1, self.bytes - queued.operation.bytes());
                }
                NextBatch::Values(taken?)
            }
        };
        self.len -= batch.len();
        self.bytes -= batch.bytes();
        Some(batch)
    }

    /// Turns the operations of composed batches into values that wait.
    fn dissolve(&mut self, place: usize) {
        let Partition { queue, composed, .. } = &mut self.partitions[place];
        while let Some(last) = composed.pop_back() {
            queue.dissolve(&last.rows);
            self.composed -= 1;
            self.bytes -= last.bytes;
            let operations = last.into_queued();
            self.bytes += operations.iter().map(|queued| queued.operation.bytes()).sum::<usize>();
            queue.push_front(operations.into_iter());
        }
    }

    /// Releases the rows of a batch that has ended.
    pub(crate) fn ended(&mut self, partition_key: &str, rows: impl Iterator<Item = RowHash>) {
        let Some(&place) = self.places.get(partition_key) else {
            return;
        };
        let queue = &mut self.partitions[place].queue;
        queue.ended(rows);
        if queue.is_idle() {
            self.free(place);
        }
    }

    /// Blocks the rows of a batch that has ended, if an attempt of their operations has no result. Other operations wait
    /// until that attempt cannot arrive any more. They are left behind if the first ones are in doubt, unless it
    /// `resumes` such rows.
    pub(crate) fn block(&mut self, batch: &BulkBatch, resumes: bool) {
        let lost = batch.outcomes.take_lost();
        if lost.is_empty() {
            return;
        }
        let (key, mut late) = (Arc::clone(&batch.partition_key), Vec::new());
        let place = self.place(&key);
        for (index, is_in_doubt) in lost {
            let (row, is_in_doubt) = (batch.rows[index], is_in_doubt && !resumes);
            self.partitions[place].queue.block(row, is_in_doubt);
            late.extend((!is_in_doubt).then_some(row));
        }
        let until = Instant::now() + MAX_IN_FLIGHT;
        self.late.push_back(Box::pin(async move {
            clock::sleep(until.saturating_duration_since(Instant::now())).await;
            (key, late)
        }));
    }

    /// No longer blocks the rows of attempts that cannot arrive any more.
    pub(crate) fn release(&mut self, cx: &mut Context<'_>) {
        while let Some(first) = self.late.front_mut()
            && let Poll::Ready((key, rows)) = first.as_mut().poll(cx)
        {
            self.late.pop_front();
            let place = self.place(&key);
            let queue = &mut self.partitions[place].queue;
            queue.dissolve(&rows);
            if queue.is_idle() {
                self.free(place);
            }
        }
    }

    /// Releases the index for another partition and frees its memory, since there may be many spare indices.
    fn free(&mut self, place: usize) {
        let partition = &mut self.partitions[place];
        self.places.remove(&partition.key);
        (partition.key, partition.queue, partition.composed) = Default::default();
        self.spare.push(place);
    }

    /// Removes and returns all operations, in the order of their numbers.
    pub(crate) fn drain(&mut self) -> Vec<Queued> {
        let mut all = Vec::with_capacity(self.len);
        if self.len == 0 {
            return all;
        }
        self.full.clear();
        self.any.clear();
        for place in 0..self.partitions.len() {
            self.dissolve(place);
            let partition = &mut self.partitions[place];
            (partition.is_in_full, partition.is_in_any) = (false, false);
            if partition.queue.is_waiting() {
                all.extend(partition.queue.drain());
                if partition.queue.is_idle() {
                    self.free(place);
                }
            }
        }
        (self.len, self.bytes) = (0, 0);
        all.sort_unstable_by_key(|queued| queued.index);
        all
    }
}

impl Partition {
    fn new(key: Arc<str>) -> Self {
        Self {
            key,
            queue: PartitionQueue::default(),
            composed: VecDeque::new(),
            is_in_full: false,
            is_in_any: false,
        }
    }

    fn is_waiting(&self) -> bool {
        !self.composed.is_empty() || self.queue.is_waiting()
    }

    /// Returns `true` if it has no operations.
    fn is_spare(&self) -> bool {
        self.queue.is_idle()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use azure_table_wire::account::endpoint::Endpoint;
    use proptest::prelude::*;
    use proptest::sample::{Index, select};

    use super::*;
    use crate::client::batching::partition::partition_queue::MAX_LOOKED_AT;
    use crate::entity::dynamic::DynamicEntity;
    use crate::write::operation::TableOperation;

    fn indices(batch: Option<NextBatch>) -> Vec<u64> {
        batch.into_iter().flat_map(queued).map(|queued| queued.index).collect()
    }

    fn queued(batch: NextBatch) -> Vec<Queued> {
        match batch {
            NextBatch::Values(operations) => operations,
            NextBatch::Composed(batch) => batch.into_queued(),
        }
    }

    /// An operation waits for the batch of the one before it on its row. Operations on other rows overtake it.
    #[test]
    fn only_one_operation_of_a_row_is_in_flight() {
        let mut queue = Queue::new(2, usize::MAX, 4);
        for (index, row) in ["a", "b", "a", "a", "c"].into_iter().enumerate() {
            let operation = TableOperation::insert(&DynamicEntity::new("p", row));
            queue.push(Queued::new(index as u64, operation));
        }
        assert_eq!(indices(queue.next(PartialBatch::Never)), [0, 1]);
        assert_eq!(indices(queue.next(PartialBatch::Never)), [4]);
        assert_eq!(indices(queue.next(PartialBatch::Always)), [0; 0]);
        queue.ended("p", [RowHash::of("a"), RowHash::of("b")].into_iter());
        assert_eq!(indices(queue.next(PartialBatch::Always)), [2]);
        assert_eq!(indices(queue.next(PartialBatch::Always)), [0; 0]);
        queue.ended("p", [RowHash::of("a")].into_iter());
        assert_eq!(indices(queue.next(PartialBatch::Always)), [3]);
        assert_eq!((queue.len(), queue.bytes()), (0, 0));
    }

    /// Two of these rows exceed the bytes of a batch.
    #[test]
    fn batch_ends_at_its_bytes() {
        let row = |row| {
            let mut entity = DynamicEntity::new("p", row);
            entity.insert("V", "x".repeat(1_000));
            TableOperation::insert(&entity)
        };
        let mut queue = Queue::new(100, 3_000, 4);
        for (index, key) in ["a", "b", "c"].into_iter().enumerate() {
            queue.push(Queued::new(index as u64, row(key)));
        }
        assert_eq!(indices(queue.next(PartialBatch::Never)), [0]);
        assert_eq!(indices(queue.next(PartialBatch::Never)), [1]);
        assert_eq!(indices(queue.next(PartialBatch::Never)), [0; 0]);
        assert_eq!(indices(queue.next(PartialBatch::Always)), [2]);
        let mut queue = Queue::new(100, 10, 4);
        queue.push(Queued::new(0, row("a")));
        assert_eq!(
            indices(queue.next(PartialBatch::Never)),
            [0],
            "an operation that is longer goes alone"
        );
    }

    #[derive(Clone, Debug)]
    enum Step {
        /// An operation of this partition and row.
        Push(u8, u8),
        /// An insert, written into the open batch of its partition if there is one.
        Write(u8, u8),
        Next(PartialBatch),
        /// One of the batches in flight ends.
        End(Index),
        Drain,
    }

    fn any_step() -> impl Strategy<Value = Step> {
        // Mostly the same keys, and some others.
        let keys = prop_oneof![(0..3u8, 0..6u8), (0..12u8, 0..40u8)];
        prop_oneof![
            8 => keys.clone().prop_map(|(partition, row)| Step::Push(partition, row)),
            16 => keys.prop_map(|(partition, row)| Step::Write(partition, row)),
            6 => select(&[PartialBatch::Never, PartialBatch::IfIdle, PartialBatch::Always][..]).prop_map(Step::Next),
            6 => any::<Index>().prop_map(Step::End),
            1 => Just(Step::Drain),
        ]
    }

    /// The queue, and a simple model of its state.
    struct Model {
        queue: Queue,
        /// The number, partition and row of each operation.
        waiting: Vec<(u64, u8, u8)>,
        running: Vec<Vec<(u64, u8, u8)>>,
        read: u64,
        /// The number of operations that were written into a composed batch.
        written: usize,
        max_partitions: usize,
    }

    impl Model {
        fn push(&mut self, partition: u8, row: u8) {
            let entity = DynamicEntity::new(key(partition), key(row));
            self.queue.push(Queued::new(self.read, TableOperation::insert(&entity)));
            self.waiting.push((self.read, partition, row));
            self.read += 1;
        }

        /// Composed batches have real bytes, batches of values estimated ones: both agree without a limit.
        fn write(&mut self, partition: u8, row: u8) {
            if self.queue.limits.bytes < usize::MAX {
                return self.push(partition, row);
            }
            let entity = DynamicEntity::new(key(partition), key(row));
            let texts = (&*entity.partition_key, &*entity.row_key);
            let new = || ChangeSet::new(&Endpoint::development(), "Things").with_distinct_rows(100);
            let write = |batch: &mut ChangeSet| batch.insert_plain(&entity, texts);
            if !self.queue.write(self.read, texts, new, write) {
                return self.push(partition, row);
            }
            self.written += 1;
            self.waiting.push((self.read, partition, row));
            self.read += 1;
        }

        /// Returns the operations of the next batch of a partition, if it may be sent.
        fn batch(&self, partition: u8, partial: PartialBatch) -> Vec<(u64, u8, u8)> {
            let running = || self.running.iter().filter(|batch| batch[0].1 == partition);
            let waiting = || self.waiting.iter().filter(|(_, of, _)| *of == partition);
            let size = self.queue.limits.operations;
            let bytes = |row: u8| bytes_in_batch(partition, row);
            let may_leave = waiting().count() >= size
                || waiting().map(|(_, _, row)| bytes(*row)).sum::<usize>() >= self.queue.limits.bytes
                || match partial {
                    PartialBatch::Never => false,
                    PartialBatch::IfIdle => running().count() == 0,
                    PartialBatch::Always => true,
                };
            if !may_leave || running().count() >= self.queue.batches_per_partition {
                return Vec::new();
            }
            let mut rows: HashSet<u8> = running().flatten().map(|(_, _, row)| *row).collect();
            let mut batch = Vec::new();
            let mut sum = 0;
            for waits in waiting().take(MAX_LOOKED_AT * size) {
                let is_full = batch.len() == size || (sum > 0 && sum + bytes(waits.2) > self.queue.limits.bytes);
                if is_full {
                    break;
                }
                if rows.insert(waits.2) {
                    sum += bytes(waits.2);
                    batch.push(*waits);
                }
            }
            batch
        }

        fn next(&mut self, partial: PartialBatch) -> Option<u8> {
            let Some(batch) = self.queue.next(partial) else {
                let partitions: HashSet<u8> = self.waiting.iter().map(|(_, partition, _)| *partition).collect();
                let stays = |partition: &u8| self.batch(*partition, partial).is_empty();
                assert!(partitions.iter().all(stays), "a batch could leave");
                return None;
            };
            let of = |queued: &Queued| {
                let (partition, row) = queued.operation.keys().unwrap();
                (queued.index, partition.len() as u8, row.len() as u8)
            };
            let batch: Vec<_> = queued(batch).iter().map(of).collect();
            let partition = batch[0].1;
            assert_eq!(batch, self.batch(partition, partial));
            self.waiting.retain(|waits| !batch.contains(waits));
            self.running.push(batch);
            Some(partition)
        }

        fn end(&mut self, at: usize) {
            let batch = self.running.remove(at);
            let rows = batch.iter().map(|(_, _, row)| RowHash::of(&key(*row)));
            self.queue.ended(&key(batch[0].1), rows);
        }

        fn drain(&mut self) {
            let drained: Vec<u64> = self.queue.drain().iter().map(|queued| queued.index).collect();
            let waiting: Vec<u64> = self.waiting.drain(..).map(|(index, _, _)| index).collect();
            assert_eq!(drained, waiting);
        }

        /// Checks the counts, and that the queue keeps nothing of partitions without operations.
        fn check(&mut self) {
            let queue = &self.queue;
            assert_eq!(queue.len(), self.waiting.len());
            assert_eq!(queue.bytes() == 0, self.waiting.is_empty());
            let all = || queue.partitions.iter().flat_map(|partition| &partition.composed);
            assert_eq!(queue.composed, all().count());
            let composed: HashSet<u64> = all().flat_map(|batch| &batch.indices).copied().collect();
            let bytes: usize = self
                .waiting
                .iter()
                .filter(|(index, ..)| !composed.contains(index))
                .map(|(_, partition, row)| bytes_in_batch(*partition, *row))
                .sum();
            assert_eq!(
                queue
                    .partitions
                    .iter()
                    .map(|partition| partition.queue.bytes())
                    .sum::<usize>(),
                bytes
            );
            let all = self.waiting.iter().chain(self.running.iter().flatten());
            let partitions: HashSet<u8> = all.map(|(_, partition, _)| *partition).collect();
            assert_eq!(queue.places.len(), partitions.len());
            assert_eq!(queue.partitions.len(), queue.places.len() + queue.spare.len());
            self.max_partitions = self.max_partitions.max(partitions.len());
            assert!(queue.partitions.len() <= self.max_partitions);
            assert!(queue.any.len().max(queue.full.len()) <= self.max_partitions);
        }
    }

    /// Returns a different key for each number. The key of 0 is empty.
    fn key(number: u8) -> String {
        "k".repeat(usize::from(number))
    }

    fn bytes_in_batch(partition: u8, row: u8) -> usize {
        let entity = DynamicEntity::new(key(partition), key(row));
        Queued::new(0, TableOperation::insert(&entity)).bytes_in_batch()
    }

    fn model(batch_size: usize, batch_bytes: usize, batches_per_partition: usize) -> Model {
        Model {
            queue: Queue::new(batch_size, batch_bytes, batches_per_partition),
            waiting: Vec::new(),
            running: Vec::new(),
            read: 0,
            written: 0,
            max_partitions: 0,
        }
    }

    proptest! {
        #[test]
        fn queue_agrees_with_a_list(
            batch_size in 1..5usize,
            batch_bytes in prop_oneof![1..3_000usize, Just(usize::MAX)],
            batches in 1..4usize,
            steps in prop::collection::vec(any_step(), 0..200),
        ) {
            let mut model = model(batch_size, batch_bytes, batches);
            for step in steps {
                match step {
                    Step::Push(partition, row) => model.push(partition, row),
                    Step::Write(partition, row) => model.write(partition, row),
                    Step::Next(short) => drop(model.next(short)),
                    Step::End(at) if !model.running.is_empty() => model.end(at.index(model.running.len())),
                    Step::End(_) => {}
                    Step::Drain => model.drain(),
                }
                model.check();
            }
            // All remaining operations can be sent.
            while !model.waiting.is_empty() || !model.running.is_empty() {
                if model.next(PartialBatch::Always).is_none() {
                    model.end(0);
                }
                model.check();
            }
        }
    }

    /// Returns a queue after inserts of these rows of one partition, and the number of those written into a batch.
    fn after_inserts(rows: &[u8]) -> (Model, usize) {
        let mut model = model(100, usize::MAX, 4);
        rows.iter().for_each(|row| model.write(1, *row));
        let written = model.written;
        (model, written)
    }

    #[test]
    fn inserts_of_one_partition_are_written_into_their_batch() {
        // The first one opens the batch.
        let (mut model, written) = after_inserts(&[1, 2, 3, 4]);
        assert_eq!(written, 3);
        let Some(NextBatch::Composed(batch)) = model.queue.next(PartialBatch::Always) else {
            panic!("they are values")
        };
        assert_eq!(batch.indices, [0, 1, 2, 3]);
        // A row in flight waits, and those after it: its batch is the next one.
        (4..=6).for_each(|row| model.write(1, row));
        assert_eq!(model.written, written);
        assert_eq!(indices(model.queue.next(PartialBatch::Always)), [5, 6]);
    }

    /// The limit of a bulk's memory applies to what it holds.
    #[test]
    fn composed_operation_counts_with_its_head() {
        let (mut model, _) = after_inserts(&[1, 2]);
        let held = |model: &Model| {
            let body = &model.queue.partitions[0].composed[0].change_set;
            [model.queue.bytes(), body.bytes()]
        };
        let [counted, body] = held(&model);
        model.write(1, 3);
        let [counted_after, body_after] = held(&model);
        assert_eq!(counted_after - counted, body_after - body - "\r\n".len());
    }

    /// The batch is as full as if all operations were values.
    #[test]
    fn values_join_a_composed_batch_with_room() {
        let (mut model, written) = after_inserts(&[1, 2, 2, 3]);
        assert_eq!(written, 1);
        assert_eq!(indices(model.queue.next(PartialBatch::Always)), [0, 1, 3]);
        model
            .queue
            .ended(&key(1), [1, 2, 3].map(|row| RowHash::of(&key(row))).into_iter());
        assert_eq!(indices(model.queue.next(PartialBatch::Always)), [2]);
    }

    /// Holds for any number of batches of the other partitions.
    #[test]
    fn no_partition_waits_forever() {
        let mut model = model(2, usize::MAX, 1);
        model.push(0, 0);
        for turn in 0..20 {
            for partition in 1..4 {
                model.push(partition, turn);
            }
            if model.next(PartialBatch::Always) == Some(0) {
                return;
            }
            model.end(0);
        }
        panic!("it still waits");
    }
}
