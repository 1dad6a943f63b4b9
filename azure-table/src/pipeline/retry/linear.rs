//! Constant waits between retries.

use std::time::Duration;

use crate::pipeline::retry::{Decision, FailedAttempt, RetryPolicy};

/// Linear backoff: retries transient failures, with the same wait before each retry.
///
/// The waits have no jitter: clients that fail together retry together.
///
/// Source: the retry policies of the .NET storage client library.
#[derive(Clone, Debug)]
pub struct LinearRetry {
    wait: Duration,
    retries: u32,
}

impl Default for LinearRetry {
    /// Returns three retries with 3 s before each, as the storage clients have had since 2010.
    fn default() -> Self {
        Self::new(Duration::from_secs(3), 3)
    }
}

impl LinearRetry {
    /// Creates a policy with up to `retries` attempts after the first and `wait` before each.
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
