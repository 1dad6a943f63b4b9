//! The test utilities: the service of a test, scripts, spies, recordings. Faults are in `faults/kit.rs`.

use std::panic::{AssertUnwindSafe, catch_unwind};

mod attribute;
mod changes;
mod explorations;
mod explore;
mod explore_complete;
mod explore_crashes;
mod explore_deaths;
mod explore_pruning;
mod grouped;
mod index_calls;
mod index_declarations;
mod index_deployment;
mod index_guarantees;
mod index_histories;
mod index_races;
mod index_rules;
mod indexes;
mod patterns;
mod recordings;
mod scripts;
mod secrets;
mod shared_partitions;
mod snapshots;
mod spies;

/// Returns the message of a panic.
fn panic_of(code: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(code)).unwrap_err();
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}
