//! The authorization of requests to the control port.
//!
//! Checks the token. Two more checks protect against other web sites: `Host`, because a foreign name may resolve to
//! this machine (DNS rebinding), and `Origin`, because a page of another site may send requests.

use std::net::{IpAddr, SocketAddr};

use http::header::{AUTHORIZATION, HOST, HeaderName, ORIGIN};
use http::request::Parts;
use http::{StatusCode, Uri};

use crate::control::response::Rejection;
use crate::token::Token;

/// The maximum length of a request's text quoted in an error, in characters.
const SHOWN: usize = 100;

/// The checks of a request.
#[derive(Debug)]
pub(super) struct Access {
    address: SocketAddr,
    /// Further names, in lower case, with a port or without.
    names: Vec<String>,
    token: Option<Token>,
}

impl Access {
    pub(super) fn new(address: SocketAddr, names: &[String], token: Option<Token>) -> Self {
        let names = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        Self { address, names, token }
    }

    /// Rejects requests for other hosts and from other sites.
    pub(super) fn check_site(&self, head: &Parts, is_page: bool) -> Result<(), Rejection> {
        // Joins repeated headers into one text, which never equals this port's host or origin.
        let text = |name: HeaderName| {
            let values = head.headers.get_all(name).iter();
            let values: Vec<_> = values.map(|value| value.to_str().unwrap_or_default()).collect();
            (!values.is_empty()).then(|| values.join(", "))
        };
        let (host, origin) = (text(HOST).unwrap_or_default(), text(ORIGIN));
        let host = head.uri.authority().map_or(host.as_str(), http::uri::Authority::as_str);
        if head.headers.get_all(HOST).iter().count() > 1 || !self.is_own(host) {
            return Err(Rejection::new(
                StatusCode::FORBIDDEN,
                format!(
                    "Host: {:?} is not this port, which is {}; --control-name adds a name",
                    shown(host),
                    self.address
                ),
            ));
        }
        let is_foreign = origin
            .as_deref()
            .is_some_and(|origin| !origin.strip_prefix("http://").is_some_and(|it| self.is_own(it)));
        // Other sites may link to the page, which contains no data.
        let site = text(HeaderName::from_static("sec-fetch-site")).filter(|_| !is_page);
        if is_foreign || site.is_some_and(|site| !matches!(site.as_str(), "same-origin" | "none")) {
            let origin = shown(origin.as_deref().unwrap_or("another site"));
            let why = format!("Origin: {origin:?} is not this port, pages of other sites have no access");
            return Err(Rejection::new(StatusCode::FORBIDDEN, why));
        }
        Ok(())
    }

    /// Rejects requests without the token.
    pub(super) fn check_token(&self, head: &Parts) -> Result<(), Rejection> {
        let Some(token) = &self.token else {
            return Ok(());
        };
        let header = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let text = header.and_then(|text| {
            let (scheme, token) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("Bearer").then_some(token.trim())
        });
        match text {
            Some(text) if token.is(text) => Ok(()),
            Some(_) => Err(Rejection::unauthorized(
                "Authorization: it is not the token of --control-token",
            )),
            None => Err(Rejection::unauthorized(
                "Authorization: missing, expected Bearer and the token of --control-token",
            )),
        }
    }

    /// Returns `true` if a host with its port is this control port.
    fn is_own(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let Ok(uri) = host.parse::<Uri>() else {
            return false;
        };
        let Some(authority) = uri.authority().filter(|authority| !authority.as_str().contains('@')) else {
            return false;
        };
        let name = authority.host();
        // A name of `--control-name` with a port stands for a forwarded port, whose number may differ.
        if authority.port().is_some() && self.names.contains(&host) {
            return true;
        }
        let is_named = self.names.iter().any(|own| own == name) || name == "localhost" || self.is_own_address(name);
        is_named && authority.port_u16().unwrap_or(80) == self.address.port()
    }

    /// Returns `true` for an address of this machine. Nobody else can redefine an address, unlike a name, so a port on
    /// the unspecified address accepts any address.
    fn is_own_address(&self, name: &str) -> bool {
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let own = self.address.ip();
        name.parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback() || address == own || own.is_unspecified())
    }
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_must_be_a_name_or_an_address_of_this_port() {
        let access = |address: &str, names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            Access::new(address.parse().unwrap(), &names, None)
        };
        let loopback = access("127.0.0.1:8080", &[]);
        for own in ["127.0.0.1:8080", "LOCALHOST:8080", "[::1]:8080", "127.1.2.3:8080"] {
            assert!(loopback.is_own(own), "{own}");
        }
        for foreign in [
            "",
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost",
            "evil.example:8080",
            "localhost.evil.example:8080",
            "evil@127.0.0.1:8080",
            "192.168.0.1:8080",
            "127.0.0.1:8080/x:8080",
        ] {
            assert!(!loopback.is_own(foreign), "{foreign}");
        }
        let all = access("0.0.0.0:8080", &["Emulator", "host:9000"]);
        for own in ["192.168.0.1:8080", "emulator:8080", "host:9000", "localhost:8080"] {
            assert!(all.is_own(own), "{own}");
        }
        for foreign in ["evil.example:8080", "emulator", "emulator:9000", "host:8080"] {
            assert!(!all.is_own(foreign), "{foreign}");
        }
        assert!(access("127.0.0.1:80", &[]).is_own("localhost"));
    }
}
