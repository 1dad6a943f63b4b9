//! The emulator: the rows of a table, a scan next to a point read, snapshots, connections.

use std::time::Duration;

use azure_table::emulator::EmulatorSnapshot;
use azure_table::emulator::SeedEntities as _;
use azure_table::transport::HttpTransport;
use azure_table::{Column, Emulator, EmulatorServer, TableClient, TableServiceClient};
use cpu_time::ThreadTime;
use futures::{StreamExt as _, stream};

use crate::Dimension;
use crate::curve::{Bar, Curve};
use crate::measure::{Sweep, cpu};
use crate::rows::{Order, PARTITION, order};

pub(crate) const DIMENSIONS: [Dimension; 6] = [
    ("emulator: point read by rows of the table", point_read),
    ("emulator: insert by rows of the table", insert),
    ("emulator: page by rows of the table", page),
    ("emulator: point read beside a scan", beside_scan),
    ("emulator: snapshot", snapshot),
    ("emulator: connections", connections),
];

const ROWS: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// The reason why a larger table costs more in a tree.
const CACHE: &str = "its tree is deeper by the logarithm, and no longer in the processor's cache";
/// The rows of a snapshot.
const COPIED: [usize; 5] = [1_000, 3_000, 10_000, 30_000, 100_000];
/// The reason why a larger copy costs more.
const COPY: &str = "a copy of all rows: new memory, beyond the processor's cache";

fn filled(rows: usize) -> (Emulator, TableClient<Order>) {
    let emulator = Emulator::new();
    emulator.seed("Things", (0..rows).map(order)).unwrap();
    let table = TableServiceClient::from_transport(emulator.clone())
        .table("Things")
        .unwrap();
    (emulator, table)
}

/// Numbers below `end` in an order that no cache predicts.
fn scattered(end: usize) -> impl Iterator<Item = usize> {
    let mut state = 1_usize;
    std::iter::repeat_with(move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    })
}

fn keys(n: usize) -> (String, String) {
    let order = order(n);
    (order.customer, order.number)
}

fn point_read(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure(
        &ROWS,
        async |rows| filled(rows).1,
        async |table, rows| {
            for n in scattered(rows).take(1_000) {
                assert!(table.get(keys(n)).await.unwrap().is_some());
            }
            1_000
        },
    );
    vec![cpu("CPU, ns per read", "rows of the table", &costs).because(1.6, CACHE)]
}

/// Each row is deleted immediately, so that the table keeps its size.
fn insert(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure(
        &ROWS,
        async |rows| filled(rows).1,
        async |table, rows| {
            for n in scattered(rows).take(1_000) {
                let mut new = order(n);
                new.number.push('a');
                table.insert(&new).await.unwrap();
                table.delete((new.customer, new.number)).await.unwrap();
            }
            1_000
        },
    );
    vec![cpu("CPU, ns per insert and delete", "rows of the table", &costs).because(1.6, CACHE)]
}

/// A partition of 100 rows, at any place.
fn page(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure(
        &ROWS,
        async |rows| filled(rows).1,
        async |table, rows| {
            let mut read = 0;
            for partition in scattered(rows / PARTITION).take(20) {
                let query = table.query().partition(format!("customer-{partition:07}"));
                read += query.all().await.unwrap().len();
            }
            read
        },
    );
    vec![cpu("CPU, ns per row", "rows of the table", &costs).because(1.6, CACHE)]
}

/// One thread serves a scan that selects no row, and point reads, which run when the scan yields.
fn beside_scan(sweep: &Sweep) -> Vec<Curve> {
    let mut curve = Vec::new();
    for &rows in sweep.sizes(&ROWS) {
        let median = sweep.block_on(async {
            let (_, table) = filled(rows);
            let scan = tokio::spawn({
                let table = table.clone();
                let none = Column::<Order, String>::property("Product").eq("none");
                async move {
                    loop {
                        let found = table.query().filter(none.clone()).count().await.unwrap();
                        assert_eq!(found, 0);
                        tokio::task::yield_now().await;
                    }
                }
            });
            tokio::time::sleep(Duration::from_millis(5)).await;
            let mut times = Vec::new();
            for n in scattered(rows).take(201) {
                let started = ThreadTime::now();
                // Like a request of another task, which waits for its turn.
                tokio::task::yield_now().await;
                table.get(keys(n)).await.unwrap();
                times.push(started.elapsed().as_nanos() as f64 / 1e3);
            }
            scan.abort();
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        curve.push((rows as f64, median));
    }
    vec![Curve::new(
        "median, µs of CPU",
        "rows of the table",
        curve,
        Bar::AtMost(1_000.0),
    )]
}

fn snapshot(sweep: &Sweep) -> Vec<Curve> {
    let setup = |rows| {
        let (emulator, _) = filled(rows);
        let snapshot = emulator.snapshot();
        let text = snapshot.to_string();
        (emulator, snapshot, text)
    };
    let taken = sweep.measure_sync(&COPIED, setup, |(emulator, ..), rows| {
        std::hint::black_box(emulator.snapshot());
        rows
    });
    let written = sweep.measure_sync(&COPIED, setup, |(_, snapshot, _), rows| {
        std::hint::black_box(snapshot.to_string());
        rows
    });
    let read = sweep.measure_sync(&COPIED, setup, |(emulator, _, text), rows| {
        emulator.restore(&text.parse::<EmulatorSnapshot>().unwrap()).unwrap();
        rows
    });
    vec![
        cpu("CPU to take it, ns per row", "rows of the table", &taken).because(4.0, COPY),
        cpu("CPU to write it, ns per row", "rows of the table", &written).because(1.6, COPY),
        cpu("CPU to read and restore it, ns per row", "rows of the table", &read),
    ]
}

/// Point reads over HTTP, one at a time per connection. Client and server are this process.
fn connections(sweep: &Sweep) -> Vec<Curve> {
    const READS: usize = 4_096;
    let costs = sweep.measure(
        &[1, 4, 16, 64, 256],
        async |_| {
            let emulator = filled(1_000).0;
            let server = EmulatorServer::bind(emulator, "127.0.0.1:0").await.unwrap().spawn();
            let service = TableServiceClient::from_connection_string(server.connection_string()).unwrap();
            let service = service.transport(HttpTransport::builder().build().unwrap());
            (server, service.table::<Order>("Things").unwrap())
        },
        async |(_, table), connections| {
            let reads = (0..READS).map(|n| table.get(keys(n % 1_000)));
            let mut reads = stream::iter(reads).buffer_unordered(connections);
            while let Some(read) = reads.next().await {
                assert!(read.unwrap().is_some());
            }
            READS
        },
    );
    let why = "buffers of both ends outgrow the processor's cache; instructions grow by 2 %";
    vec![cpu("CPU, ns per read", "connections", &costs).because(2.0, why)]
}
