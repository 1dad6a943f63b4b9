//! Requests: the headers of OData and XML requests, and a received request with its meaning. The headers of each
//! attempt are the client's (`preparation.rs`).

#[doc(hidden)]
pub mod http_request;
#[cfg(feature = "inbound")]
#[doc(hidden)]
pub mod inbound;
