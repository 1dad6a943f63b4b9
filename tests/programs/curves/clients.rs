//! Clients: their number, their observers, and the errors of a bulk.

use azure_table::emulator::SeedEntities as _;
use azure_table::telemetry::{Event, Observer};
use azure_table::{Emulator, TableClient, TableServiceClient};
use azure_table_tests::canned::CONTOSO;

use crate::Dimension;
use crate::canned::Canned;
use crate::curve::{Bar, Curve};
use crate::measure::{Sweep, allocations, cpu, peak_per_unit};
use crate::rows::{Order, order};

pub(crate) const DIMENSIONS: [Dimension; 6] = [
    ("clients: of a service", services),
    ("clients: of a service with HTTP", http_services),
    ("clients: of a table", tables),
    ("clients: clones", clones),
    ("clients: observers", observers),
    ("clients: failures of a bulk", failures),
];

const CLIENTS: [usize; 4] = [10, 100, 1_000, 10_000];
/// The reason why stored clients cost more in large numbers.
const KEPT: &str = "all clients are kept: new memory, beyond the processor's cache";

fn services(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure_sync(
        &CLIENTS,
        |_| (),
        |(), clients| {
            let all: Vec<_> = (0..clients).map(|_| Canned::default().service()).collect();
            all.len()
        },
    );
    vec![
        cpu("CPU, ns per client", "clients", &costs).because(2.0, KEPT),
        peak_per_unit("bytes per client", "clients", &costs),
    ]
}

/// With a default transport each, which has TLS settings and a pool.
fn http_services(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure_sync(
        &[1, 10, 100, 1_000],
        |_| (),
        |(), clients| {
            let all = (0..clients).map(|_| TableServiceClient::from_connection_string(CONTOSO).unwrap());
            all.collect::<Vec<_>>().len()
        },
    );
    vec![
        cpu("CPU, ns per client", "clients", &costs).because(2.0, KEPT),
        peak_per_unit("bytes per client", "clients", &costs),
    ]
}

fn tables(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure_sync(
        &CLIENTS,
        |_| Canned::default().service(),
        |service, clients| {
            let all: Vec<TableClient<Order>> = (0..clients).map(|_| service.table("Things").unwrap()).collect();
            all.len()
        },
    );
    vec![
        cpu("CPU, ns per client", "clients", &costs),
        peak_per_unit("bytes per client", "clients", &costs),
    ]
}

fn clones(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure_sync(
        &CLIENTS,
        |_| Canned::default().table::<Order>(),
        |table, clients| {
            let all: Vec<_> = (0..clients).map(|_| table.clone()).collect();
            all.len()
        },
    );
    vec![
        cpu("CPU, ns per clone", "clones", &costs),
        peak_per_unit("bytes per clone", "clones", &costs),
    ]
}

#[derive(Debug)]
struct Counter;

impl Observer for Counter {
    fn on_event(&self, event: &Event<'_>) {
        std::hint::black_box(event);
    }
}

fn observers(sweep: &Sweep) -> Vec<Curve> {
    let setup = async |observers| {
        let canned = Canned::default();
        canned.set_entity(&order(1));
        let service = (0..observers).fold(canned.service(), |service, _| service.observer(Counter));
        service.table::<Order>("Things").unwrap()
    };
    let costs = sweep.measure(&[1, 3, 10, 30, 100], setup, async |table, _| {
        for _ in 0..100 {
            table.get(("customer-0000000", "0000000001")).await.unwrap();
        }
        100
    });
    let per_call = Curve::new(
        "CPU of a get, ns",
        "observers",
        costs.iter().map(|cost| (cost.size as f64, cost.cpu)).collect(),
        Bar::GrowthBecause(3.0, "each observer receives each event"),
    );
    vec![per_call, allocations("allocations of a get", "observers", &costs)]
}

/// Rows that already exist, each a failure; the bulk continues up to its limit.
fn failures(sweep: &Sweep) -> Vec<Curve> {
    let (mut display, mut debug) = (Vec::new(), Vec::new());
    for failures in [1, 10, 100, 1_000, 10_000] {
        let emulator = Emulator::new();
        emulator.seed("Things", (0..failures).map(order)).unwrap();
        let table = TableServiceClient::from_transport(emulator)
            .table::<Order>("Things")
            .unwrap();
        let bulk = table.bulk().max_failures(failures - 1).partition_concurrency(1);
        let interrupted = sweep.block_on(bulk.insert((0..failures).map(order)).into_future());
        let interrupted = interrupted.unwrap_err();
        display.push((failures as f64, interrupted.to_string().len() as f64));
        debug.push((failures as f64, format!("{interrupted:?}").len() as f64));
    }
    vec![
        Curve::new("characters of Display", "failures", display, Bar::AtMost(1_024.0)),
        Curve::new("characters of Debug", "failures", debug, Bar::AtMost(8_192.0)),
    ]
}
