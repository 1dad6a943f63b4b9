//! Where an account's tables are.

use std::fmt;

use http::uri::{Authority, Scheme, Uri};

use crate::model::error::{Error, Result};

/// The account of emulators, whose key is public.
pub(crate) const DEVELOPMENT_ACCOUNT: &str = "devstoreaccount1";
/// Where an emulator's Table service listens by default.
const DEVELOPMENT_ENDPOINT: &str = "http://127.0.0.1:10002/devstoreaccount1";

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
    /// From an absolute `http` or `https` URL. `account` is needed where the URL does not show it.
    pub(crate) fn parse(url: &str, account: Option<&str>) -> Result<Self> {
        let refuse = |why: &dyn fmt::Display| Error::invalid_input(format!("table endpoint {url:?}: {why}"));
        let uri: Uri = url.parse().map_err(|e: http::uri::InvalidUri| refuse(&e))?;
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
            return Err(refuse(
                &"it is not an absolute URL such as https://contoso.table.core.windows.net",
            ));
        };
        if ![Scheme::HTTP, Scheme::HTTPS].contains(scheme) {
            return Err(refuse(&"the scheme must be http or https"));
        }
        if uri.query().is_some() {
            // Not shown: a pasted SAS URL holds its signature there.
            return Err(Error::invalid_input("table endpoint: it must not have a query"));
        }
        if authority.as_str().contains('@') {
            return Err(Error::invalid_input("table endpoint: it must not have a user name"));
        }
        let prefix = uri.path().trim_end_matches('/');
        let account = match account {
            Some(account) => account.to_owned(),
            None => account_of(authority, prefix).ok_or_else(|| refuse(&"it shows no account name"))?,
        };
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
            Error::invalid_input(format!("the request's URL of {} characters cannot be used", uri.len())).with_source(e)
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
            ("ftp://contoso.table.core.windows.net", "http or https"),
            ("https://example.com", "no account name"),
            ("", "table endpoint"),
        ] {
            assert!(
                Endpoint::parse(url, None).unwrap_err().to_string().contains(why),
                "{url}"
            );
        }
        for (url, secret) in [
            ("https://a.table.core.windows.net/?sig=SECRET", "SECRET"),
            ("https://u:SECRET@h/x", "SECRET"),
        ] {
            assert!(!Endpoint::parse(url, None).unwrap_err().to_string().contains(secret));
        }
    }
}
