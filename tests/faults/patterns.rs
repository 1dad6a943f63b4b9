//! Every promise of a pattern × every fault × {once, always, at random}, with fewer pairs in a plain `cargo test`.
//!
//! The promises are also explored: in each order, with a lost request or response. This module adds the other faults,
//! and several per run.
//!
//! A fiftieth of `AZURE_TABLE_FAULT_SEEDS` is the number of random runs of each pair.

use azure_table_tests::explorations::patterns::promises;
use azure_table_tests::promises::under_every_fault;

/// The number of random runs of each promise and fault. With none, a promise meets every third fault.
const SEEDS: u64 = 0;
/// They are slow: one run for this many of the matrix.
const SHARE: u64 = 50;

#[test]
fn promises_of_patterns_hold_under_every_fault() {
    let seeds =
        std::env::var("AZURE_TABLE_FAULT_SEEDS").map_or(SEEDS, |seeds| seeds.parse::<u64>().unwrap().div_ceil(SHARE));
    let result = under_every_fault(promises(), seeds);
    let (runs, hits, broken) = (result.runs, result.hits, result.broken);
    azure_table_tests::report::print(&format!("patterns: {runs} runs, {hits} faults, {} wrong", broken.len()));
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(hits > runs, "the faults were not met: {hits} in {runs} runs");
}
