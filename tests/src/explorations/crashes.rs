//! The promises of patterns, operations and examples to processes that crash, in every order of their requests.
//!
//! Contains the list of all cases, and the shared code. Each case runs processes that begin again after a crash, then
//! checks the stored rows. The systems have cases too, in `tests/systems/claims/crashes.rs`.
//!
//! Some planted mistakes show only without a crash. A lease that forgets a request, and a sequence that keeps a block
//! in doubt, need a process that lives on after a lost response. An item that is free too early needs a living worker.

mod channel;
mod expiry;
mod leases;
mod logs;
mod partitions;
mod positions;
mod queue;
mod tables;
mod unique;
mod unique_in_table;
mod writes;

use std::iter;
use std::time::Duration;

use azure_table::emulator::SeedEntities as _;
use azure_table::testing::{Exploration, Explore, Simulation};
use azure_table::{DynamicEntity, ErrorKind, ReadEntity, Result, TableClient, TableEntity, TableServiceClient};

/// A body with processes that crash.
#[derive(Clone, Copy, Debug)]
pub struct CrashCase {
    /// The pattern or operation, and what its processes do.
    pub name: &'static str,
    /// The number of processes.
    pub processes: usize,
    /// Runs the exploration.
    pub explore: fn(CrashBounds) -> Exploration,
}

/// The bounds of an exploration with crashes.
#[derive(Clone, Copy, Debug)]
pub struct CrashBounds {
    /// The most crashes in one run.
    pub crashes: usize,
    /// The time after which the exploration stops.
    pub time: Duration,
}

impl CrashBounds {
    /// Sets the bounds. Only the time ends the exploration.
    pub fn of<B>(self, exploration: Explore<B>) -> Explore<B> {
        exploration
            .crashes(self.crashes)
            .max_schedules(u64::MAX)
            .max_time(self.time)
    }
}

impl CrashCase {
    /// The columns of [`row`](Self::row).
    pub const HEADER: &str = "| pattern or system | processes | crashes per run | schedules | crashes executed | late writes | \
                              time | |\n|---|--:|--:|--:|--:|--:|--:|---|";

    /// Returns the line of a table for a result.
    pub fn row(&self, bounds: CrashBounds, found: &Exploration) -> String {
        let verdict = match (found.failure(), found.stop_reason()) {
            (Some(_), _) => "FAILED".to_owned(),
            (None, Some(bound)) => bound.to_string(),
            (None, None) => "all seen".to_owned(),
        };
        format!(
            "| {} | {} | {} | {} | {} | {} | {} ms | {verdict} |",
            self.name,
            self.processes,
            bounds.crashes,
            found.schedules(),
            found.crashes(),
            found.late_writes(),
            found.elapsed().as_millis()
        )
    }

    /// Explores the case with one crash per run, for up to this time. Returns the line of a table.
    ///
    /// The orders without a crash come first. If they take the whole time, it explores again, for four times as long.
    ///
    /// # Panics
    /// A run failed, or no process crashed in any order.
    pub fn check(&self, time: Duration) -> String {
        let bounds = CrashBounds { crashes: 1, time };
        let found = (self.explore)(bounds);
        assert!(found.failure().is_none(), "{}: {found}", self.name);
        if found.crashes() == 0 && !found.is_proof() && time < MAX_TIME {
            return self.check(4 * time);
        }
        assert!(found.crashes() > 0, "{}: no process crashed: {found}", self.name);
        self.row(bounds, &found)
    }
}

/// Returns the cases of every pattern, operation and example.
pub fn all() -> impl Iterator<Item = &'static CrashCase> {
    let first = leases::ALL.iter().chain(&queue::ALL).chain(&partitions::ALL);
    let second = first.chain(&unique::ALL).chain(&unique_in_table::ALL);
    let third = second.chain(&expiry::ALL).chain(&writes::ALL);
    let fourth = third.chain(&positions::ALL).chain(&channel::ALL);
    fourth.chain(&logs::ALL).chain(&tables::ALL)
}

/// The time after which an exploration without a crash is a failure.
const MAX_TIME: Duration = Duration::from_secs(180);
const TABLE: &str = "Rows";
/// The time of a lease, an item and a reservation.
const TIME: Duration = Duration::from_secs(30);
/// A jump of the clock over that time and its margin.
const PAST: Duration = Duration::from_secs(45);
/// The attempts of a process that waits for another one. More are never needed.
const ATTEMPTS: usize = 12;

/// Creates the tables, and returns a client that is not explored, for rows that exist before and checks after.
pub fn behind(simulation: &Simulation, tables: &[&str]) -> TableServiceClient {
    for table in tables {
        let none = iter::empty::<DynamicEntity>();
        simulation.emulator().seed(table, none).unwrap();
    }
    TableServiceClient::from_transport(simulation.emulator().clone())
}

/// Reads the tables in an ordered request. A late write may arrive before it, after the processes have ended.
///
/// # Errors
/// Those of a query.
pub async fn settle(simulation: &Simulation, tables: &[&str]) -> Result<()> {
    for table in tables {
        let rows = simulation.service().table::<RowId>(*table)?;
        rows.query().allow_table_scan().count().await?;
    }
    Ok(())
}

/// Returns the stored rows of a table whose RowKeys are in the range, read without ordered requests.
pub(super) async fn stored<E: TableEntity + ReadEntity>(
    behind: &TableServiceClient,
    table: &str,
    filter: &str,
) -> Vec<E> {
    let rows = behind.table::<E>(table).unwrap();
    let mut query = rows.query().allow_table_scan();
    if !filter.is_empty() {
        query = query.filter(azure_table::Filter::raw(filter.to_owned()));
    }
    query.all().await.unwrap()
}

/// The key of any row. A check that reads no Timestamp leaves the order of writes to different rows open.
#[derive(TableEntity, Debug)]
pub(super) struct RowId {
    #[table(partition_key)]
    _partition: String,
    #[table(row_key)]
    row: String,
}

/// A row with a number.
#[derive(TableEntity, Clone, Debug)]
struct Number {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    name: String,
    number: i64,
}

impl Number {
    fn new(name: &str, number: i64) -> Self {
        let (group, name) = ("g".to_owned(), name.to_owned());
        Self { group, name, number }
    }
}

/// Returns the table of a process.
fn table<E>(service: &TableServiceClient) -> TableClient<E> {
    service.table(TABLE).unwrap()
}

/// Returns `None` if the rows have changed: a write of an earlier life has arrived, or another process was first.
fn unless_changed<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) if is_change(e.kind()) => Ok(None),
        Err(e) => Err(e),
    }
}

fn is_change(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::AlreadyExists | ErrorKind::NotFound | ErrorKind::ConditionNotMet
    )
}
