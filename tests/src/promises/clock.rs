//! An emulator whose clock follows tokio's, which a test pauses, and a wall clock that does.

use std::cell::Cell;
use std::time::SystemTime;

use azure_table::emulator::EmulatorClock;
use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{DateTime, Emulator};
use azure_table_wire::value::clock::set_wall_clock;
use bytes::Bytes;
use http::{Request, Response};
use tokio::time::Instant;

/// Returns an emulator for [`Following`].
pub(super) fn following_tokio() -> Emulator {
    Emulator::new().shared_clock(EmulatorClock::fixed(DateTime::now()))
}

thread_local! {
    static STARTED: Cell<Option<(SystemTime, Instant)>> = const { Cell::new(None) };
}

/// The wall clock of this thread, which a test replaced. Dropping it restores the clock before.
#[derive(Debug)]
pub struct ReplacedClock(Option<fn() -> SystemTime>);

impl Drop for ReplacedClock {
    fn drop(&mut self) {
        set_wall_clock(self.0);
    }
}

/// Replaces the wall clock of this thread until the guard is dropped. The emulator's own clock reads it too.
#[must_use = "dropping it restores the clock"]
pub fn replace_wall_clock(now: fn() -> SystemTime) -> ReplacedClock {
    ReplacedClock(set_wall_clock(Some(now)))
}

/// Lets this machine's wall clock follow tokio's, on this thread, until the guard is dropped.
#[must_use = "dropping it restores the system's clock"]
pub fn wall_clock_follows_tokio() -> ReplacedClock {
    STARTED.set(Some((SystemTime::now(), Instant::now())));
    replace_wall_clock(|| {
        STARTED
            .get()
            .map_or_else(SystemTime::now, |(at, since)| at + since.elapsed())
    })
}

/// An emulator whose clock follows tokio's.
#[derive(Clone, Debug)]
pub struct Following {
    emulator: Emulator,
    started: (DateTime, Instant),
}

impl Following {
    /// Begins at the current time.
    pub fn new(emulator: &Emulator) -> Self {
        Self::from(emulator, DateTime::now())
    }

    /// Returns the emulator.
    pub fn emulator(&self) -> &Emulator {
        &self.emulator
    }

    /// Begins at this time.
    pub(super) fn from(emulator: &Emulator, at: DateTime) -> Self {
        Self {
            emulator: emulator.clone(),
            started: (at, Instant::now()),
        }
    }
}

impl Transport for Following {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let (at, instant) = self.started;
        self.emulator.clock().set(at + instant.elapsed());
        self.emulator.send(request)
    }

    fn behind(&self) -> Option<&dyn Transport> {
        Some(&self.emulator)
    }
}
