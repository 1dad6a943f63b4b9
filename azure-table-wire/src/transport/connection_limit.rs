//! The number of connections that a transport may use concurrently.
//!
//! An attempt waits for a permit from the [`ConnectionLimit`], and holds it from before it sends until its response is
//! read to the end. An idle connection in the pool needs none. [`for_attempts`] limits a client's attempts in the same
//! way.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::{Error, ErrorKind, Result};
use crate::transport::deadline::Deadline;
use crate::value::clock::{self, Instant};

/// A limit on a transport's concurrent requests, each on its own connection. Clones share it.
///
/// A transport returns it from [`connection_limit`](crate::transport::Transport::connection_limit). A request beyond
/// the limit waits until an earlier one has its complete response. Requests are served in the order of their calls.
#[derive(Clone)]
pub struct ConnectionLimit(Arc<Slots>);

struct Slots {
    limit: usize,
    /// The permits and the setting to raise, for errors.
    permits: &'static str,
    free: Semaphore,
    /// The number of permits released so far, which shows waiting calls whether there is progress.
    released: AtomicUsize,
}

impl ConnectionLimit {
    /// Creates a limit of this many connections; 0 counts as 1.
    pub fn new(connections: usize) -> Self {
        Self::of(connections, "connections; raise `max_connections` of the transport")
    }

    fn of(limit: usize, permits: &'static str) -> Self {
        // A limit of 0 would never send anything.
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS);
        Self(Arc::new(Slots {
            limit,
            permits,
            free: Semaphore::new(limit),
            released: AtomicUsize::new(0),
        }))
    }

    /// Returns the number of connections.
    pub fn get(&self) -> usize {
        self.0.limit
    }

    fn waited(&self, what: &str, started: Instant) -> Error {
        let why = format!(
            "{what} while the request waited {:.1?} for one of {} {}, or run fewer calls concurrently",
            started.elapsed(),
            self.get(),
            self.0.permits
        );
        Error::new(ErrorKind::Timeout, why)
    }
}

/// Returns a limit on the attempts of a client, over all its transports' connections.
pub fn for_attempts(attempts: usize) -> ConnectionLimit {
    ConnectionLimit::of(attempts, "permits; raise `max_in_flight` of the client")
}

/// Waits for a permit until the deadline.
///
/// A request in flight ends within its own timeout, so there is always progress, unless a caller holds a future that it
/// no longer polls. In that case the wait might never end, so it fails if no permit is released for `patience`.
///
/// # Errors
/// - `Timeout`: the deadline passed, or no permit was released for `patience`. Both name the limit.
pub async fn acquire<'a>(
    limit: &'a ConnectionLimit,
    deadline: Option<Deadline>,
    patience: Duration,
) -> Result<ConnectionPermit<'a>> {
    let Slots { free, released, .. } = &*limit.0;
    if let Ok(slot) = free.try_acquire() {
        return Ok(ConnectionPermit {
            waited: Duration::ZERO,
            _slot: slot,
            released,
        });
    }
    let started = Instant::now();
    let mut turn = pin!(free.acquire());
    loop {
        let before = released.load(Ordering::Relaxed);
        let left = deadline.map_or(Duration::MAX, |deadline| deadline.left());
        match clock::within(left.min(patience), &mut turn).await {
            Some(slot) => {
                let permit = ConnectionPermit {
                    waited: started.elapsed(),
                    // The semaphore is never closed.
                    _slot: slot.map_err(|e| Error::new(ErrorKind::Connection, e.to_string()))?,
                    released,
                };
                // Lets a separate task run first, which may return the connection of the previous response to the pool.
                tokio::task::yield_now().await;
                return Ok(permit);
            }
            None if left <= patience => return Err(limit.waited("the time limit of the call ended", started)),
            None if before == released.load(Ordering::Relaxed) => {
                let why = "no request in flight ended, perhaps because their futures are not polled";
                return Err(limit.waited(why, started));
            }
            None => {}
        }
    }
}

impl fmt::Debug for ConnectionLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ConnectionLimit").field(&self.get()).finish()
    }
}

/// The right to send one request.
#[doc(hidden)]
#[derive(Debug)]
pub struct ConnectionPermit<'a> {
    pub waited: Duration,
    _slot: SemaphorePermit<'a>,
    released: &'a AtomicUsize,
}

impl Drop for ConnectionPermit<'_> {
    fn drop(&mut self) {
        self.released.fetch_add(1, Ordering::Relaxed);
    }
}

/// `EMFILE` and `ENFILE`: the process or the system has no file handle left.
#[cfg(not(windows))]
const NO_HANDLES: [i32; 2] = [24, 23];
/// `WSAEMFILE`.
#[cfg(windows)]
const NO_HANDLES: [i32; 1] = [10_024];

/// Returns `true` if the operating system refused a socket because too many files are open.
pub fn is_out_of_handles(error: &(dyn StdError + 'static)) -> bool {
    let causes = std::iter::successors(Some(error), |error: &&'_ (dyn StdError + 'static)| (*error).source());
    causes
        .filter_map(|error| error.downcast_ref::<io::Error>()?.raw_os_error())
        .any(|code| NO_HANDLES.contains(&code))
}
