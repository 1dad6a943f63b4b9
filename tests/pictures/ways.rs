//! Ways to write many rows into one partition, watched from second to second.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use azure_table::emulator::ServiceModel;
use azure_table::{DynamicEntity, Emulator, ErrorKind, TableClient, TableServiceClient};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

/// The seconds for which each way is watched.
pub(crate) const SECONDS: usize = 20;
/// The concurrent writers of the ways that have some.
const TASKS: usize = 512;
/// The limit of a partition of `ServiceModel::today`, in entities per second.
pub(crate) const LIMIT: f64 = 2_000.0;
/// A writer's pause after a call that failed with all its retries.
const PAUSE: Duration = Duration::from_secs(1);

/// A way to write.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// One insert after the other.
    Loop,
    /// Tasks that each insert one row after the other.
    Tasks,
    /// The same tasks by a grouped handle.
    Grouped,
    Bulk,
}

/// The work of the service in one second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Second {
    pub(crate) rows: f64,
    pub(crate) requests: f64,
    pub(crate) rejected: f64,
}

impl Way {
    pub(crate) const ALL: [Self; 4] = [Self::Loop, Self::Tasks, Self::Grouped, Self::Bulk];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Loop => "insert, one after the other",
            Self::Tasks => "insert, 512 tasks",
            Self::Grouped => "insert by grouped(), 512 tasks",
            Self::Bulk => "bulk()",
        }
    }

    /// Writes for the whole time, with the client's default policies.
    pub(crate) async fn run(self) -> Vec<Second> {
        let fresh = Emulator::new();
        let truth = TableServiceClient::on(fresh.clone()).dynamic_table("Things").unwrap();
        truth.create_table().await.unwrap();
        let emulator = fresh.with_service_model(ServiceModel::today());
        let table = TableServiceClient::on(emulator.clone())
            .dynamic_table("Things")
            .unwrap();
        let mut writers = JoinSet::new();
        match self {
            Self::Loop => _ = writers.spawn(insert_all(table, Arc::default())),
            Self::Tasks => insert_by_tasks(&mut writers, &table),
            Self::Grouped => insert_by_tasks(&mut writers, &table.grouped()),
            Self::Bulk => _ = writers.spawn(async move { _ = table.bulk().insert((0..).map(row)).await }),
        }
        let begun = Instant::now();
        let mut seconds = Vec::new();
        let mut before = emulator.load();
        for n in 1..=SECONDS {
            sleep_until(begun + Duration::from_secs(n as u64)).await;
            let now = emulator.load();
            let load = now.since(&before);
            seconds.push(Second {
                rows: load.accepted_entities as f64,
                requests: (load.accepted_requests + load.throttled_requests) as f64,
                rejected: load.throttled_requests as f64,
            });
            before = now;
        }
        assert!(writers.try_join_next().is_none(), "{self:?} has ended");
        seconds
    }
}

fn row(n: usize) -> DynamicEntity {
    DynamicEntity::new("p", format!("{n:08}"))
}

fn insert_by_tasks(writers: &mut JoinSet<()>, table: &TableClient<DynamicEntity>) {
    let next: Arc<AtomicUsize> = Arc::default();
    for _ in 0..TASKS {
        writers.spawn(insert_all(table.clone(), Arc::clone(&next)));
    }
}

/// Inserts the next row until its task ends. A row that is rejected after all retries is left out.
async fn insert_all(table: TableClient<DynamicEntity>, next: Arc<AtomicUsize>) {
    loop {
        let row = row(next.fetch_add(1, Ordering::Relaxed));
        if let Err(error) = table.insert(&row).await {
            assert_eq!(error.kind(), ErrorKind::Throttled, "{error}");
            sleep(PAUSE).await;
        }
    }
}
