//! Transports, which send requests to the service and return its responses.
//!
//! [`HttpTransport`] is the default. [`ReqwestTransport`] sends with a reqwest client that you configure, and is the
//! default in a build without the feature `http`. Your own [`Transport`] receives signed requests, once per attempt.
//!
//! | type | use |
//! |---|---|
//! | [`HttpTransport`], [`HttpTransportBuilder`] | sends with hyper (feature `http`, on by default) |
//! | [`ReqwestTransport`], [`ReqwestTransportBuilder`] | sends with reqwest (feature `reqwest`) |
//! | `AzureCoreTransport` | sends with the HTTP client of azure_core (feature `azure-core-1`) |
//! | `TransportHttpClient` | the reverse: an emulator or a test double as the HTTP client of azure_core |
//! | [`Transport`], [`BoxFuture`] | your own transport |
//! | [`ConnectionLimit`] | the maximum number of concurrent requests: 256 by default with hyper and reqwest |
//! | [`TransportError`], [`Delivery`] | the error of a transport, and how far the request got |
//!
//! [`Delivery`] decides whether the client may repeat a write.
//!
//! `HttpTransport` is the default whenever it is compiled, even if only another crate enables its feature.
//!
//! The hyper and reqwest transports send HTTP/1.1 and never follow redirects. [The
//! guide](crate::guide::accounts#connections) lists their settings.
//!
//! In a build with neither feature, set your own transport or the emulator:
//! [`TableServiceClient::transport`](crate::TableServiceClient::transport).
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
    not(feature = "http"),
    doc = "[`HttpTransport`]: https://docs.rs/azure-table/latest/azure_table/transport/struct.HttpTransport.html"
)]
#![cfg_attr(
    not(feature = "http"),
    doc = "[`HttpTransportBuilder`]: https://docs.rs/azure-table/latest/azure_table/transport/struct.HttpTransportBuilder.html"
)]
#![cfg_attr(
    not(feature = "reqwest"),
    doc = "[`ReqwestTransport`]: https://docs.rs/azure-table/latest/azure_table/transport/struct.ReqwestTransport.html"
)]
#![cfg_attr(
    not(feature = "reqwest"),
    doc = "[`ReqwestTransportBuilder`]: https://docs.rs/azure-table/latest/azure_table/transport/struct.ReqwestTransportBuilder.html"
)]

#[doc(inline)]
pub use azure_table_wire::transport::connection_limit::ConnectionLimit;
#[doc(inline)]
pub use azure_table_wire::transport::{BoxFuture, Delivery, Transport, TransportError};

#[cfg(feature = "azure-core-1")]
pub use crate::pipeline::transport::azure_core_transport::AzureCoreTransport;
#[cfg(feature = "http")]
pub use crate::pipeline::transport::http_transport::HttpTransport;
#[cfg(feature = "http")]
pub use crate::pipeline::transport::http_transport::builder::HttpTransportBuilder;
#[cfg(feature = "reqwest")]
pub use crate::pipeline::transport::reqwest_transport::{ReqwestTransport, ReqwestTransportBuilder};
#[cfg(feature = "azure-core-1")]
pub use crate::pipeline::transport::transport_http_client::TransportHttpClient;
