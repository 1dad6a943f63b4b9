//! The default transport: HTTP over reqwest, with rustls and the ring provider for HTTPS.
//!
//! Redirects are not followed: a request carries its signature. The TLS settings are the client's own; nothing is set
//! for the whole process.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};

use crate::model::error::{Error, ErrorKind, Result};
use crate::pipeline::transport::{BoxFuture, Reached, Transport, TransportError};

/// Below the time after which a load balancer drops idle connections.
const POOL_IDLE: Duration = Duration::from_secs(20);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const USER_AGENT: &str = concat!("azure-table/", env!("CARGO_PKG_VERSION"));

/// A pool of connections.
#[derive(Clone, Debug)]
pub(crate) struct HttpTransport {
    client: reqwest::Client,
}

impl HttpTransport {
    /// A new pool. `https` says whether it must be able to open TLS connections.
    pub(crate) fn new(https: bool) -> Result<Self> {
        let unusable =
            |e: reqwest::Error| Error::new(ErrorKind::Connection, "the HTTP client cannot be set up").with_source(e);
        let builder = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(POOL_IDLE);
        Ok(Self {
            client: tls(builder, https)?.build().map_err(unusable)?,
        })
    }
}

/// Trusts what the platform trusts. Without HTTPS nothing is loaded, so that a machine without certificates can still
/// talk to an emulator.
#[cfg(feature = "rustls")]
fn tls(builder: reqwest::ClientBuilder, https: bool) -> Result<reqwest::ClientBuilder> {
    use std::sync::Arc;

    use rustls_platform_verifier::BuilderVerifierExt as _;

    let unusable = |e: rustls::Error| Error::new(ErrorKind::Connection, "TLS cannot be set up").with_source(e);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let config = if https {
        config.with_platform_verifier().map_err(unusable)?
    } else {
        config.with_root_certificates(rustls::RootCertStore::empty())
    };
    Ok(builder.tls_backend_preconfigured(config.with_no_client_auth()))
}

#[cfg(not(feature = "rustls"))]
fn tls(builder: reqwest::ClientBuilder, https: bool) -> Result<reqwest::ClientBuilder> {
    if https {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "an https endpoint needs the feature `rustls` of azure-table",
        ));
    }
    Ok(builder)
}

impl Transport for HttpTransport {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let request = reqwest::Request::try_from(request).map_err(|e| failed(Reached::NothingSent, e))?;
            let mut response = self.client.execute(request).await.map_err(|e| {
                let reached = if e.is_connect() || e.is_builder() {
                    Reached::NothingSent
                } else {
                    Reached::MaybeSent
                };
                failed(reached, e)
            })?;
            let status = response.status();
            let headers = std::mem::take(response.headers_mut());
            let body = response.bytes().await.map_err(|e| failed(Reached::AnswerCut, e))?;
            let mut answer = Response::new(body);
            *answer.status_mut() = status;
            *answer.headers_mut() = headers;
            Ok(answer)
        })
    }
}

/// The URL stays out: its query holds the filter.
fn failed(reached: Reached, error: reqwest::Error) -> TransportError {
    TransportError::new(reached, error.without_url())
}
