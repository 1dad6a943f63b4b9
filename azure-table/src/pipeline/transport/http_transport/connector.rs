//! Opens the connections of the pool: TCP, through a proxy if one applies, with TLS if the endpoint requires it.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::proxy::SocksV5;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tower_service::Service;

use crate::pipeline::transport::http_transport::proxies::{Proxies, ProxyKind, kind};
use crate::pipeline::transport::http_transport::resolver::{Resolver, Resolving};
use crate::pipeline::transport::http_transport::secure::{BoxError, Connecting, Secure, SecureStream, Tls, plain};
use crate::pipeline::transport::http_transport::tunnel;

type Tcp = TokioIo<TcpStream>;
type TcpConnector = HttpConnector<Resolving>;

/// The default of [`SocketSettings::keepalive`].
const KEEPALIVE: Duration = Duration::from_secs(15);
const KEEPALIVE_RETRIES: u32 = 3;
/// The default of [`SocketSettings::user_timeout`].
#[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(30);

/// The settings of sockets.
pub(super) struct SocketSettings {
    pub(super) connect_timeout: Duration,
    /// A connection whose peer is silent is probed after this time, and at this interval.
    pub(super) keepalive: Option<Duration>,
    /// The time after which unacknowledged bytes end a connection.
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    pub(super) user_timeout: Option<Duration>,
    pub(super) local_address: Option<IpAddr>,
    #[cfg(any(
        target_os = "android",
        target_os = "fuchsia",
        target_os = "linux",
        target_os = "macos"
    ))]
    pub(super) interface: Option<String>,
    pub(super) resolver: Resolver,
}

impl SocketSettings {
    pub(super) fn new(connect_timeout: Duration) -> Self {
        Self {
            connect_timeout,
            keepalive: Some(KEEPALIVE),
            #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
            user_timeout: Some(TCP_USER_TIMEOUT),
            local_address: None,
            #[cfg(any(
                target_os = "android",
                target_os = "fuchsia",
                target_os = "linux",
                target_os = "macos"
            ))]
            interface: None,
            resolver: Resolver::default(),
        }
    }

    fn connector(&self, resolver: Resolving) -> TcpConnector {
        let mut tcp = HttpConnector::new_with_resolver(resolver);
        // The layers above handle TLS.
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(self.connect_timeout));
        tcp.set_keepalive(self.keepalive);
        tcp.set_keepalive_interval(self.keepalive);
        tcp.set_keepalive_retries(self.keepalive.map(|_| KEEPALIVE_RETRIES));
        tcp.set_local_address(self.local_address);
        #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
        tcp.set_tcp_user_timeout(self.user_timeout);
        #[cfg(any(
            target_os = "android",
            target_os = "fuchsia",
            target_os = "linux",
            target_os = "macos"
        ))]
        if let Some(interface) = &self.interface {
            tcp.set_interface(interface.clone());
        }
        tcp
    }
}

/// Opens connections within a timeout. Clones are cheap.
#[derive(Clone)]
pub(super) struct Connector(Arc<Opening>);

struct Opening {
    route: Route,
    tls: Tls,
    timeout: Duration,
}

impl Connector {
    pub(super) fn new(proxies: Arc<Proxies>, tls: Tls, mut settings: SocketSettings) -> Self {
        let timeout = settings.connect_timeout;
        let resolver = Arc::new(std::mem::take(&mut settings.resolver));
        let tcp = settings.connector(Resolving(Arc::clone(&resolver)));
        let route = Route {
            to_proxy: Secure::new(tcp.clone(), &tls),
            tcp,
            resolver,
            proxies,
            permit: None,
        };
        Self(Arc::new(Opening { route, tls, timeout }))
    }

    /// Opens a connection. The permit lives as long as the connection.
    pub(super) async fn connect(
        self,
        endpoint: Uri,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Result<SecureStream<Routed>, BoxError> {
        let Opening { route, tls, timeout } = &*self.0;
        let route = Route {
            permit: permit.map(Arc::new),
            ..route.clone()
        };
        let connecting = Secure::new(route, tls).call(endpoint);
        tokio::time::timeout(*timeout, connecting).await.unwrap_or_else(|_| {
            Err(io::Error::new(io::ErrorKind::TimedOut, format!("no connection within {timeout:?}")).into())
        })
    }
}

/// Connects to an endpoint, directly or through its proxy. TLS with the endpoint is added on top.
#[derive(Clone)]
struct Route {
    tcp: TcpConnector,
    /// A proxy may use TLS itself.
    to_proxy: Secure<TcpConnector>,
    resolver: Arc<Resolver>,
    proxies: Arc<Proxies>,
    /// Of the connection.
    permit: Option<Permit>,
}

type Permit = Arc<OwnedSemaphorePermit>;

impl Service<Uri> for Route {
    type Response = Routed;
    type Error = BoxError;
    type Future = Connecting<Routed>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, endpoint: Uri) -> Self::Future {
        let mut route = self.clone();
        Box::pin(async move {
            let permit = route.permit.take();
            let routed = match route.proxies.of(&endpoint) {
                Some(proxy) => route.through(&proxy, endpoint).await?,
                None => Routed::tunnel(plain(route.tcp.call(endpoint).await?)),
            };
            Ok(Routed {
                _permit: permit,
                ..routed
            })
        })
    }
}

impl Route {
    async fn through(mut self, proxy: &Intercept, endpoint: Uri) -> Result<Routed, BoxError> {
        let address = proxy.uri().clone();
        match kind(&address) {
            Some(ProxyKind::Http) if endpoint.scheme() == Some(&Scheme::HTTPS) => {
                let stream = tunnel::open(self.to_proxy.call(address), proxy, &endpoint).await?;
                Ok(Routed::tunnel(stream))
            }
            Some(ProxyKind::Http) => Ok(Routed {
                stream: self.to_proxy.call(address).await?,
                forwards_requests: true,
                _permit: None,
            }),
            Some(ProxyKind::Socks5 { resolves_here }) => {
                let endpoint = for_socks(&endpoint, resolves_here.then_some(self.resolver)).await?;
                let address = with_port(&address, SOCKS_PORT)?;
                let mut tunnel = SocksV5::new(address, self.tcp);
                if let Some((user, password)) = proxy.raw_auth() {
                    tunnel = tunnel.with_auth(user.to_owned(), password.to_owned());
                }
                Ok(Routed::tunnel(plain(tunnel.call(endpoint).await?)))
            }
            None => Err("the scheme of the proxy is not http, https, socks5 or socks5h".into()),
        }
    }
}

/// The port of a SOCKS proxy whose URL has none.
const SOCKS_PORT: u16 = 1080;

/// Returns the address that a SOCKS proxy connects to, always with its port.
///
/// `resolver` resolves host names, not hyper-util, which would block the thread. Without a resolver, the proxy does.
async fn for_socks(endpoint: &Uri, resolver: Option<Arc<Resolver>>) -> Result<Uri, BoxError> {
    let default = if endpoint.scheme() == Some(&Scheme::HTTPS) {
        443
    } else {
        80
    };
    let host = endpoint.host().unwrap_or_default().trim_matches(['[', ']']);
    let Some(resolver) = resolver.filter(|_| host.parse::<IpAddr>().is_err()) else {
        return with_port(endpoint, default);
    };
    let port = endpoint.port_u16().unwrap_or(default);
    let found = resolver.addresses(host.to_owned()).await?;
    let mut address = *found.first().ok_or("the host name has no address")?;
    if endpoint.port().is_some() || address.port() == 0 {
        address.set_port(port);
    }
    Ok(Uri::builder()
        .scheme("http")
        .authority(address.to_string())
        .path_and_query("/")
        .build()?)
}

/// Returns an address with its port, or with `default` if it has none.
fn with_port(address: &Uri, default: u16) -> Result<Uri, BoxError> {
    let port = address.port_u16().unwrap_or(default);
    let authority = format!("{}:{port}", address.host().unwrap_or_default());
    Ok(Uri::builder()
        .scheme("http")
        .authority(authority)
        .path_and_query("/")
        .build()?)
}

/// A connection to an endpoint or to its proxy.
pub(super) struct Routed {
    stream: SecureStream<Tcp>,
    /// The other side is a proxy that accepts complete requests with absolute URLs.
    forwards_requests: bool,
    _permit: Option<Permit>,
}

impl Routed {
    /// Creates a connection whose other end is the endpoint.
    fn tunnel(stream: SecureStream<Tcp>) -> Self {
        Self {
            stream,
            forwards_requests: false,
            _permit: None,
        }
    }

    fn stream(self: Pin<&mut Self>) -> Pin<&mut SecureStream<Tcp>> {
        Pin::new(&mut self.get_mut().stream)
    }
}

impl Connection for Routed {
    /// Omits the addresses of both ends, which nobody asks for.
    fn connected(&self) -> Connected {
        Connected::new().proxy(self.forwards_requests)
    }
}

impl Read for Routed {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_read(cx, buf)
    }
}

impl Write for Routed {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.stream().poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream().poll_write_vectored(cx, bufs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With Nagle's algorithm, the end of a request would wait for the service's delayed acknowledgment.
    #[tokio::test]
    async fn connection_sends_small_segments_at_once() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let mut connector = SocketSettings::new(Duration::from_secs(5)).connector(Resolving(Arc::default()));
        let connection = connector.call(endpoint).await.unwrap();
        assert!(connection.inner().nodelay().unwrap());
    }
}
