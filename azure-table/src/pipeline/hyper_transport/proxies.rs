//! The proxies of the settings or of the environment, and their selection for a request.

use azure_table_core::model::error::Result;
use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use crate::pipeline::connection_settings::invalid_proxy;

pub(super) struct Proxies(Matcher);

/// The protocol of a proxy.
#[derive(Clone, Copy)]
pub(super) enum ProxyKind {
    /// HTTP: whole requests, or a tunnel.
    Http,
    /// SOCKS 5: a tunnel. `resolves_here` is `true` if the client resolves host names.
    Socks5 { resolves_here: bool },
}

/// Returns `None` for schemes that are not supported, such as SOCKS 4, or `https` in a build without TLS.
pub(super) fn kind(proxy: &Uri) -> Option<ProxyKind> {
    match proxy.scheme_str()? {
        "http" => Some(ProxyKind::Http),
        "https" if cfg!(feature = "rustls") => Some(ProxyKind::Http),
        "socks5" => Some(ProxyKind::Socks5 { resolves_here: true }),
        "socks5h" => Some(ProxyKind::Socks5 { resolves_here: false }),
        _ => None,
    }
}

impl Proxies {
    /// Returns the proxy at this URL for all requests, or those of the environment if `url` is `None`.
    ///
    /// # Errors
    /// - `InvalidInput`: the URL is not that of a supported proxy. Without this check hyper-util would connect
    ///   directly.
    pub(super) fn new(url: Option<&str>) -> Result<Self> {
        let Some(url) = url else {
            return Ok(Self(Matcher::from_system()));
        };
        let proxies = Self(Matcher::builder().all(url).build());
        let any = Uri::from_static("http://any/");
        match proxies.of(&any).and_then(|proxy| kind(proxy.uri())) {
            Some(_) => Ok(proxies),
            None => Err(invalid_proxy()),
        }
    }

    /// Returns the proxy for this address, or `None` if connections are direct.
    pub(super) fn of(&self, address: &Uri) -> Option<Intercept> {
        self.0.intercept(address)
    }

    /// Returns the header by which a request authenticates at its HTTP proxy. A tunnel has authenticated already.
    pub(super) fn authorization(&self, address: &Uri) -> Option<HeaderValue> {
        if address.scheme_str() != Some("http") {
            return None;
        }
        self.of(address)?.basic_auth().cloned()
    }
}
