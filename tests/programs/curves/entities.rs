//! One entity: its properties, the length of a string, and the bytes of a page.

use azure_table::{DynamicEntity, TableClient, TableOperation};

use crate::Dimension;
use crate::canned::Canned;
use crate::curve::Curve;
use crate::measure::{Sweep, allocations, cpu, peak_per_unit};
use crate::rows::wide;

pub(crate) const DIMENSIONS: [Dimension; 5] = [
    ("entities: properties written", encode_properties),
    ("entities: properties read", decode_properties),
    ("entities: string written", encode_string),
    ("entities: string read", decode_string),
    ("entities: bytes of a page", page),
];

const PROPERTIES: [usize; 5] = [1, 4, 16, 64, 252];
const LENGTHS: [usize; 5] = [10, 100, 1_000, 10_000, 32_000];

fn encode_properties(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure_sync(
        &PROPERTIES,
        |properties| wide(properties, 10),
        |row, properties| {
            drop(std::hint::black_box(TableOperation::insert(row)));
            properties
        },
    );
    vec![
        cpu("CPU, ns per property", "properties", &costs),
        allocations("allocations per property", "properties", &costs),
    ]
}

fn encode_string(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure_sync(
        &LENGTHS,
        |length| wide(1, length),
        |row, length| {
            drop(std::hint::black_box(TableOperation::insert(row)));
            length
        },
    );
    vec![
        cpu("CPU, ns per byte", "bytes of a string", &costs),
        peak_per_unit("peak heap, bytes per byte", "bytes of a string", &costs),
    ]
}

/// Returns a table whose page has this many rows.
async fn page_of(rows: usize, row: DynamicEntity) -> (TableClient, usize) {
    let canned = Canned::default();
    canned.set_page((0..rows).map(|_| row.clone()));
    (canned.table(), canned.page_bytes())
}

fn decode_properties(sweep: &Sweep) -> Vec<Curve> {
    let rows = |properties: usize| 2_520 / properties;
    let setup = async |properties| page_of(rows(properties).min(1_000), wide(properties, 10)).await;
    let costs = sweep.measure(&PROPERTIES, setup, async |(table, _), properties| {
        table.query().all().await.unwrap().len() * properties
    });
    vec![
        cpu("CPU, ns per property", "properties", &costs),
        allocations("allocations per property", "properties", &costs),
    ]
}

fn decode_string(sweep: &Sweep) -> Vec<Curve> {
    let rows = |length: usize| (2_000_000 / length).min(1_000);
    let setup = async |length| page_of(rows(length), wide(1, length)).await;
    let costs = sweep.measure(&LENGTHS, setup, async |(table, _), length| {
        table.query().all().await.unwrap().len() * length
    });
    vec![
        cpu("CPU, ns per byte", "bytes of a string", &costs),
        peak_per_unit("peak heap, bytes per byte", "bytes of a string", &costs),
    ]
}

/// 1 to 990 rows of 4 KB each.
fn page(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure(
        &[4_200, 42_000, 420_000, 4_158_000],
        async |bytes| page_of(bytes / 4_200, wide(40, 80)).await,
        async |(table, bytes), _| {
            assert!(!table.query().all().await.unwrap().is_empty());
            *bytes
        },
    );
    vec![
        cpu("CPU, ns per byte", "bytes of a page", &costs),
        peak_per_unit("peak heap, bytes per byte", "bytes of a page", &costs),
    ]
}
