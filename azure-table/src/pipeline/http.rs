//! The default transport: HTTP over reqwest, with rustls and the ring provider for HTTPS.
//!
//! Redirects are not followed: a request carries its signature. The TLS settings are the client's own; nothing is set
//! for the whole process. An answer is read piece by piece and never beyond [`MAX_ANSWER`], whatever it announces.
//!
//! A connection that the server closed while it was idle is no failure: where the close is seen before a byte of the
//! next request was sent, hyper takes another connection. Where it crosses the request, nobody can say whether the
//! server read it: that is [`Delivery::MaybeSent`].
//!
//! The client speaks HTTP/1.1 only: the service was never seen to offer HTTP/2. Trust is the platform's; no
//! certificates are loaded for an `http` endpoint. A reqwest client built elsewhere cannot be used: it may follow
//! redirects, and with them send a signature and a row to another host, and there is no way to ask it.

use std::fmt;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response};

use crate::model::error::{Error, ErrorKind, Result};
use crate::pipeline::transport::{BoxFuture, Delivery, Transport, TransportError};

/// Below the time after which a load balancer drops idle connections.
const POOL_IDLE: Duration = Duration::from_secs(20);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest body of an answer, in bytes. A page has up to 1,000 entities and 4 MiB, an entity 1 MiB; as JSON, where
/// a character may take six bytes and metadata stands beside each value, they are some times as long. More than this is
/// no answer of a Table service, and is not kept.
///
/// Source: REST "Understanding the Table service data model", "Query timeout and pagination".
const MAX_ANSWER: usize = 64 << 20;
/// The room made at once for an announced length: that of a large page. An announcement costs no more.
const MAX_RESERVED: usize = 4 << 20;

/// The default [`Transport`]: a pool of connections over reqwest. Clones share it.
///
/// A client makes its own; one made here has other settings, or serves several clients.
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
    /// A new pool. `https` says whether it must be able to open TLS connections.
    pub(crate) fn new(https: bool) -> Result<Self> {
        Self::builder().build_for(https)
    }

    /// A pool with other settings.
    pub fn builder() -> HttpTransportBuilder {
        HttpTransportBuilder::default()
    }
}

/// The settings of an [`HttpTransport`]. Made by [`HttpTransport::builder`].
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
    /// The longest time to make a connection, TLS included; 10 s by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = Some(timeout);
        self
    }

    /// How long a connection that is not used is kept; 20 s by default, less than after what load balancers drop it.
    pub fn pool_idle_timeout(mut self, timeout: Duration) -> Self {
        self.pool_idle_timeout = Some(timeout);
        self
    }

    /// Sends all requests through this proxy; by default the environment says (`HTTPS_PROXY`, `HTTP_PROXY`,
    /// `NO_PROXY`).
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy = Some(url.into());
        self
    }

    /// Trusts these certificates besides those that the platform trusts: a server's own, or its authority's, in PEM.
    pub fn root_certificates(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.root_certificates.push(pem.as_ref().to_vec());
        self
    }

    /// Changes any other setting of reqwest. Whatever is set here, redirects are never followed: a request carries the
    /// proof of who asks, and a shared access signature stands in its URL. That is also why a client that was made
    /// elsewhere cannot be given.
    pub fn configure(
        mut self,
        configure: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send + 'static,
    ) -> Self {
        self.configure = Some(Box::new(configure));
        self
    }

    /// Makes the pool; connections are made when they are needed.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — the proxy's URL is none, or the certificates are not PEM.
    /// [`Connection`](crate::ErrorKind::Connection) — TLS cannot be set up.
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

/// What reqwest shows of its settings may hold a proxy's password.
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

/// Trusts what the platform trusts, and `more`. Without HTTPS nothing is loaded, so that a machine without certificates
/// can still talk to an emulator.
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
        Verifier::new(provider)
    } else {
        Verifier::new_with_extra_roots(more, provider)
    };
    let config = config
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier.map_err(unusable)?))
        .with_no_client_auth();
    Ok(builder.tls_backend_preconfigured(config))
}

/// The platform's own TLS, where rustls is not wanted.
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

/// The whole body of an answer, up to the limit. Its connection is closed where it is not read to its end.
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

/// The URL stays out: its query holds the filter.
fn failed(reached: Delivery, error: reqwest::Error) -> TransportError {
    TransportError::new(reached, error.without_url())
}
