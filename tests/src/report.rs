//! Output of tests that pass.

use std::io::Write as _;

/// Prints a measurement of a test, even if the test passes: the test harness captures the output of `println!`.
pub fn print(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
