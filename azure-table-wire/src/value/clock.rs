//! The only file that reads the time or sleeps, so that tests can control the clock.
//!
//! Sleeping and elapsed time use tokio's clock, which a test may pause. The wall clock is the system's, unless a test
//! replaces it for its thread.

#[cfg(feature = "inbound")]
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, SystemTime};

use tokio::task::unconstrained;

/// An instant of tokio's clock.
pub use tokio::time::Instant;

/// Returns the time of the wall clock.
pub fn now() -> SystemTime {
    #[cfg(feature = "inbound")]
    if let Some(now) = OF_TEST.get().wall {
        return now();
    }
    SystemTime::now()
}

/// A reading of both clocks of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// The wall clock, which may be wrong, or be set at any time.
    pub wall: SystemTime,
    /// The monotonic clock, which stops while the machine sleeps.
    pub monotonic: Instant,
}

impl ClockReading {
    /// Reads both clocks.
    pub fn now() -> Self {
        Self {
            wall: now(),
            monotonic: Instant::now(),
        }
    }

    /// Returns what both clocks showed `elapsed` before, if neither was set since.
    pub fn earlier(self, elapsed: Duration) -> Self {
        Self {
            wall: self.wall.checked_sub(elapsed).unwrap_or(self.wall),
            monotonic: self.monotonic.checked_sub(elapsed).unwrap_or(self.monotonic),
        }
    }
}

/// Waits for `duration`, on tokio's clock.
pub async fn sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Waits for `duration` before a retry: its length matters only to the load on the service.
///
/// An exploration skips the pause, because the retry may come at any time.
pub async fn pause(duration: Duration) {
    #[cfg(feature = "inbound")]
    if OF_TEST.get().is_without_pauses {
        return;
    }
    sleep(duration).await;
}

#[cfg(feature = "inbound")]
thread_local! {
    static OF_TEST: Cell<TestClock> = const { Cell::new(TestClock { wall: None, is_without_pauses: false }) };
}

/// What a test changes about the clocks of its thread.
#[cfg(feature = "inbound")]
#[derive(Clone, Copy, Debug)]
pub struct TestClock {
    wall: Option<fn() -> SystemTime>,
    is_without_pauses: bool,
}

/// Restores the previous clocks of its thread when it is dropped.
#[cfg(feature = "inbound")]
#[must_use = "dropping it restores the clocks"]
#[derive(Debug)]
pub struct ReplacedClock(TestClock);

#[cfg(feature = "inbound")]
impl Drop for ReplacedClock {
    fn drop(&mut self) {
        OF_TEST.set(self.0);
    }
}

/// Replaces the wall clock of this thread, so that a test can set it. The emulator's own clock reads it too.
#[cfg(feature = "inbound")]
pub fn replace_wall_clock(now: fn() -> SystemTime) -> ReplacedClock {
    let (wall, before) = (Some(now), OF_TEST.get());
    ReplacedClock(OF_TEST.replace(TestClock { wall, ..before }))
}

/// Runs `future` without pauses, including everything that its thread polls meanwhile.
#[cfg(feature = "inbound")]
pub async fn without_pauses<F: Future>(future: F) -> F::Output {
    let (is_without_pauses, before) = (true, OF_TEST.get());
    let _guard = ReplacedClock(OF_TEST.replace(TestClock {
        is_without_pauses,
        ..before
    }));
    future.await
}

/// Runs `future` for at most `limit`, from its first poll on. Returns `None` once the time has run out.
///
/// A future that is ready at its first poll, such as a signature, sets no timer.
pub async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    let (mut future, mut end) = (pin!(future), pin!(None));
    poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        if end.is_none() {
            // A future that uses up its task's budget must not delay its own timeout.
            end.set(Some(unconstrained(tokio::time::sleep(limit))));
        }
        match end.as_mut().as_pin_mut() {
            Some(end) => end.poll(cx).map(|()| None),
            None => Poll::Pending,
        }
    })
    .await
}
