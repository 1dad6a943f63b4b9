//! Filters: terms, depth, sets of keys, from the builder to the emulator's parser.

use azure_table::{Column, DynamicEntity, Emulator, Filter, TableClient, TableEntity, TableServiceClient};

use crate::Dimension;
use crate::canned::Canned;
use crate::curve::Curve;
use crate::measure::{Sweep, cpu, peak_per_unit};

pub(crate) const DIMENSIONS: [Dimension; 7] = [
    ("filters: terms built", build),
    ("filters: terms built from the left", build_from_left),
    ("filters: terms as text", text),
    ("filters: terms of a request", request),
    ("filters: terms parsed and evaluated", parse),
    ("filters: depth", depth),
    ("filters: keys of a plan", keys),
];

const TERMS: [usize; 4] = [10, 100, 1_000, 10_000];
/// The terms of a filter that is sent: the URL of a request has at most 65,534 characters.
const SENT: [usize; 4] = [10, 100, 1_000, 2_000];
/// The terms of a filter that the emulator evaluates.
const PARSED: [usize; 5] = [10, 30, 100, 300, 1_000];

fn rating(n: usize) -> Filter<DynamicEntity> {
    Column::<DynamicEntity, i32>::property("Rating").eq(n as i32)
}

fn any_of(terms: usize) -> Filter<DynamicEntity> {
    (0..terms).map(rating).reduce(|all, one| all | one).unwrap()
}

fn build(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure_sync(
        &TERMS,
        |_| (),
        |(), terms| {
            std::hint::black_box(any_of(terms));
            terms
        },
    );
    vec![
        cpu("CPU, ns per term", "terms", &costs),
        peak_per_unit("peak heap, bytes per term", "terms", &costs),
    ]
}

fn build_from_left(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure_sync(
        &TERMS,
        |_| (),
        |(), terms| {
            std::hint::black_box((0..terms).map(rating).reduce(|all, one| one | all));
            terms
        },
    );
    vec![cpu("CPU, ns per term", "terms", &costs)]
}

fn text(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure_sync(&TERMS, any_of, |filter, terms| {
        std::hint::black_box(filter.to_string());
        terms
    });
    vec![cpu("CPU, ns per term", "terms", &costs)]
}

/// A query whose filter becomes a signed request.
fn request(sweep: &Sweep) -> Vec<Curve> {
    let setup = async |terms| {
        let canned = Canned::default();
        canned.set_page(Vec::<DynamicEntity>::new());
        (canned.table::<DynamicEntity>(), any_of(terms))
    };
    let costs = sweep.measure(&SENT, setup, async |(table, filter), terms| {
        assert!(table.query().filter(filter.clone()).all().await.unwrap().is_empty());
        terms
    });
    vec![
        cpu("CPU, ns per term", "terms", &costs),
        peak_per_unit("peak heap, bytes per term", "terms", &costs),
    ]
}

/// The emulator parses the filter, and finds one row that does not match it.
fn parse(sweep: &Sweep) -> Vec<Curve> {
    let setup = async |terms| {
        let table = TableServiceClient::from_transport(Emulator::new())
            .dynamic_table("Things")
            .unwrap();
        table.create_table().await.unwrap();
        let mut row = DynamicEntity::new("p", "r");
        row.insert("Rating", -1_i32);
        table.insert(&row).await.unwrap();
        (table, any_of(terms))
    };
    let costs = sweep.measure(&PARSED, setup, async |(table, filter), terms| {
        assert!(table.query().filter(filter.clone()).all().await.unwrap().is_empty());
        terms
    });
    vec![
        cpu("CPU, ns per term", "terms", &costs),
        peak_per_unit("peak heap, bytes per term", "terms", &costs),
    ]
}

/// Alternating `and` and `or`, up to the limit of 100, on the emulator.
fn depth(sweep: &Sweep) -> Vec<Curve> {
    let setup = async |depth: usize| {
        let table = TableServiceClient::from_transport(Emulator::new())
            .dynamic_table("Things")
            .unwrap();
        table.create_table().await.unwrap();
        let nested = (1..depth).fold(rating(0), |inner, n| match n % 2 {
            0 => inner & rating(n),
            _ => inner | rating(n),
        });
        (table, nested)
    };
    let costs = sweep.measure(&[1, 3, 10, 30, 100], setup, async |(table, filter), depth| {
        assert!(table.query().filter(filter.clone()).all().await.unwrap().is_empty());
        depth
    });
    vec![
        cpu("CPU, ns per level", "depth", &costs),
        peak_per_unit("peak heap, bytes per level", "depth", &costs),
    ]
}

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
}

fn keys(sweep: &Sweep) -> Vec<Curve> {
    let setup = |_: usize| -> TableClient<Blog> { Canned::default().table() };
    let costs = sweep.measure_sync(&TERMS, setup, |table, keys| {
        let names = (0..keys).map(|n| format!("{n:06}"));
        let query = table.query().filter(Blog::CHANNEL.is_in(names) & Blog::ID.eq("1"));
        std::hint::black_box(query.plan().unwrap());
        keys
    });
    let parts = sweep.measure_sync(&TERMS, setup, |table, keys| {
        let names = (0..keys).map(|n| format!("{n:06}"));
        let query = table.query().filter(Blog::CHANNEL.is_in(names) & Blog::ID.eq("1"));
        assert_eq!(query.fan_out().plan().unwrap().requests(), keys);
        keys
    });
    vec![
        cpu("CPU of a query's plan, ns per key", "keys", &costs),
        cpu("CPU of a fan-out's plan, ns per key", "keys", &parts),
        peak_per_unit("peak heap of a query's plan, bytes per key", "keys", &costs),
    ]
}
