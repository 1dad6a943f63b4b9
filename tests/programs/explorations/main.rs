//! Prints every exploration as a table: its orders, without and with one fault, and its time.
//!
//! `cargo program explorations` takes an hour: each exploration ends after all orders, or after a minute. After `--` it
//! takes `operations`, `patterns`, `crashes` or `adverse`, and a word of the names. It ends with exit code 1 if one
//! fails.
//!
//! `adverse`, which must be named, has the promises of the patterns on services that do their worst.
//! `crashes` has processes that crash once in a run, each for at most a minute, or the seconds after the word; `adverse`
//! has the same time for all seeds of a promise.
//!
//! `indexes` has two and three calls of declared indexes beside each other, on both services, calm and at their worst,
//! with faults, crashes, and both. It takes a word of the calls or the service, and the seconds of each: 2 by default.
//!
//! `histories` runs random histories of declared indexes. It takes a word of the names of their services, and the
//! numbers of seeds and of calls.

#![expect(clippy::print_stdout, reason = "a program for the command line")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use azure_table::testing::Exploration;
use azure_table_tests::explorations::adverse::on_adverse_service;
use azure_table_tests::explorations::crashes::{CrashBounds, CrashCase, verdict};
use azure_table_tests::explorations::patterns::indexes::matrix::{IndexCase, IndexSetting};
use azure_table_tests::explorations::{Case, crashes, index_histories, operations, patterns};
use azure_table_tests::promises::Promise;

/// The seconds of an exploration with crashes, and of a promise on adverse services.
const SECONDS: u64 = 60;
/// The seeds of adverse services.
const SEEDS: u64 = 6;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut promises: Vec<&Promise> = Vec::new();
    let (mut cases, mut crashing): (Vec<&Case>, Vec<&Case>) = match arguments.next().as_deref() {
        None => (
            operations::ALL.iter().chain(patterns::all()).collect(),
            crashes::all().collect(),
        ),
        Some("operations") => (operations::ALL.iter().collect(), Vec::new()),
        Some("patterns") => (patterns::all().collect(), Vec::new()),
        Some("crashes") => (Vec::new(), crashes::all().collect()),
        Some("indexes") => return explore_indexes(arguments),
        Some("histories") => return run_histories(arguments),
        Some("adverse") => {
            promises = patterns::promises().collect();
            (Vec::new(), Vec::new())
        }
        Some(other) => {
            println!(
                "{other:?} is not a list of explorations: expected `operations`, `patterns`, `crashes`, `adverse`, \
                 `indexes` or `histories`"
            );
            return ExitCode::from(2);
        }
    };
    if let Some(word) = arguments.next() {
        let is_named = |name: &str| name.to_lowercase().contains(&word.to_lowercase());
        cases.retain(|case| is_named(case.name));
        crashing.retain(|case| is_named(case.name));
        promises.retain(|promise| is_named(promise.name));
        if cases.is_empty() && crashing.is_empty() && promises.is_empty() {
            println!("no exploration has {word:?} in its name");
            return ExitCode::from(2);
        }
    }
    let seconds = arguments.next().map_or(Ok(SECONDS), |seconds| seconds.parse());
    let Ok(seconds) = seconds else {
        println!("the third argument is not a number of seconds");
        return ExitCode::from(2);
    };
    let holds = cases.is_empty() || explore(&cases);
    let survives = crashing.is_empty() || explore_crashes(&crashing, seconds);
    if (promises.is_empty() || explore_adverse(&promises, seconds)) && survives && holds {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Returns `true` if no case fails.
fn explore(cases: &[&Case]) -> bool {
    println!("| exploration | faults | orders | pruned | requests | time | |");
    println!("|---|--:|--:|--:|--:|--:|---|");
    let mut holds = true;
    for case in cases {
        for faults in 0..=1 {
            let found = case.explore(faults);
            let verdict = verdict(&found);
            let (orders, pruned, requests) = (found.schedules(), found.pruned(), found.requests());
            let ms = found.elapsed().as_millis();
            println!(
                "| {} | {faults} | {orders} | {pruned} | {requests} | {ms} ms | {verdict} |",
                case.name
            );
            if let Some(failure) = found.failure() {
                println!("\n{failure}\n");
                holds = false;
            }
        }
    }
    holds
}

/// Returns `true` if no case fails.
fn explore_crashes(cases: &[&Case], seconds: u64) -> bool {
    println!("{}", CrashCase::HEADER);
    let mut holds = true;
    for case in cases {
        let bounds = CrashBounds {
            crashes: 1,
            time: Duration::from_secs(seconds),
        };
        let found = case.explore_crashes(bounds);
        println!("{}", case.row(bounds, &found));
        if let Some(failure) = found.failure() {
            println!("\n{failure}\n");
            holds = false;
        }
    }
    holds
}

/// Returns `true` if no promise fails.
fn explore_adverse(promises: &[&Promise], seconds: u64) -> bool {
    println!("| promise on adverse services | seeds | orders | requests | time | |");
    println!("|---|--:|--:|--:|--:|---|");
    let mut holds = true;
    for promise in promises {
        let each = Duration::from_secs(seconds) / SEEDS as u32;
        let found: Vec<Exploration> = (0..SEEDS).map(|seed| on_adverse_service(promise, seed, each)).collect();
        let sum = |count: fn(&Exploration) -> u64| found.iter().map(count).sum::<u64>();
        let failures: Vec<_> = found.iter().filter_map(Exploration::failure).collect();
        let seen = found.iter().filter(|found| found.is_proof()).count();
        println!(
            "| {} | {SEEDS} | {} | {} | {} ms | {} |",
            promise.name,
            sum(Exploration::schedules),
            sum(Exploration::requests),
            sum(|found| found.elapsed().as_millis() as u64),
            if failures.is_empty() {
                format!("holds, all orders seen of {seen} seeds")
            } else {
                "FAILED".to_owned()
            }
        );
        failures.iter().for_each(|failure| println!("\n{failure}\n"));
        holds &= failures.is_empty();
    }
    holds
}

/// The number of calls of a history.
const CALLS: usize = 10_000;

/// Runs histories of declared indexes, from the first seed on. A history that fails panics.
fn run_histories(mut arguments: impl Iterator<Item = String>) -> ExitCode {
    let word = arguments.next().unwrap_or_default();
    let numbers: Result<Vec<usize>, _> = arguments.map(|number| number.parse()).collect();
    let Ok(numbers) = numbers else {
        println!("after the word, `histories` takes the numbers of seeds and of calls");
        return ExitCode::from(2);
    };
    let seeds = numbers.first().copied().unwrap_or(1) as u64;
    let calls = numbers.get(1).copied().unwrap_or(CALLS);
    println!("| service | seed | calls | time |");
    println!("|---|--:|---|--:|");
    let settings = index_histories::Setting::ALL.into_iter();
    for setting in settings.filter(|setting| setting.name.to_lowercase().contains(&word.to_lowercase())) {
        for seed in 0..seeds {
            let start = Instant::now();
            let counts = index_histories::run(setting, seed, calls);
            println!(
                "| {} | {seed} | {counts} | {} ms |",
                setting.name,
                start.elapsed().as_millis()
            );
        }
    }
    ExitCode::SUCCESS
}

/// The seconds of each exploration of indexes.
const INDEX_SECONDS: u64 = 2;

/// Explores all calls of declared indexes under every setting. One that fails ends with exit code 1.
fn explore_indexes(mut arguments: impl Iterator<Item = String>) -> ExitCode {
    let word = arguments.next().unwrap_or_default().to_lowercase();
    let seconds = arguments.next().map_or(Ok(INDEX_SECONDS), |seconds| seconds.parse());
    let Ok(seconds) = seconds else {
        println!("after the word, `indexes` takes the number of seconds");
        return ExitCode::from(2);
    };
    println!("| calls | service | faults | crashes | schedules | crashes executed | late writes | time | |");
    println!("|---|---|--:|--:|--:|--:|--:|--:|---|");
    let (mut explored, mut whole, mut failed) = (0, 0, 0);
    for case in IndexCase::all() {
        for setting in IndexSetting::all() {
            let name = format!("{} | {}", case.name(), setting.service);
            if !name.to_lowercase().contains(&word) {
                continue;
            }
            let found = case.explore(setting, Duration::from_secs(seconds));
            let verdict = verdict(&found);
            println!(
                "| {name} | {} | {} | {} | {} | {} | {} ms | {verdict} |",
                setting.faults,
                setting.crashes,
                found.schedules(),
                found.crashes(),
                found.late_writes(),
                found.elapsed().as_millis()
            );
            if let Some(failure) = found.failure() {
                println!("\n{failure}\n");
                failed += 1;
            }
            explored += 1;
            whole += usize::from(found.is_proof());
        }
    }
    println!("\n{explored} explorations: {whole} have seen all orders, {failed} failed");
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
