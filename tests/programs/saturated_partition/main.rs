//! Prints the rates of grouped writes in `PERFORMANCE.md`, and those of counters in the guide `patterns`.
//!
//! The first table has ways to write rows into one partition of the emulator's service model, the second
//! (`counters.rs`) ways to count. `cargo bench -p azure-table-tests --features programs --bench saturated_partition`
//! takes about a minute, on a paused clock.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for the command line that says what failed by panicking"
)]

mod counters;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use azure_table::emulator::{ServiceLoad, ServiceModel};
use azure_table::{DynamicEntity, Emulator, Error, ErrorKind, TableClient, TableOperation, TableServiceClient};
use azure_table_patterns::Grouped;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// The time for which each way is watched.
const TIME: Duration = Duration::from_secs(20);
/// The concurrent writers of the ways that have some.
const TASKS: usize = 512;
/// A writer's pause after a call that failed with all its retries.
const PAUSE: Duration = Duration::from_secs(1);

fn main() {
    let mut paused = tokio::runtime::Builder::new_current_thread();
    let runtime = paused.enable_time().start_paused(true).build().unwrap();
    println!("| {} s | rows stored | requests |\n|---|--:|--:|", TIME.as_secs());
    for way in Way::ALL {
        let load = runtime.block_on(way.run());
        let requests = load.accepted_requests + load.throttled_requests;
        println!("| {} | {} | {requests} |", way.name(), load.accepted_entities);
    }
    runtime.block_on(counters::print());
}

/// A way to write.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// Tasks that each insert one row after the other.
    Tasks,
    /// The same tasks through a group.
    Grouped,
    Bulk,
}

impl Way {
    const ALL: [Self; 3] = [Self::Tasks, Self::Grouped, Self::Bulk];

    const fn name(self) -> &'static str {
        match self {
            Self::Tasks => "`insert` by 512 tasks",
            Self::Grouped => "`Grouped` by 512 tasks",
            Self::Bulk => "`bulk()`",
        }
    }

    /// Writes for the whole time, with the client's default policies. Returns the work of the service.
    async fn run(self) -> ServiceLoad {
        let (emulator, table) = table().await;
        let mut writers = JoinSet::new();
        match self {
            Self::Tasks => insert_by_tasks(&mut writers, move |row| {
                let insert = table.insert(&row);
                async move { insert.await.map(drop).map_err(|e| Some(e.kind())) }
            }),
            Self::Grouped => {
                let (group, driver) = Grouped::new(&table);
                tokio::spawn(driver);
                insert_by_tasks(&mut writers, move |row| {
                    let group = group.clone();
                    async move {
                        let written = group.write(TableOperation::insert(&row)).await;
                        written.map(drop).map_err(|e| e.error().map(Error::kind))
                    }
                });
            }
            Self::Bulk => _ = writers.spawn(async move { _ = table.bulk().insert((0..).map(row)).await }),
        }
        let before = emulator.load();
        sleep(TIME).await;
        let load = emulator.load().since(&before);
        assert!(writers.try_join_next().is_none(), "{self:?} has ended");
        load
    }
}

/// Returns an emulator with the model of the service, and a table in it.
async fn table() -> (Emulator, TableClient<DynamicEntity>) {
    let fresh = Emulator::new();
    let truth = TableServiceClient::from_transport(fresh.clone())
        .dynamic_table("Things")
        .unwrap();
    truth.create_table().await.unwrap();
    let emulator = fresh.service_model(ServiceModel::azure_storage());
    let service = TableServiceClient::from_transport(emulator.clone());
    (emulator, service.dynamic_table("Things").unwrap())
}

fn row(n: usize) -> DynamicEntity {
    DynamicEntity::new("p", format!("{n:08}"))
}

/// The end of an insert, with the kind of its error.
type Inserted = Result<(), Option<ErrorKind>>;

fn insert_by_tasks<F>(writers: &mut JoinSet<()>, insert: impl Fn(DynamicEntity) -> F + Clone + Send + 'static)
where
    F: Future<Output = Inserted> + Send + 'static,
{
    let next: Arc<AtomicUsize> = Arc::default();
    for _ in 0..TASKS {
        writers.spawn(insert_all(insert.clone(), Arc::clone(&next)));
    }
}

/// Inserts the next row until its task ends. A row that is rejected after all retries is left out.
async fn insert_all<F: Future<Output = Inserted>>(insert: impl Fn(DynamicEntity) -> F, next: Arc<AtomicUsize>) {
    loop {
        if let Err(kind) = insert(row(next.fetch_add(1, Ordering::Relaxed))).await {
            assert_eq!(kind, Some(ErrorKind::Throttled));
            sleep(PAUSE).await;
        }
    }
}
