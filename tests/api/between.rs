//! A transport that lets something happen between two requests.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use azure_table::Profile;
use azure_table::transport::{BoxFuture, Transport, TransportError};
use bytes::Bytes;
use http::{Request, Response};

type Meddle = dyn Fn(&Request<Bytes>) -> Option<BoxFuture<'static, ()>> + Send + Sync;

/// Does something before a request goes through.
pub(crate) struct Between<T> {
    behind: T,
    meddle: Box<Meddle>,
}

impl<T: Transport> Between<T> {
    /// Sees every request.
    pub(crate) fn new(behind: T, see: impl Fn(&Request<Bytes>) + Send + Sync + 'static) -> Self {
        let meddle = move |request: &Request<Bytes>| {
            see(request);
            None
        };
        Self {
            behind,
            meddle: Box::new(meddle),
        }
    }

    /// Does something before the first batch.
    pub(crate) fn before_first_batch(
        behind: T,
        act: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Self {
        let has_acted = AtomicBool::new(false);
        let meddle = move |request: &Request<Bytes>| {
            let is_batch = request.uri().path().ends_with("$batch");
            (is_batch && !has_acted.swap(true, Ordering::Relaxed)).then(&act)
        };
        Self {
            behind,
            meddle: Box::new(meddle),
        }
    }
}

impl<T: Transport> Transport for Between<T> {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            if let Some(meddle) = (self.meddle)(&request) {
                meddle.await;
            }
            self.behind.send(request).await
        })
    }

    fn profile(&self) -> Option<Profile> {
        self.behind.profile()
    }
}

impl<T> fmt::Debug for Between<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Between").finish_non_exhaustive()
    }
}
