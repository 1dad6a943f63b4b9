//! The parts of a request's URL.
//!
//! Splits a URL into [`Address`]: the account's base, the path below it, and the query without the parameters of a
//! shared access signature.

use azure_table_wire::account::addressed_account::AddressedAccount;
use azure_table_wire::request::inbound::target::Paths;
use azure_table_wire::sas::parameters::SAS_PARAMETERS;
use http::Uri;

/// The parts of a URL.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    /// The account's URL: scheme, host and, in emulators, the account, without a slash at the end.
    pub(crate) base: String,
    pub(crate) authority: String,
    /// The path below the base, as it appears in the URL: `/Blogs(PartitionKey='p',RowKey='r')`.
    pub(crate) path: String,
    /// The query without a signature.
    pub(crate) query: String,
    /// The signature, as it appears in the URL.
    pub(crate) signature: Option<String>,
    pub(crate) is_secondary: bool,
    /// The account's name, if the URL contains it.
    pub(crate) account: Option<String>,
}

impl Address {
    pub(crate) fn of(uri: &Uri) -> Self {
        let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
        let prefix = Paths::of_client(uri.path()).prefix;
        let account = AddressedAccount::of(uri.host().unwrap_or_default(), prefix);
        let pairs = || {
            uri.query()
                .unwrap_or_default()
                .split('&')
                .filter(|pair| !pair.is_empty())
        };
        let signature = pairs().find_map(|pair| pair.strip_prefix("sig="));
        let is_said = |pair: &&str| signature.is_none() || !SAS_PARAMETERS.contains(&name(pair));
        Self {
            base: format!("{}://{authority}{prefix}", uri.scheme_str().unwrap_or("http")),
            path: uri.path()[prefix.len()..].to_owned(),
            query: pairs().filter(is_said).collect::<Vec<_>>().join("&"),
            signature: signature.map(str::to_owned),
            is_secondary: account.is_some_and(|account| account.is_secondary),
            account: account
                .map(|account| account.name.to_owned())
                .filter(|name| !name.is_empty()),
            authority,
        }
    }
}

fn name(pair: &str) -> &str {
    pair.split('=').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use azure_table_wire::account::addressed_account::ACCOUNTS;

    use super::*;

    #[test]
    fn recorder_finds_the_account_of_an_endpoint() {
        for (url, account, is_secondary) in ACCOUNTS {
            let address = Address::of(&format!("{url}/T(PartitionKey='a/b',RowKey='')").parse().unwrap());
            assert_eq!(address.account.as_deref(), account, "{url}");
            assert_eq!((address.is_secondary, &*address.base), (is_secondary, url));
        }
    }

    #[test]
    fn url_is_split_after_the_account() {
        let of = |uri: &str| {
            let address = Address::of(&uri.parse().unwrap());
            (address.base, address.path, address.query, address.is_secondary)
        };
        let cut =
            |base: &str, path: &str, query: &str, second| (base.to_owned(), path.to_owned(), query.to_owned(), second);
        let cloud = "https://contoso.table.core.windows.net";
        let local = "http://127.0.0.1:10002/devstoreaccount1";
        let row = "/T(PartitionKey='a%2Fb(',RowKey='')";
        assert_eq!(of(&format!("{cloud}{row}")), cut(cloud, row, "", false));
        assert_eq!(
            of(&format!("{local}{row}?$select=A")),
            cut(local, row, "$select=A", false)
        );
        assert_eq!(
            of(&format!("{local}/T()?$top=1&sv=2019-02-02&se=2030&sig=a%3D&tn=t")),
            cut(local, "/T()", "$top=1", false)
        );
        assert!(of(&format!("{local}-secondary/?comp=stats")).3);
        assert_eq!(
            of(&format!("{local}/?comp=properties")),
            cut(local, "/", "comp=properties", false)
        );
        assert!(of("https://contoso-secondary.table.core.windows.net/T").3);
        // Options of that name outside a signature stay.
        assert_eq!(of(&format!("{cloud}/T?se=1")).2, "se=1");
    }
}
