//! The settings of the default transport.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use azure_table_wire::error::Result;
use azure_table_wire::transport::connection_limit::ConnectionLimit;

use crate::pipeline::transport::connection_defaults::{CONNECT_TIMEOUT, MAX_CONNECTIONS, POOL_IDLE};
use crate::pipeline::transport::http_transport::HttpTransport;
use crate::pipeline::transport::http_transport::connector::{Connector, SocketSettings};
use crate::pipeline::transport::http_transport::pool::PoolLimits;
use crate::pipeline::transport::http_transport::pools::Pools;
use crate::pipeline::transport::http_transport::proxies::{Proxies, ProxySettings};
use crate::pipeline::transport::http_transport::secure::{TlsSettings, tls};

/// A builder for an [`HttpTransport`].
///
/// Created by [`HttpTransport::builder`].
#[must_use = "a builder does nothing until `build` is called"]
pub struct HttpTransportBuilder {
    max_connections: Option<usize>,
    /// `None` for as many as the maximum number of connections.
    max_idle_per_host: Option<usize>,
    pool_idle_timeout: Option<Duration>,
    sockets: SocketSettings,
    proxy: ProxySettings,
    tls: TlsSettings,
}

impl HttpTransport {
    /// Creates a new pool. `https` requires support for TLS connections.
    pub(crate) fn new(https: bool) -> Result<Self> {
        Self::builder().build_for(https)
    }

    /// Returns a builder for a pool with other settings.
    pub fn builder() -> HttpTransportBuilder {
        HttpTransportBuilder {
            max_connections: Some(MAX_CONNECTIONS),
            max_idle_per_host: None,
            pool_idle_timeout: Some(POOL_IDLE),
            sockets: SocketSettings::new(CONNECT_TIMEOUT),
            proxy: ProxySettings::default(),
            tls: TlsSettings::default(),
        }
    }
}

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
    /// The limit also applies to the open connections of each runtime to each host, including idle ones.
    pub fn max_connections(mut self, connections: impl Into<Option<usize>>) -> Self {
        self.max_connections = connections.into();
        self
    }

    /// Sets the timeout for opening a connection, including a proxy and TLS; 10 s by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.sockets.connect_timeout = timeout;
        self
    }

    /// Sets the time after which an idle connection is no longer used; 20 s by default.
    ///
    /// It is then closed; with `None` it stays open. The default is shorter than the time after which
    /// load balancers drop it.
    pub fn pool_idle_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.pool_idle_timeout = timeout.into();
        self
    }

    /// Sets the maximum number of idle connections per host. The default is [`max_connections`](Self::max_connections).
    ///
    /// Any further connection is closed after its response. With 0, each request opens a connection.
    pub fn pool_max_idle_per_host(mut self, connections: usize) -> Self {
        self.max_idle_per_host = Some(connections);
        self
    }

    /// Sets the time after which TCP probes a silent connection, and the interval of the probes; 15 s by default.
    ///
    /// The third probe without a response closes the connection, on Linux the first one after 30 s
    /// ([`tcp_user_timeout`](Self::tcp_user_timeout)). `None` sends no probes. Less than 1 s counts as 1 s.
    pub fn tcp_keepalive(mut self, interval: impl Into<Option<Duration>>) -> Self {
        self.sockets.keepalive = interval.into().map(|interval| interval.max(Duration::from_secs(1)));
        self
    }

    /// Sets the time after which sent bytes without an acknowledgement close a connection; 30 s by default.
    ///
    /// `None` leaves it to the operating system.
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    pub fn tcp_user_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.sockets.user_timeout = timeout.into();
        self
    }

    /// Sends all requests through this proxy. The URL may contain a user and a password.
    ///
    /// The schemes are `http`, `https`, `socks5` (host names are resolved here) and `socks5h` (the proxy resolves
    /// them). Requests to an `https` endpoint pass through an HTTP proxy in a tunnel.
    ///
    /// By default the environment selects the proxy (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`). With the
    /// feature `system-proxy`, the manual settings of Windows or macOS come next, but not their scripts (PAC). This
    /// method and the two below replace all of them. In a CGI program, where `REQUEST_METHOD` is set, the environment
    /// selects no proxy.
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy.all = Some(url.into());
        self
    }

    /// Sends the requests to `http` endpoints through this proxy. See [`proxy`](Self::proxy).
    pub fn http_proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy.http = Some(url.into());
        self
    }

    /// Sends the requests to `https` endpoints through this proxy. See [`proxy`](Self::proxy).
    pub fn https_proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy.https = Some(url.into());
        self
    }

    /// Sends the requests to these hosts directly.
    ///
    /// `hosts` has the form of `NO_PROXY`: domains, each with its subdomains, IP addresses and ranges (`10.0.0.0/8`),
    /// separated by commas. `*` means all hosts: set it alone to use no proxy at all.
    pub fn no_proxy(mut self, hosts: impl Into<String>) -> Self {
        self.proxy.no = Some(hosts.into());
        self
    }

    /// Connects to these addresses for `host`, instead of resolving its name.
    ///
    /// A port other than 0 applies if the URL has none. The addresses are tried in this order, IPv6 and IPv4 in
    /// parallel; a SOCKS proxy receives the first.
    pub fn resolve(mut self, host: impl AsRef<str>, addresses: impl IntoIterator<Item = SocketAddr>) -> Self {
        let host = host.as_ref().to_ascii_lowercase();
        self.sockets
            .resolver
            .fixed
            .insert(host, addresses.into_iter().collect());
        self
    }

    /// Resolves host names with this function, for example with a DNS library.
    ///
    /// By default, the operating system resolves names, on a thread for blocking calls. An error of the function is a
    /// failed connection: nothing was sent. The function is not called for names set with [`resolve`](Self::resolve),
    /// and its ports apply as described there.
    ///
    /// ```
    /// use azure_table::transport::HttpTransport;
    /// use std::net::{Ipv4Addr, SocketAddr};
    ///
    /// # fn main() -> azure_table::Result<()> {
    /// let transport = HttpTransport::builder()
    ///     .resolver(|host: String| async move {
    ///         match host.as_str() {
    ///             "tables.test" => Ok(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))]),
    ///             _ => Err(std::io::Error::other("not a host of these tests")),
    ///         }
    ///     })
    ///     .build()?;
    /// # let _ = transport;
    /// # Ok(())
    /// # }
    /// ```
    pub fn resolver<F, R>(mut self, resolver: F) -> Self
    where
        F: Fn(String) -> R + Send + Sync + 'static,
        R: Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'static,
    {
        self.sockets.resolver.function = Some(Box::new(move |host| Box::pin(resolver(host))));
        self
    }

    /// Opens connections from this address of the machine.
    pub fn local_address(mut self, address: IpAddr) -> Self {
        self.sockets.local_address = Some(address);
        self
    }

    /// Opens connections from the network interface of this name, for example `eth1`.
    ///
    /// Linux may require a privilege (`CAP_NET_RAW`) for it.
    #[cfg(any(
        target_os = "android",
        target_os = "fuchsia",
        target_os = "linux",
        target_os = "macos"
    ))]
    pub fn interface(mut self, name: impl Into<String>) -> Self {
        self.sockets.interface = Some(name.into());
        self
    }

    /// Trusts these certificates in addition to those that the platform trusts.
    ///
    /// `pem` contains the certificate of a server or of its authority, in PEM.
    #[cfg(feature = "rustls-no-provider")]
    pub fn root_certificates(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.tls.root_certificates.push(pem.as_ref().to_vec());
        self
    }

    /// Authenticates with this certificate if the server or an `https` proxy asks for one.
    ///
    /// `pem` contains the certificate, the certificates of its authorities if necessary, and the private key, in PEM.
    #[cfg(feature = "rustls-no-provider")]
    pub fn client_certificate(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.tls.client_certificate = Some(pem.as_ref().to_vec());
        self
    }

    /// Uses this configuration of rustls 0.23 for TLS: its crypto provider, verification, versions and certificates.
    ///
    /// It replaces everything that this crate would set, including the certificates of the platform. The protocols that
    /// it offers in ALPN are removed, because the transport speaks HTTP/1.1 only.
    ///
    /// Only TLS uses that crypto provider. Signatures with an account key are computed by the crates `hmac` and `sha2`.
    #[cfg(feature = "rustls-no-provider")]
    pub fn tls_config(mut self, config: rustls::ClientConfig) -> Self {
        self.tls.config = Some(config);
        self
    }

    /// Builds the pool.
    ///
    /// Connections are opened when they are needed.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): a proxy of the settings or the environment is invalid or not
    ///   supported; `no_proxy` is set without a proxy; a certificate is not X.509 in PEM; `tls_config` is combined with
    ///   another setting of TLS.
    /// - [`Unsupported`](crate::ErrorKind::Unsupported): with `rustls-no-provider` alone, the process has installed no
    ///   crypto provider.
    ///
    /// If the platform has no certificates, only connections to `https` endpoints fail.
    pub fn build(self) -> Result<HttpTransport> {
        self.build_for(cfg!(feature = "rustls-no-provider"))
    }

    fn build_for(self, https: bool) -> Result<HttpTransport> {
        let proxies = Arc::new(Proxies::new(&self.proxy)?);
        let tls = tls(https || proxies.need_tls(), self.tls)?;
        let limit = self.max_connections.map(ConnectionLimit::new);
        let connector = Connector::new(Arc::clone(&proxies), tls, self.sockets);
        let open = limit.as_ref().map(ConnectionLimit::get);
        let limits = PoolLimits {
            open,
            idle: self.max_idle_per_host.or(open).unwrap_or(usize::MAX),
            idle_timeout: self.pool_idle_timeout,
        };
        let pools = Arc::new(Pools::new(connector, limits));
        Ok(HttpTransport { pools, proxies, limit })
    }
}

/// Shows no settings: a proxy's URL may contain a password.
impl fmt::Debug for HttpTransportBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransportBuilder").finish_non_exhaustive()
    }
}
