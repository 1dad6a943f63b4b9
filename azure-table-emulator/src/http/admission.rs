//! The limits of a server on connections and on the total size of bodies.
//!
//! A connection beyond the limit replaces the one that has waited longest for its client, so that slow or silent
//! clients do not lock out others. Bodies beyond the limit wait.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

/// The unit of the limit on bodies, in bytes.
const UNIT: usize = 1 << 10;
/// The maximum size of a body that does not count toward the limit, in bytes. Most are shorter, and a connection's own
/// buffers have about this size.
const SMALL_BODY: usize = 16 << 10;

/// The connections of a server, and the memory of their bodies.
#[derive(Clone, Debug)]
pub(super) struct Admission {
    most: usize,
    /// The total units of `bodies`.
    units: u32,
    bodies: Arc<Semaphore>,
    connections: Arc<Mutex<Connections>>,
}

#[derive(Debug, Default)]
struct Connections {
    open: usize,
    next: u64,
    /// The connections that wait for their client, by the start of the wait.
    waiting: BTreeMap<u64, (AbortHandle, Stage)>,
}

/// The stage of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It waits for its first request, or for the rest of a body.
    Receiving,
    /// It has a complete request.
    Responding,
    /// It waits for its response to be read, or for the next request.
    Responded,
}

impl Admission {
    /// Creates the limits: at most `connections`, whose bodies have at most `bytes` in total.
    pub(super) fn new(connections: usize, bytes: usize) -> Self {
        let units = units(bytes).max(1);
        Self {
            most: connections.max(1),
            units,
            bodies: Arc::new(Semaphore::new(units as usize)),
            connections: Arc::default(),
        }
    }

    /// Admits a connection. At the limit, closes the one that has waited longest for its client.
    ///
    /// If all others are being answered, none is closed, and the limit is exceeded until one ends.
    pub(super) fn admit(&self) -> Arc<Place> {
        let mut connections = self.lock();
        connections.open += 1;
        if connections.open > self.most {
            connections.close_longest_waiting();
        }
        drop(connections);
        Arc::new(Place {
            admission: self.clone(),
            task: OnceLock::new(),
            waits_since: Mutex::default(),
        })
    }

    /// Closes the connection that has waited longest for its client, because the process is out of file handles.
    pub(super) fn make_room(&self) {
        self.lock().close_longest_waiting();
    }

    /// Closes the connections without a complete request, because the server stops.
    pub(super) fn close_receiving(&self) {
        let connections = self.lock();
        let receiving = connections
            .waiting
            .values()
            .filter(|(_, stage)| *stage == Stage::Receiving);
        receiving.for_each(|(connection, _)| connection.abort());
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX >> 3)
}

impl Connections {
    fn close_longest_waiting(&mut self) {
        if let Some((_, (connection, _))) = self.waiting.pop_first() {
            connection.abort();
        }
    }
}

/// An open connection's place, released when the last clone is dropped.
#[derive(Debug)]
pub(super) struct Place {
    admission: Admission,
    task: OnceLock<AbortHandle>,
    waits_since: Mutex<Option<u64>>,
}

impl Place {
    /// Sets the task of the connection, which waits for its client from now on.
    pub(super) fn of_task(&self, task: AbortHandle) {
        let _ = self.task.set(task);
        self.enter(Stage::Receiving);
    }

    /// Waits until a body of `bytes` bytes may be read.
    pub(super) async fn body(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        if bytes <= SMALL_BODY {
            return None;
        }
        // A body beyond the limit is read when it is the only one.
        let units = units(bytes).min(self.admission.units);
        let bodies = Arc::clone(&self.admission.bodies);
        bodies.acquire_many_owned(units).await.ok()
    }

    /// Enters a stage.
    pub(super) fn enter(&self, stage: Stage) {
        let mut since = self.waits_since.lock().unwrap_or_else(PoisonError::into_inner);
        let mut connections = self.admission.lock();
        if let Some(since) = since.take() {
            connections.waiting.remove(&since);
        }
        if let Some(task) = self.task.get().filter(|_| stage != Stage::Responding) {
            let now = connections.next;
            connections.next += 1;
            connections.waiting.insert(now, (task.clone(), stage));
            *since = Some(now);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.enter(Stage::Responding);
        self.admission.lock().open -= 1;
    }
}
