//! A bulk: its rows, their size, the share that exists, its batches in flight and its partitions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use azure_table::emulator::SeedEntities as _;
use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{DynamicEntity, Emulator, TableClient, TableOperation, TableServiceClient};
use bytes::Bytes;
use futures::stream;
use http::{Request, Response};

use crate::Dimension;
use crate::canned::Canned;
use crate::curve::{Bar, Curve, GROWTH};
use crate::measure::{Sweep, allocations, cpu, peak, points};
use crate::rows::{Order, PARTITION, order, order_in, wide_of};

pub(crate) const DIMENSIONS: [Dimension; 5] = [
    ("bulk: rows", rows),
    ("bulk: concurrency", concurrency),
    ("bulk: size of a row", row_size),
    ("bulk: existing rows", existing),
    ("bulk: partitions", partitions),
];

/// The documented memory of a bulk in KiB, and the largest operation.
const MEMORY: Bar = Bar::AtMost((64.0 + 1.0) * 1024.0);
/// The number of rows if something else grows.
const ROWS: usize = 100_000;

async fn table(_: usize) -> TableClient<Order> {
    Canned::default().table()
}

fn rows(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure(&[1_000, 10_000, 100_000, 1_000_000], table, async |table, rows| {
        let report = table.bulk().insert((0..rows).map(order)).await.unwrap();
        report.applied() as usize
    });
    vec![
        cpu("CPU, ns per row", "rows", &costs).because(1.35, "flat from 10,000 rows on: 1,000 are 10 batches"),
        allocations("allocations per row", "rows", &costs),
        peak("rows", &costs, MEMORY),
    ]
}

fn concurrency(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure(&[1, 4, 16, 64, 256], table, async |table, batches| {
        let bulk = table.bulk().concurrency(batches).partition_concurrency(batches);
        bulk.insert((0..ROWS).map(order)).await.unwrap().applied() as usize
    });
    vec![
        cpu("CPU, ns per row", "batches in flight", &costs)
            .because(1.35, "flat from 4 batches on: one alone has its memory in the cache"),
        allocations("allocations per row", "batches in flight", &costs),
        peak("batches in flight", &costs, MEMORY),
    ]
}

/// Rows of 100 bytes to 900 KB, 200 MB of them in all, or 100,000.
fn row_size(sweep: &Sweep) -> Vec<Curve> {
    const TOTAL: usize = 200_000_000;
    const SIZES: [usize; 5] = [100, 1_000, 10_000, 100_000, 900_000];
    let mut sent = Vec::new();
    let setup = async |bytes: usize| {
        let (properties, length) = (bytes.div_ceil(30_000), bytes.min(30_000));
        // The service counts two bytes for a character, and so does JSON for these.
        (Canned::default(), wide_of(properties, &"é".repeat(length / 2)))
    };
    let costs = sweep.measure(&SIZES, setup, async |(canned, row), bytes| {
        let table = canned.table::<DynamicEntity>();
        let rows = ROWS.min(TOTAL / bytes);
        let before = canned.sent();
        let operations = (0..rows).map(|n| {
            row.partition_key = (n / PARTITION).to_string();
            row.row_key = format!("{n:010}");
            TableOperation::insert(&*row)
        });
        let report = table.bulk().write(operations).await.unwrap();
        assert_eq!(report.applied() as usize, rows);
        let ratio = (canned.sent() - before) as f64 / (rows * bytes) as f64;
        sent.retain(|(size, _)| *size != bytes as f64);
        sent.push((bytes as f64, ratio));
        rows * bytes
    });
    sent.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    vec![
        cpu("CPU, ns per byte", "bytes of a row", &costs),
        peak("bytes of a row", &costs, MEMORY),
        Curve::new("bytes sent per byte", "bytes of a row", sent, Bar::Growth(GROWTH)),
    ]
}

/// Counts the bytes of all bodies.
#[derive(Clone, Debug)]
struct Counted {
    emulator: Emulator,
    sent: Arc<AtomicU64>,
    requests: Arc<AtomicU64>,
}

impl Transport for Counted {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        self.sent.fetch_add(request.body().len() as u64, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.emulator.send(request)
    }
}

/// Inserts of which a share exists: every n-th row, so that each batch has some.
fn existing(sweep: &Sweep) -> Vec<Curve> {
    const INSERTS: usize = 10_000;
    // The bytes sent and the requests.
    let insert = async |percent: usize| {
        let emulator = Emulator::new();
        let exists = |n: &usize| n * percent / 100 != (n + 1) * percent / 100;
        let stored = (0..INSERTS).filter(exists).map(order);
        emulator.seed("Things", stored).unwrap();
        // The table exists, even if no row does.
        let counted = Counted {
            emulator,
            sent: Arc::default(),
            requests: Arc::default(),
        };
        let service = TableServiceClient::from_transport(counted.clone());
        service.ensure_tables(["Things"]).await.unwrap();
        let table = service.table::<Order>("Things").unwrap();
        let write = table.bulk().max_failures(usize::MAX).insert((0..INSERTS).map(order));
        let report = write.await.unwrap();
        assert_eq!(report.rejected() as usize, INSERTS * percent / 100);
        let [sent, requests] = [&counted.sent, &counted.requests].map(|n| n.load(Ordering::Relaxed) as f64);
        (sent, requests)
    };
    let (least, _) = sweep.block_on(insert(0));
    let (mut sent, mut requests) = (Vec::new(), Vec::new());
    for percent in [1, 3, 10, 30, 100] {
        let (bytes, count) = sweep.block_on(insert(percent));
        let rejected = (INSERTS * percent / 100) as f64;
        sent.push((percent as f64, bytes / least));
        requests.push((percent as f64, count / rejected));
    }
    vec![
        Curve::new(
            "bytes sent per byte of rows",
            "% of the rows that exist",
            sent,
            Bar::AtMost(8.0),
        ),
        Curve::new(
            "requests per existing row",
            "% of the rows that exist",
            requests,
            Bar::Growth(GROWTH),
        ),
    ]
}

/// Rows whose partitions alternate.
///
/// 20,000 operations wait for their batch, so the batches of 200 partitions can fill.
fn partitions(sweep: &Sweep) -> Vec<Curve> {
    const SIZES: [usize; 5] = [1, 10, 100, 1_000, 10_000];
    let setup = async |_| Canned::default();
    let mut requests = Vec::new();
    let costs = sweep.measure(&SIZES, setup, async |canned, partitions| {
        let before = canned.requests();
        let operations = (0..ROWS).map(|n| TableOperation::insert(&order_in(n % partitions, n)));
        let write = canned.table::<Order>().bulk().write_stream(stream::iter(operations));
        assert_eq!(write.await.unwrap().applied() as usize, ROWS);
        requests.retain(|(size, _)| *size != partitions as f64);
        requests.push((
            partitions as f64,
            (canned.requests() - before) as f64 * 100.0 / ROWS as f64,
        ));
        ROWS
    });
    requests.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let why = "20,000 rows wait by default: 100 for each of 200 partitions, 2 for each of 10,000";
    vec![
        Curve::new(
            "CPU, ns per row",
            "partitions",
            points(&costs, |cost| cost.cpu),
            Bar::Explained(why),
        ),
        Curve::new("requests per 100 rows", "partitions", requests, Bar::Explained(why)),
        peak("partitions", &costs, MEMORY),
    ]
}
