//! The default transport: HTTP over reqwest, with rustls and the ring provider for HTTPS.
//!
//! It never follows redirects, because a request carries its signature. The TLS settings belong to the client; the
//! process shares only the certificates that the platform trusts. It reads a response in chunks and never beyond
//! [`MAX_ANSWER`], whatever length the response announces.
//!
//! A connection that the server closed while it was idle is no failure. If hyper sees the close before it sent a byte
//! of the next request, it takes another connection. If the close crosses the request, nobody can say whether the
//! server read it: that is [`Delivery::MaybeSent`].
//!
//! The client speaks HTTP/1.1 only: the service was never seen to offer HTTP/2. The platform decides on trust, and no
//! certificates are loaded for an `http` endpoint. A reqwest client built elsewhere cannot be used: it may follow
//! redirects and so send a signature and a row to another host. There is no way to ask it.

use std::fmt;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response};

use crate::model::error::{Error, ErrorKind, Result};
use crate::pipeline::transport::{BoxFuture, Delivery, Transport, TransportError};

/// Shorter than the time after which a load balancer drops idle connections.
const POOL_IDLE: Duration = Duration::from_secs(20);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum body of a response, in bytes.
///
/// A page has up to 1,000 entities and 4 MiB, an entity 1 MiB. As JSON they are a few times as long: a character may
/// take six bytes, and metadata accompanies each value. A longer body is no response of a Table service, and is
/// discarded.
///
/// Source: REST "Understanding the Table service data model", "Query timeout and pagination".
const MAX_ANSWER: usize = 64 << 20;
/// The maximum buffer reserved for an announced length: that of a large page. An announcement costs no more.
const MAX_RESERVED: usize = 4 << 20;

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
/// let service = TableServiceClient::from_connection_string("AccountName=contoso;AccountKey=AAECAwQFBgc=")?.transport(transport);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct HttpTransport {
    client: reqwest::Client,
}

impl HttpTransport {
    /// Creates a new pool. `https` says whether it must be able to open TLS connections.
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
#[must_use = "it has to be built"]
pub struct HttpTransportBuilder {
    connect_timeout: Option<Duration>,
    pool_idle_timeout: Option<Duration>,
    proxy: Option<String>,
    root_certificates: Vec<Vec<u8>>,
    configure: Option<Box<Configure>>,
}

type Configure = dyn FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send;

impl HttpTransportBuilder {
    /// Sets the timeout for opening a connection, including TLS; 10 s by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = Some(timeout);
        self
    }

    /// Sets the time after which an idle connection is closed; 20 s by default.
    ///
    /// The default is shorter than the time after which load balancers drop it.
    pub fn pool_idle_timeout(mut self, timeout: Duration) -> Self {
        self.pool_idle_timeout = Some(timeout);
        self
    }

    /// Sends all requests through this proxy.
    ///
    /// By default the environment selects the proxy (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`).
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy = Some(url.into());
        self
    }

    /// Trusts these certificates in addition to those that the platform trusts.
    ///
    /// `pem` holds the certificate of a server or of its authority, in PEM.
    pub fn root_certificates(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.root_certificates.push(pem.as_ref().to_vec());
        self
    }

    /// Changes any other setting of reqwest.
    ///
    /// Redirects are never followed, whatever is set here: a request carries the credential, and the URL may contain a
    /// shared access signature. For the same reason the transport does not accept a client that was built elsewhere.
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
        let mut builder = reqwest::Client::builder()
            .tcp_nodelay(true)
            .connect_timeout(self.connect_timeout.unwrap_or(CONNECT_TIMEOUT))
            .pool_idle_timeout(self.pool_idle_timeout.unwrap_or(POOL_IDLE));
        if let Some(url) = &self.proxy {
            // A proxy's URL may hold a password.
            let proxy = reqwest::Proxy::all(url.as_str())
                .map_err(|_| Error::invalid_input("the proxy's address is no URL such as http://proxy:8080"))?;
            builder = builder.proxy(proxy);
        }
        // A reader of PEM skips what is none: a certificate in DER would be trusted by nobody, and nobody would say so.
        if !self.root_certificates.iter().all(|pem| has_certificate(pem)) {
            let why = format!("the root certificates are not in PEM: a part of them has no `{BEGIN}`");
            return Err(Error::invalid_input(why));
        }
        builder = tls(builder, https, &self.root_certificates.join(&b'\n'))?;
        if let Some(configure) = self.configure {
            builder = configure(builder);
        }
        let client = builder
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .build()
            .map_err(|e| Error::new(ErrorKind::Connection, "the HTTP client cannot be set up").with_source(e))?;
        Ok(HttpTransport { client })
    }
}

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";

fn has_certificate(pem: &[u8]) -> bool {
    pem.windows(BEGIN.len()).any(|part| part == BEGIN.as_bytes())
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

/// Trusts the certificates of the platform, and `more`.
///
/// Without HTTPS nothing is loaded, so that a machine without certificates can still talk to an emulator.
#[cfg(feature = "rustls")]
fn tls(builder: reqwest::ClientBuilder, https: bool, more: &[u8]) -> Result<reqwest::ClientBuilder> {
    use std::sync::Arc;

    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject as _;
    use rustls_platform_verifier::Verifier;

    let unusable = |e: rustls::Error| Error::new(ErrorKind::Connection, "TLS cannot be set up").with_source(e);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    if !https {
        let config = config.with_root_certificates(rustls::RootCertStore::empty());
        return Ok(builder.tls_backend_preconfigured(config.with_no_client_auth()));
    }
    let more: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(more)
        .collect::<std::result::Result<_, _>>()
        .map_err(not_pem)?;
    let verifier = if more.is_empty() {
        platform_verifier(provider)
    } else {
        Verifier::new_with_extra_roots(more, provider).map(Arc::new)
    };
    let config = config
        .dangerous()
        .with_custom_certificate_verifier(verifier.map_err(unusable)?)
        .with_no_client_auth();
    Ok(builder.tls_backend_preconfigured(config))
}

/// Reads the platform's certificates once per process: it takes up to some milliseconds, and a program may create a
/// client per tenant.
#[cfg(feature = "rustls")]
fn platform_verifier(
    provider: std::sync::Arc<rustls::crypto::CryptoProvider>,
) -> std::result::Result<std::sync::Arc<rustls_platform_verifier::Verifier>, rustls::Error> {
    use std::sync::{Arc, OnceLock};

    use rustls_platform_verifier::Verifier;

    static SHARED: OnceLock<Arc<Verifier>> = OnceLock::new();

    if let Some(verifier) = SHARED.get() {
        return Ok(Arc::clone(verifier));
    }
    let verifier = Arc::new(Verifier::new(provider)?);
    Ok(Arc::clone(SHARED.get_or_init(|| verifier)))
}

/// Uses the platform's TLS, in builds without rustls.
#[cfg(all(feature = "native-tls", not(feature = "rustls")))]
fn tls(mut builder: reqwest::ClientBuilder, https: bool, more: &[u8]) -> Result<reqwest::ClientBuilder> {
    if https {
        builder = builder.tls_backend_native();
        for certificate in reqwest::Certificate::from_pem_bundle(more).map_err(not_pem)? {
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

#[cfg(any(feature = "rustls", feature = "native-tls"))]
fn not_pem(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::invalid_input("the root certificates are not in PEM").with_source(error)
}

impl Transport for HttpTransport {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let request = reqwest::Request::try_from(request).map_err(|e| failed(Delivery::NothingSent, e))?;
            let mut response = self.client.execute(request).await.map_err(|e| {
                let reached = if e.is_connect() || e.is_builder() {
                    Delivery::NothingSent
                } else {
                    Delivery::MaybeSent
                };
                failed(reached, e)
            })?;
            let status = response.status();
            let headers = std::mem::take(response.headers_mut());
            let body = body(response).await?;
            let mut answer = Response::new(body);
            *answer.status_mut() = status;
            *answer.headers_mut() = headers;
            Ok(answer)
        })
    }
}

/// Reads the whole body of a response, up to the limit. Closes the connection if it does not read to the end.
async fn body(mut response: reqwest::Response) -> Result<Bytes, TransportError> {
    let announced = response.content_length().unwrap_or_default();
    let announced = usize::try_from(announced).unwrap_or(usize::MAX);
    if announced > MAX_ANSWER {
        let why = format!("the answer announces {announced} bytes, the limit is {MAX_ANSWER}");
        return Err(TransportError::new(Delivery::ResponseCut, why));
    }
    let mut body = BytesMut::with_capacity(announced.min(MAX_RESERVED));
    while let Some(piece) = response.chunk().await.map_err(|e| failed(Delivery::ResponseCut, e))? {
        if body.len() + piece.len() > MAX_ANSWER {
            let why = format!("the answer has more than {MAX_ANSWER} bytes, which is the limit");
            return Err(TransportError::new(Delivery::ResponseCut, why));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body.freeze())
}

/// Converts an error of reqwest. Removes its URL, because the query contains the filter.
fn failed(reached: Delivery, error: reqwest::Error) -> TransportError {
    TransportError::new(reached, error.without_url())
}
