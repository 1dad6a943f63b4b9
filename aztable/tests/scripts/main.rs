//! Random scripts of commands, held against a model: what a command must do follows from the tables and files before it.
//!
//! Everything in a script follows from its seed, except the moment at which a process that works on a folder is killed.
//!
//! | variable | meaning |
//! |---|---|
//! | `AZTABLE_SCRIPTS=300` | the number of scripts; 30 without it |
//! | `AZTABLE_SCRIPTS_SEED=7` | runs this script alone, and prints its commands |
//! | `AZTABLE_SCRIPTS_STOP=1` | stops after the first script that fails |
//! | `AZTABLE_SCRIPTS_SKIP=counts,resume` | claims that are not reported, while they are known to fail |
//! | `AZTABLE_SCRIPTS_PRINT=50` | the failed scripts that are printed in full; 5 without it |
//! | `AZTABLE_SCRIPTS_REQUIRE_PYARROW=1` | fails without `pyarrow`, instead of leaving out Parquet of other programs |

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod backups;
mod claims;
mod counts;
mod exports;
mod faults;
mod files;
mod front;
mod imports;
mod judge;
mod options;
mod pairs;
mod paths;
mod program;
mod python;
mod resume;
mod rows;
mod script;
mod secrets;
mod selected;
mod singles;
mod task;
mod usage;
mod world;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::python::Python;
use crate::script::{Report, Script};
use crate::usage::Usage;

/// The scripts that run at the same time.
const LANES: usize = 4;
/// The scripts in which each kind of command, file, path and fault must occur.
const ENOUGH: usize = 300;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap())
}

#[test]
fn scripts_do_what_the_model_says() {
    let seed = number("AZTABLE_SCRIPTS_SEED");
    let count = if seed.is_some() {
        1
    } else {
        number("AZTABLE_SCRIPTS").unwrap_or(30)
    };
    let first = seed.unwrap_or_else(|| fastrand::u64(..1 << 32));
    let skipped = std::env::var("AZTABLE_SCRIPTS_SKIP").unwrap_or_default();
    let skipped: Vec<&str> = skipped.split(',').collect();
    let stops = number("AZTABLE_SCRIPTS_STOP").is_some();
    let python = Python::start();
    let usage = Usage::default();
    let next = AtomicU64::new(0);
    let reports = Mutex::new(Vec::new());
    std::thread::scope(|lanes| {
        for _ in 0..LANES {
            lanes.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    let seed = first + index;
                    let script = || Script::new(seed, &python, &usage, &skipped).run();
                    let report = catch_unwind(AssertUnwindSafe(script)).unwrap_or_else(|_| Report::of_panic(seed));
                    if stops && !report.failures.is_empty() {
                        next.store(count, Ordering::Relaxed);
                    }
                    reports.lock().unwrap().push(report);
                }
            });
        }
    });
    let reports = reports.into_inner().unwrap();
    if seed.is_some() {
        reports.iter().for_each(|report| eprintln!("{}", report.text()));
    }
    summarize(&reports, &usage);
    let missing = usage.missing(python.has_parquet());
    assert!(
        reports.len() < ENOUGH || missing.is_empty(),
        "never used in {} scripts: {missing:?}",
        reports.len()
    );
    assert!(
        reports.iter().all(|report| report.failures.is_empty()),
        "some scripts failed"
    );
}

/// Prints the first failures, the number of failed scripts by claim, and what was used.
fn summarize(reports: &[Report], usage: &Usage) {
    let printed = number("AZTABLE_SCRIPTS_PRINT").map_or(5, |printed| usize::try_from(printed).unwrap());
    let failed: Vec<_> = reports.iter().filter(|report| !report.failures.is_empty()).collect();
    for report in failed.iter().take(printed) {
        eprintln!("{}", report.text());
    }
    let mut claims: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for report in &failed {
        for (claim, _) in &report.failures {
            let seeds = claims.entry(claim.name()).or_default();
            if seeds.last() != Some(&report.seed) {
                seeds.push(report.seed);
            }
        }
    }
    for (claim, seeds) in claims {
        eprintln!(
            "failed {claim}: {} scripts, for example {:?}",
            seeds.len(),
            &seeds[..seeds.len().min(8)]
        );
    }
    eprintln!("{}", usage.table());
    let sum = |count: fn(&Report) -> usize| reports.iter().map(count).sum::<usize>();
    eprintln!(
        "scripts: {} scripts, {} commands, {} faults, {} failures",
        reports.len(),
        sum(|report| report.commands),
        sum(|report| report.faults),
        failed.len(),
    );
}
