//! The explorations that take long: with a fault, and processes that crash in many orders.

use std::time::Duration;

use azure_table_tests::explorations::{Case, crashes, operations, patterns};

/// The patterns have many cases: each has the time of a system, divided by this.
const CASES_PER_SYSTEM: u32 = 15;

/// Explores the cases that are not slow with this many faults.
fn prove<'a>(cases: impl Iterator<Item = &'a Case>, faults: usize) {
    for case in cases.filter(|case| !case.is_slow(faults)) {
        let found = case.explore(faults);
        // On a slow machine its minute may end one with a fault: `cargo xtask long` sees all orders.
        let is_proven = found.is_proof() || faults > 0 && found.failure().is_none();
        assert!(is_proven, "{}: {found}", case.name);
    }
}

#[test]
#[ignore = "takes long: `tests/faults/run` runs it"]
fn explorations_of_operations_with_one_fault() {
    prove(operations::ALL.iter(), 1);
}

#[test]
#[ignore = "takes long: `tests/faults/run` runs it"]
fn explorations_of_patterns() {
    prove(patterns::all(), 0);
}

#[test]
#[ignore = "takes long: `tests/faults/run` runs it"]
fn explorations_of_patterns_with_one_fault() {
    prove(patterns::all(), 1);
}

#[test]
#[ignore = "takes long: `tests/faults/run` runs it"]
fn explorations_of_processes_that_crash() {
    // `cargo program explorations -- crashes` runs each for a minute.
    let seconds = std::env::var("AZURE_TABLE_CRASH_SECONDS").map_or(15, |seconds| seconds.parse().unwrap());
    for case in crashes::all() {
        println!("{}", case.check(Duration::from_secs(seconds) / CASES_PER_SYSTEM));
    }
}
