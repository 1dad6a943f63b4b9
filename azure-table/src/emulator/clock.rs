//! The clock of an emulator: the system's, or one that a test holds in its hand.
//!
//! Owns [`EmulatorClock`]. Everything in the emulator that depends on the time asks it, once for each request: Timestamps and
//! ETags, the age of a request, the times of signatures and policies, how far the second region is, when a deleted table's
//! name is free again. The way to the system's time is `model/clock.rs`.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::model::datetime::DateTime;

/// The time of an [`Emulator`](crate::Emulator). Feature `emulator`.
///
/// Clones are one clock. It begins as the system's time ([`system`](Self::system)) or stands still ([`fixed`](Self::fixed)), and
/// can be moved in either case. Timestamps of rows never go back and never repeat, whatever the clock does.
///
/// Clients sign with the system's time: a request older than 15 minutes by this clock is refused, as the service does. To
/// test what expires use a shared access signature, or set the clock close to the system's time.
///
/// ```
/// use std::time::Duration;
/// use azure_table::{DateTime, Emulator, EmulatorClock};
/// let clock = EmulatorClock::fixed("2030-01-01T00:00:00Z".parse::<DateTime>().unwrap());
/// let emulator = Emulator::new().with_clock(clock.clone());
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(emulator.clock().now().to_string(), "2030-01-01T00:01:00Z");
/// ```
#[derive(Clone)]
pub struct EmulatorClock(Arc<Mutex<Time>>);

#[derive(Clone, Copy)]
enum Time {
    /// The system's time, and so much more.
    Running {
        ahead: Duration,
    },
    Standing(DateTime),
}

impl EmulatorClock {
    /// The system's time.
    pub fn system() -> Self {
        Self::of(Time::Running { ahead: Duration::ZERO })
    }

    /// A clock that stands still until it is moved.
    pub fn fixed(at: DateTime) -> Self {
        Self::of(Time::Standing(at))
    }

    fn of(time: Time) -> Self {
        Self(Arc::new(Mutex::new(time)))
    }

    /// What it shows.
    pub fn now(&self) -> DateTime {
        match *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Time::Running { ahead } => DateTime::now() + ahead,
            Time::Standing(at) => at,
        }
    }

    /// Moves it forward. A running clock goes on running, ahead of the system's time.
    pub fn advance(&self, by: Duration) {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Time::Running { ahead } => *ahead = ahead.saturating_add(by),
            Time::Standing(at) => *at += by,
        }
    }

    /// Moves it to `at`, forward or back, where it stands still.
    pub fn set(&self, at: DateTime) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Time::Standing(at);
    }
}

impl Default for EmulatorClock {
    /// The system's time.
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for EmulatorClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EmulatorClock({})", self.now())
    }
}
