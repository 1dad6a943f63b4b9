//! A transport made from a closure.

use std::fmt;
use std::sync::Arc;

use azure_table::Emulator;
use azure_table::transport::{BoxFuture, Transport, TransportError};
use bytes::Bytes;
use http::{Request, Response};

/// The outcome of an exchange.
pub type Exchanged = Result<Response<Bytes>, TransportError>;

type Respond = dyn Fn(Arc<dyn Transport>, Request<Bytes>) -> BoxFuture<'static, Exchanged> + Send + Sync;

/// Passes each request to a closure, which answers it or sends it to the transport behind.
#[derive(Clone)]
pub struct Intercept {
    behind: Arc<dyn Transport>,
    respond: Arc<Respond>,
}

impl Intercept {
    /// Creates a transport in front of `behind`.
    pub fn new<F>(
        behind: impl Transport,
        respond: impl Fn(Arc<dyn Transport>, Request<Bytes>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Exchanged> + Send + 'static,
    {
        Self {
            behind: Arc::new(behind),
            respond: Arc::new(move |behind, request| Box::pin(respond(behind, request))),
        }
    }

    /// Lets an emulator without a service model respond within the first poll.
    ///
    /// It then executes joined requests in the order in which they were sent, as a replay of them does.
    pub fn at_once(emulator: Emulator) -> Self {
        Self::new(emulator.clone(), move |_, request| {
            let emulator = emulator.clone();
            async move { emulator.exchange(request).await }
        })
    }
}

impl Transport for Intercept {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Exchanged> {
        (self.respond)(Arc::clone(&self.behind), request)
    }

    fn behind(&self) -> Option<&dyn Transport> {
        Some(&*self.behind)
    }
}

impl fmt::Debug for Intercept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Intercept").field(&self.behind).finish()
    }
}
