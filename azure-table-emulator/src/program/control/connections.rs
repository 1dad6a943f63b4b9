//! The open connections of the control port, up to a limit.
//!
//! The path of a request is unknown until its head has been read, so no connections can be reserved for a path. A
//! connection beyond the limit replaces the one that has been silent for longest, so that silent clients do not lock
//! out others.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use http::Response;
use http_body_util::BodyExt as _;
use hyper::body::Body;
use tokio::task::AbortHandle;

/// The maximum number of connections. Each active reader of the log and each browser has several.
const MAX_CONNECTIONS: usize = 64;

/// The tasks of the open connections, each with its place.
#[derive(Default)]
pub(super) struct Connections(Vec<(AbortHandle, Place)>);

impl Connections {
    /// Adds a connection. At the limit, closes another one.
    pub(super) fn admit(&mut self, task: AbortHandle, place: Place) {
        self.0.retain(|(task, _)| !task.is_finished());
        if self.0.len() >= MAX_CONNECTIONS {
            self.make_room();
        }
        self.0.push((task, place));
    }

    /// Closes the connection that has been silent for longest. If none is silent, closes the one that has been busy for
    /// longest.
    pub(super) fn make_room(&mut self) {
        self.0.retain(|(task, _)| !task.is_finished());
        let first = (0..self.0.len()).min_by_key(|at| *self.0[*at].1.state());
        if let Some(at) = first {
            self.0.swap_remove(at).0.abort();
        }
    }
}

/// The state of a connection, and the time at which it entered that state. Connections are closed in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// Waits for its client: for a request, the rest of one, or a response to be read.
    Silent(Instant),
    /// Has a request being processed, or an incomplete response.
    Busy(Instant),
}

/// The place of an open connection, shared by clones.
#[derive(Clone)]
pub(super) struct Place(Arc<Mutex<State>>);

impl Place {
    /// Creates the place of a new connection, which is silent.
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(State::Silent(Instant::now()))))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the connection as busy until the returned value is dropped.
    pub(super) fn busy(&self) -> Busy {
        *self.state() = State::Busy(Instant::now());
        Busy(self.clone())
    }

    /// Waits for the client. The connection is silent meanwhile, and busy afterwards.
    pub(super) async fn receive<T>(&self, from_client: impl Future<Output = T>) -> T {
        *self.state() = State::Silent(Instant::now());
        let received = from_client.await;
        *self.state() = State::Busy(Instant::now());
        received
    }
}

/// A busy connection. Dropping it marks the connection as silent.
pub(super) struct Busy(Place);

impl Busy {
    /// Keeps the connection busy until the last frame: a reader of the log is not silent while it waits for requests.
    pub(super) fn until_end<B: Body>(
        self,
        response: Response<B>,
    ) -> Response<impl Body<Data = B::Data, Error = B::Error>> {
        // The body owns its closure, which owns the mark.
        let keep = move |error| {
            let _busy = &self;
            error
        };
        response.map(|body| body.map_err(keep))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        *self.0.state() = State::Silent(Instant::now());
    }
}
