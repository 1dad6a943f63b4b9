//! The time to open a folder, and the writes per second.

use std::time::{Duration, Instant};

use azure_table::emulator::SeedEntities as _;
use azure_table::emulator::{EmulatorFolder, SyncPolicy};
use azure_table::{Emulator, TableClient, TableEntity, TableServiceClient};

use crate::Folder;

const TABLE: &str = "Figures";
const PARTITION: u64 = 1_000;
/// Operations of a batch.
const BATCH: u64 = 100;
/// The time for which each rate is measured.
const TIME: Duration = Duration::from_secs(2);
const ROUNDS: usize = 3;

/// An entity of about 250 bytes.
#[derive(TableEntity, Clone, Debug)]
struct Reading {
    #[table(partition_key)]
    device: u64,
    #[table(row_key)]
    number: u64,
    value: f64,
    count: i64,
    is_valid: bool,
    note: String,
}

impl Reading {
    fn new(device: u64, number: u64) -> Self {
        Self {
            device,
            number,
            value: number as f64 / 7.0,
            count: number as i64,
            is_valid: number.is_multiple_of(3),
            note: "a note of the usual length, about a hundred characters, as people write them about a reading"
                .to_owned(),
        }
    }
}

/// Prints the time to open a folder: as its emulator left it, and as a kill leaves it.
pub(crate) async fn start(entities: u64) {
    let folder = Folder::new();
    let emulator = Emulator::open(folder.path(), SyncPolicy::Never).unwrap();
    let began = Instant::now();
    let readings = (0..entities).map(|n| Reading::new(n / PARTITION, n));
    emulator.seed(TABLE, readings).unwrap();
    println!("seeded in {:.1?}", began.elapsed());
    let copy = Folder::new();
    std::fs::create_dir(copy.path()).unwrap();
    for file in std::fs::read_dir(folder.path()).unwrap().flatten() {
        std::fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
    }
    drop(emulator);
    for (how, folder) in [("closed", &folder), ("killed", &copy)] {
        for _ in 0..ROUNDS {
            let began = Instant::now();
            let cpu = cpu_time();
            let emulator = Emulator::open(folder.path(), SyncPolicy::Always).unwrap();
            let (elapsed, cpu) = (began.elapsed(), cpu_time() - cpu);
            println!("{how}: opened in {elapsed:.2?}, {cpu:.2?} of CPU time");
            let last = Reading::new((entities - 1) / PARTITION, entities - 1);
            let table = TableServiceClient::from_transport(emulator)
                .table::<Reading>(TABLE)
                .unwrap();
            assert!(table.get(&last).await.unwrap().is_some());
        }
    }
    println!("{:?}", EmulatorFolder::check(folder.path()).unwrap());
}

/// Returns the CPU time of all threads of this process so far.
fn cpu_time() -> Duration {
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, behind) = stat.rsplit_once(')').unwrap();
    let ticks = behind.split_whitespace().skip(11).take(2);
    ticks.map(|ticks| TICK * ticks.parse::<u32>().unwrap()).sum()
}

/// Prints writes per second in memory and under each policy, each in several rounds that alternate.
pub(crate) async fn rates() {
    println!(
        "{:28} {:>12} {:>12} {:>12} {:>12}",
        "writes per second", "1 in flight", "64", "1 batch", "8 batches"
    );
    for round in 0..ROUNDS {
        for (name, sync) in [
            ("memory", None),
            ("never", Some(SyncPolicy::Never)),
            ("interval of 1 s", Some(SyncPolicy::Interval(Duration::from_secs(1)))),
            ("always", Some(SyncPolicy::Always)),
        ] {
            let folder = Folder::new();
            let emulator = sync.map_or_else(Emulator::new, |sync| Emulator::open(folder.path(), sync).unwrap());
            let service = TableServiceClient::from_transport(emulator);
            let mut line = format!("{:28}", format!("{name}, round {}", round + 1));
            for (n, (in_flight, batch)) in [(1, 1), (64, 1), (1, BATCH), (8, BATCH)].into_iter().enumerate() {
                let table = service.table::<Reading>(&format!("{TABLE}{n}")).unwrap();
                table.create_table().await.unwrap();
                line += &format!(" {:>12.0}", rate(&table, in_flight, batch).await);
            }
            println!("{line}");
        }
    }
}

/// Entities per second.
async fn rate(table: &TableClient<Reading>, in_flight: u64, batch: u64) -> f64 {
    let began = Instant::now();
    let writers: Vec<_> = (0..in_flight)
        .map(|device| {
            let table = table.clone();
            tokio::spawn(async move {
                let mut number = 0;
                while began.elapsed() < TIME {
                    if batch == 1 {
                        table.insert(&Reading::new(device, number)).await.unwrap();
                    } else {
                        let mut changes = table.batch();
                        for n in number..number + batch {
                            changes.insert(&Reading::new(device, n)).unwrap();
                        }
                        changes.submit().await.unwrap();
                    }
                    number += batch;
                }
                number
            })
        })
        .collect();
    let mut written = 0;
    for writer in writers {
        written += writer.await.unwrap();
    }
    written as f64 / began.elapsed().as_secs_f64()
}
