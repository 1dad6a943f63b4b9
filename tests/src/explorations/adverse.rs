//! The promises of the patterns on services that do their worst, in many orders of their requests.
//!
//! `cargo test` runs them in one order with many seeds (`tests/faults/adverse.rs`). An adverse service remembers its
//! requests, so no two of them commute, and a bound ends most of these explorations.

use std::time::Duration;

use azure_table::testing::{Exploration, Simulation, explore};

use crate::promises::{Place, Promise};

/// Explores a promise on the adverse service of a seed, for up to this time.
pub fn on_adverse_service(promise: &Promise, seed: u64, time: Duration) -> Exploration {
    let body = async |simulation: Simulation| (promise.hold)(Place::explored_on_adverse_service(simulation)).await;
    explore(body).adverse(seed).max_schedules(u64::MAX).max_time(time).run()
}
