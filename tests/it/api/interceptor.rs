//! A transport that runs a hook before each request.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use azure_table::transport::{BoxFuture, Transport, TransportError};
use bytes::Bytes;
use http::{Request, Response};

type Hook = dyn Fn(&Request<Bytes>) -> Option<BoxFuture<'static, ()>> + Send + Sync;

/// Runs a hook before it forwards a request.
pub(crate) struct Interceptor<T> {
    behind: T,
    hook: Box<Hook>,
}

impl<T: Transport> Interceptor<T> {
    /// Creates a transport that shows every request to `see`.
    pub(crate) fn new(behind: T, see: impl Fn(&Request<Bytes>) + Send + Sync + 'static) -> Self {
        let hook = move |request: &Request<Bytes>| {
            see(request);
            None
        };
        Self {
            behind,
            hook: Box::new(hook),
        }
    }

    /// Creates a transport that awaits `act` before the first batch.
    pub(crate) fn before_first_batch(
        behind: T,
        act: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Self {
        let has_acted = AtomicBool::new(false);
        let hook = move |request: &Request<Bytes>| {
            let is_batch = request.uri().path().ends_with("$batch");
            (is_batch && !has_acted.swap(true, Ordering::Relaxed)).then(&act)
        };
        Self {
            behind,
            hook: Box::new(hook),
        }
    }
}

impl<T: Transport> Transport for Interceptor<T> {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            if let Some(hook) = (self.hook)(&request) {
                hook.await;
            }
            self.behind.send(request).await
        })
    }

    fn behind(&self) -> Option<&dyn Transport> {
        Some(&self.behind)
    }
}

impl<T> fmt::Debug for Interceptor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interceptor").finish_non_exhaustive()
    }
}
