//! The longest poll of each call that has much to do at once: the time for which it holds its thread.
//!
//! A canned transport answers at once, so that the client alone is measured. Time is the thread's CPU time, which other
//! programs on the machine do not add to.

use std::future::poll_fn;
use std::pin::pin;
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
    /// The bytes of the pages that it decodes.
    pub bytes: usize,
    /// It has no point at which it could yield, and says so in its documentation.
    pub is_synchronous: bool,
}

/// Measures each call.
///
/// # Panics
/// A call fails.
pub async fn holds() -> Vec<Hold> {
    let mut holds = Vec::new();
    for (call, body) in [
        ("page of 4 entities of 1 MiB", page(4, 16, 65_000)),
        ("page of 1,000 entities of 4 KiB", page(1_000, 4, 1_000)),
        ("page of 1,000 entities of 40 properties", page(1_000, 40, 60)),
    ] {
        let bytes = body.len();
        let table = table(Answer::Page(body, 1));
        let all = async { drop(table.query().all().await.unwrap()) };
        holds.push(polled(call, bytes, all).await);
    }
    let body = family_page();
    let (bytes, items) = (
        100 * body.len(),
        service(Answer::Page(body, 100)).table::<Item>("Items").unwrap(),
    );
    let gather = async {
        let (orders, _): (Families<Order, Line>, Option<Customer>) = items.query().gather().await.unwrap();
        assert_eq!(orders.iter().map(|(_, lines)| lines.len() + 1).sum::<usize>(), 100_000);
    };
    holds.push(polled("gather of 100,000 rows", bytes, gather).await);
    let all = async { assert_eq!(items.query().all().await.unwrap().len(), 100_000) };
    holds.push(polled("all of 100,000 rows", bytes, all).await);
    let table = table(Answer::Nothing);
    let (batch, encoding) = timed(|| batch(&table));
    holds.push(polled("batch of 4 MiB, sent", 0, async { drop(batch.submit().await) }).await);
    let keys = || (0..10_000).map(|n| (format!("partition {n}"), format!("row {n}")));
    let (many, get_many) = timed(|| table.get_many(keys()));
    holds.push(polled("get_many of 10,000 keys", 0, async { drop(many.all().await) }).await);
    let partitions = || (0..10_000).map(|n| format!("partition {n}"));
    let (parts, fan_out) = timed(|| table.query().fan_out().partitions(partitions()));
    let (_, plan) = timed(|| parts.plan().unwrap());
    let (mut rows, stream) = timed(|| parts.stream());
    let first = async { drop(rows.try_next().await) };
    holds.push(polled("fan_out of 10,000 partitions", 0, first).await);
    holds.extend(
        [
            ("encoding a batch of 4 MiB", encoding),
            ("building get_many of 10,000 keys", get_many),
            ("building a fan_out of 10,000 partitions", fan_out),
            ("plan of a fan_out of 10,000 partitions", plan),
            ("stream of a fan_out of 10,000 partitions", stream),
        ]
        .map(|(call, longest)| Hold {
            call,
            longest,
            is_synchronous: true,
            ..Hold::default()
        }),
    );
    holds
}

/// Measures each poll.
async fn polled(call: &'static str, bytes: usize, work: impl Future<Output = ()>) -> Hold {
    let mut work = pin!(work);
    let (mut longest, mut polls) = (Duration::ZERO, 0);
    poll_fn(|cx| {
        let (polled, time) = timed(|| work.as_mut().poll(cx));
        longest = longest.max(time);
        polls += 1;
        polled
    })
    .await;
    Hold {
        call,
        longest,
        polls,
        bytes,
        is_synchronous: false,
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = ThreadTime::now();
    let done = work();
    (done, begun.elapsed())
}

/// The response of the canned service.
#[derive(Clone, Debug)]
enum Answer {
    /// So many pages with this body.
    Page(Bytes, usize),
    Nothing,
}

impl Transport for Answer {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let answer = match self {
            Self::Page(body, pages) => {
                let query = request.uri().query().unwrap_or_default();
                let number = query.split("NextPartitionKey=").nth(1).map_or(1, |rest| {
                    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                    digits.parse().unwrap()
                });
                let answer = Response::builder().status(200);
                let answer = match number < *pages {
                    true => answer.header("x-ms-continuation-NextPartitionKey", (number + 1).to_string()),
                    false => answer,
                };
                answer.body(body.clone())
            }
            Self::Nothing => Response::builder().status(404).body(Bytes::new()),
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
