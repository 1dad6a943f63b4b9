//! Ways to count: one row, several rows of a partition or of several partitions, and a row for each event.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use azure_table::{DynamicEntity, ErrorKind, Result, TableClient};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{PAUSE, TIME, table};

/// The tasks that count, each one event after the other.
const TASKS: usize = 200;
const SHARDS: usize = 64;

/// A way to count.
#[derive(Clone, Copy, Debug)]
enum Way {
    OneRow,
    RowsOfOnePartition,
    Partitions,
    Events,
}

impl Way {
    const ALL: [Self; 4] = [Self::OneRow, Self::RowsOfOnePartition, Self::Partitions, Self::Events];

    const fn name(self) -> &'static str {
        match self {
            Self::OneRow => "`modify` of one row",
            Self::RowsOfOnePartition => "`modify` of one of 64 rows of a partition",
            Self::Partitions => "`modify` of one of 64 partitions",
            Self::Events => "`insert` of a row per event, in 64 partitions",
        }
    }

    /// Counts the `n`th event of a task.
    async fn count(self, table: &TableClient<DynamicEntity>, task: usize, n: usize) -> Result<()> {
        let shard = fastrand::usize(..SHARDS).to_string();
        let (partition, row) = match self {
            Self::OneRow => ("0".to_owned(), "0".to_owned()),
            Self::RowsOfOnePartition => ("0".to_owned(), shard),
            Self::Partitions => (shard, "0".to_owned()),
            Self::Events => return table.insert(&event(&shard, task, n)).await.map(drop),
        };
        let add = |row: &mut DynamicEntity| -> Result<()> {
            let count: i64 = row.property("Count")?;
            row.insert("Count", count + 1);
            Ok(())
        };
        let first = || {
            let mut first = DynamicEntity::new(&*partition, &*row);
            first.insert("Count", 1_i64);
            first
        };
        let key = (partition.as_str(), row.as_str());
        table.modify(key, add).or_insert(first).await.map(drop)
    }
}

fn event(shard: &str, task: usize, n: usize) -> DynamicEntity {
    DynamicEntity::new(shard, format!("{task:03}_{n:08}"))
}

/// Counts in each way, and prints the events per second.
pub(super) async fn print() {
    println!("\n| {TASKS} tasks | events per second | requests per event |\n|---|--:|--:|");
    for way in Way::ALL {
        let (emulator, table) = table().await;
        let counted: Arc<AtomicU64> = Arc::default();
        let mut tasks = JoinSet::new();
        for task in 0..TASKS {
            let (table, counted) = (table.clone(), Arc::clone(&counted));
            tasks.spawn(async move {
                for n in 0.. {
                    match way.count(&table, task, n).await {
                        Ok(()) => _ = counted.fetch_add(1, Ordering::Relaxed),
                        Err(e) => {
                            let is_load = matches!(e.kind(), ErrorKind::Throttled | ErrorKind::Contention);
                            assert!(is_load, "{e}");
                            sleep(PAUSE).await;
                        }
                    }
                }
            });
        }
        let before = emulator.load();
        sleep(TIME).await;
        let load = emulator.load().since(&before);
        assert!(tasks.try_join_next().is_none(), "{way:?} has ended");
        let events = counted.load(Ordering::Relaxed);
        let requests = load.accepted_requests + load.throttled_requests;
        let per_second = events / TIME.as_secs();
        println!(
            "| {} | {per_second} | {:.1} |",
            way.name(),
            requests as f64 / events as f64
        );
    }
}
