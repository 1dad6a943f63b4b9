//! Output of tests that pass.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set in a program that prints a report of its own.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Prints a measurement of a test, even if the test passes: the test harness captures the output of `println!`.
pub fn print(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Prints a remark of a test, which the harness shows if the test fails.
#[expect(clippy::print_stdout, reason = "for the harness")]
pub fn remark(text: &str) {
    if !IS_QUIET.load(Ordering::Relaxed) {
        println!("{text}");
    }
}

/// Prints no remarks from now on.
pub fn quiet() {
    IS_QUIET.store(true, Ordering::Relaxed);
}
