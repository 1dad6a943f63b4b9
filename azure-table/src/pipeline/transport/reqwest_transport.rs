//! A transport on reqwest, for programs that configure its client: layers, a pool, another TLS implementation.
//!
//! It never follows redirects, because a request carries its signature. `tls` sets up TLS, and `response_body` collects
//! a response.
//!
//! A connection that the server closed while it was idle is not a failure. If hyper sees the close before it has sent a
//! byte of the next request, it uses another connection. If the server closes while the request is in flight, it is
//! unknown whether the server read it: that is [`Delivery::MaybeSent`].
//!
//! A reqwest client built elsewhere does not reveal whether it follows redirects. They would send a signature and a row
//! to another host. The first response from another URL shows it, and is the last: see `ReqwestTransport::from_client`.

use std::fmt;
use std::future::ready;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::transport::connection_limit::ConnectionLimit;
use azure_table_wire::transport::{BoxFuture, Delivery, Transport, TransportError};
use bytes::Bytes;
use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri};
use reqwest::Url;

use crate::pipeline::transport::connection_defaults::{CONNECT_TIMEOUT, MAX_CONNECTIONS, POOL_IDLE};
use crate::pipeline::transport::rejected_certificate::is_certificate_rejected;
use crate::pipeline::transport::response_body::{ResponseBody, cut};
use crate::pipeline::transport::tls::TlsSettings;

/// A [`Transport`] on reqwest, for settings that [`HttpTransport`](crate::transport) does not have. Clones share it.
///
/// It is the default in a build without the feature `http`. Otherwise set it with
/// [`TableServiceClient::transport`](crate::TableServiceClient::transport).
///
/// The tokio runtime that opens a connection also drives it. Use one transport for each runtime if they do not run at
/// the same time: unlike `HttpTransport`, this one has a single pool, and a request may wait for a connection of a
/// runtime that does not run.
///
/// reqwest reads the proxies of the environment itself: unlike `HttpTransport`, this transport does not check them.
///
/// ```no_run
/// use azure_table::TableServiceClient;
/// use azure_table::transport::ReqwestTransport;
/// # fn main() -> azure_table::Result<()> {
/// let transport = ReqwestTransport::builder()
///     .configure(|client| client.tcp_keepalive(std::time::Duration::from_secs(60)))
///     .build()?;
/// let connection_string = "AccountName=contoso;AccountKey=AAECAwQFBgc=";
/// let service = TableServiceClient::from_connection_string(connection_string)?.transport(transport);
/// # let _ = service;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ReqwestTransport {
    client: reqwest::Client,
    latest: Arc<LatestUrl>,
    limit: Option<ConnectionLimit>,
    /// Of a client that was built elsewhere: `true` once it has followed a redirect.
    redirected: Option<Arc<AtomicBool>>,
}

/// The error of a client that follows redirects.
const REDIRECTED: &str = "the reqwest client follows redirects, which would send the credential to another address: build \
                          it with `redirect(Policy::none())`";

impl ReqwestTransport {
    /// Creates a transport on a client that the application has built, with its pool, proxies and TLS.
    ///
    /// | setting of the client | needed |
    /// |---|---|
    /// | `redirect(Policy::none())` | yes: see below |
    /// | `retry(never())` | yes, or the default, which repeats no write that may have been applied |
    /// | `timeout` | none, or longer than the `attempt_timeout` |
    /// | `http1_only` and `tcp_nodelay` | recommended |
    ///
    /// Unless another feature of reqwest sets up TLS, install a crypto provider first, or reqwest's `build` panics: see
    /// [the guide to accounts](crate::guide::accounts).
    ///
    /// A built client does not reveal these settings. If a response comes from another URL than its request, the client
    /// has followed a redirect: the request fails, a write is in doubt, and all later requests fail before they are
    /// sent. A failed connection may belong to a redirect, so a write is read back in that case too. At most 256
    /// requests are in flight.
    ///
    /// ```no_run
    /// use azure_table::TableServiceClient;
    /// use azure_table::transport::ReqwestTransport;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
    /// let connection_string = "AccountName=contoso;AccountKey=AAECAwQFBgc=";
    /// let service = TableServiceClient::from_connection_string(connection_string)?
    ///     .transport(ReqwestTransport::from_client(client.clone()));
    /// # let _ = service;
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_client(client: reqwest::Client) -> Self {
        Self {
            client,
            latest: Arc::default(),
            limit: Some(ConnectionLimit::new(MAX_CONNECTIONS)),
            redirected: Some(Arc::default()),
        }
    }

    /// Returns a builder for a pool with other settings.
    pub fn builder() -> ReqwestTransportBuilder {
        ReqwestTransportBuilder {
            max_connections: Some(MAX_CONNECTIONS),
            tls: TlsSettings::default(),
            configure: Vec::new(),
        }
    }
}

/// A builder for a [`ReqwestTransport`].
///
/// Created by [`ReqwestTransport::builder`].
#[must_use = "a builder does nothing until `build` is called"]
pub struct ReqwestTransportBuilder {
    max_connections: Option<usize>,
    tls: TlsSettings,
    configure: Vec<Box<Configure>>,
}

type Configure = dyn FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send;

impl ReqwestTransportBuilder {
    /// Sets the maximum number of requests in flight, each on its own connection; 256 by default, at least 1.
    ///
    /// As for [`HttpTransport`](crate::transport), but reqwest's pool also keeps idle connections: up to twice as many
    /// connections may be open.
    pub fn max_connections(mut self, connections: impl Into<Option<usize>>) -> Self {
        self.max_connections = connections.into();
        self
    }

    /// Trusts these certificates in addition to those that the platform trusts.
    ///
    /// `pem` contains the certificate of a server or of its authority, in PEM. It has no effect on another TLS
    /// implementation that [`configure`](Self::configure) sets.
    pub fn root_certificates(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.tls.root_certificates.push(pem.as_ref().to_vec());
        self
    }

    /// Changes the settings of reqwest: timeouts, proxies, the pool, DNS, TLS.
    ///
    /// The closure receives a builder with the defaults of [`HttpTransport`](crate::transport) for timeouts and pool,
    /// and with the same setup of rustls. With reqwest's feature `native-tls`, `tls_backend_native` selects the
    /// platform's TLS. reqwest's own settings of rustls have no effect; set a configuration of rustls as a whole with
    /// `tls_backend_preconfigured`.
    ///
    /// Redirects are never followed, whatever this sets: a request carries the credential, and the URL may contain a
    /// shared access signature.
    ///
    /// reqwest never retries either, because the client reads back a write before it sends it again. Further closures
    /// receive the result of the previous one.
    pub fn configure(
        mut self,
        configure: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send + 'static,
    ) -> Self {
        self.configure.push(Box::new(configure));
        self
    }

    /// Builds the pool.
    ///
    /// Connections are opened when they are needed.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): a certificate is not X.509 in PEM.
    /// - [`Unsupported`](crate::ErrorKind::Unsupported): without the feature `rustls`, the process has installed no
    ///   crypto provider, and `configure` sets no other TLS.
    /// - [`Connection`](crate::ErrorKind::Connection): TLS cannot be set up, or reqwest rejects its settings.
    pub fn build(self) -> Result<ReqwestTransport> {
        let limit = self.max_connections.map(ConnectionLimit::new);
        let mut builder = reqwest::Client::builder()
            .tcp_nodelay(true)
            .http1_only()
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(POOL_IDLE)
            .pool_max_idle_per_host(limit.as_ref().map_or(usize::MAX, ConnectionLimit::get));
        let tls = self.tls.into_config();
        let no_provider = match tls {
            Ok(config) => {
                builder = builder.tls_backend_preconfigured(config);
                None
            }
            // reqwest rejects an unknown TLS value in `build`, unless the closure replaces it. Without this value,
            // reqwest would panic because no provider is installed.
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                builder = builder.tls_backend_preconfigured(());
                Some(error)
            }
            Err(error) => return Err(error),
        };
        for configure in self.configure {
            builder = configure(builder);
        }
        let client = builder
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            // The pipeline retries. reqwest would return the last error alone, and a first copy may have been applied.
            .retry(reqwest::retry::never().max_retries_per_request(0))
            .build()
            .map_err(|e| {
                no_provider.unwrap_or_else(|| {
                    Error::new(ErrorKind::Connection, "the HTTP client cannot be set up").with_source(e)
                })
            })?;
        Ok(ReqwestTransport {
            client,
            latest: Arc::default(),
            limit,
            redirected: None,
        })
    }
}

/// Shows no settings: reqwest's may contain a proxy's password.
impl fmt::Debug for ReqwestTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReqwestTransport")
    }
}

impl fmt::Debug for ReqwestTransportBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReqwestTransportBuilder").finish_non_exhaustive()
    }
}

impl Transport for ReqwestTransport {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        // Converts the request here, because the future would otherwise reserve memory for it in both forms.
        let request = self.latest.request(request);
        let own = self.redirected.as_ref().zip(request.as_ref().ok());
        let own = own.map(|(redirected, request)| (redirected, request.url().clone()));
        if own
            .as_ref()
            .is_some_and(|(redirected, _)| redirected.load(Ordering::Relaxed))
        {
            return Box::pin(ready(Err(TransportError::new(Delivery::NothingSent, REDIRECTED))));
        }
        let response = request.map(|request| self.client.execute(request));
        Box::pin(async move {
            let response = response?.await;
            if let (Some((redirected, _)), Err(error)) = (&own, &response)
                && error.is_redirect()
            {
                redirected.store(true, Ordering::Relaxed);
            }
            let mut response = response.map_err(|error| no_response(error, own.is_none()))?;
            if let Some((redirected, url)) = own
                && *response.url() != url
            {
                redirected.store(true, Ordering::Relaxed);
                return Err(TransportError::new(Delivery::MaybeSent, REDIRECTED));
            }
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
/// host as the previous one, and then only the path is parsed.
#[derive(Default)]
struct LatestUrl(Mutex<Option<(Origin, Url)>>);

/// The parts of a URL before its path.
type Origin = (Option<Scheme>, Option<Authority>);

impl LatestUrl {
    /// Converts a request to reqwest's type.
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
        let latest = self.lock();
        let ((scheme, authority), url) = latest.as_ref()?;
        ((scheme.as_ref(), authority.as_ref()) == (uri.scheme(), uri.authority())).then(|| url.clone())
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
///
/// A client that `is_own` follows no redirects. Another one may have sent the request before it failed to connect.
fn no_response(error: reqwest::Error, is_own: bool) -> TransportError {
    let is_unsent = error.is_connect() || error.is_builder() || is_certificate_rejected(&error);
    let reached = if is_own && is_unsent {
        Delivery::NothingSent
    } else {
        Delivery::MaybeSent
    };
    TransportError::new(reached, error.without_url())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With Nagle's algorithm, the end of a request would wait for the service's delayed acknowledgment.
    #[test]
    fn connection_sends_small_segments_at_once() {
        // Without the feature, the program installs a provider.
        #[cfg(not(feature = "rustls"))]
        drop(rustls::crypto::ring::default_provider().install_default());
        let builder = ReqwestTransport::builder().configure(|builder| {
            let settings = format!("{builder:?}");
            assert!(settings.contains("tcp_nodelay: true"), "{settings}");
            builder
        });
        builder.build().unwrap();
    }

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
            // Parses it as the first URL, and after a URL of the same host or of another host.
            let expected = Url::parse(text).unwrap();
            for latest in [&LatestUrl::default(), &latest, &latest] {
                assert_eq!(latest.url(text.parse().unwrap()).unwrap(), expected);
            }
        }
    }
}
