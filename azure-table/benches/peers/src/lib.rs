//! The same work by several clients: the minimal code, this crate, and the older client for Rust.
//!
//! `bin/server.rs` is a separate process that answers from prepared bytes. `bin/peers.rs` compares CPU time and
//! `bin/allocations.rs` allocations. Each client is one module that implements [`Peer`]; `order.rs` has the entity that
//! all of them write and read.

pub mod floor;
pub mod older;
pub mod order;
pub mod ours;
pub mod process;
pub mod server;

use std::future::Future;
use std::ops::Range;

use futures::stream::{self, StreamExt as _};

/// The rows of a page: the maximum of the service.
pub const PAGE: usize = 1_000;
/// The operations of a batch: the maximum of the service.
pub const BATCH: usize = 100;
/// The number of point reads in flight.
pub const IN_FLIGHT: usize = 64;
/// The account of the requests.
pub const ACCOUNT: &str = "acct";
/// Its key, in base64.
pub const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==";

/// The work that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Point reads, one after the other.
    Get,
    /// Point reads, [`IN_FLIGHT`] of them concurrent.
    GetInFlight,
    /// Inserts, one after the other.
    Insert,
    /// Merges, one after the other.
    Merge,
    /// Rows of a query, taken page by page.
    Page,
    /// Rows of a query, taken one by one.
    Row,
    /// Inserts in batches of [`BATCH`], one batch after the other.
    Batch,
    /// Inserts of a bulk, eight batches concurrent.
    Bulk,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Get,
        Self::GetInFlight,
        Self::Insert,
        Self::Merge,
        Self::Page,
        Self::Row,
        Self::Batch,
        Self::Bulk,
    ];

    /// Returns its name and the unit that is counted.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::GetInFlight => "get, 64 in flight",
            Self::Insert => "insert",
            Self::Merge => "merge",
            Self::Page => "page, per row",
            Self::Row => "page by item, per row",
            Self::Batch => "batch of 100, per entity",
            Self::Bulk => "bulk of 100,000, per entity",
        }
    }

    /// Returns the units of one round, which takes tens of milliseconds.
    pub fn units(self) -> usize {
        match self {
            Self::Get | Self::GetInFlight | Self::Insert | Self::Merge => 3_200,
            Self::Page | Self::Row => 100 * PAGE,
            Self::Batch => 200 * BATCH,
            Self::Bulk => 1_000 * BATCH,
        }
    }
}

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
    /// Reads this many rows, one by one.
    fn rows(&self, rows: usize) -> impl Future<Output = ()>;
    /// Inserts the orders of a batch.
    fn batch(&self, orders: Range<usize>) -> impl Future<Output = ()>;
    /// Inserts this many orders, eight batches concurrent. Returns `false` if the client cannot.
    fn bulk(&self, orders: usize) -> impl Future<Output = bool>;

    /// Does `units` of the work, at least a page or a batch. Returns `false` if the client cannot.
    fn run(&self, operation: Operation, units: usize) -> impl Future<Output = bool> {
        async move {
            match operation {
                Operation::Get => {
                    for n in 0..units {
                        self.get(n).await;
                    }
                }
                Operation::GetInFlight => {
                    let gets = stream::iter(0..units).map(|n| self.get(n));
                    gets.buffer_unordered(IN_FLIGHT).collect::<()>().await;
                }
                Operation::Insert => {
                    for n in 0..units {
                        self.insert(n).await;
                    }
                }
                Operation::Merge => {
                    for n in 0..units {
                        self.merge(n).await;
                    }
                }
                Operation::Page => self.pages(units).await,
                Operation::Row => self.rows(units).await,
                Operation::Batch => {
                    for first in (0..units).step_by(BATCH) {
                        self.batch(first..first + BATCH).await;
                    }
                }
                Operation::Bulk => return self.bulk(units).await,
            }
            true
        }
    }
}
