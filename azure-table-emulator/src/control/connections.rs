//! The open connections of the control port, up to a limit.
//!
//! The path of a request is unknown until its head has been read, so no connections are reserved for one. A connection
//! beyond the limit replaces the one that has been silent for longest, so that silent clients lock out nobody.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::future::AbortHandle;
use http::Response;
use hyper::body::{Body, Frame, SizeHint};

/// The maximum number of connections. Each active reader of the log and each browser has several.
const MAX_CONNECTIONS: usize = 64;

/// The connections, shared by clones.
#[derive(Clone, Default)]
pub(super) struct Connections(Arc<Mutex<Open>>);

#[derive(Default)]
struct Open {
    next: u64,
    /// In the order in which they are closed: the silent ones first, each state by its start.
    tasks: BTreeMap<(State, u64), AbortHandle>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// Waits for its client: for a request, the rest of one, or a response to be read.
    Silent,
    /// Has a request that is processed, or a response that is not complete.
    Busy,
}

impl Connections {
    /// Adds a connection, which is silent at first. At the limit, closes another one.
    pub(super) fn admit(&self, task: AbortHandle) -> Place {
        let mut open = self.lock();
        if open.tasks.len() >= MAX_CONNECTIONS {
            open.close_one();
        }
        let key = open.add(State::Silent, task);
        drop(open);
        Place(Arc::new(Admitted {
            connections: self.clone(),
            key: Mutex::new(key),
        }))
    }

    /// Closes a connection, because the process is out of file descriptors.
    pub(super) fn make_room(&self) {
        self.lock().close_one();
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn add(&mut self, state: State, task: AbortHandle) -> (State, u64) {
        let key = (state, self.next);
        self.next += 1;
        self.tasks.insert(key, task);
        key
    }

    fn close_one(&mut self) {
        if let Some((_, task)) = self.tasks.pop_first() {
            task.abort();
        }
    }
}

/// The place of a connection, released when the last clone is dropped.
#[derive(Clone)]
pub(super) struct Place(Arc<Admitted>);

struct Admitted {
    connections: Connections,
    key: Mutex<(State, u64)>,
}

impl Place {
    /// Marks the connection as busy until the returned value is dropped.
    pub(super) fn busy(&self) -> Busy {
        self.0.set(State::Busy);
        Busy(self.clone())
    }

    /// Waits for the client. The connection is silent meanwhile, and busy afterwards.
    pub(super) async fn receive<T>(&self, from_client: impl Future<Output = T>) -> T {
        self.0.set(State::Silent);
        let received = from_client.await;
        self.0.set(State::Busy);
        received
    }
}

impl Admitted {
    fn set(&self, state: State) {
        let mut key = self.key.lock().unwrap_or_else(PoisonError::into_inner);
        let mut open = self.connections.lock();
        // Absent if it is being closed.
        if let Some(task) = open.tasks.remove(&key) {
            *key = open.add(state, task);
        }
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let key = self.key.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.connections.lock().tasks.remove(key);
    }
}

/// A busy connection. Dropping it marks the connection as silent.
pub(super) struct Busy(Place);

impl Busy {
    /// Keeps the connection busy until the last frame: a reader of the log is not silent while it waits for requests.
    pub(super) fn until_end<B>(self, response: Response<B>) -> Response<BusyBody<B>> {
        response.map(|body| BusyBody { body, _busy: self })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.0.set(State::Silent);
    }
}

/// The body of a response, during which the connection is busy.
pub(super) struct BusyBody<B> {
    body: B,
    _busy: Busy,
}

impl<B: Body + Unpin> Body for BusyBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
