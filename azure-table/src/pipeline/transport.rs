//! The seam to the network.
//!
//! Owns [`Transport`] and [`TransportError`], which says how far a failed request got. The default transport is
//! `http.rs`; the emulator and test doubles stand here too, below the retry loop.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;

use crate::protocol::profile::Profile;

/// A boxed future that may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Sends one signed request and gives its whole answer.
///
/// Called once per attempt: implementations do not retry, follow redirects or look at the status.
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Sends `request` to the host of its absolute URI. A shared access signature stands in the URI's query: whoever
    /// logs requests leaves the query out. The header of an account's key hides itself.
    ///
    /// # Errors
    /// No complete answer came. The error says how far the request got: [`Delivery`].
    fn send(&self, request: http::Request<Bytes>) -> BoxFuture<'_, Result<http::Response<Bytes>, TransportError>>;

    /// Which service answers, where the transport knows it: an emulator, or what wraps one. By default the address
    /// tells.
    fn profile(&self) -> Option<Profile> {
        None
    }
}

/// How far a request got before it failed. Decides whether a write may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// Nothing was sent: no connection was made. Repeating is always safe.
    NothingSent,
    /// The request, or a part of it, was sent, and no answer came: the service may have acted on it.
    MaybeSent,
    /// The answer began and broke off: the service has acted.
    ResponseCut,
}

/// Why no complete answer came.
#[derive(Debug)]
pub struct TransportError {
    reached: Delivery,
    source: Box<dyn std::error::Error + Send + Sync + 'static>,
}

impl TransportError {
    /// A failure and how far the request got. `source` must not show secrets: leave URLs with queries out.
    pub fn new(reached: Delivery, source: impl Into<Box<dyn std::error::Error + Send + Sync + 'static>>) -> Self {
        Self {
            reached,
            source: source.into(),
        }
    }

    /// How far the request got.
    pub fn delivery(&self) -> Delivery {
        self.reached
    }

    /// What happened below, for an error whose text says how far the request got.
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
