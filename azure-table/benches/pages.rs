//! The cost of a stream of pages: elapsed time against reqwest fetching the same pages without decoding them, and
//! against the same stream without prefetch; and the memory of a million rows.
//!
//! `cargo bench -p azure-table --features reqwest --bench pages`. A server on the loopback of this process answers from
//! prepared bytes after its latency. Programs alternate in 7 rounds, and the medians of the elapsed time are compared,
//! which includes the waits. The A/A ratio is the same program against itself in the same run. Memory is the peak of
//! this process above its size before the client was created, as Linux reports it (`/proc/self`).

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench prints figures")]

use std::fs;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use azure_table::{DateTime, Guid, TableClient, TableEntity, TableServiceClient};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const ROUNDS: usize = 7;
const ROWS: usize = 1_000;
const PAGES: usize = 100;

/// Ten properties, 341 bytes per row.
#[derive(TableEntity)]
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

/// 1 KiB per row.
#[derive(TableEntity)]
#[table(rename_all = "PascalCase")]
struct Note {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    number: String,
    text: String,
}

fn orders() -> String {
    let rows: Vec<_> = (0..ROWS)
        .map(|n| {
            format!(
                r#"{{"PartitionKey":"customer-{:05}","RowKey":"{n:010}","Timestamp":"2026-01-02T03:04:05.1234567Z","Product":"Product number {n}","Note":"Leave it at the door, please","Quantity":{n},"Discount":5,"Cents":"{}","Weight":"-{n}","Rating":{:?},"Paid":true,"Ordered":"2023-11-14T22:13:20.123Z","Id":"c9da6455-213d-42c9-9a79-3e9149a57833"}}"#,
                n / 100,
                1_234_567_890_123_usize + n,
                0.1 + n as f64 / 7.0,
            )
        })
        .collect();
    format!(r#"{{"value":[{}]}}"#, rows.join(","))
}

fn notes() -> String {
    let text = "x".repeat(1_024 - 110);
    let rows: Vec<_> = (0..ROWS)
        .map(|n| {
            format!(
                r#"{{"PartitionKey":"group","RowKey":"{n:010}","Timestamp":"2026-01-02T03:04:05.1234567Z","Text":"{text}"}}"#
            )
        })
        .collect();
    format!(r#"{{"value":[{}]}}"#, rows.join(","))
}

/// Answers every request with the same rows, with the requested number of pages, each after the latency.
fn serve(body: &'static str, pages: usize, latency: Duration) -> SocketAddr {
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
                tokio::spawn(response(socket, body, pages, latency));
            }
        });
    });
    reported.recv().unwrap()
}

async fn response(mut socket: TcpStream, body: &'static str, pages: usize, latency: Duration) {
    socket.set_nodelay(true).unwrap();
    let mut request = Vec::new();
    let mut piece = [0; 4_096];
    loop {
        let read = socket.read(&mut piece).await.unwrap_or(0);
        if read == 0 {
            return;
        }
        request.extend_from_slice(&piece[..read]);
        if !request.ends_with(b"\r\n\r\n") {
            continue;
        }
        let text = String::from_utf8_lossy(&request);
        let page: usize = text
            .split("NextPartitionKey=")
            .nth(1)
            .map_or(0, |rest| rest.split([' ', '&']).next().unwrap().parse().unwrap());
        request.clear();
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        let next = if page + 1 < pages {
            format!("x-ms-continuation-NextPartitionKey: {}\r\n", page + 1)
        } else {
            String::new()
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{next}\r\n",
            body.len()
        );
        if socket.write_all(head.as_bytes()).await.is_err() || socket.write_all(body.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn table<E>(server: SocketAddr) -> TableClient<E> {
    let endpoint = format!("http://{server}/acct");
    let settings = format!("AccountName=acct;AccountKey=AAECAwQFBgc=;TableEndpoint={endpoint}");
    let service = TableServiceClient::from_connection_string(&settings).unwrap();
    service.table("Things").unwrap()
}

/// Reads all rows, with this much work for each page.
async fn stream(table: &TableClient<Order>, prefetch: Option<usize>, work: Duration) {
    let mut query = table.query();
    if let Some(pages) = prefetch {
        query = query.prefetch(pages);
    }
    let mut rows = query.stream();
    let mut count = 0;
    while let Some(order) = rows.try_next().await.unwrap() {
        count += usize::from(order.paid);
        if !work.is_zero() && count % ROWS == 0 {
            tokio::time::sleep(work).await;
        }
    }
    assert_eq!(count, PAGES * ROWS);
}

/// Reads the same pages, one after the other, as bytes.
async fn fetch(client: &reqwest::Client, server: SocketAddr) {
    let first = format!("http://{server}/acct/Things()");
    let mut url = first.clone();
    let mut pages = 0;
    loop {
        let response = client.get(&url).send().await.unwrap();
        let next = response.headers().get("x-ms-continuation-NextPartitionKey").cloned();
        assert!(!response.bytes().await.unwrap().is_empty());
        pages += 1;
        match next {
            Some(next) => url = format!("{first}?NextPartitionKey={}", next.to_str().unwrap()),
            None => break,
        }
    }
    assert_eq!(pages, PAGES);
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// Returns a field of `/proc/self/status` in KiB.
fn resident(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

async fn elapsed(body: &'static str, latency: Duration) {
    let server = serve(body, PAGES, latency);
    let (table, client) = (table::<Order>(server), reqwest::Client::new());
    let mut times: [Vec<Duration>; 3] = Default::default();
    for round in 0..=ROUNDS {
        for (program, times) in times.iter_mut().enumerate() {
            let started = Instant::now();
            match program {
                0 => stream(&table, None, Duration::ZERO).await,
                _ => fetch(&client, server).await,
            }
            // The first round warms up.
            if round > 0 {
                times.push(started.elapsed());
            }
        }
    }
    let [ours, raw, again] = times.map(median);
    println!(
        "{PAGES} pages at {latency:?}: {ours:.0} ms, reqwest without decoding {raw:.0} ms: ratio {:.3} (A/A {:.3})",
        ours / raw,
        again / raw
    );
}

async fn prefetched(body: &'static str, latency: Duration) {
    let server = serve(body, PAGES, latency);
    let table = table::<Order>(server);
    let mut times: [Vec<Duration>; 3] = Default::default();
    for round in 0..=ROUNDS {
        for (times, prefetch) in times.iter_mut().zip([None, Some(0), Some(0)]) {
            let started = Instant::now();
            stream(&table, prefetch, latency).await;
            if round > 0 {
                times.push(started.elapsed());
            }
        }
    }
    let [with, without, again] = times.map(median);
    println!(
        "{PAGES} pages at {latency:?}, reader as slow: {with:.0} ms, without prefetch {without:.0} ms: ratio {:.3} (A/A {:.3})",
        with / without,
        again / without
    );
}

async fn memory(body: &'static str) {
    let pages = 1_000_000 / ROWS;
    let server = serve(body, pages, Duration::ZERO);
    let Ok(()) = fs::write("/proc/self/clear_refs", "5") else {
        println!("memory: not measured, this is no Linux that tells");
        return;
    };
    let idle = resident("VmRSS:");
    let started = Instant::now();
    let table = table::<Note>(server);
    let mut rows = table.query().prefetch(1).stream();
    let (mut count, mut bytes) = (0, 0);
    while let Some(note) = rows.try_next().await.unwrap() {
        count += 1;
        bytes += note.text.len() + note.group.len() + note.number.len();
    }
    assert_eq!(count, pages * ROWS);
    let peak = resident("VmHWM:");
    println!(
        "{count} rows, {} MiB of text, {:.1} s: peak {:.1} MiB above the {:.1} MiB before (a page is {:.1} MiB)",
        bytes >> 20,
        started.elapsed().as_secs_f64(),
        (peak.saturating_sub(idle)) as f64 / 1024.0,
        idle as f64 / 1024.0,
        body.len() as f64 / f64::from(1 << 20),
    );
}

fn main() {
    // The client has its own TLS settings; the raw one takes the process's.
    rustls::crypto::ring::default_provider().install_default().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        memory(notes().leak()).await;
        let body = orders().leak();
        for latency in [5, 20].map(Duration::from_millis) {
            elapsed(body, latency).await;
        }
        prefetched(body, Duration::from_millis(20)).await;
    });
}
