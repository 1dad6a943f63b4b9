//! Input from outside is bytes: parsing any bytes soon ends in a value or an error, without a panic.
//!
//! Each module has one kind of foreign text: arbitrary bytes, pieces of its grammar in any order, and damaged valid
//! samples (`document.rs`). All go through the public client, whose transport answers from a script. `bounds.rs` has
//! texts that are too large or too deep on purpose.
//!
//! `PROPTEST_CASES` is the number of cases for each property, 256 by default. `tests/README.md` names the number for a
//! longer run. A property with slow cases divides it.

#![expect(clippy::unwrap_used, reason = "a test says what failed by panicking")]

mod batch;
mod bounds;
mod credentials;
mod document;
mod error;
mod filter;
mod json;
mod request;
mod snapshot;
mod xml;

use proptest::prelude::{ProptestConfig, Strategy, TestCaseError};
use proptest::test_runner::TestRunner;

/// Tries a property on one of `divisor` cases, because each case is that much slower than others.
///
/// In `proptest!` the variable `PROPTEST_CASES` would replace the number that the test asks for.
fn try_on_fewer<S: Strategy>(divisor: u32, cases: &S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let mut config = ProptestConfig::default();
    config.cases /= divisor;
    config.source_file = Some(file!());
    TestRunner::new(config).run(cases, property).unwrap();
}
