//! The gain and the cost of a group commit.
//!
//! `cargo bench -p azure-table --bench grouped` prints requests, throughput and latency against single writes, the
//! CPU of a lone caller against a plain insert, and the CPU per entity against a bulk.
//!
//! The first part is in real time on a runtime with two threads: 1,000 tasks with 100 inserts each, over 10 partitions,
//! on the emulator with 10 ms for each request and `max_in_flight(64)`. For the CPU, a server on the loopback of this
//! process, in its own thread, answers each request as the service does. The client has one thread, whose CPU time is
//! compared. With the emulator instead of the server, the CPU of both is compared.
//!
//! Programs alternate in 7 rounds, and the medians are compared. The A/A ratio is the same program against itself in
//! the same run. Arguments select the measurements: `throughput`, `lone`, `tasks`.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench prints figures")]

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use azure_table::emulator::ServiceModel;
use azure_table::testing::Spy;
use azure_table::{DateTime, Emulator, Guid, TableClient, TableEntity, TableServiceClient};
use cpu_time::ThreadTime;
use futures::future::join_all;
use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

const ROUNDS: usize = 7;
const TASKS: usize = 1_000;
const INSERTS: usize = 100;
const PARTITIONS: usize = 10;
const LATENCY: Duration = Duration::from_millis(10);
/// Inserts of the lone caller in a round.
const LONE: usize = 3_000;
const KEY: &str = "AAECAwQFBgc=";

/// Ten properties.
#[derive(TableEntity, Clone)]
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

fn order(partition: usize, n: usize) -> Order {
    Order {
        customer: format!("customer-{partition:06}"),
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

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The figures of one run of all tasks.
struct Run {
    requests: u64,
    seconds: f64,
    p50: Duration,
    p99: Duration,
}

/// Runs the tasks on a new emulator.
async fn run(is_grouped: bool) -> Run {
    let model = ServiceModel::new().write_latency(LATENCY);
    let spy = Spy::new(Emulator::new().service_model(model)).keep(0);
    let service = TableServiceClient::from_transport(spy.clone()).max_in_flight(64);
    let table = service.table::<Order>("Orders").unwrap();
    table.create_table().await.unwrap();
    let before = spy.requests();
    let table = if is_grouped { table.grouped() } else { table };
    let started = Instant::now();
    let tasks = (0..TASKS).map(|task| {
        let table = table.clone();
        tokio::spawn(async move {
            let mut latencies = Vec::with_capacity(INSERTS);
            for n in 0..INSERTS {
                let order = order(task % PARTITIONS, task * INSERTS + n);
                let started = Instant::now();
                table.insert(&order).await.unwrap();
                latencies.push(started.elapsed());
            }
            latencies
        })
    });
    let latencies = join_all(tasks).await;
    let seconds = started.elapsed().as_secs_f64();
    let mut latencies: Vec<Duration> = latencies.into_iter().flat_map(Result::unwrap).collect();
    latencies.sort_unstable();
    Run {
        requests: spy.requests() - before,
        seconds,
        p50: latencies[latencies.len() / 2],
        p99: latencies[latencies.len() * 99 / 100],
    }
}

async fn throughput() {
    let all = (TASKS * INSERTS) as f64;
    let plain = run(false).await;
    let grouped = run(true).await;
    let again = run(true).await;
    for (name, run) in [("plain", &plain), ("grouped", &grouped), ("grouped again", &again)] {
        println!(
            "{name:14} {:7} requests {:8.0} inserts/s  p50 {:7.1} ms  p99 {:7.1} ms",
            run.requests,
            all / run.seconds,
            run.p50.as_secs_f64() * 1e3,
            run.p99.as_secs_f64() * 1e3
        );
    }
    println!(
        "grouped against plain: requests 1/{:.0} (bar 1/20), throughput {:.1} × (bar 10), A/A {:.2}",
        plain.requests as f64 / grouped.requests as f64,
        plain.seconds / grouped.seconds,
        again.seconds / grouped.seconds
    );
}

/// Answers each request as applied, with the headers of recorded responses.
fn serve() -> SocketAddr {
    let (tell, reported) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap()).unwrap();
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                tokio::spawn(serve_connection(socket));
            }
        });
    });
    reported.recv().unwrap()
}

const PART_HEADERS: &str = "X-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n\
    Preference-Applied: return-no-content\r\nDataServiceVersion: 3.0;\r\n\
    ETag: W/\"datetime'2026-11-20T10%3A00%3A00.1234567Z'\"\r\n";

fn response(head: &str, body: &[u8]) -> String {
    if !head.starts_with("POST /acct/$batch") {
        return format!("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n{PART_HEADERS}\r\n");
    }
    let mut parts =
        String::from("--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_1\r\n\r\n");
    for n in 0..memmem::find_iter(body, "\r\n\r\nPOST ").count() {
        let entity = format!("http://127.0.0.1/acct/Orders(PartitionKey='customer-000123',RowKey='{n:010}')");
        write!(
            parts,
            "--changesetresponse_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
             HTTP/1.1 204 No Content\r\n{PART_HEADERS}Location: {entity}\r\nDataServiceId: {entity}\r\n\r\n\r\n",
        )
        .unwrap();
    }
    parts.push_str("--changesetresponse_1--\r\n--batchresponse_1--\r\n");
    format!(
        "HTTP/1.1 202 Accepted\r\nContent-Type: multipart/mixed; boundary=batchresponse_1\r\nContent-Length: {}\r\n\r\n{parts}",
        parts.len()
    )
}

async fn serve_connection(mut socket: TcpStream) {
    socket.set_nodelay(true).unwrap();
    let mut received: Vec<u8> = Vec::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        if let Some(end) = memmem::find(&received, b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&received[..end]).into_owned();
            let length: usize = head
                .lines()
                .find_map(|line| {
                    line.to_lowercase()
                        .strip_prefix("content-length: ")?
                        .trim()
                        .parse()
                        .ok()
                })
                .unwrap_or(0);
            while received.len() < end + 4 + length {
                match socket.read(&mut piece).await {
                    Ok(read @ 1..) => received.extend_from_slice(&piece[..read]),
                    _ => return,
                }
            }
            let response = response(&head, &received[end + 4..end + 4 + length]);
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

fn table(server: SocketAddr) -> TableClient<Order> {
    let settings = format!("AccountName=acct;AccountKey={KEY};TableEndpoint=http://{server}/acct");
    let service = TableServiceClient::from_connection_string(&settings).unwrap();
    service.table("Orders").unwrap()
}

/// The programs whose CPU is compared.
#[derive(Clone, Copy)]
enum Program {
    /// One insert after the other.
    Lone {
        is_grouped: bool,
    },
    /// All tasks concurrently, through a group.
    Tasks,
    Bulk,
}

impl Program {
    fn entities(self) -> usize {
        match self {
            Self::Lone { .. } => LONE,
            Self::Tasks | Self::Bulk => TASKS * INSERTS,
        }
    }

    async fn run(self, table: &TableClient<Order>, round: usize) {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // The emulator has the rows of the earlier rounds.
        let first = NEXT.fetch_add(self.entities(), Ordering::Relaxed);
        match self {
            Self::Lone { is_grouped } => {
                let table = if is_grouped { table.grouped() } else { table.clone() };
                let caller = async move {
                    for n in 0..LONE {
                        table.insert(&order(round, first + n)).await.unwrap();
                    }
                };
                tokio::spawn(caller).await.unwrap();
            }
            Self::Tasks => {
                let table = table.grouped();
                let tasks = (0..TASKS).map(|task| {
                    let table = table.clone();
                    tokio::spawn(async move {
                        for n in 0..INSERTS {
                            let order = order(task % PARTITIONS, first + task * INSERTS + n);
                            table.insert(&order).await.unwrap();
                        }
                    })
                });
                for task in tasks.collect::<Vec<_>>() {
                    task.await.unwrap();
                }
            }
            Self::Bulk => {
                let orders = (0..TASKS * INSERTS).map(|n| order(n % PARTITIONS, first + n));
                let report = table.bulk().insert(orders).await.unwrap();
                assert_eq!(report.applied() as usize, TASKS * INSERTS);
            }
        }
    }
}

/// Prints the CPU time of `ours` and `other`, and their ratio; one of them runs twice.
async fn compare(name: &str, bar: f64, programs: [Program; 2], table: impl AsyncFn() -> TableClient<Order>) {
    let [ours, other] = programs;
    let mut times: [Vec<f64>; 3] = Default::default();
    for round in 0..=ROUNDS {
        for (times, program) in times.iter_mut().zip([ours, other, other]) {
            let table = table().await;
            let started = ThreadTime::now();
            program.run(&table, round).await;
            // The first round warms up.
            if round > 0 {
                times.push(started.elapsed().as_nanos() as f64 / program.entities() as f64);
            }
        }
    }
    let [ours, other, again] = times.map(median);
    println!(
        "{name}: {ours:.0} ns an entity against {other:.0} ns: ratio {:.3} (bar {bar}, A/A {:.3})",
        ours / other,
        again / other
    );
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|known| known == name);
    if is_wanted("throughput") {
        let many = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        many.unwrap().block_on(throughput());
    }
    let server = serve();
    thread::sleep(Duration::from_millis(50));
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (alone, lone) = (Program::Lone { is_grouped: false }, Program::Lone { is_grouped: true });
        let over_http = async || table(server);
        let in_process = async || {
            let table = TableServiceClient::from_transport(Emulator::new())
                .table::<Order>("Orders")
                .unwrap();
            table.create_table().await.unwrap();
            table
        };
        let tasks = [Program::Tasks, Program::Bulk];
        if is_wanted("lone") {
            compare("a lone caller, plain insert", 1.05, [lone, alone], over_http).await;
            compare("the same with the emulator in process", 1.05, [lone, alone], in_process).await;
        }
        if is_wanted("tasks") {
            compare("1,000 tasks, a bulk of as many", 1.3, tasks, over_http).await;
            compare("the same with the emulator in process", 1.3, tasks, in_process).await;
        }
    });
}
