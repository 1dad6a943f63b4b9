//! Requests: the headers that all share, and a received request with its meaning.

#[doc(hidden)]
pub mod http_request;
#[cfg(feature = "inbound")]
#[doc(hidden)]
pub mod inbound;
