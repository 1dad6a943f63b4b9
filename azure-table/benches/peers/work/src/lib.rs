//! The work that all clients do. Each client is a program of its own, which implements [`Peer`] and calls [`run`].
//!
//! `order.rs` has the entity. `run` of the folder above starts the server and the clients, and compares them.

pub mod order;

use std::future::Future;
use std::ops::Range;
use std::time::Instant;

use cpu_time::ProcessTime;
use futures_util::stream::{self, StreamExt as _};
use order::{Plain, plain};

/// The rows of a page: the maximum of the service.
pub const PAGE: usize = 1_000;
/// The number of the entity that the server returns for each get.
pub const ENTITY: usize = 7;
/// The operations of a batch: the maximum of the service.
pub const BATCH: usize = 100;
/// The number of point reads in flight.
const IN_FLIGHT: usize = 64;
/// The account of the requests.
pub const ACCOUNT: &str = "acct";
/// Its key, in base64.
pub const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==";

/// A client that does the work. Orders are named by their numbers.
pub trait Peer {
    /// Reads an order.
    fn get(&self, n: usize) -> impl Future<Output = ()>;
    /// Inserts an order.
    fn insert(&self, n: usize) -> impl Future<Output = ()>;
    /// Merges an order.
    fn merge(&self, n: usize) -> impl Future<Output = ()>;
    /// Reads this many rows, page by page.
    fn pages(&self, rows: usize) -> impl Future<Output = ()>;
    /// Reads this many rows of the table `Sparse`, page by page. Returns `false` if the client does not.
    fn sparse_pages(&self, rows: usize) -> impl Future<Output = bool> {
        let _ = rows;
        std::future::ready(false)
    }
    /// Reads this many rows, one by one.
    fn rows(&self, rows: usize) -> impl Future<Output = ()>;
    /// Inserts the orders of a batch.
    fn batch(&self, orders: Range<usize>) -> impl Future<Output = ()>;
    /// Inserts this many orders, eight batches concurrent. Returns `false` if the client cannot.
    fn bulk(&self, orders: usize) -> impl Future<Output = bool>;
}

/// Runs a client until its standard input ends. The arguments are its endpoint and the number of its orders.
///
/// Each line of the input names an operation and its units, at least a page or a batch. The response is a line with the
/// CPU time and the elapsed time in ns, or `none` if the client cannot.
pub fn run<P: Peer>(create: impl FnOnce(&str, Vec<Plain>) -> P) {
    let mut arguments = std::env::args().skip(1);
    let endpoint = arguments.next().expect("the endpoint");
    let orders: usize = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .expect("the number of orders");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let peer = create(&endpoint, (0..orders).map(plain).collect());
    for line in std::io::stdin().lines() {
        let line = line.expect("a line");
        let (operation, units) = line.split_once(' ').expect("an operation and its units");
        let units = units.parse().expect("a number");
        let (cpu, elapsed) = (ProcessTime::now(), Instant::now());
        let is_able = runtime.block_on(execute(&peer, operation, units));
        let (cpu, elapsed) = (cpu.elapsed().as_nanos(), elapsed.elapsed().as_nanos());
        if is_able {
            println!("{cpu} {elapsed}")
        } else {
            println!("none")
        }
    }
}

async fn execute(peer: &impl Peer, operation: &str, units: usize) -> bool {
    match operation {
        "get" => {
            for _ in 0..units {
                peer.get(ENTITY).await;
            }
        }
        "get-in-flight" => {
            let gets = stream::iter(0..units).map(|_| peer.get(ENTITY));
            gets.buffer_unordered(IN_FLIGHT).collect::<()>().await;
        }
        "insert" => {
            for n in 0..units {
                peer.insert(n).await;
            }
        }
        "merge" => {
            for n in 0..units {
                peer.merge(n).await;
            }
        }
        "page" => peer.pages(units).await,
        "sparse" => return peer.sparse_pages(units).await,
        "row" => peer.rows(units).await,
        "batch" => {
            for first in (0..units).step_by(BATCH) {
                peer.batch(first..first + BATCH).await;
            }
        }
        "bulk" => return peer.bulk(units).await,
        other => panic!("unknown operation {other}"),
    }
    true
}
