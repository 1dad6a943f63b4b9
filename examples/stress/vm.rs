//! One VM: workers in closed loops, and the counts of their requests.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use azure_table::{DynamicEntity, ErrorKind, Result, TableClient};
use fastrand::Rng;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::cpu::ModelledCpu;
use crate::entity::Worker;
use crate::measured::Measured;
use crate::workload::Workload;

/// The part of one VM in a point; a worker process reads it as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct VmTask {
    pub(crate) workload: Workload,
    /// The number of this VM.
    pub(crate) vm: usize,
    /// Unique to the point, so that no key repeats.
    pub(crate) job: String,
    pub(crate) table: String,
    pub(crate) max_requests: u64,
}

/// The end of a run before its time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The values that all workers share.
struct Shared {
    task: VmTask,
    table: TableClient<DynamicEntity>,
    cpu: Option<ModelledCpu>,
    stop: Stop,
    sent: AtomicU64,
    /// Requests that have their slot in the rate.
    paced: AtomicU64,
    start: Instant,
    measured: Mutex<Measured>,
}

/// Runs the workers of a VM for the time of the workload.
pub(crate) async fn run(
    task: VmTask,
    table: TableClient<DynamicEntity>,
    cpu: Option<ModelledCpu>,
    stop: Stop,
) -> Measured {
    let (warm_up, seconds) = (task.workload.warm_up, task.workload.seconds);
    let start = Instant::now();
    let shared = Arc::new(Shared {
        measured: Mutex::new(Measured::new(seconds)),
        task,
        table,
        cpu: cpu.clone(),
        stop,
        sent: AtomicU64::new(0),
        paced: AtomicU64::new(0),
        start,
    });
    let mut workers = JoinSet::new();
    for worker in shared.task.workload.workers_of(shared.task.vm) {
        workers.spawn(Arc::clone(&shared).work(worker));
    }
    let counted_from = start + Duration::from_secs_f64(warm_up);
    sleep_until(counted_from).await;
    let used_before = cpu.as_ref().map(ModelledCpu::used);
    let end = counted_from + Duration::from_secs_f64(seconds);
    // The workers end by themselves only where a cap or Ctrl-C stops them.
    let is_early = tokio::select! {
        () = sleep_until(end) => false,
        () = async { while workers.join_next().await.is_some() {} } => true,
    };
    let counted = Instant::now().saturating_duration_since(counted_from);
    workers.shutdown().await;

    let mut measured = shared.lock().clone();
    if is_early {
        measured.is_cut = true;
        measured.seconds = counted.as_secs_f64().max(0.001);
    }
    measured.sent_requests = shared.sent.load(Ordering::Relaxed).min(shared.task.max_requests);
    if let (Some(cpu), Some(before)) = (cpu, used_before) {
        measured.cpu = cpu.share(cpu.used() - before, counted);
    }
    measured
}

impl Shared {
    async fn work(self: Arc<Self>, worker: Worker) {
        let workload = &self.task.workload;
        let mut random = Rng::with_seed(worker.all as u64 + 1);
        let (mut reads, mut written) = (0, if workload.reads() { workload.rows } else { 0 });
        for request in 0.. {
            self.pace().await;
            if self.stop.is_set() || self.sent.fetch_add(1, Ordering::Relaxed) >= self.task.max_requests {
                return;
            }
            let started = Instant::now();
            let is_read = workload.operation.is_read(request);
            let entities = if is_read { 1 } else { workload.batch };
            if let Some(cpu) = &self.cpu {
                cpu.spend(is_read, entities).await;
            }
            let sent = if is_read {
                reads += 1;
                self.read(worker, (reads - 1) % workload.rows).await
            } else {
                written += entities;
                self.write(worker, written - entities, &mut random).await
            };
            let is_accepted = sent.is_ok();
            self.count(started, entities, sent);
            if !is_accepted {
                sleep(Duration::from_secs_f64(workload.pause)).await;
            }
        }
    }

    /// Waits for the next slot of the VM's share of the rate.
    async fn pace(&self) {
        let workload = &self.task.workload;
        let Some(rate) = workload.rate else { return };
        let slot = self.paced.fetch_add(1, Ordering::Relaxed) as f64;
        let at = slot * workload.vms as f64 / rate;
        sleep_until(self.start + Duration::from_secs_f64(at)).await;
    }

    async fn read(&self, worker: Worker, n: u64) -> Result<()> {
        let workload = &self.task.workload;
        let key = |template: &crate::entity::Template| template.render(&self.task.job, worker, n);
        let (partition, row) = (key(&workload.partition_key), key(&workload.row_key));
        self.table.get((partition.as_str(), row.as_str())).await.map(drop)
    }

    async fn write(&self, worker: Worker, first: u64, random: &mut Rng) -> Result<()> {
        let workload = &self.task.workload;
        let mut rows = rows(workload, &self.task.job, worker, first, random);
        if workload.batch == 1 {
            let Some(row) = rows.next() else { return Ok(()) };
            return self.table.insert(&row).await.map(drop);
        }
        let mut batch = self.table.batch();
        for row in rows {
            batch.insert(&row)?;
        }
        batch.submit().await.map(drop)
    }

    /// Counts a response that came in the counted time.
    fn count(&self, started: Instant, entities: u64, sent: Result<()>) {
        let workload = &self.task.workload;
        let now = Instant::now();
        let at = now.saturating_duration_since(self.start).as_secs_f64();
        if at < workload.warm_up || at > workload.duration() {
            return;
        }
        let mut measured = self.lock();
        match sent {
            Ok(()) => measured.accept(entities, now - started),
            Err(error) if error.kind() == ErrorKind::Throttled => {
                measured.rejected_requests += 1;
                measured.rejected_entities += entities;
            }
            Err(error) => {
                measured.failed_requests += 1;
                measured.failure.get_or_insert_with(|| error.to_string());
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Measured> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the entities of one write. They share the partition of the first one.
fn rows<'a>(
    workload: &'a Workload,
    job: &'a str,
    worker: Worker,
    first: u64,
    random: &'a mut Rng,
) -> impl Iterator<Item = DynamicEntity> + 'a {
    let partition = workload.partition_key.render(job, worker, first);
    (first..first + workload.batch).map(move |n| {
        let mut row = DynamicEntity::new(partition.clone(), workload.row_key.render(job, worker, n));
        workload.columns.fill(&mut row, random);
        row
    })
}

/// Returns the rows that a worker finds, each in its own partition.
pub(crate) fn prepared_rows(workload: &Workload, job: &str) -> impl Iterator<Item = DynamicEntity> {
    let mut random = Rng::with_seed(0);
    workload.each_worker().flat_map(move |worker| {
        let rows: Vec<_> = (0..workload.rows)
            .map(|n| {
                let partition = workload.partition_key.render(job, worker, n);
                let mut row = DynamicEntity::new(partition, workload.row_key.render(job, worker, n));
                workload.columns.fill(&mut row, &mut random);
                row
            })
            .collect();
        rows
    })
}
