//! A transport on hyper: a connection pool without the layers of a general HTTP client.
//!
//! Behaves like `http`: no redirects, HTTP/1.1 only, the platform's certificates, the environment's proxies. It owns
//! the pool and reports the progress of a failed request. Connections are opened by `connector`, through `proxies`.
//!
//! hyper returns a request if its connection closed before the first byte was written. The pool then sends it on
//! another connection, unless the connection was new. Such an error has the text "canceled", and is
//! [`Delivery::NothingSent`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use azure_table_core::model::error::Result;
use azure_table_core::transport::connection_limit::ConnectionLimit;
use azure_table_core::transport::{BoxFuture, Delivery, Transport, TransportError};
use bytes::Bytes;
use http::header::PROXY_AUTHORIZATION;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::pipeline::connection_settings::ConnectionSettings;
use crate::pipeline::hyper_transport::connector::Connector;
use crate::pipeline::hyper_transport::open_connections::{OpenConnections, requested};
use crate::pipeline::hyper_transport::proxies::Proxies;
use crate::pipeline::response_body::{ResponseBody, cut};

mod connector;
mod open_connections;
mod proxies;
mod secure;

/// A [`Transport`] with a connection pool over hyper. Clones share it.
///
/// It has the functions of `HttpTransport`, with fewer allocations per request and without reqwest in the build. It is
/// the default in a build without the feature `reqwest`; otherwise set it with
/// [`TableServiceClient::transport`](crate::TableServiceClient::transport).
///
/// HTTPS needs the feature `rustls`. The feature `native-tls` has no effect here.
///
/// ```no_run
/// use azure_table::TableServiceClient;
/// use azure_table::transport::HyperTransport;
/// # fn main() -> azure_table::Result<()> {
/// let transport = HyperTransport::builder().pool_max_idle_per_host(32).build()?;
/// let connection_string = "AccountName=contoso;AccountKey=AAECAwQFBgc=";
/// let service = TableServiceClient::from_connection_string(connection_string)?.transport(transport);
/// # let _ = service;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct HyperTransport {
    client: Client<Connector, Full<Bytes>>,
    proxies: Arc<Proxies>,
    limit: Option<ConnectionLimit>,
}

impl HyperTransport {
    /// Creates a new pool. `https` requires support for TLS connections.
    #[cfg(not(feature = "reqwest"))]
    pub(crate) fn new(https: bool) -> Result<Self> {
        Self::builder().build_for(https)
    }

    /// Returns a builder for a pool with other settings.
    pub fn builder() -> HyperTransportBuilder {
        HyperTransportBuilder {
            settings: ConnectionSettings::default(),
        }
    }
}

/// A builder for a [`HyperTransport`].
///
/// Created by [`HyperTransport::builder`].
#[must_use = "a builder does nothing until `build` is called"]
pub struct HyperTransportBuilder {
    settings: ConnectionSettings,
}

impl HyperTransportBuilder {
    /// Sets the maximum number of requests in flight, each on its own connection; 256 by default, at least 1.
    ///
    /// `None` removes the limit: then a burst opens a connection for each of its requests, up to the process's limit of
    /// open files. The limit applies to all hosts and clients that share the transport.
    ///
    /// Further requests wait in the order of their calls. The wait counts toward the `timeout` and the `total_timeout`
    /// of a call. The `attempt_timeout` starts after the wait, because it measures only the service. A call fails with
    /// [`Timeout`](crate::ErrorKind::Timeout) if no request in flight ends within one attempt timeout.
    ///
    /// The limit also applies to the open connections to each host, including idle ones.
    pub fn max_connections(mut self, connections: impl Into<Option<usize>>) -> Self {
        self.settings.max_connections = connections.into();
        self
    }

    /// Sets the timeout for opening a connection, including a proxy and TLS; 10 s by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.settings.connect_timeout = timeout;
        self
    }

    /// Sets the time after which an idle connection is no longer used; 20 s by default.
    ///
    /// It is closed within twice this time. The default is shorter than the time after which load balancers drop it.
    pub fn pool_idle_timeout(mut self, timeout: Duration) -> Self {
        self.settings.pool_idle_timeout = timeout;
        self
    }

    /// Sets the maximum number of idle connections per host. The default is [`max_connections`](Self::max_connections).
    ///
    /// A connection beyond it is closed after its response. 0 opens a connection for each request.
    pub fn pool_max_idle_per_host(mut self, connections: usize) -> Self {
        self.settings.max_idle_per_host = Some(connections);
        self
    }

    /// Sends all requests through this proxy. The URL may contain a user and a password.
    ///
    /// The schemes are `http`, `https`, `socks5` (host names are resolved here) and `socks5h` (the proxy resolves
    /// them). Requests to an `https` endpoint pass through an HTTP proxy in a tunnel.
    ///
    /// By default the environment selects the proxy (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`).
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.settings.proxy = Some(url.into());
        self
    }

    /// Trusts these certificates in addition to those that the platform trusts.
    ///
    /// `pem` contains the certificate of a server or of its authority, in PEM.
    pub fn root_certificates(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.settings.root_certificates.push(pem.as_ref().to_vec());
        self
    }

    /// Builds the pool.
    ///
    /// Connections are opened when they are needed.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the proxy's URL is invalid, or the certificates are not PEM.
    /// - [`Connection`](crate::ErrorKind::Connection): TLS cannot be set up.
    pub fn build(self) -> Result<HyperTransport> {
        self.build_for(cfg!(feature = "rustls"))
    }

    fn build_for(self, https: bool) -> Result<HyperTransport> {
        let proxies = Arc::new(Proxies::new(self.settings.proxy.as_deref())?);
        let tls = secure::tls(https, &self.settings.pem()?)?;
        let limit = self.settings.limit();
        let open = limit.as_ref().map(|limit| OpenConnections::new(limit.get()));
        let connector = Connector::new(Arc::clone(&proxies), &tls, self.settings.connect_timeout, open);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(self.settings.pool_idle_timeout)
            .pool_max_idle_per_host(self.settings.max_idle())
            .build(connector);
        Ok(HyperTransport { client, proxies, limit })
    }
}

/// Shows no settings: those of a proxy may contain a password.
impl fmt::Debug for HyperTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HyperTransport")
    }
}

impl fmt::Debug for HyperTransportBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HyperTransportBuilder").finish_non_exhaustive()
    }
}

impl Transport for HyperTransport {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let mut request = request.map(Full::new);
        if let Some(authorization) = self.proxies.authorization(request.uri()) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, authorization);
        }
        let response = requested(self.client.request(request));
        Box::pin(async move {
            let (head, body) = response.await.map_err(no_response)?.into_parts();
            let body = read(body).await?;
            Ok(Response::from_parts(head, body))
        })
    }

    fn connection_limit(&self) -> Option<&ConnectionLimit> {
        self.limit.as_ref()
    }
}

async fn read(mut pieces: Incoming) -> Result<Bytes, TransportError> {
    let mut body = ResponseBody::new(pieces.size_hint().exact())?;
    while let Some(frame) = pieces.frame().await {
        // Trailers are not part of the body.
        if let Ok(piece) = frame.map_err(cut)?.into_data() {
            body.push(piece)?;
        }
    }
    Ok(body.into_bytes())
}

/// Converts an error without a response.
fn no_response(error: ClientError) -> TransportError {
    let has_connection = error.connect_info().is_some();
    let reached = match has_connection && !is_canceled(&error) {
        true => Delivery::MaybeSent,
        false => Delivery::NothingSent,
    };
    TransportError::new(reached, error)
}

/// Returns `true` if hyper returned the request before it wrote a byte of it.
fn is_canceled(error: &ClientError) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref());
    source.is_some_and(hyper::Error::is_canceled)
}
