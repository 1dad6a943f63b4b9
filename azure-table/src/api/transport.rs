//! Transports: the way of a request to the service.
//!
//! [`HttpTransport`] is the default. It takes a `reqwest::Client` of yours, or builds one with proxies, certificates
//! and connection limits. A [`Transport`] of your own stands below authorization and retries.
//!
//! | type | use |
//! |---|---|
//! | [`HttpTransport`], [`HttpTransportBuilder`] | connections by reqwest |
//! | [`Transport`], [`BoxFuture`] | a transport of your own |
//! | [`TransportError`], [`Delivery`] | its error, and how far the request got: decides whether a write may be repeated |
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

pub use crate::pipeline::http::{HttpTransport, HttpTransportBuilder};
pub use crate::pipeline::transport::{BoxFuture, Delivery, Transport, TransportError};
