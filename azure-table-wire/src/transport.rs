//! The interface to the network.
//!
//! Defines [`Transport`] and [`TransportError`], which says how far a failed request got. The default transport is in
//! `azure-table`. The emulator and test doubles also implement this trait, below the retry loop.

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
/// The client calls it once per attempt. An implementation must not retry, follow redirects or inspect the status, and
/// must keep `x-ms-client-request-id`: the client rejects a response that echoes another one.
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Sends `request` to the host of its absolute URI.
    ///
    /// Omit the URI's query when you log requests: it may contain a shared access signature. The header with an account
    /// key's signature is marked as sensitive.
    ///
    /// # Errors
    /// - No complete response arrived. The error's [`Delivery`] says how far the request got.
    fn send(&self, request: http::Request<Bytes>) -> BoxFuture<'_, Result<http::Response<Bytes>, TransportError>>;

    /// Returns the transport that this one wraps, if any.
    ///
    /// The methods below ask it by default, so a wrapper only implements `send` and `behind`.
    fn behind(&self) -> Option<&dyn Transport> {
        None
    }

    /// Returns the service behind the transport, if the transport knows it.
    ///
    /// An emulator does. The default, `None`, lets the URL decide.
    fn profile(&self) -> Option<Profile> {
        self.behind()?.profile()
    }

    /// Returns `false` if the transport opens no connections, such as an emulator in the process.
    ///
    /// `warm_up` then sends nothing. The default is `true`.
    fn opens_connections(&self) -> bool {
        self.behind().is_none_or(Transport::opens_connections)
    }

    /// Returns the limit on concurrent requests, if any.
    ///
    /// The client waits for its turn before it calls [`send`](Self::send), so the wait is not part of the attempt, and
    /// a waiting request is certainly unsent. If a wrapper hides the limit, its requests wait inside `send`: with
    /// `HttpTransport`, up to 30 s each. The default is `None`, no limit.
    fn connection_limit(&self) -> Option<&ConnectionLimit> {
        self.behind()?.connection_limit()
    }
}

/// The progress of a request before it failed.
///
/// The client decides by it whether it may repeat a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// Nothing was sent, because no connection was established.
    ///
    /// A repetition is always safe.
    NothingSent,
    /// At least part of the request was sent, and no response arrived.
    ///
    /// The service may have acted on it.
    MaybeSent,
    /// The response started and was interrupted. The service has processed the request.
    ResponseCut,
    /// The response exceeds the transport's limit, and the rest was discarded. The service has processed the request.
    ///
    /// The client does not repeat a read, because the response would be too long again. A write is in doubt, as after
    /// [`ResponseCut`](Self::ResponseCut).
    ResponseTooLong {
        /// The number of bytes that the response announced, or that were read so far.
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
    /// Creates an error. `reached` says how far the request got.
    ///
    /// `source` must not show secrets, so omit URLs with queries.
    #[cold]
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
