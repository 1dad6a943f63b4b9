//! The URLs of an account's tables.

use bytes::Bytes;
use http::uri::{Authority, Scheme, Uri};

use crate::account::addressed_account::{AddressedAccount, SECONDARY};
use crate::account::other_service;
use crate::account::profile::Profile;
use crate::error::{Error, ErrorKind, Result};
use crate::value::location::Location;

/// The account of emulators, whose key is public.
pub const DEVELOPMENT_ACCOUNT: &str = "devstoreaccount1";
/// The default address of an emulator's Table service.
const DEVELOPMENT_ENDPOINT: &str = "http://127.0.0.1:10002/devstoreaccount1";

/// The maximum length of a URL in bytes. The service's own limit is lower and not documented.
const MAX_URL: usize = u16::MAX as usize - 1;

/// The maximum length of an account name in characters: Cosmos DB's. Storage has 24.
const MAX_ACCOUNT: usize = 44;

/// An account's base URLs, such as `https://contoso.table.core.windows.net`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Scheme, authority and path prefix, without a slash at the end.
    base: String,
    host: String,
    /// The base URL of the secondary, which is read-only. Unknown for a custom domain.
    secondary: Option<String>,
    /// `None` if a custom domain does not show it.
    account: Option<String>,
    profile: Profile,
}

impl Endpoint {
    /// Parses an absolute `http` or `https` URL.
    ///
    /// `account` is the expected account, if known: the URL of a cloud must have the same. An error never shows the
    /// URL, because the text may contain a key or a signature.
    pub fn parse(url: &str, account: Option<&str>) -> Result<Self> {
        let invalid = |why: &str| Error::invalid_input(format!("table endpoint: {why}"));
        let (uri, authority, prefix) = parts(url)?;
        let host = authority.host();
        if let Some(other) = other_service::fault(host) {
            return Err(invalid(&other));
        }
        let profile = Profile::from_host(host);
        let shown = AddressedAccount::of(host, &prefix).map(|account| account.name.to_owned());
        let is_cloud = shown.is_some() && prefix.is_empty();
        if (host.contains(".table.core.") || profile.is_cosmos()) && !prefix.is_empty() {
            return Err(invalid("it must not have a path: pass the table's name to the client"));
        }
        if let (Some(account), Some(shown)) = (account, &shown)
            && is_cloud
            && !shown.eq_ignore_ascii_case(account)
        {
            return Err(invalid(&format!(
                "it is the address of {}, but the key or AccountName belongs to another account",
                in_words(shown)
            )));
        }
        let account = account.map(str::to_owned).or(shown);
        if account.as_deref().is_some_and(|name| !is_account_name(name)) {
            return Err(invalid("the account name must have letters, digits and hyphens only"));
        }
        let scheme = uri.scheme_str().unwrap_or_default();
        Ok(Self {
            base: format!("{scheme}://{authority}{prefix}"),
            host: host.to_owned(),
            secondary: secondary_of(scheme, &authority, &prefix).filter(|_| profile.rules().has_secondary),
            account,
            profile,
        })
    }

    /// Returns this endpoint with the given URL of its secondary.
    pub fn with_secondary(self, url: &str) -> Result<Self> {
        let (uri, authority, prefix) = parts(url)?;
        if let Some(other) = other_service::fault(authority.host()) {
            return Err(Error::invalid_input(format!("table endpoint: {other}")));
        }
        let scheme = uri.scheme_str().unwrap_or_default();
        Ok(Self {
            secondary: Some(format!("{scheme}://{authority}{prefix}")),
            ..self
        })
    }

    /// Returns this endpoint with the profile of the given service.
    pub fn with_profile(self, profile: Profile) -> Self {
        let secondary = self.secondary.filter(|_| profile.rules().has_secondary);
        Self {
            secondary,
            profile,
            ..self
        }
    }

    /// Returns the endpoint of an emulator on this machine.
    pub fn development() -> Self {
        Self {
            base: DEVELOPMENT_ENDPOINT.to_owned(),
            host: "127.0.0.1".to_owned(),
            secondary: Some(format!("{DEVELOPMENT_ENDPOINT}{SECONDARY}")),
            account: Some(DEVELOPMENT_ACCOUNT.to_owned()),
            profile: Profile::from_host("127.0.0.1"),
        }
    }

    /// Returns `true` if requests to the primary or to the secondary need TLS.
    pub fn needs_tls(&self) -> bool {
        [Some(&*self.base), self.secondary()]
            .iter()
            .flatten()
            .any(|base| base.starts_with("https:"))
    }

    /// Returns the absolute URL of a resource. `path` is relative to the base and already encoded, including its query.
    pub fn uri(&self, path: &str) -> Result<Uri> {
        absolute(&self.base, path)
    }

    /// Returns the URL of a resource in the secondary.
    pub fn secondary_uri(&self, path: &str) -> Result<Uri> {
        let base = self.secondary.as_deref().ok_or_else(|| {
            let why = "the address of the account's secondary is unknown: set TableSecondaryEndpoint in a connection \
                       string";
            Error::new(ErrorKind::Unsupported, why)
        })?;
        absolute(base, path)
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    /// Returns the base URL of a location, or of the primary if the secondary's is unknown.
    pub fn base_of(&self, location: Location) -> &str {
        match location {
            Location::Secondary => self.secondary().unwrap_or(&self.base),
            Location::Primary => &self.base,
        }
    }

    /// Returns the same URL in the secondary.
    pub fn in_secondary(&self, uri: &Uri) -> Result<Uri> {
        let address = uri.to_string();
        if self.secondary().is_some_and(|base| address.starts_with(base)) {
            return Ok(uri.clone());
        }
        let below = address.strip_prefix(&self.base).unwrap_or_default();
        self.secondary_uri(below.trim_start_matches('/'))
    }

    pub fn secondary(&self) -> Option<&str> {
        self.secondary.as_deref()
    }

    /// Returns the URL of the primary if this endpoint is a secondary, otherwise `None`.
    pub fn primary_of_secondary(&self) -> Option<String> {
        self.secondary().filter(|secondary| *secondary == self.base)?;
        Some(match self.base.strip_suffix(SECONDARY) {
            Some(primary) => primary.to_owned(),
            None => self.base.replacen(&format!("{SECONDARY}."), ".", 1),
        })
    }

    /// Returns the account name; a custom domain may not show it.
    pub fn account(&self) -> Option<&str> {
        self.account.as_deref()
    }

    /// Returns the account, or the host of a custom domain that hides it, and the service, as telemetry names it.
    ///
    /// Accounts of both services may have the same name.
    pub fn place(&self) -> (&str, &'static str) {
        (self.account().unwrap_or(self.host()), self.profile.rules().system)
    }

    /// Returns the host without a port. An IPv6 address is in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> Option<u16> {
        self.base.parse::<Uri>().ok()?.port_u16()
    }

    pub fn profile(&self) -> Profile {
        self.profile
    }
}

/// Returns `true` if an error may show this account name. Keys fail this check: they are longer and have capitals.
pub fn is_showable(account: &str) -> bool {
    let is_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    account.len() <= MAX_ACCOUNT && account.bytes().all(is_name)
}

/// Describes the account of a URL in an error. Shows its name only if that is safe.
fn in_words(account: &str) -> String {
    if is_showable(account) {
        format!("the account {account:?}")
    } else {
        "some account".to_owned()
    }
}

/// Returns the parts of an absolute URL: the whole, the authority, and the path without a trailing slash.
pub fn parts(url: &str) -> Result<(Uri, Authority, String)> {
    let invalid = |why: &str| Error::invalid_input(format!("table endpoint: {why}"));
    if url.contains('?') {
        return Err(invalid("it must not have a query"));
    }
    if url.contains('@') {
        return Err(invalid("it must not have a user name"));
    }
    let absolute = "it is not an absolute URL such as https://contoso.table.core.windows.net";
    let uri: Uri = url.parse().map_err(|_| invalid(absolute))?;
    let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
        return Err(invalid(absolute));
    };
    if ![Scheme::HTTP, Scheme::HTTPS].contains(scheme) {
        return Err(invalid("the scheme must be http or https"));
    }
    // Host names are case-insensitive; the searches below are not. A default port is the same address without it.
    let authority = match (scheme.as_str(), authority.port_u16()) {
        ("http", Some(80)) | ("https", Some(443)) => authority.host(),
        _ => authority.as_str(),
    };
    let authority: Authority = authority.to_ascii_lowercase().parse().map_err(|_| invalid(absolute))?;
    let prefix = uri.path().trim_end_matches('/').to_owned();
    Ok((uri, authority, prefix))
}

/// Joins `base` and `path` to a URL.
fn absolute(base: &str, path: &str) -> Result<Uri> {
    let uri = [base, "/", path].concat();
    let length = uri.len();
    Uri::from_maybe_shared(Bytes::from(uri)).map_err(|e| {
        let why = if length > MAX_URL {
                format!(
                    "the request's URL has {length} characters, more than the limit of {MAX_URL}: its filter is too long; `get_many` \
                     reads keys one by one, `fan_out` queries in parts"
                )
            } else { "the request's URL cannot be used".to_owned() };
        Error::invalid_input(why).with_source(e)
    })
}

/// Returns `true` if `name` is a valid account name.
pub fn is_account_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Returns the URL of the secondary, by the rule of clouds and emulators.
///
/// Source: "Azure storage redundancy", read access to the secondary.
fn secondary_of(scheme: &str, authority: &Authority, prefix: &str) -> Option<String> {
    if !prefix.is_empty() {
        let primary = prefix.trim_end_matches(SECONDARY);
        return Some(format!("{scheme}://{authority}{primary}{SECONDARY}"));
    }
    authority.as_str().contains(".table.").then_some(())?;
    let (account, rest) = authority.as_str().split_once('.')?;
    let account = account.trim_end_matches(SECONDARY);
    Some(format!("{scheme}://{account}{SECONDARY}.{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn account_is_found_in_host_or_path() {
        for (url, account, profile) in [
            ("https://contoso.table.core.windows.net/", "contoso", Profile::Storage),
            (
                "https://contoso-secondary.table.core.windows.net",
                "contoso",
                Profile::Storage,
            ),
            (
                "http://127.0.0.1:10002/devstoreaccount1",
                "devstoreaccount1",
                Profile::Storage,
            ),
            (
                "https://contoso.z13.table.storage.azure.net",
                "contoso",
                Profile::Storage,
            ),
            (
                "https://contoso.privatelink.table.core.windows.net",
                "contoso",
                Profile::Storage,
            ),
            (
                "https://contoso.table.cosmos.azure.com:443/",
                "contoso",
                Profile::Cosmos,
            ),
        ] {
            let endpoint = Endpoint::parse(url, None).unwrap();
            assert_eq!((endpoint.account(), endpoint.profile()), (Some(account), profile));
            assert_eq!(endpoint.base(), url.trim_end_matches('/').trim_end_matches(":443"));
        }
    }

    #[test]
    fn default_port_is_the_same_address() {
        let parse = |url: &str| Endpoint::parse(url, None).unwrap();
        for (with, without) in [
            (
                "https://contoso.table.cosmos.azure.com:443/",
                "https://contoso.table.cosmos.azure.com",
            ),
            ("http://[::1]:80/a", "http://[::1]/a"),
        ] {
            assert_eq!(parse(with), parse(without));
        }
        for (one, other) in [("https://h:80/a", "https://h/a"), ("http://h:443/a", "http://h/a")] {
            assert_ne!(parse(one), parse(other));
        }
    }

    #[test]
    fn hosts_are_case_insensitive_and_may_be_ip_addresses() {
        let endpoint = Endpoint::parse("HTTPS://Contoso.TABLE.Cosmos.Azure.COM:443/", None).unwrap();
        assert_eq!(
            (endpoint.profile(), endpoint.account()),
            (Profile::Cosmos, Some("contoso"))
        );
        assert_eq!(endpoint.host(), "contoso.table.cosmos.azure.com");
        let endpoint = Endpoint::parse("http://[::1]:10002/Account", None).unwrap();
        assert_eq!((endpoint.host(), endpoint.account()), ("[::1]", Some("Account")));
        let zoned = Endpoint::parse("https://contoso.z13.table.storage.azure.net", Some("contoso")).unwrap();
        assert_eq!(
            zoned.secondary(),
            Some("https://contoso-secondary.z13.table.storage.azure.net")
        );
    }

    #[test]
    fn invalid_endpoints_are_rejected() {
        for (url, why) in [
            ("contoso", "absolute"),
            ("https://a_b.table.core.windows.net", "account name must"),
            ("ftp://contoso.table.core.windows.net", "http or https"),
            ("", "table endpoint"),
            (
                "https://contoso.blob.core.windows.net/",
                "the tables are at https://contoso.table.core.windows.net",
            ),
            (
                "https://Contoso.Documents.Azure.com:443/",
                "the tables are at https://contoso.table.cosmos.azure.com",
            ),
        ] {
            assert!(
                Endpoint::parse(url, None).unwrap_err().to_string().contains(why),
                "{url}"
            );
        }
        for (url, whose) in [
            ("https://fabrikam.table.core.windows.net", "the account \"fabrikam\""),
            ("https://AccountKey=SECRET.table.core.windows.net", "some account"),
        ] {
            let error = Endpoint::parse(url, Some("contoso")).unwrap_err().to_string();
            assert!(error.contains(whose) && !error.contains("SECRET"), "{error}");
        }
        for url in [
            "https://a.table.core.windows.net/?sig=SECRET",
            "https://a.table.core.windows.net/?sv=2019 02&sig=SECRET",
            "a.table.core.windows.net/?sig=SECRET",
            "https://a.table.core.windows.net/SECRET",
            "https://u:SECRET@h/x",
            "ftp://u:SECRET@h/",
            "https://a.table.core.windows.net AccountKey=SECRET==",
            "http://127.0.0.1/SECRET\u{7f}",
        ] {
            assert!(
                !Endpoint::parse(url, None).unwrap_err().to_string().contains("SECRET"),
                "{url}"
            );
        }
    }
}
