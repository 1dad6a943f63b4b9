//! The patterns in every order of their requests, with every fault, and in processes that crash.
//!
//! Contains the lists of all cases and promises, and the shared code.

/// The value of `Case::slow_with`: the default, or the number that a list of cases gives.
macro_rules! slow_with {
    ($default:literal) => {
        $default
    };
    ($default:literal, $faults:literal) => {
        $faults
    };
}

mod changes;
mod expiry;
mod fence;
mod index_calls;
mod index_queries;
pub mod indexes;
mod leases;
mod log;
mod queue;
mod snapshot;
mod unique;
mod unique_in_table;

use std::cell::Cell;
use std::fmt::Debug;
use std::time::Duration;

use azure_table::{DynamicEntity, Filter, ReadEntity, Result, TableClient, TableEntity, TableServiceClient};
use futures::future::join;

use super::Case;
use super::crashes::{is_change, unless_changed};
use crate::entities::{Header, Session, User, Valued};
use crate::promises::{Place, Promise, count};

/// Returns the cases of every pattern, with those of processes alone.
pub(super) fn cases() -> impl Iterator<Item = &'static Case> {
    let lists: [&[Case]; 13] = [
        &fence::ALL,
        &leases::ALL,
        &unique::ALL,
        &unique_in_table::ALL,
        &log::ALL,
        &queue::ALL,
        &expiry::ALL,
        &snapshot::ALL,
        indexes::ALL,
        indexes::deployment::ALL,
        index_calls::ALL,
        &index_queries::ALL,
        &changes::ALL,
    ];
    lists.into_iter().flatten()
}

/// Returns the cases of every pattern.
pub fn all() -> impl Iterator<Item = &'static Case> {
    cases().filter(|case| case.has_tasks)
}

/// Returns the promises of every pattern.
pub fn promises() -> impl Iterator<Item = &'static Promise> {
    cases().filter(|case| case.is_promise).map(|case| &case.promise)
}

pub(super) const TABLE: &str = "Rows";
/// The time of a lease, an item and a reservation.
pub(super) const TIME: Duration = Duration::from_secs(30);
/// A jump of the clock over that time and its margin.
const PAST: Duration = Duration::from_secs(45);
/// The attempts of a process that waits for another one. More are never needed.
pub(super) const ATTEMPTS: usize = 12;

/// The key of any row. A check that reads no Timestamp leaves the order of writes to different rows open.
#[derive(TableEntity, Debug)]
pub(super) struct RowId {
    #[table(partition_key)]
    _partition: String,
    #[table(row_key)]
    pub(super) row: String,
}

/// Returns the table of a task.
pub(super) fn table<E>(service: &TableServiceClient) -> TableClient<E> {
    service.table(TABLE).unwrap()
}

/// Returns the stored rows that match, read without the gate.
async fn stored<E: TableEntity + ReadEntity>(place: &Place, filter: &str) -> Vec<E> {
    stored_in(place, TABLE, filter).await
}

/// See [`stored`].
pub(super) async fn stored_in<E: TableEntity + ReadEntity>(place: &Place, table: &str, filter: &str) -> Vec<E> {
    let rows = place.behind().table::<E>(table).unwrap();
    let mut query = rows.query().allow_table_scan();
    if !filter.is_empty() {
        query = query.filter(Filter::raw(filter.to_owned()));
    }
    query.all().await.unwrap()
}

/// Runs two tasks beside each other. Afterwards no write is in flight.
pub(super) async fn both<A, B>(
    place: &Place,
    a: impl AsyncFn(TableServiceClient) -> A,
    b: impl AsyncFn(TableServiceClient) -> B,
) -> (A, B) {
    let done = join(place.task("a", a), place.task("b", b)).await;
    place.settle().await;
    done
}

/// Runs two tasks beside each other that must succeed, see [`both`].
pub(super) async fn try_both<A, B>(
    place: &Place,
    a: impl AsyncFn(TableServiceClient) -> Result<A>,
    b: impl AsyncFn(TableServiceClient) -> Result<B>,
) -> Result<(A, B)> {
    let (a, b) = both(place, a, b).await;
    Ok((a?, b?))
}

/// Creates tables, without the gate.
pub(super) fn create_tables(place: &Place, tables: &[&str]) {
    for table in tables {
        place.clients::<DynamicEntity>(table);
    }
}

/// Counts the results of a call. Only a lost request or response lets one fail, and processes lose none.
fn done<'a, T: Debug + 'a>(place: &Place, results: impl IntoIterator<Item = &'a Result<T>> + Clone) {
    count(results.clone());
    if place.has_crashes() {
        let failed = results.into_iter().find(|result| result.is_err());
        assert!(failed.is_none(), "{failed:?}");
    }
}

fn new_header() -> Header {
    Header {
        group: "g".into(),
        rows: 0,
        write: None,
    }
}

/// Another worker, until it is dropped: also by a crash.
struct Working<'a>(&'a Cell<u32>);

impl<'a> Working<'a> {
    /// Works beside `others`.
    fn begin(others: &'a Cell<u32>) -> Self {
        assert_eq!(others.replace(1), 0, "two work at the same time");
        Self(others)
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
