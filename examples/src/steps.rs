//! Steps of a program on the terminal, each with its time.

use std::fmt::Display;
use std::time::Instant;

/// Prints a line for each step: what it did, and how long it took.
#[derive(Debug)]
pub struct Steps(Instant);

impl Steps {
    /// Starts the first step.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Ends a step, and starts the next one.
    pub fn done(&mut self, what: impl Display) {
        let time = self.0.elapsed().as_secs_f64() * 1_000.0;
        println!("{:<80} {time:>8.1} ms", what.to_string());
        self.0 = Instant::now();
    }
}

/// Returns a number below a million with a comma before its last three digits.
pub fn thousands(n: u64) -> String {
    match n {
        ..1_000 => n.to_string(),
        _ => format!("{},{:03}", n / 1_000, n % 1_000),
    }
}
