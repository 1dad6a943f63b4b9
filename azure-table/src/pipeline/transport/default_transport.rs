//! The transport of a client that sets none: `HttpTransport`, otherwise `ReqwestTransport`, otherwise none.
//!
//! `HttpTransport` wins wherever it is compiled: the feature `reqwest`, which another crate may enable, never changes
//! the transport of a program that has `http`.

use std::sync::Arc;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::Error;
use azure_table_wire::transport::Transport;

/// A transport, or the error of each call without one. `TableServiceClient::transport` may replace either.
pub(crate) type MaybeTransport = Result<Arc<dyn Transport>, Arc<Error>>;

/// Creates the default transport for this account.
#[cfg(feature = "http")]
pub(crate) fn default_transport(endpoint: &Endpoint) -> MaybeTransport {
    let transport = super::http_transport::HttpTransport::new(endpoint.needs_tls())?;
    Ok(Arc::new(transport))
}

/// Creates the default transport. reqwest is always set up with TLS.
#[cfg(all(feature = "reqwest", not(feature = "http")))]
pub(crate) fn default_transport(_: &Endpoint) -> MaybeTransport {
    let transport = super::reqwest_transport::ReqwestTransport::builder().build()?;
    Ok(Arc::new(transport))
}

#[cfg(not(any(feature = "http", feature = "reqwest")))]
pub(crate) fn default_transport(_: &Endpoint) -> MaybeTransport {
    Err(Arc::new(no_transport()))
}

#[cfg(any(test, not(any(feature = "http", feature = "reqwest"))))]
pub(crate) fn no_transport() -> Error {
    use azure_table_wire::error::ErrorKind;

    let why = "the client has no transport: enable the feature `http` or `reqwest` of azure-table, \
               or set one with `TableServiceClient::transport`";
    Error::new(ErrorKind::Unsupported, why)
}
