//! The client's transports. They send and receive bytes, and know nothing of calls.
//!
//! `http_transport` (hyper) and `reqwest_transport` implement `Transport`, and `default_transport` chooses one of them.
//! `azure_core_transport` sends with azure_core's HTTP client, and `transport_http_client` is the reverse.
//! They share the timeouts of `connection_defaults`, `response_body` and `tls`. `rejected_certificate` finds the reason
//! of a failed handshake.

#[cfg(feature = "azure-core-1")]
pub(crate) mod azure_core_transport;
#[cfg(any(feature = "http", feature = "reqwest", feature = "azure-core-1"))]
mod connection_defaults;
pub(crate) mod default_transport;
#[cfg(feature = "http")]
pub(crate) mod http_transport;
pub(in crate::pipeline) mod rejected_certificate;
#[cfg(feature = "reqwest")]
pub(crate) mod reqwest_transport;
#[cfg(any(feature = "http", feature = "reqwest", feature = "azure-core-1"))]
mod response_body;
#[cfg(all(feature = "rustls-no-provider", any(feature = "http", feature = "reqwest")))]
mod tls;
#[cfg(feature = "azure-core-1")]
pub(crate) mod transport_http_client;
