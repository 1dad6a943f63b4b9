//! Transports: they send requests to the service and return its responses.
//!
//! [`HttpTransport`] is the default. [`HyperTransport`] does the same with fewer dependencies, and is the default in a
//! build without the feature `reqwest`. Both have settings for connections, timeouts, proxies and certificates. A
//! [`Transport`] of your own receives signed requests, once per attempt.
//!
//! | type | use |
//! |---|---|
//! | [`HttpTransport`], [`HttpTransportBuilder`] | connections by reqwest (feature `reqwest`, on by default) |
//! | [`HyperTransport`], [`HyperTransportBuilder`] | connections by hyper alone (feature `hyper-transport`) |
//! | [`Transport`], [`BoxFuture`] | a transport of your own |
//! | [`ConnectionLimit`] | the limit of concurrent requests of a transport: 256 by default for the two above |
//! | [`TransportError`], [`Delivery`] | its error, and how far the request got |
//!
//! [`Delivery`] decides whether the client may repeat a write.
//!
//! In a build with neither feature, clients need a transport of your own or the emulator:
//! [`TableServiceClient::transport`](crate::TableServiceClient::transport). HTTPS needs the feature `rustls` (on by
//! default). [`HttpTransport`] can use `native-tls` instead.
//!
//! # Examples
//!
//! ```
//! use azure_table::TableServiceClient;
//! use azure_table::transport::HttpTransport;
//! use std::time::Duration;
//!
//! # fn main() -> azure_table::Result<()> {
//! let transport = HttpTransport::builder().connect_timeout(Duration::from_secs(3)).build()?;
//! let service = TableServiceClient::from_connection_string("UseDevelopmentStorage=true")?.transport(transport);
//! # let _ = service;
//! # Ok(())
//! # }
//! ```
//!
#![cfg_attr(
    not(feature = "reqwest"),
    doc = "[`HttpTransport`]: https://docs.rs/azure-table/latest/azure_table/transport/struct.HttpTransport.html"
)]
#![cfg_attr(
    not(feature = "reqwest"),
    doc = "[`HttpTransportBuilder`]: https://docs.rs/azure-table/latest/azure_table/transport/struct.HttpTransportBuilder.html"
)]
#![cfg_attr(
    not(feature = "hyper-transport"),
    doc = "[`HyperTransport`]: https://docs.rs/azure-table/latest/azure_table/transport/struct.HyperTransport.html"
)]
#![cfg_attr(
    not(feature = "hyper-transport"),
    doc = "[`HyperTransportBuilder`]: https://docs.rs/azure-table/latest/azure_table/transport/struct.HyperTransportBuilder.html"
)]

#[cfg(feature = "reqwest")]
pub use crate::pipeline::http::{HttpTransport, HttpTransportBuilder};
#[cfg(feature = "hyper-transport")]
pub use crate::pipeline::hyper_transport::{HyperTransport, HyperTransportBuilder};
#[doc(inline)]
pub use azure_table_core::transport::connection_limit::ConnectionLimit;
#[doc(inline)]
pub use azure_table_core::transport::{BoxFuture, Delivery, Transport, TransportError};
