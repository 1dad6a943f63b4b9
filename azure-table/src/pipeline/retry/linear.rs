//! Waits that stay the same.

use std::time::Duration;

use crate::pipeline::retry::{Decision, FailedAttempt, RetryPolicy};

/// The same wait between a few attempts at what may pass by itself. No chance is in it: clients that failed together
/// come back together.
///
/// Source: the retry policies of the .NET storage client library.
#[derive(Clone, Debug)]
pub struct LinearRetry {
    wait: Duration,
    retries: u32,
}

impl Default for LinearRetry {
    /// Three retries, 3 s before each, as the storage clients have had since 2010.
    fn default() -> Self {
        Self::new(Duration::from_secs(3), 3)
    }
}

impl LinearRetry {
    /// So many attempts after the first, with this wait before each.
    pub const fn new(wait: Duration, retries: u32) -> Self {
        Self { wait, retries }
    }
}

impl RetryPolicy for LinearRetry {
    fn decide(&self, failed: &FailedAttempt<'_>) -> Decision {
        if failed.attempt() > self.retries || !failed.is_transient() {
            return Decision::Stop;
        }
        Decision::after(self.wait)
    }
}
