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

// `tests/it` runs the whole conformance suite over it, where it is not the default.
#[cfg(all(test, feature = "reqwest", not(feature = "http")))]
mod tests {
    use std::error::Error as _;

    use azure_table_wire::error::ErrorKind;

    use crate::TableServiceClient;
    use crate::pipeline::options::CallOptions;
    use crate::pipeline::retry::NoRetry;

    #[tokio::test]
    async fn reqwest_is_the_default_without_http() {
        // Without the feature, the program installs a provider.
        #[cfg(not(feature = "rustls"))]
        drop(rustls::crypto::ring::default_provider().install_default());
        let settings = "AccountName=acct;AccountKey=AAECAwQFBgc=;TableEndpoint=http://127.0.0.1:1/acct";
        let service = TableServiceClient::from_connection_string(settings).unwrap();
        let ping = service.ping().with(&CallOptions::new().retry(NoRetry));
        let error = ping.await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
        let mut source = error.source();
        // Only reqwest has errors of this type.
        while let Some(inner) = source.filter(|inner| !inner.is::<reqwest::Error>()) {
            source = inner.source();
        }
        assert!(source.is_some(), "{error:?}");
    }
}
