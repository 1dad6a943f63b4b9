//! Rows of a query: as a stream, as a `Vec`, collected by `gather`; its pages, its polls.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

use azure_table::query::Families;
use azure_table::{DynamicEntity, TableClient, TableEntity};
use cpu_time::ThreadTime;
use futures::Stream;

use crate::Dimension;
use crate::canned::Canned;
use crate::curve::{Bar, Curve, GROWTH};
use crate::measure::{Sweep, allocations, cpu, peak, peak_per_unit};
use crate::rows::{Order, order, wide};

pub(crate) const DIMENSIONS: [Dimension; 7] = [
    ("streams: rows", stream),
    ("streams: rows with prefetch", prefetch),
    ("streams: rows of all", all),
    ("streams: rows of gather", gather),
    ("streams: page size", page_size),
    ("streams: polls", polls),
    ("streams: longest poll", longest_poll),
];

/// The maximum number of rows of a page.
const PAGE: usize = 1_000;
const ROWS: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// The reason why stored rows cost more in large numbers.
const KEPT: &str = "all rows are kept: new memory, beyond the processor's cache";

async fn pages_of(rows: usize) -> (Canned, TableClient<Order>) {
    let canned = Canned::default();
    canned.set_page((0..rows.min(PAGE)).map(order));
    let table = canned.table();
    (canned, table)
}

async fn read(table: &TableClient<Order>, prefetch: usize) -> usize {
    let mut rows = table.query().prefetch(prefetch).stream();
    let mut read = 0;
    while rows.try_next().await.unwrap().is_some() {
        read += 1;
    }
    read
}

fn stream(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure(&ROWS, pages_of, async |(canned, table), rows| {
        canned.set_pages(rows / PAGE);
        read(table, 0).await
    });
    vec![
        cpu("CPU, ns per row", "rows", &costs),
        allocations("allocations per row", "rows", &costs),
        peak("rows", &costs, Bar::Growth(GROWTH)),
    ]
}

fn prefetch(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure(&ROWS, pages_of, async |(canned, table), rows| {
        canned.set_pages(rows / PAGE);
        read(table, 1).await
    });
    vec![
        cpu("CPU, ns per row", "rows", &costs),
        peak("rows", &costs, Bar::Growth(GROWTH)),
    ]
}

fn all(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure(&ROWS, pages_of, async |(canned, table), rows| {
        canned.set_pages(rows / PAGE);
        table.query().all().await.unwrap().len()
    });
    vec![
        cpu("CPU, ns per row", "rows", &costs).because(1.5, KEPT),
        peak_per_unit("peak heap, bytes per row", "rows", &costs),
    ]
}

#[derive(TableEntity, Clone, Debug)]
struct Parent {
    #[table(partition_key)]
    customer: String,
    #[table(row_key)]
    key: String,
    total: i64,
}

#[derive(TableEntity, Clone, Debug)]
struct Child {
    #[table(partition_key)]
    customer: String,
    #[table(row_key)]
    key: String,
}

#[derive(TableEntity, Clone, Debug)]
#[table(tag = "Kind")]
enum Item {
    Parent(Parent),
    Child(Child),
}

/// Parents with nine children each, one partition per page.
fn gather(sweep: &Sweep) -> Vec<Curve> {
    let setup = async |rows| {
        let canned = Canned::default();
        let item = |n: usize| {
            let customer = format!("{:06}", n / PAGE);
            let parent = format!("{:05}", n % PAGE / 10);
            match n % 10 {
                0 => Item::Parent(Parent {
                    customer,
                    key: parent,
                    total: 5,
                }),
                child => Item::Child(Child {
                    customer,
                    key: format!("{parent}-{child}"),
                }),
            }
        };
        for first in (0..rows).step_by(PAGE) {
            canned.add_page((first..first + PAGE).map(item));
        }
        let table = canned.table::<Item>();
        (canned, table)
    };
    let costs = sweep.measure(&ROWS, setup, async |(canned, table), rows| {
        canned.set_pages(rows / PAGE);
        let families: Families<Parent, Child> = table.query().gather().await.unwrap();
        families.iter().map(|(_, children)| children.len() + 1).sum()
    });
    vec![
        cpu("CPU, ns per row", "rows", &costs).because(2.0, KEPT),
        allocations("allocations per row", "rows", &costs),
        peak_per_unit("peak heap, bytes per row", "rows", &costs),
    ]
}

fn page_size(sweep: &Sweep) -> Vec<Curve> {
    let costs = sweep.measure(&[1, 10, 100, 1_000], pages_of, async |(canned, table), page| {
        canned.set_pages(20_000 / page);
        read(table, 0).await
    });
    vec![
        cpu("CPU, ns per row", "rows of a page", &costs),
        allocations("allocations per row", "rows of a page", &costs),
    ]
}

/// Returns the number of items and of polls, and the CPU time of the longest poll in nanoseconds.
async fn watch<S: Stream>(stream: S) -> (usize, usize, f64) {
    let mut stream = pin!(stream);
    let (mut items, mut polls, mut longest) = (0, 0, 0.0_f64);
    poll_fn(|cx| {
        loop {
            let started = ThreadTime::now();
            let polled = Pin::as_mut(&mut stream).poll_next(cx);
            longest = longest.max(started.elapsed().as_nanos() as f64);
            polls += 1;
            match polled {
                Poll::Ready(Some(_)) => items += 1,
                Poll::Ready(None) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    })
    .await;
    (items, polls, longest)
}

fn polls(sweep: &Sweep) -> Vec<Curve> {
    let mut curve = Vec::new();
    for rows in [1_000, 10_000, 100_000, 1_000_000] {
        let (items, polls, _) = sweep.block_on(async {
            let (canned, table) = pages_of(rows).await;
            canned.set_pages(rows / PAGE);
            watch(table.query().stream()).await
        });
        assert_eq!(items, rows);
        curve.push((rows as f64, polls as f64 / items as f64));
    }
    vec![Curve::new("polls per item", "rows", curve, Bar::AtMost(1.1))]
}

/// Pages up to the limit of 4 MiB, of rows with 8 strings of 500 characters.
fn longest_poll(sweep: &Sweep) -> Vec<Curve> {
    let mut curve = Vec::new();
    for rows in [10, 30, 100, 300, 960] {
        let mut least = f64::INFINITY;
        let mut bytes = 0;
        for _ in 0..9 {
            let longest = sweep.block_on(async {
                let canned = Canned::default();
                canned.set_page((0..rows).map(|_| wide(8, 500)));
                canned.set_pages(3);
                bytes = canned.page_bytes();
                watch(canned.table::<DynamicEntity>().query().stream()).await.2
            });
            least = least.min(longest);
        }
        curve.push((bytes as f64, least / 1e6));
    }
    vec![Curve::new(
        "longest poll, ms of CPU",
        "bytes of a page",
        curve,
        Bar::AtMost(5.0),
    )]
}
