//! The number of open connections per host.
//!
//! A request that finds no idle connection requests a new one, and uses the first one available: the new one, or one
//! whose response was just read. In the second case the pool keeps the new one as well. Without this limit a burst
//! would open up to twice as many connections as it has requests in flight.

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use http::Uri;
use http::uri::Authority;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::pipeline::transport::http_transport::secure::BoxError;

/// The maximum wait for a connection: less than the default timeout of an attempt, after which a write is in doubt.
///
/// Requests wait here only if the client does not see the transport's limit of requests.
const PATIENCE: Duration = Duration::from_secs(30);

tokio::task_local! {
    static IS_REQUESTED: ();
}

/// Sends a request. Its connection is requested while the returned future is polled.
pub(super) fn requested<F: Future>(sending: F) -> impl Future<Output = F::Output> {
    IS_REQUESTED.scope((), sending)
}

/// A limit for each host, so that idle connections to one host do not reduce the limit of another.
pub(super) struct OpenConnections {
    limit: usize,
    hosts: Mutex<HashMap<Option<Authority>, Arc<Semaphore>>>,
}

impl OpenConnections {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            hosts: Mutex::default(),
        }
    }

    /// Returns a limit of the same number.
    pub(super) fn of_same_number(&self) -> Self {
        Self::new(self.limit)
    }

    /// Waits until the host may have one more connection. The permit lives as long as the connection.
    ///
    /// # Errors
    /// - The request has obtained another connection: the pool then polls this future on a separate task.
    /// - No connection was closed in time.
    pub(super) async fn permit(&self, host: &Uri) -> Result<OwnedSemaphorePermit, BoxError> {
        let host = host.authority().cloned();
        let slots = {
            let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
            let slots = hosts
                .entry(host)
                .or_insert_with(|| Arc::new(Semaphore::new(self.limit)));
            Arc::clone(slots)
        };
        let mut turn = pin!(slots.acquire_owned());
        let turn = poll_fn(|cx| match IS_REQUESTED.try_with(|()| ()) {
            Ok(()) => turn.as_mut().poll(cx).map_err(Into::into),
            Err(_) => Poll::Ready(Err("the request has another connection".into())),
        });
        tokio::time::timeout(PATIENCE, turn).await.unwrap_or_else(|_| {
            let why = format!(
                "none of {} connections was free within {PATIENCE:?}: raise `max_connections`, run fewer calls \
                 concurrently, or implement `behind` in the transport that wraps this one",
                self.limit
            );
            Err(io::Error::new(io::ErrorKind::TimedOut, why).into())
        })
    }
}
