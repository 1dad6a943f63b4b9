//! The only file that reads time or sleeps, so that tests can hold the clock still.
//!
//! Sleeping and elapsed time go through tokio, whose clock a test may pause; the wall clock is the system's.

use std::time::{Duration, SystemTime};

/// A point of tokio's clock.
pub(crate) use tokio::time::Instant;

/// The wall clock.
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

/// Waits for `duration`, on tokio's clock.
pub(crate) async fn sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Gives `future` at most `limit`; `None` when the time ran out.
pub(crate) async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    tokio::time::timeout(limit, future).await.ok()
}
