//! The interface to the network.
//!
//! Owns [`Transport`] and [`TransportError`], which says how far a failed request got. The default transport is
//! `http.rs`. The emulator and test doubles also implement this trait, below the retry loop.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;

use crate::protocol::profile::Profile;

/// A boxed future that is `Send`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Sends one signed request and returns its complete response.
///
/// The client calls it once per attempt. Implementations do not retry, follow redirects or inspect the status.
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Sends `request` to the host of its absolute URI.
    ///
    /// The query of the URI may contain a shared access signature: leave the query out when you log requests. The
    /// header with an account key's signature is marked as sensitive.
    ///
    /// # Errors
    /// No complete response arrived. The error says how far the request got: [`Delivery`].
    fn send(&self, request: http::Request<Bytes>) -> BoxFuture<'_, Result<http::Response<Bytes>, TransportError>>;

    /// Returns the service behind the transport, if the transport knows it.
    ///
    /// An emulator and a transport that wraps one know it. Returns `None` by default: the address decides.
    fn profile(&self) -> Option<Profile> {
        None
    }
}

/// The progress of a request before it failed.
///
/// It decides whether the client may repeat a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// Nothing was sent, because no connection was established.
    ///
    /// A repetition is always safe.
    NothingSent,
    /// The request was sent, at least in part, and no response arrived.
    ///
    /// The service may have acted on it.
    MaybeSent,
    /// The response started and broke off. The service has acted.
    ResponseCut,
}

/// A request without a complete response.
#[derive(Debug)]
pub struct TransportError {
    reached: Delivery,
    source: Box<dyn std::error::Error + Send + Sync + 'static>,
}

impl TransportError {
    /// Creates an error from the progress of the request and its cause.
    ///
    /// `source` must not show secrets: leave out URLs with queries.
    pub fn new(reached: Delivery, source: impl Into<Box<dyn std::error::Error + Send + Sync + 'static>>) -> Self {
        Self {
            reached,
            source: source.into(),
        }
    }

    /// Returns how far the request got.
    pub fn delivery(&self) -> Delivery {
        self.reached
    }

    /// Returns the cause, for an error whose text says how far the request got.
    pub(crate) fn into_source(self) -> Box<dyn std::error::Error + Send + Sync + 'static> {
        self.source
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.reached {
            Delivery::NothingSent => "no connection to the service",
            Delivery::MaybeSent => "the connection broke before an answer came",
            Delivery::ResponseCut => "the answer broke off",
        })
    }
}

impl std::error::Error for TransportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.source)
    }
}
