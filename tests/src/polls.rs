//! The longest poll of each call that has much to do at once: the time for which it holds its thread.
//!
//! A canned transport answers at once, so that the client alone is measured. Time is the thread's CPU time, which other
//! programs on the machine do not add to.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::query::Families;
use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{DynamicEntity, TableBatch, TableClient, TableEntity, TableServiceClient};
use bytes::Bytes;
use cpu_time::ThreadTime;
use http::{Request, Response};

use crate::canned::CONTOSO;

/// The longest time that a call held its thread.
#[derive(Debug, Default)]
pub struct Hold {
    /// The call.
    pub call: &'static str,
    /// Its longest poll, or its time if it is no future.
    pub longest: Duration,
    /// The number of its polls.
    pub polls: usize,
    /// The number of turns in which it does its work, and so the least number of polls.
    pub turns: usize,
    /// It has no point at which it could yield, and says so in its documentation.
    pub is_synchronous: bool,
}

/// Measures each call.
///
/// # Panics
/// A call fails.
pub async fn holds() -> Vec<Hold> {
    let mut holds = Vec::new();
    for (call, rows, properties, length) in [
        ("page of 4 entities of 1 MiB", 4, 16, 65_000),
        ("page of 1,000 entities of 4 KiB", 1_000, 4, 1_000),
        ("page of 1,000 entities of 40 properties", 1_000, 40, 60),
    ] {
        let body = page(rows, properties, length);
        let turns = decode_turns(body.len(), rows, rows * properties);
        let table = table(Answer::of_pages(&body, 1));
        polled(&mut holds, call, turns, table.query().all()).await.unwrap();
    }
    let body = family_page();
    let turns = decode_turns(100 * body.len(), 100_000, 100_000);
    let items = || service(Answer::of_pages(&body, 100)).table::<Item>("Items").unwrap();
    let gather = items().query().gather();
    // Families join in turns of 1,024 rows.
    let turns_with_join = turns + 100_000 / 1_024;
    let (orders, _): (Families<Order, Line>, Option<Customer>) =
        polled(&mut holds, "gather of 100,000 rows", turns_with_join, gather)
            .await
            .unwrap();
    assert_eq!(orders.iter().map(|(_, lines)| lines.len() + 1).sum::<usize>(), 100_000);
    synchronous(&mut holds, "dropping the families of 100,000 rows", || drop(orders));
    let rows = polled(&mut holds, "all of 100,000 rows", turns, items().query().all()).await;
    assert_eq!(rows.unwrap().len(), 100_000);
    let table = table(Answer::Nothing);
    let batch = synchronous(&mut holds, "encoding a batch of 4 MiB", || batch(&table));
    let sent = polled(&mut holds, "batch of 4 MiB, sent", 0, batch.submit()).await;
    sent.unwrap_err();
    let keys = (0..10_000).map(|n| (format!("partition {n}"), format!("row {n}")));
    let many = synchronous(&mut holds, "building get_many of 10,000 keys", || table.get_many(keys));
    let found = polled(&mut holds, "get_many of 10,000 keys", 0, many.all()).await;
    assert_eq!(found.unwrap().len(), 10_000);
    let partitions = (0..10_000).map(|n| format!("partition {n}"));
    let parts = synchronous(&mut holds, "building a fan_out of 10,000 partitions", || {
        table.query().fan_out().partitions(partitions)
    });
    synchronous(&mut holds, "plan of a fan_out of 10,000 partitions", || {
        parts.plan().unwrap()
    });
    let mut rows = synchronous(&mut holds, "stream of a fan_out of 10,000 partitions", || {
        parts.stream()
    });
    let row = polled(&mut holds, "fan_out of 10,000 partitions", 0, rows.try_next()).await;
    assert_eq!(row.unwrap(), None);
    holds
}

/// Measures work that is no future.
fn synchronous<T>(holds: &mut Vec<Hold>, call: &'static str, work: impl FnOnce() -> T) -> T {
    let (done, longest) = timed(work);
    holds.push(Hold {
        call,
        longest,
        is_synchronous: true,
        ..Hold::default()
    });
    done
}

/// Measures each poll. The output is dropped by its owner: in no poll.
async fn polled<W: IntoFuture>(holds: &mut Vec<Hold>, call: &'static str, turns: usize, work: W) -> W::Output {
    let mut work = pin!(work.into_future());
    let mut hold = Hold {
        call,
        turns,
        ..Hold::default()
    };
    let done = poll_fn(|cx| {
        let (polled, time) = timed(|| work.as_mut().poll(cx));
        hold.longest = hold.longest.max(time);
        hold.polls += 1;
        polled
    })
    .await;
    holds.push(hold);
    done
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = ThreadTime::now();
    let done = work();
    (done, begun.elapsed())
}

/// Returns the number of turns in which pages are decoded. A turn is 1,280 KiB, but at least one row; a row costs 128
/// bytes more, and a property 64.
fn decode_turns(bytes: usize, rows: usize, properties: usize) -> usize {
    let turns = (bytes + 128 * rows + 64 * properties) / (1_280 << 10);
    turns.min(rows)
}

/// The responses of the canned service.
#[derive(Clone, Debug)]
enum Answer {
    /// The pages with these bodies. Nobody else holds a body, as if it had come from a connection.
    Pages(Arc<Mutex<Vec<Bytes>>>),
    /// No row.
    Nothing,
}

impl Answer {
    fn of_pages(body: &Bytes, pages: usize) -> Self {
        let body = || Bytes::from(body.to_vec());
        Self::Pages(Arc::new(Mutex::new((0..pages).map(|_| body()).collect())))
    }
}

impl Transport for Answer {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let answer = match self {
            Self::Pages(bodies) => {
                let mut bodies = bodies.lock().unwrap();
                let body = bodies.pop().unwrap();
                let answer = Response::builder().status(200);
                let answer = match bodies.len() {
                    0 => answer,
                    left => answer.header("x-ms-continuation-NextPartitionKey", left.to_string()),
                };
                answer.body(body)
            }
            Self::Nothing if request.uri().path().ends_with("Things()") => {
                let page = Bytes::from_static(br#"{"value":[]}"#);
                Response::builder().status(200).body(page)
            }
            Self::Nothing => {
                let answer = Response::builder().status(404);
                answer.header("x-ms-error-code", "ResourceNotFound").body(Bytes::new())
            }
        };
        Box::pin(async { Ok(answer.unwrap()) })
    }
}

fn service(answer: Answer) -> TableServiceClient {
    TableServiceClient::from_connection_string(CONTOSO)
        .unwrap()
        .transport(answer)
}

fn table(answer: Answer) -> TableClient {
    service(answer).dynamic_table("Things").unwrap()
}

fn page(rows: usize, properties: usize, length: usize) -> Bytes {
    let text = "x".repeat(length);
    let properties: String = (0..properties).map(|n| format!(r#","Property{n}":"{text}""#)).collect();
    let rows: Vec<_> = (0..rows)
        .map(|n| format!(r#"{{"PartitionKey":"p","RowKey":"{n:06}"{properties}}}"#))
        .collect();
    Bytes::from(format!(r#"{{"value":[{}]}}"#, rows.join(",")))
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
fn family_page() -> Bytes {
    let row = |n: usize| match (n / 100, n % 100) {
        (order, 0) => format!(r#"{{"PartitionKey":"c","RowKey":"{order:06}","Kind":"Order"}}"#),
        (order, line) => {
            format!(r#"{{"PartitionKey":"c","RowKey":"{order:06}-{line:03}","Kind":"Line","item":"tea and a cup"}}"#)
        }
    };
    let rows: Vec<_> = (0..1_000).map(row).collect();
    Bytes::from(format!(r#"{{"value":[{}]}}"#, rows.join(",")))
}
