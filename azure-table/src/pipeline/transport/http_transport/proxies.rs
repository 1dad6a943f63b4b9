//! The proxies of the settings or of the environment, and their selection for a request.

use azure_table_wire::error::{Error, Result};
use http::uri::Scheme;
use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

pub(super) struct Proxies(Matcher);

/// URLs of proxies, which may contain passwords, and hosts without a proxy. The environment decides if none is set.
#[derive(Default)]
pub(super) struct ProxySettings {
    pub(super) all: Option<String>,
    pub(super) http: Option<String>,
    pub(super) https: Option<String>,
    pub(super) no: Option<String>,
}

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
        "https" if cfg!(feature = "rustls-no-provider") => Some(ProxyKind::Http),
        "socks5" => Some(ProxyKind::Socks5 { resolves_here: true }),
        "socks5h" => Some(ProxyKind::Socks5 { resolves_here: false }),
        _ => None,
    }
}

impl Proxies {
    /// Returns the proxies of the settings, otherwise of the environment.
    ///
    /// # Errors
    /// - `InvalidInput`: a URL does not name a supported proxy. Without this check hyper-util would connect directly.
    pub(super) fn new(settings: &ProxySettings) -> Result<Self> {
        let ProxySettings { all, http, https, no } = settings;
        let urls = [all, http, https].into_iter().flatten();
        let hosts = no.as_deref().map(is_all);
        if urls.clone().next().is_none() {
            return match hosts {
                None => Self::from_environment(),
                Some(true) => Ok(Self(Matcher::builder().build())),
                Some(false) => Err(Error::invalid_input(
                    "`no_proxy` is set without a proxy: set `proxy`, or `no_proxy(\"*\")` for direct connections",
                )),
            };
        }
        for url in urls {
            check(url, "")?;
        }
        let texts = [all, http, https, no].map(|text| text.clone().unwrap_or_default());
        let [all, http, https, mut no] = texts;
        if hosts == Some(true) {
            // For hyper-util `*` means names only.
            no.push_str(",0.0.0.0/0,::/0");
        }
        let proxies = Matcher::builder().all(all).http(http).https(https).no(no);
        Ok(Self(proxies.build()))
    }

    /// Returns the proxies of the environment.
    ///
    /// The operating system's settings depend on this crate's feature alone, whatever another crate enables in
    /// hyper-util. There `NO_PROXY=*` means names only.
    ///
    /// # Errors
    /// - `InvalidInput`: a variable does not name a supported proxy. Without this check hyper-util would connect
    ///   directly, or each call would fail after its retries.
    fn from_environment() -> Result<Self> {
        // Text that is not UTF-8 is not a URL either, but hyper-util would skip it.
        let variable = |names: [&'static str; 2]| {
            let values = names.into_iter().map(|name| Some((name, std::env::var_os(name)?)));
            let (name, value) = values.flatten().next()?;
            Some((name, value.to_string_lossy().into_owned()))
        };
        // In a CGI program a request's header sets HTTP_PROXY, so hyper-util ignores all variables there.
        let is_cgi = std::env::var_os("REQUEST_METHOD").is_some();
        if is_cgi || variable(["NO_PROXY", "no_proxy"]).is_some_and(|(_, hosts)| is_all(&hosts)) {
            return Ok(Self(Matcher::builder().build()));
        }
        let urls = [
            variable(["ALL_PROXY", "all_proxy"]),
            variable(["HTTP_PROXY", "http_proxy"]),
            variable(["HTTPS_PROXY", "https_proxy"]),
        ];
        for (name, url) in urls.into_iter().flatten().filter(|(_, url)| !url.is_empty()) {
            check(&url, &format!(" in {name}"))?;
        }
        let proxies = Self(if cfg!(feature = "system-proxy") {
            Matcher::from_system()
        } else {
            Matcher::from_env()
        });
        for any in [ANY, "https://any/"] {
            if let Some(proxy) = proxies.of(&Uri::from_static(any)) {
                kind(proxy.uri()).ok_or_else(|| invalid_proxy(""))?;
            }
        }
        Ok(proxies)
    }

    /// Returns `true` if plain requests go to their proxy over TLS.
    pub(super) fn need_tls(&self) -> bool {
        let proxy = self.of(&Uri::from_static(ANY));
        proxy.is_some_and(|proxy| proxy.uri().scheme() == Some(&Scheme::HTTPS))
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

/// An address that each proxy of `http` endpoints serves.
const ANY: &str = "http://any/";

/// Returns `true` if a list in the form of `NO_PROXY` has `*`, which means all hosts.
fn is_all(hosts: &str) -> bool {
    hosts.split(',').any(|host| host.trim() == "*")
}

/// Rejects the URL of a proxy that is invalid or not supported.
fn check(url: &str, place: &str) -> Result<()> {
    let proxy = Proxies(Matcher::builder().all(url).build());
    let proxy = proxy.of(&Uri::from_static(ANY));
    let kind = proxy.and_then(|proxy| kind(proxy.uri()));
    kind.map(drop).ok_or_else(|| invalid_proxy(place))
}

/// Returns the error for an invalid URL of a proxy. Does not show it, because it may contain a password.
fn invalid_proxy(place: &str) -> Error {
    Error::invalid_input(format!(
        "the proxy's address{place} is not a URL such as http://proxy:8080, with the scheme http, https, socks5 or \
         socks5h"
    ))
}
