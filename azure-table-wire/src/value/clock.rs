//! The only file that reads the time or sleeps, so that tests can control the clock.
//!
//! Sleeping and elapsed time use tokio's clock, which a test may pause. The wall clock is the system's, unless a test
//! replaces it for its thread.

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
    if let Some(now) = WALL_CLOCK.get() {
        return now();
    }
    SystemTime::now()
}

/// Replaces the wall clock of this thread for a test, or restores it. Returns the clock before.
///
/// The emulator's own clock reads it too.
#[cfg(feature = "inbound")]
pub fn set_wall_clock(now: Option<fn() -> SystemTime>) -> Option<fn() -> SystemTime> {
    WALL_CLOCK.replace(now)
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
        let (wall, monotonic) = (now(), Instant::now());
        Self { wall, monotonic }
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
    if WITHOUT_PAUSES.get() {
        return;
    }
    sleep(duration).await;
}

#[cfg(feature = "inbound")]
thread_local! {
    static WALL_CLOCK: std::cell::Cell<Option<fn() -> SystemTime>> = const { std::cell::Cell::new(None) };
    static WITHOUT_PAUSES: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs `future` without pauses, including everything that its thread polls meanwhile.
#[cfg(feature = "inbound")]
pub async fn without_pauses<F: Future>(future: F) -> F::Output {
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            WITHOUT_PAUSES.set(false);
        }
    }
    WITHOUT_PAUSES.set(true);
    let _guard = Guard;
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
