//! Properties that hold for all values, checked on many random ones.

mod batches;
mod entities;
mod filters;
mod key_ranges;
mod keys;
mod row_layouts;
mod scans;
mod tables;

use azure_table_tests::scenario::of_all;
use proptest::test_runner::Config;

fn cases(all: Config) -> Config {
    Config {
        cases: of_all(all.cases),
        ..all
    }
}

/// Runs a case on a runtime whose clock is paused.
fn run<F: Future>(case: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build().unwrap();
    runtime.block_on(case)
}
