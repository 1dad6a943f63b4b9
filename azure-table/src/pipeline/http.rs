//! The default transport: HTTP over reqwest, with rustls and the ring provider for HTTPS.
//!
//! It never follows redirects, because a request carries its signature. TLS is set up by `tls`, a response is read into
//! `response_body`, and the settings shared with the other transport are `connection_settings`.
//!
//! A connection that the server closed while it was idle is not a failure. If hyper sees the close before it sent a
//! byte of the next request, it uses another connection. If the close crosses the request, it is unknown whether the
//! server read it: that is [`Delivery::MaybeSent`].
//!
//! The client uses HTTP/1.1 only: the service was never seen to offer HTTP/2. A reqwest client built elsewhere cannot
//! be used: it may follow redirects and so send a signature and a row to another host, and it does not reveal that
//! setting.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azure_table_core::model::error::{Error, ErrorInternals, ErrorKind, Result};
use azure_table_core::transport::connection_limit::ConnectionLimit;
use azure_table_core::transport::{BoxFuture, Delivery, Transport, TransportError};
use bytes::Bytes;
use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri};
use reqwest::Url;

use crate::pipeline::connection_settings::{ConnectionSettings, invalid_proxy};
use crate::pipeline::response_body::{ResponseBody, cut};

/// The default [`Transport`]: a connection pool over reqwest. Clones share it.
///
/// A client creates its own pool. Build one here to change its settings or to share it between clients.
/// The first pool with HTTPS reads the certificates that the platform trusts; later pools of the process share them.
///
/// ```no_run
/// use azure_table::TableServiceClient;
/// use azure_table::transport::HttpTransport;
/// # fn main() -> azure_table::Result<()> {
/// let transport = HttpTransport::builder()
///     .connect_timeout(std::time::Duration::from_secs(3))
///     .proxy("http://proxy.contoso.com:8080")
///     .build()?;
/// let connection_string = "AccountName=contoso;AccountKey=AAECAwQFBgc=";
/// let service = TableServiceClient::from_connection_string(connection_string)?.transport(transport);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct HttpTransport {
    client: reqwest::Client,
    latest: Arc<LatestUrl>,
    limit: Option<ConnectionLimit>,
}

impl HttpTransport {
    /// Creates a new pool. `https` requires support for TLS connections.
    pub(crate) fn new(https: bool) -> Result<Self> {
        Self::builder().build_for(https)
    }

    /// Returns a builder for a pool with other settings.
    pub fn builder() -> HttpTransportBuilder {
        HttpTransportBuilder::default()
    }
}

/// A builder for an [`HttpTransport`].
///
/// Created by [`HttpTransport::builder`].
#[derive(Default)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct HttpTransportBuilder {
    settings: ConnectionSettings,
    configure: Option<Box<Configure>>,
}

type Configure = dyn FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send;

impl HttpTransportBuilder {
    /// Sets the maximum number of requests in flight, each on its own connection; 256 by default, at least 1.
    ///
    /// `None` removes the limit: then a burst opens a connection for each of its requests, up to the process's limit of
    /// open files. The limit applies to all hosts and clients that share the transport.
    ///
    /// Further requests wait in the order of their calls. The wait counts toward the `timeout` and the `total_timeout`
    /// of a call. The `attempt_timeout` starts after the wait, because it measures only the service. A call fails with
    /// [`Timeout`](crate::ErrorKind::Timeout) if no request in flight ends within one attempt timeout.
    ///
    /// The pool also keeps idle connections: up to twice as many connections may be open.
    pub fn max_connections(mut self, connections: impl Into<Option<usize>>) -> Self {
        self.settings.max_connections = connections.into();
        self
    }

    /// Sets the timeout for opening a connection, including TLS; 10 s by default.
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

    /// Changes any other setting of reqwest.
    ///
    /// Redirects are never followed, whatever this sets: a request carries the credential, and the URL may contain a
    /// shared access signature. For the same reason the transport does not accept a client that was built elsewhere.
    ///
    /// The retries of reqwest are off, since the client has its own. The closure may turn them on.
    pub fn configure(
        mut self,
        configure: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send + 'static,
    ) -> Self {
        self.configure = Some(Box::new(configure));
        self
    }

    /// Builds the pool.
    ///
    /// Connections are opened when they are needed.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the proxy's URL is invalid, or the certificates are not PEM.
    /// - [`Connection`](crate::ErrorKind::Connection): TLS cannot be set up.
    pub fn build(self) -> Result<HttpTransport> {
        let https = cfg!(any(feature = "rustls", feature = "native-tls"));
        self.build_for(https)
    }

    fn build_for(self, https: bool) -> Result<HttpTransport> {
        let limit = self.settings.limit();
        let mut builder = reqwest::Client::builder()
            .tcp_nodelay(true)
            .connect_timeout(self.settings.connect_timeout)
            .pool_idle_timeout(self.settings.pool_idle_timeout)
            .pool_max_idle_per_host(self.settings.max_idle())
            // The pipeline retries. reqwest would keep a copy of each request, for HTTP/2 and HTTP/3 only.
            .retry(reqwest::retry::never().max_retries_per_request(0));
        if let Some(url) = &self.settings.proxy {
            builder = builder.proxy(reqwest::Proxy::all(url.as_str()).map_err(|_| invalid_proxy())?);
        }
        builder = tls(builder, https, &self.settings.pem()?)?;
        if let Some(configure) = self.configure {
            builder = configure(builder);
        }
        let client = builder
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .build()
            .map_err(|e| Error::new(ErrorKind::Connection, "the HTTP client cannot be set up").with_source(e))?;
        Ok(HttpTransport {
            client,
            latest: Arc::default(),
            limit,
        })
    }
}

/// Shows no settings: those of reqwest may contain a proxy's password.
impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpTransport")
    }
}

impl fmt::Debug for HttpTransportBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransportBuilder").finish_non_exhaustive()
    }
}

#[cfg(feature = "rustls")]
fn tls(builder: reqwest::ClientBuilder, https: bool, more: &[u8]) -> Result<reqwest::ClientBuilder> {
    let config = crate::pipeline::tls::client_config(https, more)?;
    Ok(builder.tls_backend_preconfigured(config))
}

/// Uses the platform's TLS, in builds without rustls.
#[cfg(all(feature = "native-tls", not(feature = "rustls")))]
fn tls(mut builder: reqwest::ClientBuilder, https: bool, more: &[u8]) -> Result<reqwest::ClientBuilder> {
    if https {
        builder = builder.tls_backend_native();
        for certificate in
            reqwest::Certificate::from_pem_bundle(more).map_err(crate::pipeline::connection_settings::not_pem)?
        {
            builder = builder.add_root_certificate(certificate);
        }
    }
    Ok(builder)
}

#[cfg(not(any(feature = "rustls", feature = "native-tls")))]
fn tls(builder: reqwest::ClientBuilder, https: bool, _: &[u8]) -> Result<reqwest::ClientBuilder> {
    if https {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "an https endpoint needs the feature `rustls` or `native-tls` of azure-table",
        ));
    }
    Ok(builder)
}

impl Transport for HttpTransport {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        // Here and not in the future, which would have room for the request in two forms.
        let response = self.latest.request(request).map(|request| self.client.execute(request));
        Box::pin(async move {
            let mut response = response?.await.map_err(no_response)?;
            let mut complete = Response::new(read(&mut response).await?);
            *complete.status_mut() = response.status();
            *complete.headers_mut() = std::mem::take(response.headers_mut());
            Ok(complete)
        })
    }

    fn connection_limit(&self) -> Option<&ConnectionLimit> {
        self.limit.as_ref()
    }
}

/// The URL of the latest request.
///
/// reqwest parses URLs by the rules of browsers, which spends half of the work on the host. Most requests have the same
/// host as the previous one: then only the path is parsed.
#[derive(Default)]
struct LatestUrl(Mutex<Option<(Origin, Url)>>);

/// The parts of a URL before its path.
type Origin = (Option<Scheme>, Option<Authority>);

impl LatestUrl {
    /// Converts a request into one of reqwest.
    fn request(&self, request: Request<Bytes>) -> Result<reqwest::Request, TransportError> {
        let (parts, body) = request.into_parts();
        let url = self.url(parts.uri)?;
        let mut request = reqwest::Request::new(parts.method, url);
        *request.headers_mut() = parts.headers;
        *request.body_mut() = Some(body.into());
        Ok(request)
    }

    fn url(&self, uri: Uri) -> Result<Url, TransportError> {
        if let Some(mut url) = self.of_same_host(&uri) {
            url.set_path(uri.path());
            url.set_query(uri.query());
            return Ok(url);
        }
        let url = Url::parse(&uri.to_string()).map_err(|e| TransportError::new(Delivery::NothingSent, e))?;
        let mut short = url.clone();
        short.set_path("");
        short.set_query(None);
        let parts = uri.into_parts();
        *self.lock() = Some(((parts.scheme, parts.authority), short));
        Ok(url)
    }

    fn of_same_host(&self, uri: &Uri) -> Option<Url> {
        match &*self.lock() {
            Some(((scheme, authority), url))
                if (scheme.as_ref(), authority.as_ref()) == (uri.scheme(), uri.authority()) =>
            {
                Some(url.clone())
            }
            _ => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Origin, Url)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn read(response: &mut reqwest::Response) -> Result<Bytes, TransportError> {
    let mut body = ResponseBody::new(response.content_length())?;
    while let Some(piece) = response.chunk().await.map_err(|e| cut(e.without_url()))? {
        body.push(piece)?;
    }
    Ok(body.into_bytes())
}

/// Converts an error without a response. Removes its URL, because the query contains the filter.
fn no_response(error: reqwest::Error) -> TransportError {
    let reached = match error.is_connect() || error.is_builder() {
        true => Delivery::NothingSent,
        false => Delivery::MaybeSent,
    };
    TransportError::new(reached, error.without_url())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_after_another_url_is_that_of_the_request() {
        let latest = LatestUrl::default();
        for text in [
            "http://127.0.0.1:10002/acct/T(PartitionKey='a%20%2F%3F%23',RowKey='%2E%2E%2F%5C')?$select=A%26B&$top=5",
            "http://127.0.0.1:10002/acct/T()?$filter=A%20eq%20'%C3%9F'",
            "http://127.0.0.1:10002/acct/$batch",
            "https://127.0.0.1:10002/acct/$batch",
            "https://contoso.table.core.windows.net/T(PartitionKey='..',RowKey='../..')",
            "https://contoso.table.core.windows.net/",
            "https://contoso-secondary.table.core.windows.net/?restype=service&comp=stats",
            "http://[::1]:1/a/%2e%2E/b",
            "http://[::1]:1/",
        ] {
            // As the first URL, and after one of the same host or of another.
            let expected = Url::parse(text).unwrap();
            for latest in [&LatestUrl::default(), &latest, &latest] {
                assert_eq!(latest.url(text.parse().unwrap()).unwrap(), expected);
            }
        }
    }
}
