//! Many keys, many parts, many names: `get_many`, `fan_out`, `ensure_tables`.

use azure_table::{Column, DynamicEntity, Filter, Key, KeyPrefix, TableClient};

use crate::Dimension;
use crate::canned::Canned;
use crate::curve::{Bar, Curve, GROWTH};
use crate::measure::{Sweep, allocations, cpu, peak_per_unit, points};
use crate::rows::{Order, order};

pub(crate) const DIMENSIONS: [Dimension; 6] = [
    ("reads: keys of get_many", keys),
    ("reads: get_many in flight", in_flight),
    ("reads: parts of fan_out", parts),
    ("reads: terms beside parts", terms),
    ("reads: ranges that may overlap", ranges),
    ("reads: names of ensure_tables", names),
];

async fn table(_: usize) -> TableClient<Order> {
    let canned = Canned::default();
    canned.set_entity(&order(1));
    canned.table()
}

fn key(n: usize) -> Key<Order> {
    Key::from_text("customer-0000001", format!("{n:010}")).unwrap()
}

async fn get_many(table: &TableClient<Order>, keys: usize, concurrency: usize) -> usize {
    let mut reads = table.get_many((0..keys).map(key)).concurrency(concurrency);
    let mut found = 0;
    while let Some((_, entity)) = reads.try_next().await.unwrap() {
        found += usize::from(entity.is_some());
    }
    found
}

fn keys(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure(&[100, 1_000, 10_000, 100_000], table, async |table, keys| {
        get_many(table, keys, 16).await
    });
    vec![
        cpu("CPU, ns per key", "keys", &costs),
        allocations("allocations per key", "keys", &costs),
        peak_per_unit("peak heap, bytes per key", "keys", &costs),
    ]
}

fn in_flight(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure(&[16, 100, 1_000, 10_000], table, async |table, concurrency| {
        get_many(table, 20_000, concurrency).await
    });
    let why = "the calls in flight outgrow the processor's cache; instructions grow by 3 %";
    let peak = points(&costs, |cost| cost.peak / cost.size as f64);
    vec![
        cpu("CPU, ns per key", "in flight", &costs).because(2.5, why),
        allocations("allocations per key", "in flight", &costs),
        Curve::new(
            "peak heap, bytes per call in flight",
            "in flight",
            peak,
            Bar::Growth(GROWTH),
        ),
    ]
}

/// Returns a filter with this many comparisons.
fn comparisons(terms: usize) -> Filter<DynamicEntity> {
    let column = Column::<DynamicEntity, i32>::property("Rating");
    let each = (0..terms).map(|n| column.ne(n as i32));
    each.reduce(|all, one| all & one).unwrap()
}

async fn fan_out(table: &TableClient, parts: usize, filter: Filter<DynamicEntity>) {
    let partitions = (0..parts).map(|n| format!("{n:06}"));
    let query = table.query().filter(filter).fan_out().partitions(partitions);
    let mut rows = query.stream();
    while rows.try_next().await.unwrap().is_some() {}
}

async fn empty(_: usize) -> TableClient {
    let canned = Canned::default();
    canned.set_page(Vec::<DynamicEntity>::new());
    canned.table()
}

fn parts(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure(&[100, 1_000, 10_000, 100_000], empty, async |table, parts| {
        fan_out(table, parts, comparisons(10)).await;
        parts
    });
    vec![
        cpu("CPU, ns per part", "parts", &costs),
        allocations("allocations per part", "parts", &costs),
        peak_per_unit("peak heap, bytes per part", "parts", &costs),
    ]
}

/// 1,000 parts, each with a request that contains the text of all terms.
fn terms(sweep: &Sweep) -> Vec<Curve> {
    const PARTS: usize = 1_000;
    let costs = sweep.measure(&[10, 30, 100, 300, 1_000], empty, async |table, terms| {
        fan_out(table, PARTS, comparisons(terms)).await;
        PARTS * terms
    });
    vec![
        cpu("CPU, ns per part and term", "terms", &costs),
        peak_per_unit("peak heap, bytes per part and term", "terms", &costs),
    ]
}

fn ranges(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure(&[100, 1_000, 10_000, 50_000], empty, async |table, ranges| {
        let prefixes = (0..ranges).map(|n| KeyPrefix::from_text(format!("{n:06}"), "a").unwrap());
        let plan = table.query().fan_out().each_prefix(prefixes).plan().unwrap();
        assert_eq!(plan.requests(), ranges);
        ranges
    });
    vec![
        cpu("CPU, ns per range", "ranges", &costs),
        peak_per_unit("peak heap, bytes per range", "ranges", &costs),
    ]
}

fn names(sweep: &Sweep) -> Vec<Curve> {
    let setup = async |names: usize| {
        let service = Canned::default().service();
        (service, (0..names).map(|n| format!("Table{n}")).collect::<Vec<_>>())
    };
    let costs = sweep.measure(&[10, 100, 1_000, 10_000], setup, async |(service, names), _| {
        service.ensure_tables(&*names).await.unwrap().len()
    });
    vec![
        cpu("CPU, ns per name", "names", &costs),
        allocations("allocations per name", "names", &costs),
    ]
}
