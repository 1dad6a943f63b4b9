//! The interface to the network.
//!
//! Owns [`Transport`] and [`TransportError`], which says how far a failed request got. The default transport is
//! `http.rs`. The emulator and test doubles also implement this trait, below the retry loop.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;

use crate::pipeline::connection_limit::ConnectionLimit;
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

    /// Returns `false` if the transport opens no connections, as an emulator in the process.
    ///
    /// [`warm_up`](crate::TableServiceClient::warm_up) then sends nothing. A transport that wraps another one forwards
    /// the call. Returns `true` by default.
    fn opens_connections(&self) -> bool {
        true
    }

    /// Returns the limit of the requests that the transport sends at once.
    ///
    /// The client waits for its turn before it calls [`send`](Self::send), so that the wait is no part of the attempt
    /// and a request that still waits is known to be unsent. A transport that wraps another one forwards the call, or
    /// its connections are not limited. Returns `None`, without a limit, by default.
    fn connection_limit(&self) -> Option<&ConnectionLimit> {
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
    /// The response is longer than the transport reads, and its rest was discarded. The service has acted.
    ///
    /// The client does not repeat a read, because the response would be as long again. A write is in doubt, as after
    /// [`ResponseCut`](Self::ResponseCut).
    ResponseTooLong {
        /// The number of bytes seen: announced by the response, or read so far.
        bytes: u64,
        /// The maximum number of bytes that the transport reads.
        limit: u64,
    },
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
        match self.reached {
            Delivery::NothingSent => f.write_str("no connection to the service"),
            Delivery::MaybeSent => f.write_str("the connection broke before an answer came"),
            Delivery::ResponseCut => f.write_str("the answer broke off"),
            Delivery::ResponseTooLong { bytes, limit } => {
                write!(f, "a response of {bytes} bytes or more, the limit is {limit},")
            }
        }
    }
}

impl std::error::Error for TransportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.source)
    }
}
