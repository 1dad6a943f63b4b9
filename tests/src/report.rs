//! Output of tests that pass.

use std::io::Write as _;

/// Prints what a test measured, also where it passes: the test harness keeps the output of `println!` to itself.
pub fn print(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
