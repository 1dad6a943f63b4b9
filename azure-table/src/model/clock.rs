//! The only file that reads time or sleeps, so that tests can hold the clock still.
//!
//! Sleeping and elapsed time go through tokio, whose clock a test may pause; the wall clock is the system's.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
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

/// Gives `future` at most `limit`, from its first poll on; `None` when the time ran out.
///
/// A future that is ready at once, such as a signature, sets no timer.
pub(crate) async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    match poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await {
        Poll::Ready(output) => Some(output),
        Poll::Pending => tokio::time::timeout(limit, future).await.ok(),
    }
}
