//! The interface to the network.
//!
//! Defines [`Transport`] and [`TransportError`], which contains the progress of a failed request. The default transport
//! is in `azure-table`. The emulator and test doubles also implement this trait, below the retry loop.

pub mod connection_limit;
#[doc(hidden)]
pub mod deadline;
#[cfg(feature = "inbound")]
#[doc(hidden)]
pub mod injected_fault;

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;

use crate::account::profile::Profile;
use crate::transport::connection_limit::ConnectionLimit;

/// A boxed future that is `Send`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Sends one signed request and returns its complete response.
///
/// The client calls it once per attempt. Implementations do not retry, follow redirects or inspect the status. They
/// keep `x-ms-client-request-id`: a response that echoes another one is rejected.
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Sends `request` to the host of its absolute URI.
    ///
    /// The query of the URI may contain a shared access signature: omit the query when you log requests. The header
    /// with an account key's signature is marked as sensitive.
    ///
    /// # Errors
    /// - No complete response arrived. The error contains the progress of the request: [`Delivery`].
    fn send(&self, request: http::Request<Bytes>) -> BoxFuture<'_, Result<http::Response<Bytes>, TransportError>>;

    /// Returns the transport that this one wraps, if any.
    ///
    /// The methods below ask it by default, so a transport that wraps another one implements `send` and `behind`.
    fn behind(&self) -> Option<&dyn Transport> {
        None
    }

    /// Returns the service behind the transport, if the transport knows it.
    ///
    /// An emulator knows it. Returns `None` by default: the URL decides.
    fn profile(&self) -> Option<Profile> {
        self.behind()?.profile()
    }

    /// Returns `false` if the transport opens no connections, such as an emulator in the process.
    ///
    /// `warm_up` then sends nothing. Returns `true` by default.
    fn opens_connections(&self) -> bool {
        self.behind().is_none_or(Transport::opens_connections)
    }

    /// Returns the limit of the requests that the transport sends concurrently.
    ///
    /// The client waits for its turn before it calls [`send`](Self::send), so the attempt does not include the wait,
    /// and a waiting request is certainly unsent. If a transport that wraps another one does not name it, its requests
    /// wait inside `send`: with `HttpTransport` for up to 30 s each. Returns `None`, without a limit, by default.
    fn connection_limit(&self) -> Option<&ConnectionLimit> {
        self.behind()?.connection_limit()
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
    /// The response started and was interrupted. The service has processed the request.
    ResponseCut,
    /// The response is longer than the transport's limit, and its rest was discarded. The service has processed the
    /// request.
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
    /// `source` must not show secrets: omit URLs with queries.
    #[cold]
    pub fn new(reached: Delivery, source: impl Into<Box<dyn std::error::Error + Send + Sync + 'static>>) -> Self {
        Self {
            reached,
            source: source.into(),
        }
    }

    /// Returns the progress of the request.
    pub fn delivery(&self) -> Delivery {
        self.reached
    }
}

/// Returns the cause, for an error whose text contains the progress of the request.
pub fn into_source(error: TransportError) -> Box<dyn std::error::Error + Send + Sync + 'static> {
    error.source
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reached {
            Delivery::NothingSent => f.write_str("no connection to the service"),
            Delivery::MaybeSent => f.write_str("the connection broke before the response arrived"),
            Delivery::ResponseCut => f.write_str("the response broke off"),
            Delivery::ResponseTooLong { bytes, limit } => {
                write!(
                    f,
                    "a response of at least {bytes} bytes, more than the limit of {limit},"
                )
            }
        }
    }
}

impl std::error::Error for TransportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.source)
    }
}
