//! Measures the longest poll of each expensive call: the time for which it blocks its thread.
//!
//! A canned transport responds immediately, so that only the client is measured. The time is the CPU time of the
//! thread, to which other programs on the machine do not add.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use azure_table::query::Families;
use azure_table::{DynamicEntity, TableBatch, TableClient, TableEntity, TableServiceClient};
use cpu_time::ThreadTime;

use crate::canned::{CONTOSO, Canned, Step};
use crate::intercept::Intercept;
use crate::scenario::rejection;

/// The longest time for which a call blocked its thread.
#[derive(Debug, Default)]
pub struct LongestPoll {
    /// The call.
    pub call: &'static str,
    /// Its longest poll, or its total time if it is not a future.
    pub longest: Duration,
    /// The number of its polls.
    pub polls: usize,
    /// The number of turns in which it works, and so the minimum number of polls.
    pub turns: usize,
    /// The call cannot yield, as its documentation states.
    pub is_synchronous: bool,
}

/// Measures each call.
///
/// # Panics
/// A call fails.
pub async fn longest_polls() -> Vec<LongestPoll> {
    let mut measured = Vec::new();
    for (call, rows, properties, length) in [
        ("page of 4 entities of 1 MiB", 4, 16, 65_000),
        ("page of 1,000 entities of 4 KiB", 1_000, 4, 1_000),
        ("page of 1,000 entities of 40 properties", 1_000, 40, 60),
    ] {
        let body = page(rows, properties, length);
        let turns = decode_turns(body.len(), rows, rows * properties);
        let table = of_pages(&body, 1).dynamic_table("Things").unwrap();
        polled(&mut measured, call, turns, table.query().all()).await.unwrap();
    }
    let body = family_page();
    let turns = decode_turns(100 * body.len(), 100_000, 100_000);
    let items = || of_pages(&body, 100).table::<Item>("Items").unwrap();
    let gather = items().query().gather();
    // Families join in turns of 1,024 rows.
    let turns_with_join = turns + 100_000 / 1_024;
    let (orders, _): (Families<Order, Line>, Option<Customer>) =
        polled(&mut measured, "gather of 100,000 rows", turns_with_join, gather)
            .await
            .unwrap();
    assert_eq!(orders.iter().map(|(_, lines)| lines.len() + 1).sum::<usize>(), 100_000);
    synchronous(&mut measured, "dropping the families of 100,000 rows", || drop(orders));
    let rows = polled(&mut measured, "all of 100,000 rows", turns, items().query().all()).await;
    assert_eq!(rows.unwrap().len(), 100_000);
    let table = empty_table();
    let batch = synchronous(&mut measured, "encoding a batch of 4 MiB", || batch(&table));
    let sent = polled(&mut measured, "batch of 4 MiB, sent", 0, batch.submit()).await;
    sent.unwrap_err();
    let keys = (0..10_000).map(|n| (format!("partition {n}"), format!("row {n}")));
    let many = synchronous(&mut measured, "building get_many of 10,000 keys", || {
        table.get_many(keys)
    });
    let found = polled(&mut measured, "get_many of 10,000 keys", 0, many.all()).await;
    assert_eq!(found.unwrap().len(), 10_000);
    let partitions = (0..10_000).map(|n| format!("partition {n}"));
    let parts = synchronous(&mut measured, "building a fan_out of 10,000 partitions", || {
        table.query().fan_out().partitions(partitions)
    });
    synchronous(&mut measured, "plan of a fan_out of 10,000 partitions", || {
        parts.plan().unwrap()
    });
    let mut rows = synchronous(&mut measured, "stream of a fan_out of 10,000 partitions", || {
        parts.stream()
    });
    let row = polled(&mut measured, "fan_out of 10,000 partitions", 0, rows.try_next()).await;
    assert_eq!(row.unwrap(), None);
    measured
}

/// Measures work that is not a future.
fn synchronous<T>(measured: &mut Vec<LongestPoll>, call: &'static str, work: impl FnOnce() -> T) -> T {
    let (done, longest) = timed(work);
    measured.push(LongestPoll {
        call,
        longest,
        is_synchronous: true,
        ..LongestPoll::default()
    });
    done
}

/// Measures each poll. The caller drops the output, outside of any poll.
async fn polled<W: IntoFuture>(
    measured: &mut Vec<LongestPoll>,
    call: &'static str,
    turns: usize,
    work: W,
) -> W::Output {
    let mut work = pin!(work.into_future());
    let mut poll = LongestPoll {
        call,
        turns,
        ..LongestPoll::default()
    };
    let done = poll_fn(|cx| {
        let (polled, time) = timed(|| work.as_mut().poll(cx));
        poll.longest = poll.longest.max(time);
        poll.polls += 1;
        polled
    })
    .await;
    measured.push(poll);
    done
}

/// Runs `work` on this thread, and returns its result and the CPU time that it took.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let started = ThreadTime::now();
    let done = work();
    (done, started.elapsed())
}

/// Returns the number of turns in which pages are decoded. A turn is 1,280 KiB, but at least one row; a row costs 128
/// bytes more, and a property 64.
fn decode_turns(bytes: usize, rows: usize, properties: usize) -> usize {
    let turns = (bytes + 128 * rows + 64 * properties) / (1_280 << 10);
    turns.min(rows)
}

/// A service with these pages. Nothing else refers to a body, as if it came from a connection.
fn of_pages(body: &str, pages: usize) -> TableServiceClient {
    let page = |left: usize| match left {
        0 => Step::response(200, &[], body),
        left => Step::response(200, &[("x-ms-continuation-NextPartitionKey", &left.to_string())], body),
    };
    Canned::new((0..pages).rev().map(page)).service()
}

/// A table without rows, on a service that records nothing.
fn empty_table() -> TableClient {
    let service = TableServiceClient::from_connection_string(CONTOSO).unwrap();
    let empty = Intercept::new(Canned::default(), |_, request| async move {
        match request.uri().path().ends_with("Things()") {
            true => Ok(http::Response::new(r#"{"value":[]}"#.into())),
            false => Ok(rejection(404, "ResourceNotFound")),
        }
    });
    service.transport(empty).dynamic_table("Things").unwrap()
}

fn page(rows: usize, properties: usize, length: usize) -> String {
    let text = "x".repeat(length);
    let properties: String = (0..properties).map(|n| format!(r#","Property{n}":"{text}""#)).collect();
    let row = |n| format!(r#"{{"PartitionKey":"p","RowKey":"{n:06}"{properties}}}"#);
    let rows: Vec<_> = (0..rows).map(row).collect();
    format!(r#"{{"value":[{}]}}"#, rows.join(","))
}

fn batch(table: &TableClient) -> TableBatch<DynamicEntity> {
    let text = "x".repeat(10_000);
    let mut batch = table.batch();
    for n in 0..100 {
        let mut row = DynamicEntity::new("p", n.to_string());
        for property in ["A", "B", "C", "D"] {
            row.insert(property, text.as_str());
        }
        batch.insert(&row).unwrap();
    }
    batch
}

#[derive(TableEntity, Debug)]
#[table(partition_key = "{customer}", row_key = "customer")]
struct Customer {
    customer: String,
}

#[derive(TableEntity, Debug)]
#[table(partition_key = "{customer}", row_key = "{order:06}")]
struct Order {
    customer: String,
    order: u32,
}

#[derive(TableEntity, Debug)]
#[table(partition_key = "{customer}", row_key = "{order:06}-{line:03}")]
struct Line {
    customer: String,
    order: u32,
    line: u32,
    item: String,
}

#[derive(TableEntity, Debug)]
#[table(tag = "Kind")]
enum Item {
    Customer(Customer),
    Order(Order),
    Line(Line),
}

/// Ten orders with 99 lines each, the same on each page.
fn family_page() -> String {
    let row = |n: usize| match (n / 100, n % 100) {
        (order, 0) => format!(r#"{{"PartitionKey":"c","RowKey":"{order:06}","Kind":"Order"}}"#),
        (order, line) => {
            format!(r#"{{"PartitionKey":"c","RowKey":"{order:06}-{line:03}","Kind":"Line","item":"tea and a cup"}}"#)
        }
    };
    let rows: Vec<_> = (0..1_000).map(row).collect();
    format!(r#"{{"value":[{}]}}"#, rows.join(","))
}
