//! Sites: the account that a URL names, and the service at its host.
//!
//! Supports all forms of base URL: the account in the path, as emulators have it, the account in the host name, and no
//! account, as Cosmos DB's emulator has it. A path whose first segment is an account names that account, even if a
//! table has the same name.
//!
//! `request/inbound/target.rs` parses the resource below, `store/site.rs` defines the value.
//!
//! Not confirmed: further segments of a path besides the recorded ones; the response to an unknown `comp`, or to one
//! without its `restype`; the URL length from which a request is rejected; code and form of the rejection of a path
//! with a percent sign that encodes nothing (the live service's server responds in HTML).
//!
//! Source: REST "Addressing Table service resources"; "Use the Azurite emulator", both kinds of URL.

use azure_table_wire::account::addressed_account::AddressedAccount;
use azure_table_wire::value::datetime::DateTime;
use http::request::Parts;

use crate::access::account;
use crate::rules::service_error::{Result, ServiceError};
use crate::settings::Settings;
use crate::settings::adverse::Choices;
use crate::store::site::Site;

/// Returns the site of a request.
pub(crate) fn of(head: &Parts, settings: &Settings, now: DateTime) -> Result<Site> {
    let uri = &head.uri;
    let authority = uri.authority().ok_or(ServiceError::NO_HOST)?;
    if !is_encoded(uri.path()) {
        return Err(ServiceError::INVALID_URI);
    }
    let scheme = uri.scheme_str().unwrap_or("http");
    // Without the host of a service, the first segment is the account, even if nothing follows.
    let is_of_emulators = !authority.host().contains(".table.");
    let mut prefix = match uri.path().split('/').nth(1) {
        Some(first) if is_of_emulators => format!("/{first}"),
        _ => String::new(),
    };
    let addressed = AddressedAccount::of(authority.host(), &prefix);
    let (mut account, mut is_secondary) = addressed.map_or(("", false), |it| (it.name, it.is_secondary));
    // The usual form costs one look-up.
    if is_of_emulators
        && settings.key(account).is_none()
        && let Some(found) = account::of(head, settings, now)
    {
        (account, is_secondary) = (found, false);
        prefix = String::new();
    } else if account.is_empty() {
        return Err(ServiceError::INVALID_URI);
    }
    Ok(Site {
        account: account.to_owned(),
        is_secondary,
        is_behind: is_secondary && !settings.secondary_lag.is_zero(),
        choices: Choices::default(),
        rules: settings.rules_at(Some(authority.host())),
        is_https: scheme == "https",
        base: format!("{scheme}://{authority}{prefix}"),
        prefix,
        is_of_emulators,
    })
}

/// Returns the site of a URL that has its account.
#[cfg(test)]
pub(crate) fn at(url: &str) -> Site {
    let (head, ()) = http::Request::get(url).body(()).unwrap().into_parts();
    of(&head, &Settings::default(), DateTime::now()).unwrap()
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
            let site = at(&format!("{url}/Tables"));
            match account {
                Some(account) => assert_eq!((&*site.account, site.is_secondary), (account, is_secondary), "{url}"),
                // Without accounts no other one is known.
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
            let site = at(uri);
            assert_eq!(
                (&*site.account, &*site.base, site.is_secondary),
                (account, base, secondary)
            );
        }
        let fault = |url: &str| {
            let (head, ()) = http::Request::get(url).body(()).unwrap().into_parts();
            of(&head, &Settings::default(), DateTime::now()).unwrap_err()
        };
        assert_eq!(fault("/dev/Tables"), ServiceError::NO_HOST);
        for wrong in ["", "dev/t%", "dev/t%2", "dev/t%zz", "dev/%%"] {
            let url = format!("http://localhost/{wrong}");
            assert_eq!(fault(&url), ServiceError::INVALID_URI, "{wrong}");
        }
    }
}
