//! The cost of bulk writes: CPU per entity of batches and of a bulk, against reqwest with hand-made bodies, and the
//! memory of a million entities.
//!
//! `cargo bench -p azure-table --features reqwest --bench bulk`. A server on the loopback of this process, in its own
//! thread, accepts each batch and answers as the service does. Programs alternate in 7 rounds, and the medians of the
//! CPU time of the client's thread are compared.
//!
//! The hand-made program is the least that a client can do. It encodes each entity by `serde_json`, joins the parts of
//! the batch as text, signs, and sends by a shared `reqwest::Client`. It reads the status and ETag of each operation
//! from the response. The A/A ratio is the same program against itself in the same run.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench prints figures")]

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use azure_table::{DateTime, Guid, TableClient, TableEntity, TableServiceClient};
use base64::Engine as _;
use cpu_time::ThreadTime;
use hmac::{Hmac, KeyInit as _, Mac as _};
use memchr::{memchr, memmem};
use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const ROUNDS: usize = 7;
const BATCH: usize = 100;
const ENTITIES: usize = 100_000;
const KEY: &str = "AAECAwQFBgc=";

/// Ten properties.
#[derive(TableEntity, Serialize)]
#[table(rename_all = "PascalCase")]
#[serde(rename_all = "PascalCase")]
struct Order {
    #[table(partition_key)]
    #[serde(rename = "PartitionKey")]
    customer: String,
    #[table(row_key)]
    #[serde(rename = "RowKey")]
    number: String,
    product: String,
    note: String,
    quantity: i32,
    discount: i32,
    #[serde(rename = "Cents@odata.type")]
    #[table(ignore)]
    cents_type: Edm<'C'>,
    #[serde(serialize_with = "text")]
    cents: i64,
    #[serde(rename = "Weight@odata.type")]
    #[table(ignore)]
    weight_type: Edm<'W'>,
    #[serde(serialize_with = "text")]
    weight: i64,
    rating: f64,
    paid: bool,
    #[serde(rename = "Ordered@odata.type")]
    #[table(ignore)]
    ordered_type: Edm<'D'>,
    ordered: DateTime,
    #[serde(rename = "Id@odata.type")]
    #[table(ignore)]
    id_type: Edm<'G'>,
    id: Guid,
}

/// The annotation of a property, which only serde_json needs.
#[derive(Default, Clone, Copy)]
struct Edm<const KIND: char>;

impl<const KIND: char> Serialize for Edm<KIND> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match KIND {
            'D' => "Edm.DateTime",
            'G' => "Edm.Guid",
            _ => "Edm.Int64",
        })
    }
}

fn text<S: serde::Serializer>(value: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn order(n: usize) -> Order {
    Order {
        // Each partition has the rows of one batch.
        customer: format!("customer-{:06}", n / BATCH),
        number: format!("{n:010}"),
        product: format!("Product number {n}"),
        note: "Leave it at the door, please".into(),
        quantity: n as i32,
        discount: 5,
        cents_type: Edm,
        cents: 1_234_567_890_123 + n as i64,
        weight_type: Edm,
        weight: -(n as i64),
        rating: 0.1 + n as f64 / 7.0,
        paid: n.is_multiple_of(2),
        ordered_type: Edm,
        ordered: DateTime::from_unix_millis(1_700_000_000_123 + n as i64),
        id_type: Edm,
        id: Guid([n as u8; 16]),
    }
}

/// Answers each batch as applied, with the headers of recorded responses.
fn serve() -> SocketAddr {
    let (tell, reported) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap()).unwrap();
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                tokio::spawn(response(socket));
            }
        });
    });
    reported.recv().unwrap()
}

async fn response(mut socket: TcpStream) {
    socket.set_nodelay(true).unwrap();
    let mut body =
        String::from("--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_1\r\n\r\n");
    for n in 0..BATCH {
        let entity = format!("http://127.0.0.1/acct/Things(PartitionKey='customer-000123',RowKey='{n:010}')");
        write!(
            body,
            "--changesetresponse_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
             HTTP/1.1 204 No Content\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n\
             Preference-Applied: return-no-content\r\nDataServiceVersion: 3.0;\r\n\
             Location: {entity}\r\nDataServiceId: {entity}\r\n\
             ETag: W/\"datetime'2026-11-20T10%3A00%3A00.1234567Z'\"\r\n\r\n\r\n",
        )
        .unwrap();
    }
    body.push_str("--changesetresponse_1--\r\n--batchresponse_1--\r\n");
    let head = format!(
        "HTTP/1.1 202 Accepted\r\nContent-Type: multipart/mixed; boundary=batchresponse_1\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let response = head + &body;
    let mut received: Vec<u8> = Vec::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        let end = received.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&received[..end]).to_lowercase();
            let length: usize = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .map_or(0, |length| length.trim().parse().unwrap());
            while received.len() < end + 4 + length {
                match socket.read(&mut piece).await {
                    Ok(read @ 1..) => received.extend_from_slice(&piece[..read]),
                    _ => return,
                }
            }
            received.drain(..end + 4 + length);
            if socket.write_all(response.as_bytes()).await.is_err() {
                return;
            }
            continue;
        }
        match socket.read(&mut piece).await {
            Ok(read @ 1..) => received.extend_from_slice(&piece[..read]),
            _ => return,
        }
    }
}

/// The least that a client can do.
struct HandMade {
    client: reqwest::Client,
    base: String,
    mac: Hmac<sha2::Sha256>,
}

impl HandMade {
    fn new(server: SocketAddr) -> Self {
        let key = base64::engine::general_purpose::STANDARD.decode(KEY).unwrap();
        Self {
            client: reqwest::Client::new(),
            base: format!("http://{server}/acct"),
            mac: Hmac::new_from_slice(&key).unwrap(),
        }
    }

    async fn batch(&self, orders: &[Order]) {
        let batch = format!("batch_{}", Guid([7; 16]));
        let changes = format!("changeset_{}", Guid([8; 16]));
        let mut body = String::with_capacity(orders.len() * 900);
        write!(
            body,
            "--{batch}\r\nContent-Type: multipart/mixed; boundary={changes}\r\n\r\n"
        )
        .unwrap();
        for order in orders {
            let entity = serde_json::to_string(order).unwrap();
            write!(
                body,
                "--{changes}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
                 POST {}/Things HTTP/1.1\r\nAccept: application/json;odata=nometadata\r\nDataServiceVersion: 3.0\r\n\
                 Content-Type: application/json\r\nPrefer: return-no-content\r\nContent-Length: {}\r\n\r\n{entity}\r\n",
                self.base,
                entity.len()
            )
            .unwrap();
        }
        write!(body, "--{changes}--\r\n--{batch}--\r\n").unwrap();
        let date = httpdate::fmt_http_date(std::time::SystemTime::now());
        let content_type = format!("multipart/mixed; boundary={batch}");
        let mut mac = self.mac.clone();
        mac.update(format!("POST\n\n{content_type}\n{date}\n/acct/acct/$batch").as_bytes());
        let signature = base64::engine::general_purpose::STANDARD.encode(mac.finalize().into_bytes());
        let response = self
            .client
            .post(format!("{}/$batch", self.base))
            .header("Content-Type", content_type)
            .header("x-ms-date", date)
            .header("x-ms-version", "2019-02-02")
            .header("Authorization", format!("SharedKey acct:{signature}"))
            .body(body)
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 202);
        let response = response.bytes().await.unwrap();
        let results = memmem::find_iter(&response, "HTTP/1.1 ").map(|at| {
            let part = &response[at + "HTTP/1.1 ".len()..];
            let etag = &part[memmem::find(part, b"ETag: ").unwrap() + "ETag: ".len()..];
            let etag = str::from_utf8(&etag[..memchr(b'\r', etag).unwrap()]).unwrap();
            (str::from_utf8(&part[..3]).unwrap().parse().unwrap(), etag.to_owned())
        });
        let results: Vec<(u16, String)> = results.collect();
        assert_eq!(results.len(), orders.len());
        assert!(results.iter().all(|(status, _)| *status == 204));
    }
}

fn table(server: SocketAddr) -> TableClient<Order> {
    let settings = format!("AccountName=acct;AccountKey={KEY};TableEndpoint=http://{server}/acct");
    let service = TableServiceClient::from_connection_string(&settings).unwrap();
    service.table("Things").unwrap()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Prints ns per entity of ours, of the hand-made one, and of the latter again.
async fn compare(name: &str, entities: usize, mut program: impl AsyncFnMut(bool)) {
    let mut times: [Vec<f64>; 3] = Default::default();
    for round in 0..=ROUNDS {
        for (times, is_ours) in times.iter_mut().zip([true, false, false]) {
            let started = ThreadTime::now();
            program(is_ours).await;
            // The first round warms up.
            if round > 0 {
                times.push(started.elapsed().as_nanos() as f64 / entities as f64);
            }
        }
    }
    let [ours, raw, again] = times.map(median);
    println!(
        "{name}: {ours:.0} ns an entity, hand-made {raw:.0} ns: ratio {:.3} (A/A {:.3})",
        ours / raw,
        again / raw
    );
}

/// Returns a field of `/proc/self/status` in KiB.
fn resident(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

async fn memory(server: SocketAddr) {
    let Ok(()) = fs::write("/proc/self/clear_refs", "5") else {
        println!("memory: not measured, this is no Linux that tells");
        return;
    };
    let idle = resident("VmRSS:");
    let started = std::time::Instant::now();
    let report = table(server).bulk().insert((0..1_000_000).map(order)).await.unwrap();
    assert_eq!(report.applied(), 1_000_000);
    let peak = resident("VmHWM:");
    println!(
        "bulk of 1,000,000 entities, {:.1} s: peak {:.1} MiB above the {:.1} MiB before",
        started.elapsed().as_secs_f64(),
        peak.saturating_sub(idle) as f64 / 1024.0,
        idle as f64 / 1024.0
    );
}

fn main() {
    // The client has its own TLS settings; the raw one takes the process's.
    rustls::crypto::ring::default_provider().install_default().unwrap();
    let server = serve();
    thread::sleep(Duration::from_millis(50));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        memory(server).await;
        let (table, hand_made) = (table(server), HandMade::new(server));
        let orders: Vec<Order> = (0..ENTITIES).map(order).collect();
        compare("batches of 100, one after the other", ENTITIES / 10, async |is_ours| {
            for orders in orders[..ENTITIES / 10].chunks(BATCH) {
                if is_ours {
                    let mut batch = table.batch();
                    for order in orders {
                        batch.insert(order).unwrap();
                    }
                    assert_eq!(batch.submit().await.unwrap().len(), BATCH);
                } else {
                    hand_made.batch(orders).await
                }
            }
        })
        .await;
        compare("a bulk of 100,000, 8 batches at once", ENTITIES, async |is_ours| {
            if is_ours {
                let report = table.bulk().concurrency(8).insert(&orders).await.unwrap();
                assert_eq!(report.applied() as usize, ENTITIES);
            } else {
                use futures::StreamExt as _;
                let batches = orders.chunks(BATCH).map(|orders| hand_made.batch(orders));
                futures::stream::iter(batches)
                    .buffer_unordered(8)
                    .collect::<Vec<()>>()
                    .await;
            }
        })
        .await;
    });
}
