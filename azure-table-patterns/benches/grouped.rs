//! The gain and the cost of `Grouped`.
//!
//! `cargo bench -p azure-table-patterns --bench grouped` prints requests, throughput and latency against single writes,
//! and the CPU time per entity of a lone caller against a plain insert and of 1,000 tasks against a bulk.
//!
//! The first part is in real time on a runtime with two threads: 1,000 tasks with 100 inserts each, over 10 partitions,
//! on the emulator with 10 ms for each request and `max_in_flight(64)`. For the CPU, client and emulator share a
//! thread. Programs alternate in 7 rounds, and the medians are compared. The A/A ratio is the same program against
//! itself in the same run.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench prints figures")]

use std::time::{Duration, Instant};

use azure_table::emulator::ServiceModel;
use azure_table::testing::Spy;
use azure_table::{Emulator, TableClient, TableEntity, TableOperation, TableServiceClient};
use azure_table_patterns::Grouped;
use cpu_time::ThreadTime;
use futures::future::join_all;
use tokio::runtime::Builder;

const ROUNDS: usize = 7;
const TASKS: usize = 1_000;
const INSERTS: usize = 100;
const PARTITIONS: usize = 10;
const LATENCY: Duration = Duration::from_millis(10);
/// Inserts of the lone caller in a round.
const LONE: usize = 3_000;

#[derive(TableEntity, Clone)]
#[table(rename_all = "PascalCase")]
struct Order {
    #[table(partition_key)]
    customer: String,
    #[table(row_key)]
    number: String,
    product: String,
    note: String,
    quantity: i32,
    cents: i64,
    rating: f64,
    paid: bool,
}

fn order(partition: usize, n: usize) -> Order {
    Order {
        customer: format!("customer-{partition:06}"),
        number: format!("{n:010}"),
        product: format!("Product number {n}"),
        note: "Leave it at the door, please".into(),
        quantity: n as i32,
        cents: 1_234_567_890_123 + n as i64,
        rating: 0.1 + n as f64 / 7.0,
        paid: n.is_multiple_of(2),
    }
}

fn median<T: PartialOrd + Copy>(mut values: Vec<T>) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap());
    values[values.len() / 2]
}

/// The ways to insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Plain,
    Grouped,
    Bulk,
}

/// Runs concurrent tasks with their inserts. Returns the latency of each insert of the tasks.
async fn insert_by_tasks(table: &TableClient<Order>, way: Way, tasks: usize, inserts: usize) -> Vec<Duration> {
    let (group, driver) = Grouped::new(table);
    let driver = tokio::spawn(driver);
    let tasks = (0..tasks).map(|task| {
        let (table, group) = (table.clone(), group.clone());
        tokio::spawn(async move {
            let mut latencies = Vec::with_capacity(inserts);
            for n in 0..inserts {
                let order = order(task % PARTITIONS, task * inserts + n);
                let started = Instant::now();
                match way {
                    Way::Grouped => drop(group.write(TableOperation::insert(&order)).await.unwrap()),
                    _ => drop(table.insert(&order).await.unwrap()),
                }
                latencies.push(started.elapsed());
            }
            latencies
        })
    });
    let latencies = join_all(tasks).await;
    drop(group);
    driver.await.unwrap();
    latencies.into_iter().flat_map(Result::unwrap).collect()
}

/// The figures of one run of all tasks.
struct Run {
    requests: u64,
    seconds: f64,
    p50: Duration,
    p99: Duration,
}

/// Runs the tasks on a new emulator.
async fn run(way: Way) -> Run {
    let model = ServiceModel::new().write_latency(LATENCY);
    let spy = Spy::new(Emulator::new().service_model(model)).keep(0);
    let service = TableServiceClient::from_transport(spy.clone()).max_in_flight(64);
    let table = service.table::<Order>("Orders").unwrap();
    table.create_table().await.unwrap();
    let before = spy.requests();
    let started = Instant::now();
    let mut latencies = insert_by_tasks(&table, way, TASKS, INSERTS).await;
    let seconds = started.elapsed().as_secs_f64();
    latencies.sort_unstable();
    Run {
        requests: spy.requests() - before,
        seconds,
        p50: latencies[latencies.len() / 2],
        p99: latencies[latencies.len() * 99 / 100],
    }
}

async fn throughput() {
    let plain = run(Way::Plain).await;
    let grouped = run(Way::Grouped).await;
    let again = run(Way::Grouped).await;
    for (name, run) in [("plain", &plain), ("grouped", &grouped), ("grouped again", &again)] {
        println!(
            "{name:14} {:7} requests {:8.0} inserts/s  p50 {:7.1} ms  p99 {:7.1} ms",
            run.requests,
            (TASKS * INSERTS) as f64 / run.seconds,
            run.p50.as_secs_f64() * 1e3,
            run.p99.as_secs_f64() * 1e3
        );
    }
    println!(
        "grouped against plain: requests 1/{:.0}, throughput {:.1} ×, A/A {:.2}",
        plain.requests as f64 / grouped.requests as f64,
        plain.seconds / grouped.seconds,
        again.seconds / grouped.seconds
    );
}

/// Returns the CPU time of one insert in nanoseconds.
async fn cost(way: Way, tasks: usize, inserts: usize) -> f64 {
    let service = TableServiceClient::from_transport(Emulator::new());
    let table = service.table::<Order>("Orders").unwrap();
    table.create_table().await.unwrap();
    let started = ThreadTime::now();
    if way == Way::Bulk {
        let orders = (0..tasks * inserts).map(|n| order(n % PARTITIONS, n));
        let report = table.bulk().insert(orders).await.unwrap();
        assert_eq!(report.applied() as usize, tasks * inserts);
    } else {
        insert_by_tasks(&table, way, tasks, inserts).await;
    }
    started.elapsed().as_nanos() as f64 / (tasks * inserts) as f64
}

/// Prints the CPU time of grouped inserts and of another way, and their ratio. The other way runs twice.
async fn compare(name: &str, other: Way, tasks: usize, inserts: usize) {
    let mut times: [Vec<f64>; 3] = Default::default();
    for round in 0..=ROUNDS {
        for (times, way) in times.iter_mut().zip([Way::Grouped, other, other]) {
            let time = cost(way, tasks, inserts).await;
            // The first round warms up.
            if round > 0 {
                times.push(time);
            }
        }
    }
    let [ours, other, again] = times.map(median);
    println!(
        "{name}: {ours:.0} ns an entity against {other:.0} ns: ratio {:.3}, A/A {:.3}",
        ours / other,
        again / other
    );
}

fn main() {
    let many = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    many.unwrap().block_on(throughput());
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        compare("a lone caller, plain insert", Way::Plain, 1, LONE).await;
        compare("1,000 tasks, a bulk of as many", Way::Bulk, TASKS, INSERTS).await;
    });
}
