//! Every operation × every fault × {once, always, at random} × location mode: the result matches the state of the
//! service.
//!
//! The emulator is behind the faults, tokio's clock is paused, and a map is the model of the service. The secondary
//! lags. Client, table and call set the same options, and the nearest is effective.
//!
//! Cases of one operation and one fault share an emulator. Each starts from the state that the previous one left.
//! `AZURE_TABLE_FAULT_SEEDS` is the number of random cases of each pair; 1,000 are the whole matrix. With fewer than
//! four, each pair has one of the location modes.
//! `AZURE_TABLE_FAULT_OPERATION` names a single operation.
//!
//! An operation is an entry of `operations/`. `complete.rs` fails for each method of the client that sends and has no
//! entry.

mod bulk_promises;
pub(crate) mod case_runner;
mod check;
mod complete;
pub(crate) mod model;
pub(crate) mod operation;
pub(crate) mod operations;
pub(crate) mod options;
mod report;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use azure_table::Emulator;

use self::case_runner::{CaseRunner, LOCATIONS};
use self::check::Broken;
use self::operation::Entry;
use self::options::Between;
use self::report::Report;
use azure_table_tests::promises::on_paused_clock;
use azure_table_tests::scenario::{Mode, Scenario, blind_resend};

/// The number of random cases of an operation and a fault.
const SEEDS: u64 = 1;
/// Bulks are slow: they have one random case for this many of others.
const SHARE_OF_BULKS: u64 = 4;
/// The minimum number of cases of a whole run.
const CASES: u64 = 7_000;
/// Cases on one emulator: its clock must not get 15 minutes ahead of the client's.
const MAX_CASES: u64 = 15;
/// The tables that are created and deleted; a state has some of them.
pub(crate) const TABLES: [&str; 4] = ["Alpha", "Beta", "Gamma", "Delta"];

/// Runs the cases of these scenarios on all cores, each in a runtime with a paused clock.
fn run(seeds: u64, only: &[&str], between: Between) -> Report {
    let scenarios = Scenario::all(&Emulator::new(), &Arc::default());
    let entries = operations::all();
    let mut units = Vec::new();
    let wanted = std::env::var("AZURE_TABLE_FAULT_OPERATION").ok();
    let is_short = seeds < LOCATIONS.len() as u64;
    let is_wanted = |entry: &Entry| wanted.as_ref().is_none_or(|name| name == entry.name);
    for (number, entry) in entries.iter().enumerate().filter(|(_, entry)| is_wanted(entry)) {
        for (index, scenario) in scenarios.iter().enumerate() {
            let is_possible = entry.is_batch || scenario.concerns_single_requests();
            if !is_possible || !only.is_empty() && !only.contains(&scenario.name) {
                continue;
            }
            let share = if entry.is_paced { SHARE_OF_BULKS } else { 1 };
            let seeds = seeds.div_ceil(share);
            let sole = is_short.then(|| LOCATIONS[(number + index) % LOCATIONS.len()]);
            for first in (0..=seeds).step_by(MAX_CASES as usize) {
                units.push((entry, index, sole, first..seeds.min(first + MAX_CASES)));
            }
        }
    }
    let (next, total) = (AtomicUsize::new(0), Mutex::new(Report::default()));
    let work = || {
        let mut report = Report::default();
        while let Some((entry, index, sole, seeds)) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
            on_paused_clock(0, async {
                let mut runner = CaseRunner::new(entry, *index, between).await;
                if seeds.start == 0 {
                    for mode in [Mode::Once, Mode::Always] {
                        let locations = (0..).zip(LOCATIONS);
                        for (seed, location) in locations.filter(|(_, it)| sole.is_none_or(|sole| sole == *it)) {
                            runner.case(mode, location, seed, &mut report).await;
                        }
                    }
                }
                for seed in seeds.clone() {
                    let location = sole.unwrap_or(LOCATIONS[seed as usize % LOCATIONS.len()]);
                    runner.case(Mode::Random, location, seed, &mut report).await;
                }
                runner.finish().await;
            });
        }
        total.lock().unwrap().add(report);
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    total.into_inner().unwrap()
}

/// Runs the whole matrix, and fails if a result does not match the state of the service.
fn run_whole(name: &str, between: Between) {
    let seeds = std::env::var("AZURE_TABLE_FAULT_SEEDS").map_or(SEEDS, |seeds| seeds.parse().unwrap());
    let started = Instant::now();
    let report = run(seeds, &[], between);
    azure_table_tests::report::remark(&report.to_string());
    let (cases, faults, wrong) = (report.cases(), report.faults, report.broken.len());
    azure_table_tests::report::print(&format!("{name}: {cases} cases, {faults} faults, {wrong} wrong"));
    azure_table_tests::report::remark(&format!("{:.1} s", started.elapsed().as_secs_f64()));
    assert!(report.broken.is_empty(), "{}", report.failures());
    let is_whole = seeds >= SEEDS && std::env::var_os("AZURE_TABLE_FAULT_OPERATION").is_none();
    assert!(!is_whole || cases >= CASES, "{cases} cases");
}

#[test]
fn every_operation_reports_its_effect_under_every_fault() {
    run_whole("matrix", |faults| Arc::new(faults));
}

/// The faults are below an HTTP client of azure_core, which reports them by its own kinds of errors.
#[cfg(feature = "suite")]
#[test]
fn every_operation_reports_its_effect_over_a_client_of_azure_core() {
    use azure_table::transport::{AzureCoreTransport, TransportHttpClient};

    run_whole("matrix over azure_core", |faults| {
        let client = TransportHttpClient::new(faults);
        Arc::new(AzureCoreTransport::from_client(Arc::new(client)))
    });
}

/// The matrix can fail: it does with a retry that sends every failed write again.
#[test]
fn matrix_finds_a_blind_retry_of_writes() {
    let lost = ["answer lost", "500 after applying"];
    let report = run(2, &lost, |faults| Arc::new(blind_resend(faults)));
    for name in [
        "insert",
        "replace",
        "merge",
        "delete",
        "patch",
        "batch",
        "write via batch",
        "insert returning",
        "create table",
        "delete table",
        "ensure tables",
        "insert that creates its table",
        "bulk insert",
        "update where",
    ] {
        let is_found = report.broken.iter().any(|(found, ..)| *found == name);
        assert!(is_found, "{name} was sent again unseen");
    }
    let mut broken = report.broken.iter();
    assert!(broken.any(|(name, broken, _)| *name == "insert" && *broken == Broken::DenialIsNotTrue));
}
