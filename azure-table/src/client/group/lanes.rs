//! The waiting writes of a group by partition, and the limits of the group.
//!
//! Defines the order. A write is accepted at its first poll, behind all other writes of its partition. If the group is
//! full, a write waits outside, and the group accepts outside writes in their order. Knows neither tasks nor requests:
//! `committer.rs` runs a task for each lane that has writes.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::value::clock::Instant;
use tokio::runtime;
use tokio::sync::Notify;

use crate::client::group::epoch::{Epoch, Epochs};
use crate::client::group::group_options::GroupOptions;
use crate::client::group::slot::Slot;
use crate::client::partition_writes::partition_queue::{BatchLimits, PartitionQueue, Queued};
use crate::pipeline::observer::trace::TraceSpan;
use crate::pipeline::options::CallOptions;
use crate::pipeline::write_group::GroupStatistics;
use crate::write::operation::TableOperation;

/// The caller of a write.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) kind: OperationKind,
    pub(super) slot: Arc<Slot>,
    pub(super) options: CallOptions,
    /// `true` if the write creates a missing table.
    pub(super) creates_table: bool,
    /// The caller's deadline.
    pub(super) deadline: Option<Instant>,
    /// The first poll, for observers.
    pub(super) started: Option<Instant>,
    pub(super) span: TraceSpan,
    /// Held until the write has its result.
    epoch: Option<Arc<Epoch>>,
}

impl Caller {
    pub(super) fn new(
        kind: OperationKind,
        options: CallOptions,
        creates_table: bool,
        deadline: Option<Instant>,
        started: Option<Instant>,
    ) -> Self {
        Self {
            kind,
            slot: Arc::default(),
            options,
            creates_table,
            deadline,
            started,
            span: TraceSpan::current(),
            epoch: None,
        }
    }

    /// Returns `true` if both writes may be sent in one batch.
    fn may_share_batch(&self, other: &Self) -> bool {
        self.creates_table == other.creates_table && self.options.may_share_batch(&other.options)
    }
}

pub(super) type Write = Queued<Caller>;

/// The keys of new lanes.
pub(super) type Started = Vec<Arc<str>>;

/// The writes of one partition. A lane without writes is removed.
#[derive(Debug, Default)]
struct Lane {
    queue: PartitionQueue<Caller>,
    /// The writes in flight.
    in_flight: InFlight,
    /// The time until which a batch that is not full waits for more writes.
    due: Option<Instant>,
    /// Ends that wait.
    hurry: Option<Arc<Notify>>,
}

/// A number of operations, and their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    operations: usize,
    bytes: usize,
}

/// The writes of a batch in flight.
#[derive(Debug, Default)]
struct InFlight {
    load: Load,
    /// The epochs of the writes, each once. A flush waits for them until the writes are no longer pending.
    epochs: ReleasedEpochs,
}

/// The epochs of writes that are no longer pending. Dropped without the lock, because that wakes flushes.
pub(super) type ReleasedEpochs = Vec<Arc<Epoch>>;

/// The next step of a lane's task.
pub(super) enum LaneStep {
    Send(Vec<Write>),
    /// Wait for more writes until then, unless a flush or a full batch ends the wait.
    Wait(Instant, Arc<Notify>),
    /// No write waits, and the lane is removed. The task ends.
    End,
}

#[derive(Debug)]
pub(super) struct Lanes {
    lanes: HashMap<Arc<str>, Lane>,
    /// The writes that found the group full.
    outside: VecDeque<Write>,
    /// The writes in the lanes, those in flight included.
    pending: Load,
    limits: BatchLimits,
    max_delay: Option<Duration>,
    epochs: Epochs,
    next_number: u64,
    /// Writes with smaller numbers were flushed: their batch does not wait for more.
    flushed: u64,
    pub(super) is_closed: bool,
    /// The runtime of the tasks, as long as there are any. Tasks of another runtime might never run.
    pub(super) runtime: Option<runtime::Id>,
    /// The limits of pending writes, and the counts.
    statistics: GroupStatistics,
}

impl Lanes {
    pub(super) fn new(options: &GroupOptions, limits: BatchLimits) -> Self {
        Self {
            lanes: HashMap::new(),
            outside: VecDeque::new(),
            pending: Load::default(),
            limits,
            max_delay: options.max_delay,
            epochs: Epochs::default(),
            next_number: 0,
            flushed: 0,
            is_closed: false,
            runtime: None,
            statistics: GroupStatistics {
                max_pending: options.max_pending,
                max_pending_bytes: options.max_pending_bytes,
                ..GroupStatistics::default()
            },
        }
    }

    /// Returns `true` if no write is pending.
    pub(super) fn is_idle(&self) -> bool {
        self.lanes.is_empty() && self.outside.is_empty()
    }

    /// Accepts a write. Returns its number, and the keys of lanes that need a task.
    pub(super) fn accept(&mut self, operation: TableOperation, mut caller: Caller) -> (u64, Started) {
        let number = self.next_number;
        self.next_number += 1;
        caller.epoch = Some(Arc::clone(&self.epochs.current));
        let write = Queued::new(number, operation, caller);
        if self.outside.is_empty() && self.has_room(&write) {
            return (number, self.enter(write).into_iter().collect());
        }
        self.outside.push_back(write);
        (number, self.admit())
    }

    fn has_room(&self, write: &Write) -> bool {
        let bytes = self.pending.bytes.saturating_add(write.operation.bytes());
        let fits = self.pending.operations < self.statistics.max_pending && bytes <= self.statistics.max_pending_bytes;
        fits || self.pending.operations == 0
    }

    /// Puts a write into its lane. Returns the key of a new lane.
    fn enter(&mut self, write: Write) -> Option<Arc<str>> {
        let (partition_key, _) = write.operation.keys().unwrap_or_default();
        self.pending.operations += 1;
        self.pending.bytes += write.operation.bytes();
        let (lane, started) = match self.lanes.get_mut(partition_key) {
            Some(lane) => (lane, None),
            None => {
                let key: Arc<str> = partition_key.into();
                (self.lanes.entry(Arc::clone(&key)).or_default(), Some(key))
            }
        };
        if write.index < self.flushed {
            lane.due = None;
        } else if let Some(delay) = self.max_delay
            && !lane.queue.is_waiting()
        {
            lane.due = Instant::now().checked_add(delay);
        }
        lane.queue.push(write, self.limits);
        if let Some(hurry) = &lane.hurry
            && lane.queue.is_full(self.limits)
        {
            hurry.notify_one();
        }
        started
    }

    /// Accepts the writes outside for which there is room. Returns the keys of new lanes.
    pub(super) fn admit(&mut self) -> Started {
        let mut started = Started::new();
        while self.outside.front().is_some_and(|write| self.has_room(write))
            && let Some(write) = self.outside.pop_front()
        {
            started.extend(self.enter(write));
        }
        started
    }

    /// Returns the next step of a lane whose last batch, if any, has ended.
    pub(super) fn next(&mut self, key: &Arc<str>) -> LaneStep {
        let Some(lane) = self.lanes.get_mut(key) else {
            return LaneStep::End;
        };
        if lane.queue.batches() > 0 {
            lane.queue.ended(std::iter::empty());
        }
        if !lane.queue.is_waiting() {
            self.lanes.remove(key);
            return LaneStep::End;
        }
        if let Some(due) = lane.due
            && !lane.queue.is_full(self.limits)
            && Instant::now() < due
        {
            return LaneStep::Wait(due, Arc::clone(lane.hurry.get_or_insert_default()));
        }
        // Nothing is in flight, so a write can be sent.
        let Some(batch) = lane.queue.take(self.limits, Caller::may_share_batch) else {
            return LaneStep::End;
        };
        lane.in_flight.load = Load {
            operations: batch.len(),
            bytes: batch.iter().map(|write| write.operation.bytes()).sum(),
        };
        lane.in_flight.epochs = batch.iter().filter_map(|write| write.owner.epoch.clone()).collect();
        lane.in_flight.epochs.dedup_by(|one, other| Arc::ptr_eq(one, other));
        let statistics = &mut self.statistics;
        statistics.batches += 1;
        statistics.writes += batch.len() as u64;
        statistics.largest_batch = statistics.largest_batch.max(batch.len());
        LaneStep::Send(batch)
    }

    /// Returns the number of writes that wait in a lane.
    pub(super) fn waiting(&self, key: &Arc<str>) -> usize {
        self.lanes.get(key).map_or(0, |lane| lane.queue.len())
    }

    /// Ends the writes in flight of a lane, which have their results.
    #[must_use]
    pub(super) fn settled(&mut self, key: &Arc<str>) -> ReleasedEpochs {
        let settled = self.lanes.get_mut(key).map(|lane| std::mem::take(&mut lane.in_flight));
        let InFlight { load, epochs } = settled.unwrap_or_default();
        self.release(load);
        epochs
    }

    fn release(&mut self, load: Load) {
        self.pending.operations -= load.operations;
        self.pending.bytes -= load.bytes;
    }

    /// Removes a write that was withdrawn and is in no batch.
    pub(super) fn withdraw(&mut self, partition_key: &str, number: u64) -> Option<Write> {
        let removed = self
            .lanes
            .get_mut(partition_key)
            .and_then(|lane| lane.queue.remove(number));
        if let Some(write) = removed {
            self.release(Load {
                operations: 1,
                bytes: write.operation.bytes(),
            });
            return Some(write);
        }
        let place = self.outside.binary_search_by_key(&number, |write| write.index).ok()?;
        self.outside.remove(place)
    }

    /// Removes a lane whose task is gone. Returns its waiting writes, and the epochs of its writes in flight. If it was
    /// the last lane, these include the writes outside, which no task would accept.
    pub(super) fn abandon(&mut self, key: &Arc<str>) -> (Vec<Write>, ReleasedEpochs) {
        let settled = self.settled(key);
        let Some(mut lane) = self.lanes.remove(key) else {
            return (Vec::new(), settled);
        };
        let mut waiting: Vec<Write> = lane.queue.drain().collect();
        self.release(Load {
            operations: waiting.len(),
            bytes: waiting.iter().map(|write| write.operation.bytes()).sum(),
        });
        if self.lanes.is_empty() {
            waiting.extend(self.outside.drain(..));
        }
        (waiting, settled)
    }

    /// Sends all waiting batches without further delay. The future waits for the results of all writes so far.
    pub(super) fn flush(&mut self) -> impl Future<Output = ()> + Send + use<> {
        for lane in self.lanes.values_mut() {
            lane.due = None;
            if let Some(hurry) = &lane.hurry {
                hurry.notify_one();
            }
        }
        self.flushed = self.next_number;
        self.epochs.end()
    }

    pub(super) fn statistics(&self) -> GroupStatistics {
        GroupStatistics {
            pending: self.pending.operations,
            pending_bytes: self.pending.bytes,
            ..self.statistics
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::pin::pin;
    use std::task::{Context, Waker};

    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;
    use crate::entity::dynamic::DynamicEntity;

    fn lanes(max_pending: usize, max_pending_bytes: usize, operations: usize) -> Lanes {
        let options = GroupOptions::new()
            .max_pending(max_pending)
            .max_pending_bytes(max_pending_bytes);
        let bytes = usize::MAX;
        Lanes::new(&options, BatchLimits { operations, bytes })
    }

    fn insert(partition: u8, row: u8) -> TableOperation {
        TableOperation::insert(&DynamicEntity::new(partition.to_string(), row.to_string()))
    }

    fn caller(tenant: u8) -> Caller {
        let options = match tenant {
            0 => CallOptions::new(),
            tenant => CallOptions::new().header("x-tenant", tenant.to_string()),
        };
        Caller::new(OperationKind::Insert, options, false, None, None)
    }

    /// A service may write to any number of partitions.
    #[test]
    fn idle_partitions_leave_no_memory() {
        let mut lanes = lanes(usize::MAX, usize::MAX, 100);
        for partition in 0..200 {
            let (_, started) = lanes.accept(insert(partition, 0), caller(0));
            let [key] = &started[..] else { panic!("{started:?}") };
            assert!(matches!(lanes.next(key), LaneStep::Send(batch) if batch.len() == 1));
            drop(lanes.settled(key));
            assert!(matches!(lanes.next(key), LaneStep::End));
        }
        assert!(lanes.lanes.is_empty() && lanes.outside.is_empty());
        assert_eq!((lanes.pending.operations, lanes.pending.bytes), (0, 0));
    }

    /// Otherwise a write would still be pending just after `close` returned.
    #[test]
    fn flush_waits_until_no_write_is_pending() {
        let mut lanes = lanes(usize::MAX, usize::MAX, 100);
        let (_, started) = lanes.accept(insert(0, 0), caller(0));
        let LaneStep::Send(batch) = lanes.next(&started[0]) else {
            panic!("one write waits");
        };
        let mut ends = pin!(lanes.flush());
        let mut poll = || ends.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        // The callers have their results.
        drop(batch);
        assert!(poll().is_pending() && lanes.statistics().pending == 1);
        drop(lanes.settled(&started[0]));
        assert!(poll().is_ready() && lanes.statistics().pending == 0);
    }

    #[derive(Clone, Debug)]
    enum Step {
        /// A write of this partition and row, with these options.
        Write(u8, u8, u8),
        /// The task of a lane continues.
        Next(Index),
        Withdraw(Index),
        Flush,
    }

    fn any_step() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => (0..3u8, 0..4u8, 0..2u8).prop_map(|(partition, row, tenant)| Step::Write(partition, row, tenant)),
            6 => any::<Index>().prop_map(Step::Next),
            2 => any::<Index>().prop_map(Step::Withdraw),
            1 => Just(Step::Flush),
        ]
    }

    /// The lanes with their tasks, as a service and its callers see them.
    struct Model {
        lanes: Lanes,
        /// The lanes that have a task, each with its batch in flight.
        tasks: Vec<(Arc<str>, Vec<u64>)>,
        /// Number, partition and row of writes that wait, in the order of their calls.
        waiting: Vec<(u64, u8, u8)>,
        /// The number of the last write that was sent, by partition and row.
        last_sent: HashMap<(u8, u8), u64>,
    }

    impl Model {
        fn start(&mut self, keys: Vec<Arc<str>>) {
            for key in keys {
                assert!(self.tasks.iter().all(|(known, _)| *known != key), "two tasks of {key}");
                self.tasks.push((key, Vec::new()));
            }
        }

        fn next(&mut self, at: usize) {
            let (key, batch) = &mut self.tasks[at];
            if !batch.is_empty() {
                batch.clear();
                drop(self.lanes.settled(key));
            }
            let key = Arc::clone(key);
            match self.lanes.next(&key) {
                LaneStep::Send(batch) => {
                    let first = batch.first().map(|write| write.owner.options.clone()).unwrap();
                    assert!(batch.iter().all(|write| first.may_share_batch(&write.owner.options)));
                    let numbers: Vec<u64> = batch.iter().map(|write| write.index).collect();
                    for number in &numbers {
                        let place = self.waiting.iter().position(|(known, ..)| known == number).unwrap();
                        let (_, partition, row) = self.waiting.remove(place);
                        let before = self.last_sent.insert((partition, row), *number);
                        assert!(before.is_none_or(|before| before < *number), "{number} was passed");
                        let is_first = |other: &&(u64, u8, u8)| (other.1, other.2) == (partition, row);
                        assert!(self.waiting.iter().filter(is_first).all(|(other, ..)| other > number));
                    }
                    self.tasks[at].1 = numbers;
                }
                LaneStep::End => drop(self.tasks.remove(at)),
                LaneStep::Wait(..) => panic!("there is no delay"),
            }
            let started = self.lanes.admit();
            self.start(started);
        }

        fn check(&self) {
            let in_flight: usize = self.tasks.iter().map(|(_, batch)| batch.len()).sum();
            let statistics = self.lanes.statistics();
            assert_eq!(
                statistics.pending + self.lanes.outside.len(),
                self.waiting.len() + in_flight
            );
            assert!(statistics.pending <= statistics.max_pending);
            assert_eq!(self.lanes.lanes.len(), self.tasks.len());
            assert!(
                self.lanes.outside.is_empty() || statistics.pending > 0,
                "nobody lets them in"
            );
        }
    }

    proptest! {
        #[test]
        fn every_write_is_sent_once_in_the_order_of_its_row(
            max_pending in 1..12usize,
            operations in 1..4usize,
            steps in prop::collection::vec(any_step(), 0..150),
        ) {
            let mut model = Model {
                lanes: lanes(max_pending, usize::MAX, operations),
                tasks: Vec::new(),
                waiting: Vec::new(),
                last_sent: HashMap::new(),
            };
            for step in steps {
                match step {
                    Step::Write(partition, row, tenant) => {
                        let (number, started) = model.lanes.accept(insert(partition, row), caller(tenant));
                        model.waiting.push((number, partition, row));
                        model.start(started);
                    }
                    Step::Next(at) if !model.tasks.is_empty() => model.next(at.index(model.tasks.len())),
                    Step::Withdraw(at) if !model.waiting.is_empty() => {
                        let (number, partition, _) = model.waiting.remove(at.index(model.waiting.len()));
                        prop_assert!(model.lanes.withdraw(&partition.to_string(), number).is_some());
                        prop_assert!(model.lanes.withdraw(&partition.to_string(), number).is_none());
                    }
                    Step::Flush => drop(model.lanes.flush()),
                    Step::Next(_) | Step::Withdraw(_) => {}
                }
                if model.lanes.outside.is_empty() || model.lanes.pending.operations > 0 {
                    model.check();
                }
            }
            while !model.tasks.is_empty() {
                model.next(0);
            }
            prop_assert!(model.waiting.is_empty() && model.lanes.lanes.is_empty());
            prop_assert_eq!(model.lanes.statistics().pending, 0);
        }
    }
}
