//! The authorization of requests to the control port.
//!
//! Owns the token and the two checks against other web sites: of `Host`, because a foreign name may lead to this
//! machine (DNS rebinding), and of `Origin`, because a page of another site may send requests.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use http::header::{AUTHORIZATION, HOST, HeaderName, ORIGIN};
use http::request::Parts;
use http::{StatusCode, Uri};
use sha2::{Digest as _, Sha256};

use crate::control::answer::Refused;

/// The minimum length of a token, in bytes.
const MIN_TOKEN: usize = 16;
/// The maximum length of a request's value in an error, in characters.
const SHOWN: usize = 100;

/// The token of the control port, as its SHA-256 alone.
#[derive(Clone)]
pub(crate) struct Token([u8; 32]);

impl Token {
    /// Creates a token from a text, or returns why it is invalid.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.len() < MIN_TOKEN || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!(
                "it has {} bytes, it must have {MIN_TOKEN} or more, of visible ASCII characters",
                text.len()
            ));
        }
        Ok(Self(Sha256::digest(text).into()))
    }

    /// Compares digests in constant time, so that the duration reveals nothing about the token.
    fn is(&self, text: &str) -> bool {
        let other: [u8; 32] = Sha256::digest(text).into();
        let pairs = self.0.iter().zip(other);
        pairs.fold(0, |difference, (own, other)| difference | (own ^ other)) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

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

    /// Rejects requests for other hosts and of other sites.
    pub(super) fn check_site(&self, head: &Parts, is_page: bool) -> Result<(), Refused> {
        // Repeated headers are judged as one text, which is neither an own host nor an own origin.
        let text = |name: HeaderName| {
            let values = head.headers.get_all(name).iter();
            let values: Vec<_> = values.map(|value| value.to_str().unwrap_or_default()).collect();
            (!values.is_empty()).then(|| values.join(", "))
        };
        let (host, origin) = (text(HOST).unwrap_or_default(), text(ORIGIN));
        let host = head.uri.authority().map_or(host.as_str(), http::uri::Authority::as_str);
        if head.headers.get_all(HOST).iter().count() > 1 || !self.is_own(host) {
            return Err(Refused::new(
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
        // A link of another site may lead to the page, which contains no data.
        let site = text(HeaderName::from_static("sec-fetch-site")).filter(|_| !is_page);
        if is_foreign || site.is_some_and(|site| !matches!(site.as_str(), "same-origin" | "none")) {
            let origin = shown(origin.as_deref().unwrap_or("another site"));
            let why = format!("Origin: {origin:?} is not this port, pages of other sites have no access");
            return Err(Refused::new(StatusCode::FORBIDDEN, why));
        }
        Ok(())
    }

    /// Rejects requests without the token.
    pub(super) fn check_token(&self, head: &Parts) -> Result<(), Refused> {
        let Some(token) = &self.token else {
            return Ok(());
        };
        let header = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = header.and_then(|text| {
            let (scheme, token) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("Bearer").then_some(token.trim())
        });
        match given {
            Some(text) if token.is(text) => Ok(()),
            Some(_) => Err(Refused::unauthorized(
                "Authorization: it is not the token of --control-token",
            )),
            None => Err(Refused::unauthorized(
                "Authorization: missing, expected Bearer and the token of --control-token",
            )),
        }
    }

    /// Returns `true` if a host with its port is this one.
    fn is_own(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let Ok(uri) = host.parse::<Uri>() else {
            return false;
        };
        let Some(authority) = uri.authority().filter(|authority| !authority.as_str().contains('@')) else {
            return false;
        };
        let name = authority.host();
        // A name with its port is that of a forwarded port on another machine.
        if self.names.contains(&host) {
            return true;
        }
        let is_named = self.names.iter().any(|own| own == name) || name == "localhost" || self.is_own_address(name);
        is_named && authority.port_u16().unwrap_or(80) == self.address.port()
    }

    /// Returns `true` for an address of this machine. Unlike a name, others cannot define an address, so the
    /// unspecified address accepts each.
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
        for foreign in ["evil.example:8080", "emulator:9000", "host:8080"] {
            assert!(!all.is_own(foreign), "{foreign}");
        }
        assert!(access("127.0.0.1:80", &[]).is_own("localhost"));
    }

    #[test]
    fn token_is_not_shown_and_compared_as_a_whole() {
        let token = Token::new(" 0123456789abcdef\n").unwrap();
        assert!(token.is("0123456789abcdef"));
        assert!(!token.is("0123456789abcdeF") && !token.is("") && !token.is("0123456789abcdef0"));
        assert_eq!(format!("{token:?}"), "Token");
        let short = Token::new("short").unwrap_err();
        assert!(short.contains("5 bytes") && !short.contains("short"), "{short}");
        Token::new("with a space in it").unwrap_err();
    }
}
