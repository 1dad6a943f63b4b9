//! The default transport: a connection pool on hyper, without the layers of a general HTTP client.
//!
//! It follows no redirects, because a request carries its signature. It speaks HTTP/1.1 only, since the service was
//! never seen to offer HTTP/2. It reports the progress of a failed request. `builder` has the settings. `pool` has the
//! connections of a runtime, and `pools` one pool per runtime. `connector` opens the connections, to addresses from
//! `resolver`, through `proxies`, with TLS from `secure`.

use std::fmt;
use std::sync::Arc;

use azure_table_wire::transport::connection_limit::ConnectionLimit;
use azure_table_wire::transport::{BoxFuture, Transport, TransportError};
use bytes::Bytes;
use http::header::PROXY_AUTHORIZATION;
use http::{Request, Response};
use http_body_util::Full;

use crate::pipeline::transport::http_transport::pools::Pools;
use crate::pipeline::transport::http_transport::proxies::Proxies;

pub(crate) mod builder;
mod connector;
mod pool;
mod pools;
mod proxies;
mod resolver;
mod secure;
mod tunnel;

/// The default [`Transport`]: a connection pool on hyper. Clones share it.
///
/// A client creates its own pool. Build one here to change its settings or to share it between clients.
/// Each tokio runtime has connections of its own, because it drives the connections that it opens.
/// The first pool with HTTPS reads the certificates that the platform trusts; later pools of the process share them.
///
/// HTTPS needs the feature `rustls`, or `rustls-no-provider` and a crypto provider that the process has installed.
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
/// # let _ = service;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct HttpTransport {
    pools: Arc<Pools>,
    proxies: Arc<Proxies>,
    limit: Option<ConnectionLimit>,
}

/// Shows no settings: a proxy's URL may contain a password.
impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpTransport")
    }
}

impl Transport for HttpTransport {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let mut request = request.map(Full::new);
        // A layer around this transport may have set its own.
        if let Some(authorization) = self.proxies.authorization(request.uri()) {
            request
                .headers_mut()
                .entry(PROXY_AUTHORIZATION)
                .or_insert(authorization);
        }
        Box::pin(async move { self.pools.current().send(request).await })
    }

    fn connection_limit(&self) -> Option<&ConnectionLimit> {
        self.limit.as_ref()
    }
}
