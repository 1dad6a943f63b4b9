//! The client's transports. They send and receive bytes, and know nothing of calls.
//!
//! `http_transport` (hyper) and `reqwest_transport` implement `Transport`, and `default_transport` chooses one of them.
//! `tower_transport` passes requests to a service of the program.
//! They share the timeouts of `connection_defaults`, `response_body` and `tls`. `rejected_certificate` finds the reason
//! of a failed handshake.

#[cfg(any(feature = "http", feature = "reqwest"))]
mod connection_defaults;
pub(crate) mod default_transport;
#[cfg(feature = "http")]
pub(crate) mod http_transport;
pub(in crate::pipeline) mod rejected_certificate;
#[cfg(feature = "reqwest")]
pub(crate) mod reqwest_transport;
#[cfg(any(feature = "http", feature = "reqwest", feature = "tower"))]
mod response_body;
#[cfg(all(feature = "rustls-no-provider", any(feature = "http", feature = "reqwest")))]
mod tls;
#[cfg(feature = "tower")]
pub(crate) mod tower_transport;
