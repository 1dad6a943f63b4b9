//! Where an account's tables are.

use http::uri::{Authority, Scheme, Uri};

use crate::model::error::{Error, Result};

/// The account of emulators, whose key is public.
pub(crate) const DEVELOPMENT_ACCOUNT: &str = "devstoreaccount1";
/// Where an emulator's Table service listens by default.
const DEVELOPMENT_ENDPOINT: &str = "http://127.0.0.1:10002/devstoreaccount1";

/// The longest URL that can be sent at all, in bytes. The service's own limit is lower and not documented.
const MAX_URL: usize = u16::MAX as usize - 1;

/// An account's base address, such as `https://contoso.table.core.windows.net`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Scheme, authority and path prefix, without a slash at the end.
    base: String,
    account: String,
    profile: Profile,
}

/// What kind of service answers there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Azure Table storage, Azurite or the emulator.
    Storage,
    /// Cosmos DB for Table.
    Cosmos,
}

impl Profile {
    /// How a merge is sent: Cosmos takes it only tunnelled through POST.
    pub(crate) const fn tunnels_merge(self) -> bool {
        matches!(self, Self::Cosmos)
    }
}

impl Endpoint {
    /// From an absolute `http` or `https` URL. `account` is needed where the URL does not show it. What is wrong is
    /// never shown: what was pasted here may hold a key or a signature.
    pub(crate) fn parse(url: &str, account: Option<&str>) -> Result<Self> {
        let refuse = |why: &str| Error::invalid_input(format!("table endpoint: {why}"));
        if url.contains('?') {
            return Err(refuse("it must not have a query"));
        }
        if url.contains('@') {
            return Err(refuse("it must not have a user name"));
        }
        let absolute = "it is not an absolute URL such as https://contoso.table.core.windows.net";
        let uri: Uri = url.parse().map_err(|_| refuse(absolute))?;
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
            return Err(refuse(absolute));
        };
        if ![Scheme::HTTP, Scheme::HTTPS].contains(scheme) {
            return Err(refuse("the scheme must be http or https"));
        }
        let prefix = uri.path().trim_end_matches('/');
        let is_cloud = authority.host().contains(".table.core.") || is_cosmos(authority.host());
        if is_cloud && !prefix.is_empty() {
            return Err(refuse(
                "it must not have a path: the table's name is given to the client",
            ));
        }
        let account = match account {
            Some(account) => account.to_owned(),
            None => account_of(authority, prefix).ok_or_else(|| refuse("it shows no account name"))?,
        };
        if account.is_empty() || !account.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err(refuse("the account name must have letters, digits and hyphens only"));
        }
        let profile = if is_cosmos(authority.host()) {
            Profile::Cosmos
        } else {
            Profile::Storage
        };
        Ok(Self {
            base: format!("{scheme}://{authority}{prefix}"),
            account,
            profile,
        })
    }

    /// An emulator on this machine.
    pub(crate) fn development() -> Self {
        Self {
            base: DEVELOPMENT_ENDPOINT.to_owned(),
            account: DEVELOPMENT_ACCOUNT.to_owned(),
            profile: Profile::Storage,
        }
    }

    pub(crate) fn is_https(&self) -> bool {
        self.base.starts_with("https:")
    }

    /// The absolute address of a resource: `path` stands below the base and is already URL text, query included.
    pub(crate) fn uri(&self, path: &str) -> Result<Uri> {
        let uri = format!("{}/{path}", self.base);
        uri.parse().map_err(|e: http::uri::InvalidUri| {
            let length = uri.len();
            let why = match length > MAX_URL {
                true => {
                    format!("the request's URL has {length} characters, the limit is {MAX_URL}: its filter is too long")
                }
                false => "the request's URL cannot be used".to_owned(),
            };
            Error::invalid_input(why).with_source(e)
        })
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    pub(crate) fn account(&self) -> &str {
        &self.account
    }

    pub(crate) fn profile(&self) -> Profile {
        self.profile
    }
}

/// The account is the first path segment where there is one (emulators), else the first label of the host name.
fn account_of(authority: &Authority, prefix: &str) -> Option<String> {
    let first = match prefix.trim_start_matches('/').split('/').next() {
        Some(segment) if !segment.is_empty() => segment,
        _ => authority.host().split_once(".table.").map(|(account, _)| account)?,
    };
    Some(first.trim_end_matches("-secondary").to_owned())
}

/// Source: the host names of Cosmos DB for Table, today's and the older one.
fn is_cosmos(host: &str) -> bool {
    host.contains(".table.cosmos.") || host.contains(".table.cosmosdb.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_is_found_in_host_or_path() {
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
                "https://contoso.table.cosmos.azure.com:443/",
                "contoso",
                Profile::Cosmos,
            ),
        ] {
            let endpoint = Endpoint::parse(url, None).unwrap();
            assert_eq!((endpoint.account(), endpoint.profile()), (account, profile));
            assert_eq!(endpoint.base(), url.trim_end_matches('/'));
        }
    }

    #[test]
    fn what_is_no_endpoint_is_refused() {
        for (url, why) in [
            ("contoso", "absolute"),
            ("https://a_b.table.core.windows.net", "account name must"),
            ("ftp://contoso.table.core.windows.net", "http or https"),
            ("https://example.com", "no account name"),
            ("", "table endpoint"),
        ] {
            assert!(
                Endpoint::parse(url, None).unwrap_err().to_string().contains(why),
                "{url}"
            );
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
