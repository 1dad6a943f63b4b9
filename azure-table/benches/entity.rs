//! The cost of an entity: ns per row to decode a page of 1,000 rows and to encode an insert, against serde_json on the
//! same bytes.
//!
//! `cargo bench -p azure-table --bench entity`. Each program runs in 7 alternating rounds, and the medians of the
//! thread's CPU time are compared. The A/A ratio is the same program against itself in the same run: the uncertainty of
//! a ratio.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench prints figures")]

use std::hint::black_box;

use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{DateTime, Guid, TableClient, TableEntity, TableOperation, TableServiceClient};
use bytes::Bytes;
use cpu_time::ThreadTime;
use serde::{Deserialize, Serialize, Serializer};

const ROWS: usize = 1_000;
const ROUNDS: usize = 7;

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

/// The same for serde_json, as in a hand-written client: types that JSON does not have stay text.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "PascalCase")]
#[expect(dead_code, reason = "only made")]
struct Plain {
    partition_key: String,
    row_key: String,
    timestamp: String,
    product: String,
    note: String,
    quantity: i32,
    discount: i32,
    cents: String,
    weight: String,
    rating: f64,
    paid: bool,
    ordered: String,
    id: String,
}

/// The same with the text converted, so that it contains the values of [`Order`].
#[derive(Deserialize, Debug)]
#[serde(rename_all = "PascalCase")]
#[expect(dead_code, reason = "only made")]
struct Converted {
    partition_key: String,
    row_key: String,
    product: String,
    note: String,
    quantity: i32,
    discount: i32,
    #[serde(deserialize_with = "integer")]
    cents: i64,
    #[serde(deserialize_with = "integer")]
    weight: i64,
    rating: f64,
    paid: bool,
    ordered: DateTime,
    id: Guid,
}

fn integer<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}

#[derive(Deserialize)]
struct PlainPage<T> {
    value: Vec<T>,
}

/// The body of an insert for serde_json.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Annotated<'a> {
    partition_key: &'a str,
    row_key: &'a str,
    product: &'a str,
    note: &'a str,
    quantity: i32,
    discount: i32,
    #[serde(rename = "Cents@odata.type")]
    cents_type: &'static str,
    #[serde(serialize_with = "text")]
    cents: i64,
    #[serde(rename = "Weight@odata.type")]
    weight_type: &'static str,
    #[serde(serialize_with = "text")]
    weight: i64,
    rating: f64,
    paid: bool,
    #[serde(rename = "Ordered@odata.type")]
    ordered_type: &'static str,
    ordered: DateTime,
    #[serde(rename = "Id@odata.type")]
    id_type: &'static str,
    id: Guid,
}

fn text<S: Serializer>(value: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

impl<'a> Annotated<'a> {
    fn of(order: &'a Order) -> Self {
        Self {
            partition_key: &order.customer,
            row_key: &order.number,
            product: &order.product,
            note: &order.note,
            quantity: order.quantity,
            discount: order.discount,
            cents_type: "Edm.Int64",
            cents: order.cents,
            weight_type: "Edm.Int64",
            weight: order.weight,
            rating: order.rating,
            paid: order.paid,
            ordered_type: "Edm.DateTime",
            ordered: order.ordered,
            id_type: "Edm.Guid",
            id: order.id,
        }
    }
}

fn order(n: usize) -> Order {
    Order {
        customer: format!("customer-{:05}", n / 100),
        number: format!("{n:010}"),
        product: format!("Product number {n}"),
        note: "Leave it at the door, please".into(),
        quantity: n as i32,
        discount: 5,
        cents: 1_234_567_890_123 + n as i64,
        weight: -(n as i64),
        rating: 0.1 + n as f64 / 7.0,
        paid: n.is_multiple_of(2),
        ordered: DateTime::from_unix_millis(1_700_000_000_123 + n as i64),
        id: Guid([n as u8; 16]),
    }
}

/// A page in the form of the service at metadata level `none`.
fn page() -> Bytes {
    let rows: Vec<_> = (0..ROWS)
        .map(order)
        .map(|o| {
            format!(
                r#"{{"PartitionKey":"{}","RowKey":"{}","Timestamp":"2026-01-02T03:04:05.1234567Z","Product":"{}","Note":"{}","Quantity":{},"Discount":{},"Cents":"{}","Weight":"{}","Rating":{:?},"Paid":{},"Ordered":"{}","Id":"{}"}}"#,
                o.customer, o.number, o.product, o.note, o.quantity, o.discount, o.cents, o.weight, o.rating, o.paid, o.ordered, o.id
            )
        })
        .collect();
    format!(r#"{{"value":[{}]}}"#, rows.join(",")).into()
}

/// Answers every request with the same page, so that only decoding is measured.
#[derive(Debug)]
struct Canned(Bytes);

impl Transport for Canned {
    fn send(&self, _: http::Request<Bytes>) -> BoxFuture<'_, Result<http::Response<Bytes>, TransportError>> {
        let response = http::Response::new(self.0.clone());
        Box::pin(async move { Ok(response) })
    }
}

/// A program and its name.
struct Program<'a> {
    name: &'static str,
    run: Box<dyn FnMut() + 'a>,
}

/// Medians in ns per row, after alternating rounds of about 50 ms each.
fn measure(programs: &mut [Program<'_>]) -> Vec<f64> {
    let mut times = vec![Vec::new(); programs.len()];
    for round in 0..=ROUNDS {
        for (program, times) in programs.iter_mut().zip(&mut times) {
            let start = ThreadTime::now();
            let mut runs = 0;
            while start.elapsed().as_millis() < 50 {
                (program.run)();
                runs += 1;
            }
            let per_row = start.elapsed().as_nanos() as f64 / f64::from(runs) / ROWS as f64;
            // The first round warms up.
            if round > 0 {
                times.push(per_row);
            }
        }
    }
    times
        .into_iter()
        .map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[ROUNDS / 2]
        })
        .collect()
}

/// The first program is the reference, the second is the same again.
fn report(what: &str, mut programs: Vec<Program<'_>>) {
    let medians = measure(&mut programs);
    println!("\n{what}, ns per row (median of {ROUNDS} rounds, CPU)");
    for (program, median) in programs.iter().zip(&medians) {
        println!(
            "  {:<48} {median:>8.0}   ratio {:.2}",
            program.name,
            median / medians[0]
        );
    }
    println!("  A/A {:.3}", medians[1] / medians[0]);
}

fn decode(body: &Bytes) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let service = TableServiceClient::from_transport(Canned(body.clone()));
    let table: TableClient<Order> = service.table("Orders").unwrap();
    let plain = || black_box(serde_json::from_slice::<PlainPage<Plain>>(body).unwrap().value.len());
    let converted = || {
        black_box(
            serde_json::from_slice::<PlainPage<Converted>>(body)
                .unwrap()
                .value
                .len(),
        )
    };
    let ours = || black_box(runtime.block_on(table.query().all()).unwrap().len());
    // A scan notes the keys of each row: it reads rows whole, as closures and types with `upgrade` do.
    let scan = || {
        black_box(
            runtime
                .block_on(table.query().scan().stream().try_next_page())
                .unwrap()
                .unwrap()
                .len(),
        )
    };
    assert_eq!((plain(), converted(), ours(), scan()), (ROWS, ROWS, ROWS, ROWS));
    report(
        &format!("decode a page of {ROWS} rows, {} bytes a row", body.len() / ROWS),
        vec![
            Program {
                name: "serde_json, plain struct",
                run: Box::new(move || {
                    plain();
                }),
            },
            Program {
                name: "the same again",
                run: Box::new(move || {
                    plain();
                }),
            },
            Program {
                name: "serde_json, struct with converted values",
                run: Box::new(move || {
                    converted();
                }),
            },
            Program {
                name: "azure-table, query().all()",
                run: Box::new(move || {
                    ours();
                }),
            },
            Program {
                name: "azure-table, query().scan()",
                run: Box::new(move || {
                    scan();
                }),
            },
        ],
    );
}

fn encode(orders: &[Order]) {
    let plain = || {
        for order in orders {
            black_box(serde_json::to_vec(&Annotated::of(order)).unwrap());
        }
    };
    let ours = || {
        for order in orders {
            let operation = TableOperation::insert(order);
            black_box(operation.keys().unwrap());
        }
    };
    report(
        "encode an insert",
        vec![
            Program {
                name: "serde_json::to_vec, annotated struct",
                run: Box::new(plain),
            },
            Program {
                name: "the same again",
                run: Box::new(plain),
            },
            Program {
                name: "azure-table, TableOperation::insert",
                run: Box::new(ours),
            },
        ],
    );
}

fn main() {
    decode(&page());
    encode(&(0..ROWS).map(order).collect::<Vec<_>>());
}
