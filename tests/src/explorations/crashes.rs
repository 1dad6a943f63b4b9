//! Patterns, operations and examples in processes that crash, in every order of their requests.
//!
//! Contains the list of all, those of operations and examples, and the shared code. The systems have cases too, in
//! `tests/systems/crashes.rs`.
//!
//! Some planted mistakes show only without a crash. A lease that forgets a request, and a sequence that keeps a block
//! in doubt, need a process that lives on after a lost response. An item that is free too early needs a living worker.

mod channel;
mod logs;
mod positions;
mod tables;
mod writes;

use std::iter;
use std::time::Duration;

use azure_table::emulator::SeedEntities as _;
use azure_table::testing::{Exploration, Explore, Simulation};
use azure_table::{DynamicEntity, ErrorKind, Result, TableServiceClient};

use super::{Case, patterns};

/// A body with processes that crash, of another crate.
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
    /// The columns of `row`.
    pub const HEADER: &str = "| pattern or system | processes | crashes per run | schedules | crashes executed | late writes | \
                              time | |\n|---|--:|--:|--:|--:|--:|--:|---|";

    /// Explores the case with one crash per run, for up to this time. Returns the line of a table.
    ///
    /// The orders without a crash come first. If they take the whole time, it explores again, for four times as long.
    ///
    /// # Panics
    /// A run failed, or no process crashed in any order.
    pub fn check(&self, time: Duration) -> String {
        check(self.name, self.processes, &self.explore, time)
    }
}

impl Case {
    /// Explores its processes, as [`CrashCase::check`] does.
    ///
    /// # Panics
    /// A run failed, or no process crashed in any order.
    pub fn check(&self, time: Duration) -> String {
        check(self.name, self.processes, &|bounds| self.explore_crashes(bounds), time)
    }

    /// Returns the line of a table for a result of its processes.
    pub fn row(&self, bounds: CrashBounds, found: &Exploration) -> String {
        row(self.name, self.processes, bounds, found)
    }
}

fn row(name: &str, processes: usize, bounds: CrashBounds, found: &Exploration) -> String {
    format!(
        "| {name} | {processes} | {} | {} | {} | {} | {} ms | {} |",
        bounds.crashes,
        found.schedules(),
        found.crashes(),
        found.late_writes(),
        found.elapsed().as_millis(),
        verdict(found)
    )
}

/// Returns the last column of a table of explorations.
pub fn verdict(found: &Exploration) -> String {
    match (found.failure(), found.stop_reason()) {
        (Some(_), _) => "FAILED".to_owned(),
        (None, Some(bound)) => bound.to_string(),
        (None, None) => "all seen".to_owned(),
    }
}

fn check(name: &str, processes: usize, explore: &dyn Fn(CrashBounds) -> Exploration, time: Duration) -> String {
    let bounds = CrashBounds { crashes: 1, time };
    let found = explore(bounds);
    assert!(found.failure().is_none(), "{name}: {found}");
    if found.crashes() == 0 && !found.is_proof() && time < MAX_TIME {
        return check(name, processes, explore, 4 * time);
    }
    assert!(found.crashes() > 0, "{name}: no process crashed: {found}");
    row(name, processes, bounds, &found)
}

/// Returns the cases of every pattern, operation and example.
pub fn all() -> impl Iterator<Item = &'static Case> {
    let own = writes::ALL.iter().chain(&positions::ALL).chain(&channel::ALL);
    let own = own.chain(&logs::ALL).chain(&tables::ALL);
    patterns::cases().chain(own).filter(|case| case.processes > 0)
}

/// The time after which an exploration without a crash is a failure.
const MAX_TIME: Duration = Duration::from_secs(180);

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
        let rows = simulation.service().dynamic_table(*table)?;
        rows.query().keys().allow_table_scan().all().await?;
    }
    Ok(())
}

/// Returns `None` if the rows have changed: a write of an earlier life has arrived, or another process was first.
pub(super) fn unless_changed<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) if is_change(e.kind()) => Ok(None),
        Err(e) => Err(e),
    }
}

pub(super) fn is_change(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::AlreadyExists | ErrorKind::NotFound | ErrorKind::ConditionNotMet
    )
}
