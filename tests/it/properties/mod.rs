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

/// Scales the cases: `PROPTEST_CASES` is 256 if it is not set, a quarter of what CI runs.
fn cases(all: Config) -> Config {
    let cases = u64::from(all.cases) * u64::from(Config::default().cases) / 1024;
    Config {
        cases: cases.clamp(1, u64::from(u32::MAX)) as u32,
        ..all
    }
}
