//! Sites: the account that a URL names, and the service at its host.
//!
//! Supports both forms of base URL: the account in the path, as emulators have it, and the account in the host name.
//! `request/inbound/target.rs` parses the resource below, `store/site.rs` defines the value.
//!
//! Not confirmed: further segments of a path besides the recorded ones; the response to an unknown `comp`, or to one
//! without its `restype`; the URL length from which a request is rejected; code and form of the rejection of a path
//! with a percent sign that encodes nothing (the live service's server responds in HTML).
//!
//! Source: REST "Addressing Table service resources"; "Use the Azurite emulator", both kinds of URL.

use azure_table_wire::account::addressed_account::AddressedAccount;
use http::Uri;

use crate::rules::ServiceRules;
use crate::rules::service_error::{Result, ServiceError};
use crate::settings::adverse::Choices;
use crate::store::site::Site;

/// Returns the site of a request.
pub(crate) fn of(uri: &Uri) -> Result<Site> {
    let authority = uri.authority().ok_or(ServiceError::NO_HOST)?;
    if !is_encoded(uri.path()) {
        return Err(ServiceError::INVALID_URI);
    }
    let scheme = uri.scheme_str().unwrap_or("http");
    // Without the host of a service, the first segment is the account, even if nothing follows.
    let prefix = if authority.host().contains(".table.") {
        String::new()
    } else {
        format!("/{}", uri.path().split('/').nth(1).unwrap_or_default())
    };
    let account = AddressedAccount::of(authority.host(), &prefix).ok_or(ServiceError::INVALID_URI)?;
    Ok(Site {
        account: account.name.to_owned(),
        is_secondary: account.is_secondary,
        is_behind: false,
        choices: Choices::default(),
        rules: ServiceRules::at(authority.host()),
        is_https: scheme == "https",
        base: format!("{scheme}://{authority}{prefix}"),
        prefix,
    })
}

/// Returns `true` if two digits follow every percent sign. The live service never sees another path: its server rejects
/// it, like one that is too long (orleans issue 772). Paths inside a batch are not checked.
fn is_encoded(path: &str) -> bool {
    let mut parts = path.split('%').skip(1).map(str::as_bytes);
    parts.all(|part| part.len() >= 2 && part[..2].iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use azure_table_wire::account::addressed_account::ACCOUNTS;

    use super::*;

    #[test]
    fn emulator_finds_the_account_of_any_endpoint() {
        for (url, account, is_secondary) in ACCOUNTS {
            let site = of(&format!("{url}/Tables").parse().unwrap()).unwrap();
            match account {
                Some(account) => assert_eq!((&*site.account, site.is_secondary), (account, is_secondary), "{url}"),
                // An emulator has no custom domains: the first segment is the account.
                None => assert_eq!(site.account, "Tables", "{url}"),
            }
        }
    }

    #[test]
    fn account_is_in_the_path_or_in_the_host() {
        for (uri, account, base, secondary) in [
            (
                "http://127.0.0.1:10002/dev/Tables",
                "dev",
                "http://127.0.0.1:10002/dev",
                false,
            ),
            (
                "http://127.0.0.1:10002/dev-secondary/T()",
                "dev",
                "http://127.0.0.1:10002/dev-secondary",
                true,
            ),
            (
                "http://dev.table.localhost:10002/T()",
                "dev",
                "http://dev.table.localhost:10002",
                false,
            ),
            (
                "https://x-secondary.table.core.windows.net/",
                "x",
                "https://x-secondary.table.core.windows.net",
                true,
            ),
        ] {
            let site = of(&uri.parse().unwrap()).unwrap();
            assert_eq!(
                (&*site.account, &*site.base, site.is_secondary),
                (account, base, secondary)
            );
        }
        assert_eq!(of(&"/dev/Tables".parse().unwrap()).unwrap_err(), ServiceError::NO_HOST);
        for wrong in ["", "dev/t%", "dev/t%2", "dev/t%zz", "dev/%%"] {
            let uri = format!("http://localhost/{wrong}").parse().unwrap();
            assert_eq!(of(&uri).unwrap_err(), ServiceError::INVALID_URI, "{wrong}");
        }
    }
}
