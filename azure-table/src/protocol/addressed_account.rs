//! The account that a URL names.

/// The suffix of the account name in the URL of its secondary.
pub(crate) const SECONDARY: &str = "-secondary";

/// An account as a URL names it: in its path, as those of emulators do, or in its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AddressedAccount<'u> {
    pub(crate) name: &'u str,
    pub(crate) is_secondary: bool,
}

impl<'u> AddressedAccount<'u> {
    /// Returns the account of a URL with this host and this path above its resources. Returns `None` for a custom
    /// domain without an account.
    pub(crate) fn of(host: &'u str, prefix: &'u str) -> Option<Self> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn account_is_in_the_path_or_in_the_first_label_of_the_host() {
        let of = |host, prefix| AddressedAccount::of(host, prefix).map(|account| (account.name, account.is_secondary));
        assert_eq!(of("contoso.table.core.windows.net", ""), Some(("contoso", false)));
        let secondary = "contoso-secondary.z13.table.storage.azure.net";
        assert_eq!(of(secondary, ""), Some(("contoso", true)));
        assert_eq!(of("contoso.table.cosmos.azure.com", "/"), Some(("contoso", false)));
        assert_eq!(of("127.0.0.1", "/dev"), Some(("dev", false)));
        assert_eq!(of("127.0.0.1", "/dev-secondary"), Some(("dev", true)));
        assert_eq!(of("tables.example.com", ""), None);
    }
}
