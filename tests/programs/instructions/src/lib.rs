//! Operations of the client on a transport in the process, on one thread, for counters.
//!
//! Contains the entity, the prepared responses and the operations. `bin/operation.rs` runs one of them for callgrind,
//! `bin/allocations.rs` counts allocations, and `run` compares both with `counts.json`.

pub mod indexes;

use std::fmt::Write as _;

use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{DateTime, Guid, TableClient, TableEntity, TableServiceClient};
use bytes::Bytes;

/// The rows of a page: the maximum of the service.
const PAGE: usize = 1_000;
/// The operations of a batch: the maximum of the service.
const BATCH: usize = 100;
/// The most rows that an operation writes or reads by key.
const ORDERS: usize = 5_000;
const ETAG: &str = "W/\"datetime'2026-11-21T10%3A00%3A00.1234567Z'\"";

/// Ten properties: two of text, two Int32, two Int64, a double, a boolean, a date, a GUID.
#[derive(TableEntity, Clone, Debug)]
#[table(rename_all = "PascalCase")]
struct Order {
    #[table(partition_key)]
    customer: String,
    #[table(row_key)]
    number: String,
    product: String,
    note: String,
    quantity: i32,
    discount: i32,
    cents: i64,
    weight: i64,
    rating: f64,
    paid: bool,
    ordered: DateTime,
    id: Guid,
}

fn order(n: usize) -> Order {
    Order {
        customer: format!("customer-{:06}", n / BATCH),
        number: format!("{n:010}"),
        product: "a chair of oak with arms".to_owned(),
        note: format!("left at the door, parcel {n}"),
        quantity: 3,
        discount: 5,
        cents: 12_900 + n as i64,
        weight: 7_250_000_000,
        rating: 4.625,
        paid: n % 2 == 0,
        ordered: "2026-11-21T09:30:00Z".parse().expect("a time"),
        id: "c9da6455-213d-42c9-9a79-3e9149a57833".parse().expect("a GUID"),
    }
}

/// The number of the entity that a get receives.
const ENTITY: usize = 7;

fn row(n: usize) -> String {
    format!(
        r#"{{"PartitionKey":"customer-{:06}","RowKey":"{n:010}","Timestamp":"2026-11-21T10:00:00.1234567Z","Product":"a chair of oak with arms","Note":"left at the door, parcel {n}","Quantity":3,"Discount":5,"Cents@odata.type":"Edm.Int64","Cents":"12907","Weight@odata.type":"Edm.Int64","Weight":"7250000000","Rating":4.625,"Paid":true,"Ordered@odata.type":"Edm.DateTime","Ordered":"2026-11-21T09:30:00Z","Id@odata.type":"Edm.Guid","Id":"c9da6455-213d-42c9-9a79-3e9149a57833"}}"#,
        n / BATCH
    )
}

/// Responds at once, in the shape of the service's responses.
#[derive(Debug)]
struct Prepared {
    entity: Bytes,
    page: Bytes,
    batch: Bytes,
}

impl Prepared {
    fn new() -> Self {
        let rows: Vec<String> = (0..PAGE).map(row).collect();
        let mut batch =
            String::from("--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_1\r\n\r\n");
        for n in 0..BATCH {
            let entity =
                format!("https://acct.table.core.windows.net/Things(PartitionKey='customer-000123',RowKey='{n:010}')");
            let _ = write!(
                batch,
                "--changesetresponse_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
                 HTTP/1.1 204 No Content\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n\
                 Preference-Applied: return-no-content\r\nDataServiceVersion: 3.0;\r\n\
                 Location: {entity}\r\nDataServiceId: {entity}\r\nETag: {ETAG}\r\n\r\n\r\n",
            );
        }
        batch.push_str("--changesetresponse_1--\r\n--batchresponse_1--\r\n");
        Self {
            entity: row(ENTITY).into(),
            page: format!(r#"{{"value":[{}]}}"#, rows.join(",")).into(),
            batch: batch.into(),
        }
    }
}

impl Transport for Prepared {
    fn send(&self, request: http::Request<Bytes>) -> BoxFuture<'_, Result<http::Response<Bytes>, TransportError>> {
        let response = http::Response::builder()
            .header("Cache-Control", "no-cache")
            .header("Server", "Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0")
            .header("x-ms-request-id", "5c2c3c2e-8002-0058-1f9b-6a3d4f000000")
            .header("x-ms-version", "2019-02-02")
            .header("X-Content-Type-Options", "nosniff")
            .header("Date", "Sat, 21 Nov 2026 10:00:00 GMT");
        const JSON: &str = "application/json;odata=nometadata;streaming=true;charset=utf-8";
        let path = request.uri().path();
        let response = if path.ends_with("$batch") {
            let kind = "multipart/mixed; boundary=batchresponse_1";
            response
                .status(202)
                .header("Content-Type", kind)
                .body(self.batch.clone())
        } else if request.method() != http::Method::GET {
            response.status(204).header("ETag", ETAG).body(Bytes::new())
        } else if path.contains("RowKey=") {
            response
                .header("Content-Type", JSON)
                .header("ETag", ETAG)
                .body(self.entity.clone())
        } else {
            response
                .header("Content-Type", JSON)
                .header("x-ms-continuation-NextPartitionKey", "1!8!MDAwMDAx")
                .body(self.page.clone())
        };
        let response = response.expect("a response");
        Box::pin(async move { Ok(response) })
    }

    fn opens_connections(&self) -> bool {
        false
    }
}

/// An operation that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A point read.
    Get,
    /// An insert.
    Insert,
    /// A merge.
    Merge,
    /// A page of rows, taken whole.
    Page,
    /// The rows of a page, taken one by one.
    Rows,
    /// An entity group transaction of inserts.
    Batch,
    /// The inserts of a bulk, in the number of a batch.
    Bulk,
}

impl Operation {
    /// All of them, with their names and the rows of one.
    pub const ALL: [(&str, Self, usize); 7] = [
        ("get", Self::Get, 1),
        ("insert", Self::Insert, 1),
        ("merge", Self::Merge, 1),
        ("page", Self::Page, PAGE),
        ("rows", Self::Rows, PAGE),
        ("batch", Self::Batch, BATCH),
        ("bulk", Self::Bulk, BATCH),
    ];
}

/// A client on prepared responses, with its entities.
pub struct Client {
    table: TableClient<Order>,
    orders: Vec<Order>,
    runtime: tokio::runtime::Runtime,
}

impl Client {
    /// Creates the client. Nothing is sent. Random numbers on this thread are the same each time.
    pub fn new() -> Self {
        fastrand::seed(7);
        let settings = "DefaultEndpointsProtocol=https;AccountName=acct;EndpointSuffix=core.windows.net;\
            AccountKey=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==";
        let service = TableServiceClient::from_connection_string(settings).expect("a connection string");
        let service = service.transport(Prepared::new());
        let table: TableClient<Order> = service.table("Things").expect("a name of a table");
        Self {
            table,
            orders: (0..ORDERS).map(order).collect(),
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .expect("a runtime"),
        }
    }

    /// Executes the operation this many times, one after the other.
    pub fn run(&self, operation: Operation, times: usize) {
        self.runtime.block_on(operation.run(&self.table, times, &self.orders));
    }
}

impl Operation {
    async fn run(self, table: &TableClient<Order>, times: usize, orders: &[Order]) {
        match self {
            Self::Get => {
                // The transport has one entity.
                let Order { customer, number, .. } = &orders[ENTITY];
                for _ in 0..times {
                    let order = table.get((customer, number)).await.expect("a response");
                    assert_eq!(order.expect("a row").discount, 5);
                }
            }
            Self::Insert => {
                for order in &orders[..times] {
                    table.insert(order).await.expect("a response");
                }
            }
            Self::Merge => {
                for order in &orders[..times] {
                    table.merge(order).await.expect("a response");
                }
            }
            Self::Page => {
                let mut pages = table.query().allow_table_scan().pages();
                for _ in 0..times {
                    let page = pages.try_next().await.expect("a response").expect("a page");
                    for order in page.into_items() {
                        assert_eq!(order.discount, 5);
                    }
                }
            }
            Self::Rows => {
                let mut rows = table.query().allow_table_scan().limit(times * PAGE).stream();
                while let Some(order) = rows.try_next().await.expect("a response") {
                    assert_eq!(order.discount, 5);
                }
            }
            Self::Batch => {
                for orders in orders[..times * BATCH].chunks(BATCH) {
                    let mut batch = table.batch();
                    for order in orders {
                        batch.insert(order).expect("an order");
                    }
                    assert_eq!(batch.submit().await.expect("a response").len(), BATCH);
                }
            }
            Self::Bulk => {
                let orders = &orders[..times * BATCH];
                let report = table.bulk().concurrency(8).insert(orders).await.expect("a response");
                assert_eq!(report.applied() as usize, orders.len());
            }
        }
    }
}
