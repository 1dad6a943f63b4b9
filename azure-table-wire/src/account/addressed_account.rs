//! The account that a URL names.

/// The suffix of the account name in the URL of its secondary.
pub const SECONDARY: &str = "-secondary";

/// An account as a URL names it: in its path, as with emulators, or in its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressedAccount<'u> {
    pub name: &'u str,
    pub is_secondary: bool,
}

impl<'u> AddressedAccount<'u> {
    /// Returns the account of a URL with this host and this path above its resources. Returns `None` for a custom
    /// domain without an account.
    pub fn of(host: &'u str, prefix: &'u str) -> Option<Self> {
        let named = match prefix.trim_matches('/') {
            // A zone or `privatelink` may stand between the account and `.table.`.
            "" => host.split_once(".table.")?.0.split('.').next()?,
            path => path,
        };
        let first = named.split('/').next()?;
        Some(Self {
            name: first.strip_suffix(SECONDARY).unwrap_or(first),
            is_secondary: named.ends_with(SECONDARY),
        })
    }
}

/// URLs of accounts in every form, each with its account and whether it is the secondary. Each reader of
/// URLs is tested with all of them.
#[cfg(any(test, feature = "inbound"))]
pub const ACCOUNTS: [(&str, Option<&str>, bool); 9] = [
    ("https://contoso.table.core.windows.net", Some("contoso"), false),
    (
        "https://contoso-secondary.table.core.windows.net",
        Some("contoso"),
        true,
    ),
    (
        "https://contoso.privatelink.table.core.windows.net",
        Some("contoso"),
        false,
    ),
    ("https://contoso.z13.table.storage.azure.net", Some("contoso"), false),
    (
        "https://contoso-secondary.z13.table.storage.azure.net",
        Some("contoso"),
        true,
    ),
    ("https://contoso.table.cosmos.azure.com:443", Some("contoso"), false),
    ("http://127.0.0.1:10002/dev", Some("dev"), false),
    ("http://127.0.0.1:10002/dev-secondary", Some("dev"), true),
    ("https://tables.example.com", None, false),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::endpoint::Endpoint;

    #[test]
    fn client_finds_the_account_of_an_endpoint() {
        for (url, account, is_secondary) in ACCOUNTS {
            let endpoint = Endpoint::parse(url, None).unwrap();
            assert_eq!(endpoint.account(), account, "{url}");
            assert_eq!(endpoint.primary_of_secondary().is_some(), is_secondary, "{url}");
        }
    }
}
