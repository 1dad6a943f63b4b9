//! Properties that hold for all values, checked on many random ones.

mod batches;
mod entities;
mod filters;
mod key_ranges;
mod keys;
mod row_layouts;
mod scans;
mod tables;

use proptest::test_runner::Config;

/// A quarter of the cases, and all of them with `AZURE_TABLE_ALL_CASES`, which CI sets.
fn cases(all: Config) -> Config {
    let cases = match std::env::var_os("AZURE_TABLE_ALL_CASES") {
        Some(_) => all.cases,
        None => all.cases.div_ceil(4),
    };
    Config { cases, ..all }
}
