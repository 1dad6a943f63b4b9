//! One client of the soak. Only it writes its partition, so it knows what is stored, or the values in doubt.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use azure_table::{Error, ErrorKind, TableClient, TableEntity};

const ROWS: u32 = 24;

/// A row of the soak.
#[derive(TableEntity, Clone, Debug)]
pub(crate) struct Cell {
    #[table(partition_key)]
    pub(crate) partition: String,
    #[table(row_key)]
    pub(crate) row: u32,
    value: i64,
}

/// A value, or no row.
type Value = Option<i64>;

/// The counts of all workers so far.
#[derive(Debug, Default)]
pub(crate) struct WorkerCounts {
    pub(crate) calls: AtomicU64,
    pub(crate) doubts: AtomicU64,
    pub(crate) failures: AtomicU64,
}

/// The handles of a worker to one table.
#[derive(Clone)]
pub(crate) struct Handles {
    /// The handle of single writes.
    pub(crate) writes: TableClient<Cell>,
    /// The handle of point reads and queries.
    pub(crate) reads: TableClient<Cell>,
}

pub(crate) struct Worker {
    handles: Handles,
    counts: Arc<WorkerCounts>,
    partition: String,
    /// The possible values of each row; one without a doubt.
    possible: BTreeMap<u32, Vec<Value>>,
    random: fastrand::Rng,
    next: i64,
}

impl Worker {
    pub(crate) fn new(handles: Handles, counts: Arc<WorkerCounts>, number: usize) -> Self {
        Self {
            handles,
            counts,
            partition: format!("worker {number}"),
            possible: (0..ROWS).map(|row| (row, vec![None])).collect(),
            random: fastrand::Rng::with_seed(number as u64),
            next: 0,
        }
    }

    pub(crate) async fn work(mut self, is_over: Arc<AtomicBool>) -> Self {
        while !is_over.load(Ordering::Relaxed) {
            count(&self.counts.calls);
            let row = self.random.u32(..ROWS);
            match self.random.u8(..10) {
                0 => self.insert(row).await,
                1 => self.upsert(row).await,
                2..4 => self.change(row).await,
                4 => self.delete(row).await,
                5 => self.batch(row).await,
                6 => self.query().await,
                _ => self.get(row).await,
            }
        }
        self
    }

    /// At the end, the stored rows match this worker's knowledge.
    pub(crate) async fn compare(&self, truth: &TableClient<Cell>) {
        let rows = truth.query().partition(self.partition.as_str()).all().await.unwrap();
        let mut stored: BTreeMap<u32, i64> = rows.into_iter().map(|cell| (cell.row, cell.value)).collect();
        for (row, possible) in &self.possible {
            let value = stored.remove(row);
            assert!(
                possible.contains(&value),
                "{} {row}: {value:?} of {possible:?}",
                self.partition
            );
        }
        assert!(stored.is_empty(), "{}: {stored:?}", self.partition);
    }

    fn cell(&mut self, row: u32) -> Cell {
        self.next += 1;
        Cell {
            partition: self.partition.clone(),
            row,
            value: self.next,
        }
    }

    /// The row now has one of these values.
    fn learn(&mut self, row: u32, is_so: impl Fn(Value) -> bool) {
        let possible = self.possible.get_mut(&row).unwrap();
        let before = possible.clone();
        possible.retain(|value| is_so(*value));
        assert!(!possible.is_empty(), "{} {row}: none of {before:?}", self.partition);
    }

    /// The result of a write. `rejected` says what a rejection shows about the row.
    fn wrote<T>(&mut self, rows: &[u32], value: Value, outcome: Result<T, Error>, rejected: fn(Value) -> bool) {
        match outcome {
            Ok(_) => rows
                .iter()
                .for_each(|row| self.possible.get_mut(row).unwrap().splice(.., [value]).for_each(drop)),
            Err(e) => {
                count(&self.counts.failures);
                let is_rejection = matches!(
                    e.kind(),
                    ErrorKind::AlreadyExists | ErrorKind::NotFound | ErrorKind::ConditionNotMet
                );
                for row in rows {
                    if e.may_have_applied() {
                        self.possible.get_mut(row).unwrap().push(value);
                    } else if is_rejection {
                        self.learn(*row, rejected);
                    }
                }
                if e.may_have_applied() {
                    count(&self.counts.doubts);
                }
            }
        }
    }

    async fn insert(&mut self, row: u32) {
        let cell = self.cell(row);
        let outcome = self.handles.writes.insert(&cell).await;
        self.wrote(&[row], Some(cell.value), outcome, |value| value.is_some());
    }

    async fn upsert(&mut self, row: u32) {
        let cell = self.cell(row);
        let outcome = self.handles.writes.insert_or_replace(&cell).await;
        self.wrote(&[row], Some(cell.value), outcome, |_| true);
    }

    async fn delete(&mut self, row: u32) {
        let outcome = self.handles.writes.delete((self.partition.as_str(), row)).await;
        self.wrote(&[row], None, outcome, |value| value.is_none());
    }

    /// Reads, changes and writes under the ETag. No other client writes here, so a conflict is false unless this worker
    /// is in doubt.
    async fn change(&mut self, row: u32) {
        let Ok(Some(mut read)) = self.handles.reads.get((self.partition.as_str(), row)).versioned().await else {
            return;
        };
        self.learn(row, |value| value == Some(read.entity.value));
        self.next += 1;
        read.value = self.next;
        let outcome = self.handles.writes.replace(&read).await;
        self.wrote(&[row], Some(read.value), outcome, |_| false);
    }

    async fn batch(&mut self, row: u32) {
        let rows = [row, (row + 1) % ROWS, (row + 2) % ROWS];
        let cell = self.cell(row);
        let mut batch = self.handles.writes.batch();
        for row in rows {
            batch.insert_or_replace(&Cell { row, ..cell.clone() }).unwrap();
        }
        let outcome = batch.submit().await;
        self.wrote(&rows, Some(cell.value), outcome, |_| true);
    }

    async fn get(&mut self, row: u32) {
        match self.handles.reads.get((self.partition.as_str(), row)).await {
            Ok(read) => self.learn(row, |value| value == read.as_ref().map(|cell| cell.value)),
            Err(_) => count(&self.counts.failures),
        }
    }

    async fn query(&mut self) {
        let query = self
            .handles
            .reads
            .query()
            .partition(self.partition.as_str())
            .page_size(7);
        match query.all().await {
            Ok(cells) => {
                let stored: BTreeMap<u32, i64> = cells.into_iter().map(|cell| (cell.row, cell.value)).collect();
                for row in 0..ROWS {
                    self.learn(row, |value| value == stored.get(&row).copied());
                }
            }
            Err(_) => count(&self.counts.failures),
        }
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
