//! The settings that both HTTP transports take: connections, timeouts, proxy, certificates.
//!
//! Owns their defaults and checks. Each transport applies them itself: `http` and `hyper_transport`.

use std::time::Duration;

use azure_table_core::model::error::{Error, Result};
use azure_table_core::transport::connection_limit::ConnectionLimit;

/// Leaves room for two transports in a process with 1,024 file handles, even while each replaces its connections.
///
/// Other clients: 100 in httpx (Python), 500 in Reactor Netty (Azure SDK for Java), 50 in the Azure SDK for .NET
/// Framework, no limit in Go and .NET.
const MAX_CONNECTIONS: usize = 256;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Shorter than the time after which a load balancer drops idle connections.
const POOL_IDLE: Duration = Duration::from_secs(20);

pub(super) struct ConnectionSettings {
    /// `None` without a limit.
    pub(super) max_connections: Option<usize>,
    /// `None` for as many as the maximum number of connections.
    pub(super) max_idle_per_host: Option<usize>,
    pub(super) connect_timeout: Duration,
    pub(super) pool_idle_timeout: Duration,
    /// The proxy's URL, which may contain a password.
    pub(super) proxy: Option<String>,
    pub(super) root_certificates: Vec<Vec<u8>>,
}

impl Default for ConnectionSettings {
    fn default() -> Self {
        Self {
            max_connections: Some(MAX_CONNECTIONS),
            max_idle_per_host: None,
            connect_timeout: CONNECT_TIMEOUT,
            pool_idle_timeout: POOL_IDLE,
            proxy: None,
            root_certificates: Vec::new(),
        }
    }
}

impl ConnectionSettings {
    pub(super) fn limit(&self) -> Option<ConnectionLimit> {
        self.max_connections.map(ConnectionLimit::new)
    }

    pub(super) fn max_idle(&self) -> usize {
        self.max_idle_per_host.or(self.max_connections).unwrap_or(usize::MAX)
    }

    /// Returns the root certificates as one text in PEM.
    ///
    /// A PEM parser skips everything that is not PEM: a certificate in DER would be ignored without an error.
    pub(super) fn pem(&self) -> Result<Vec<u8>> {
        if self.root_certificates.iter().all(|pem| has_certificate(pem)) {
            return Ok(self.root_certificates.join(&b'\n'));
        }
        let why = format!("the root certificates are not in PEM: a part of them has no `{BEGIN}`");
        Err(Error::invalid_input(why))
    }
}

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";

fn has_certificate(pem: &[u8]) -> bool {
    pem.windows(BEGIN.len()).any(|part| part == BEGIN.as_bytes())
}

#[cfg(any(feature = "rustls", all(feature = "reqwest", feature = "native-tls")))]
pub(super) fn not_pem(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    use azure_table_core::model::error::ErrorInternals;

    Error::invalid_input("the root certificates are not in PEM").with_source(error)
}

/// Returns the error for an invalid URL of a proxy. Does not show it, because it may contain a password.
pub(super) fn invalid_proxy() -> Error {
    Error::invalid_input(
        "the proxy's address is not a URL such as http://proxy:8080, with the scheme http, https, socks5 or socks5h",
    )
}
