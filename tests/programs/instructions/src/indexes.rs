//! Writes with declared indexes against the same batches by hand, and a query by a covering index against a plain range
//! of the same rows.

use std::fmt::Write as _;

use azure_table::index::IndexRow;
use azure_table::key::Escaped;
use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{Key, TableClient, TableEntity, TableServiceClient};
use azure_table_patterns::Indexed;
use bytes::Bytes;

use crate::{ETAG, PAGE};

macro_rules! order {
    ($name:ident $(, $($index:tt)+)?) => {
        #[derive(TableEntity, Clone, Debug)]
        $(#[table($($index)+)])?
        struct $name {
            #[table(partition_key)]
            customer: String,
            #[table(row_key)]
            number: String,
            product: String,
            city: String,
            quantity: i32,
            cents: i64,
            note: String,
        }
    };
}

/// Entities that are written.
macro_rules! written {
    ($($name:ident)+) => {$(
        impl $name {
            fn new(n: usize) -> Self {
                Self {
                    customer: "customer-000123".to_owned(),
                    number: format!("{n:010}"),
                    product: "a chair of oak".to_owned(),
                    city: "Zürich".to_owned(),
                    quantity: 3,
                    cents: 12_900 + n as i64,
                    note: format!("left at the door, parcel {n}"),
                }
            }
        }
    )+};
}

order!(Plain);
order!(One, index(by_city = (city)));
order!(Two, index(by_city = (city)), index(by_product = (product, cents)));
order!(
    Three,
    index(by_city = (city)),
    index(by_product = (product, cents)),
    index(by_note = (note), unique)
);
order!(Covering, index(by_town = (city), covers));
written!(Plain One Two Three);

/// The index rows by hand.
#[derive(TableEntity)]
#[table(row_key = "by_city {city} {number}")]
struct ByCity {
    #[table(partition_key)]
    customer: String,
    city: Escaped<String>,
    number: String,
}

#[derive(TableEntity)]
#[table(row_key = "by_product {product} {cents} {number}")]
struct ByProduct {
    #[table(partition_key)]
    customer: String,
    product: Escaped<String>,
    cents: Escaped<i64>,
    number: String,
}

#[derive(TableEntity)]
#[table(row_key = "by_note {note}")]
struct ByNote {
    #[table(partition_key)]
    customer: String,
    note: Escaped<String>,
    number: String,
}

/// The rows of the covering index by hand.
#[derive(TableEntity)]
#[table(row_key = "$ix;by_town {city} {number}")]
struct ByTown {
    #[table(partition_key)]
    customer: String,
    city: Escaped<String>,
    number: String,
    product: String,
    quantity: i32,
    cents: i64,
    note: String,
}

/// Responds to batches of any length, to queries with a full page, and to the query of the states.
#[derive(Debug)]
struct Prepared {
    states: Bytes,
    plain: Bytes,
    covering: Bytes,
}

impl Prepared {
    fn new() -> Self {
        let page = |row: &dyn Fn(usize) -> String| {
            let rows: Vec<String> = (0..PAGE).map(row).collect();
            Bytes::from(format!(r#"{{"value":[{}]}}"#, rows.join(",")))
        };
        let rest = |n: usize| {
            format!(
                r#""Timestamp":"2026-11-21T10:00:00.1234567Z","product":"a chair of oak","quantity":3,"cents@odata.type":"Edm.Int64","cents":"{n}","note":"left at the door, parcel {n}"}}"#
            )
        };
        let covering = |n: usize| {
            let row_key = format!("$ix;by_town Zürich {n:010}");
            format!(r#"{{"PartitionKey":"customer-000123","RowKey":"{row_key}",{}"#, rest(n))
        };
        let plain = |n: usize| {
            format!(
                r#"{{"PartitionKey":"customer-000123","RowKey":"{n:010}","city":"Zürich",{}"#,
                rest(n)
            )
        };
        let declaration = CoveringByTown::INDEX.to_string();
        let state = format!(
            r#"{{"PartitionKey":"$indexes","RowKey":"$ix;by_town","Timestamp":"2026-11-21T10:00:00.1234567Z","Declaration":"{declaration}","IsReady":true,"IsRemoved":false}}"#
        );
        Self {
            states: format!(r#"{{"value":[{state}]}}"#).into(),
            plain: page(&plain),
            covering: page(&covering),
        }
    }

    /// Returns the response to a batch with this number of operations.
    fn batch(operations: usize) -> Bytes {
        let mut batch =
            String::from("--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_1\r\n\r\n");
        for n in 0..operations {
            let entity = format!("https://acct.table.core.windows.net/Things(PartitionKey='c',RowKey='{n:010}')");
            let _ = write!(
                batch,
                "--changesetresponse_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
                 HTTP/1.1 204 No Content\r\nDataServiceVersion: 3.0;\r\nLocation: {entity}\r\nDataServiceId: {entity}\r\n\
                 ETag: {ETAG}\r\n\r\n\r\n",
            );
        }
        batch.push_str("--changesetresponse_1--\r\n--batchresponse_1--\r\n");
        batch.into()
    }
}

impl Transport for Prepared {
    fn send(&self, request: http::Request<Bytes>) -> BoxFuture<'_, Result<http::Response<Bytes>, TransportError>> {
        let response = http::Response::builder().header("x-ms-version", "2019-02-02");
        let response = if request.uri().path().ends_with("$batch") {
            let body = String::from_utf8_lossy(request.body());
            let kind = "multipart/mixed; boundary=batchresponse_1";
            let batch = Self::batch(body.matches("Content-Type: application/http").count());
            response.status(202).header("Content-Type", kind).body(batch)
        } else if request.method() == http::Method::POST {
            // The state of an index.
            response.status(204).header("ETag", ETAG).body(Bytes::new())
        } else {
            let query = request.uri().query().unwrap_or_default();
            let page = match query {
                _ if query.contains("indexes") => &self.states,
                _ if query.contains("by_town") => &self.covering,
                _ => &self.plain,
            };
            let kind = "application/json;odata=nometadata;streaming=true;charset=utf-8";
            response.header("Content-Type", kind).body(page.clone())
        };
        let response = response.expect("a response");
        Box::pin(async move { Ok(response) })
    }

    fn opens_connections(&self) -> bool {
        false
    }
}

/// A write or a query, declared and by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// An insert of an entity with this number of indexes.
    Indexed(usize),
    /// The same batch by hand.
    ByHand(usize),
    /// A query by a covering index that returns a page.
    Covered,
    /// A query of a range that returns a page of the same rows.
    SameRange,
    /// A query of a range that returns a page of entities, whose RowKeys are one field.
    Range,
}

impl Compared {
    /// All of them, with their names.
    pub const ALL: [(&str, Self); 9] = [
        ("indexed1", Self::Indexed(1)),
        ("indexed2", Self::Indexed(2)),
        ("indexed3", Self::Indexed(3)),
        ("by_hand1", Self::ByHand(1)),
        ("by_hand2", Self::ByHand(2)),
        ("by_hand3", Self::ByHand(3)),
        ("covered", Self::Covered),
        ("same_range", Self::SameRange),
        ("range", Self::Range),
    ];

    /// Executes it this many times on prepared responses.
    pub fn run(self, times: usize) {
        fastrand::seed(7);
        let settings = "DefaultEndpointsProtocol=https;AccountName=acct;EndpointSuffix=core.windows.net;\
            AccountKey=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==";
        let service = TableServiceClient::from_connection_string(settings).expect("a connection string");
        let service = service.transport(Prepared::new());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(async {
            match self {
                Self::Indexed(1) => insert(&service, One::new, times).await,
                Self::Indexed(2) => insert(&service, Two::new, times).await,
                Self::Indexed(_) => insert(&service, Three::new, times).await,
                Self::ByHand(indexes) => {
                    let table: TableClient<Plain> = service.table("Things").expect("a table");
                    for n in 0..times {
                        insert_by_hand(&table, &Plain::new(n), indexes).await;
                    }
                }
                Self::Covered => {
                    let table = service.table::<Covering>("Things").expect("a table");
                    let orders = Indexed::open(&table).await.expect("the states");
                    for _ in 0..times {
                        let of_city = orders.by(Covering::BY_TOWN, ("customer-000123", "Zürich"));
                        let found = of_city.expect("an index").all().await.expect("a page");
                        assert!(found.len() == PAGE && found[7].city == "Zürich" && found[7].number == "0000000007");
                    }
                }
                Self::SameRange => {
                    let table = service.table::<ByTown>("Things").expect("a table");
                    for _ in 0..times {
                        let fields = ("customer-000123", Escaped("Zürich".to_owned()));
                        let prefix = Key::<ByTown>::prefix(fields).expect("a prefix");
                        let found = table.query().key_prefix(prefix).all().await.expect("a page");
                        assert!(found.len() == PAGE && found[7].city.0 == "Zürich" && found[7].number == "0000000007");
                    }
                }
                Self::Range => {
                    let table = service.table::<Plain>("Things").expect("a table");
                    for _ in 0..times {
                        let prefix = Key::<Plain>::prefix(("customer-000123",)).expect("a prefix");
                        let found = table.query().key_prefix(prefix).all().await.expect("a page");
                        assert!(found.len() == PAGE && found[7].city == "Zürich" && found[7].number == "0000000007");
                    }
                }
            }
        });
    }
}

async fn insert<E>(service: &TableServiceClient, order: impl Fn(usize) -> E, times: usize)
where
    E: azure_table::index::IndexedEntity + azure_table::ReadEntity,
{
    let table: TableClient<E> = service.table("Things").expect("a table");
    let orders = Indexed::open(&table).await.expect("the states");
    for n in 0..times {
        orders.insert(&order(n)).await.expect("a response");
    }
}

async fn insert_by_hand(table: &TableClient<Plain>, order: &Plain, indexes: usize) {
    let (customer, number) = (|| order.customer.clone(), || order.number.clone());
    let mut batch = table.batch();
    batch.insert(order).expect("an order");
    let by_city = ByCity {
        customer: customer(),
        city: Escaped(order.city.clone()),
        number: number(),
    };
    let write = azure_table::TableOperation::insert_or_replace(&by_city);
    batch.push(write).expect("a row");
    if indexes > 1 {
        let by_product = ByProduct {
            customer: customer(),
            product: Escaped(order.product.clone()),
            cents: Escaped(order.cents),
            number: number(),
        };
        let write = azure_table::TableOperation::insert_or_replace(&by_product);
        batch.push(write).expect("a row");
    }
    if indexes > 2 {
        let by_note = ByNote {
            customer: customer(),
            note: Escaped(order.note.clone()),
            number: number(),
        };
        batch
            .push(azure_table::TableOperation::insert(&by_note))
            .expect("a row");
    }
    let results = batch.submit().await.expect("a response");
    assert!(results.len() == 1 + indexes && results[0].etag().is_some());
}
