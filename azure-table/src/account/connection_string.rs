//! Connection strings, as the portal and the emulators provide them.
//!
//! Errors name the invalid setting and never its value: the string contains the account key. An unknown name may be a
//! part of a value, so it is shown only if it is one typing error away from a known name. Source: "Configure Azure
//! Storage connection strings".

use std::collections::HashMap;

use azure_table_wire::account::endpoint::{DEVELOPMENT_ACCOUNT, Endpoint, is_account_name};
use azure_table_wire::error::{Error, Result};
use zeroize::Zeroizing;

use crate::account::account_key::{self, AccountKey};
use crate::account::sas_token::SasToken;

const DEFAULT_SUFFIX: &str = "core.windows.net";
/// The port of the Table service in emulators.
const DEVELOPMENT_PORT: u16 = 10_002;

/// A parsed connection string.
#[derive(Debug)]
pub(crate) struct ConnectionString {
    pub endpoint: Endpoint,
    pub identity: Identity,
}

/// The credential of a connection string.
#[derive(Clone, Debug)]
pub(crate) enum Identity {
    Key(AccountKey),
    Sas(SasToken),
}

impl ConnectionString {
    /// Returns the connection string, including its secret.
    ///
    /// Every URL is written in full, so that the string means the same everywhere.
    pub(crate) fn expose(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::new());
        let mut setting = |name: &str, value: &str| {
            for part in [name, "=", value, ";"] {
                text.push_str(part);
            }
        };
        if let Some(account) = self.endpoint.account() {
            setting("AccountName", account);
        }
        match &self.identity {
            Identity::Key(key) => setting("AccountKey", &key.expose()),
            Identity::Sas(token) => setting("SharedAccessSignature", token.expose()),
        }
        setting("TableEndpoint", self.endpoint.base());
        if let Some(secondary) = self.endpoint.secondary() {
            setting("TableSecondaryEndpoint", secondary);
        }
        text
    }
}

/// The settings that this crate uses.
pub(crate) const SETTINGS: &[&str] = &[
    "UseDevelopmentStorage",
    "DevelopmentStorageProxyUri",
    "DefaultEndpointsProtocol",
    "EndpointSuffix",
    "AccountName",
    "AccountKey",
    "SharedAccessSignature",
    "TableEndpoint",
    "TableSecondaryEndpoint",
];

/// The settings by lower-case name, each at most once.
struct Settings<'a>(HashMap<String, &'a str>);

impl<'a> Settings<'a> {
    fn parse(text: &'a str) -> Result<Self> {
        if text.trim_start().starts_with("http://") || text.trim_start().starts_with("https://") {
            return Err(fault(
                "it is a URL, not settings: pass an endpoint to `new`, and one with a signature to `from_sas_url`",
            ));
        }
        let mut settings = HashMap::new();
        for (n, part) in text
            .split(';')
            .map(str::trim)
            .enumerate()
            .filter(|(_, part)| !part.is_empty())
        {
            let Some((name, value)) = part.split_once('=') else {
                return Err(fault(format!("part {} is not of the form Name=Value", n + 1)));
            };
            let name = name.trim();
            if let Some(known) = SETTINGS.iter().find(|known| is_mistyped(name, known)) {
                return Err(fault(format!("the setting {name} is unknown: write {known}")));
            }
            if settings.insert(name.to_ascii_lowercase(), value.trim()).is_some() {
                // An unknown name may be a value, so errors do not show it.
                return Err(match SETTINGS.iter().find(|known| known.eq_ignore_ascii_case(name)) {
                    Some(known) => fault(format!("the setting {known} occurs twice")),
                    None => fault(format!("part {} repeats a setting", n + 1)),
                });
            }
        }
        if settings.is_empty() {
            return Err(fault("it is empty"));
        }
        Ok(Self(settings))
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.0.get(&name.to_ascii_lowercase()).copied()
    }
}

/// Returns `true` if one typing error turns `known` into `typed`: a letter that is missing, added or different, or two
/// neighbors that are exchanged. Case is ignored.
fn is_mistyped(typed: &str, known: &str) -> bool {
    if typed.chars().count().abs_diff(known.len()) > 1 {
        return false;
    }
    let [typed, known] = [typed, known].map(|text| text.chars().map(|c| c.to_ascii_lowercase()));
    let start = typed.clone().zip(known.clone()).take_while(|(a, b)| a == b).count();
    let is_same = |a, b| typed.clone().skip(start + a).eq(known.clone().skip(start + b));
    let letters = |n| (typed.clone().nth(start + n), known.clone().nth(start + n));
    let ((a, c), (b, d)) = (letters(0), letters(1));
    !is_same(0, 0) && (is_same(1, 1) || is_same(1, 0) || is_same(0, 1) || is_same(2, 2) && (a, b) == (d, c))
}

fn fault(why: impl std::fmt::Display) -> Error {
    Error::invalid_input(format!("connection string: {why}"))
}

impl ConnectionString {
    /// Parses `text`. Setting names are case-insensitive; white space around names and values is ignored.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let settings = Settings::parse(text)?;
        if let Some(value) = settings.get("UseDevelopmentStorage") {
            // A string that names an account does not mean the emulator's account.
            if let Some(other) = SETTINGS[2..].iter().find(|name| settings.get(name).is_some()) {
                return Err(fault(format!(
                    "it has both UseDevelopmentStorage and {other}: remove one"
                )));
            }
            return Self::development(value, settings.get("DevelopmentStorageProxyUri"));
        }
        let account = settings.get("AccountName").filter(|name| !name.is_empty());
        if account.is_some_and(|name| !is_account_name(name)) {
            return Err(fault("AccountName: it must have letters, digits and hyphens only"));
        }
        let endpoint = match (settings.get("TableEndpoint"), account) {
            (Some(url), account) => Endpoint::parse(url, account).map_err(|e| fault(format!("TableEndpoint: {e}")))?,
            (None, Some(account)) => default_endpoint(&settings, account)?,
            (None, None) => return Err(without_address(&settings)),
        };
        let endpoint = match settings.get("TableSecondaryEndpoint").filter(|url| !url.is_empty()) {
            Some(url) => endpoint
                .with_secondary(url)
                .map_err(|e| fault(format!("TableSecondaryEndpoint: {e}")))?,
            None => endpoint,
        };
        let identity = match (settings.get("AccountKey"), settings.get("SharedAccessSignature")) {
            (Some(_), Some(_)) => return Err(fault("it has both AccountKey and SharedAccessSignature: remove one")),
            (Some(key), None) => {
                let account = endpoint.account().ok_or_else(|| {
                    fault(
                        "it has an AccountKey and no AccountName, and the TableEndpoint does not contain the name: set \
                         AccountName",
                    )
                })?;
                Identity::Key(AccountKey::new(account, key).map_err(|e| fault(format!("AccountKey: {e}")))?)
            }
            (None, Some(token)) => {
                let token = SasToken::new(token).map_err(|e| fault(format!("SharedAccessSignature: {e}")))?;
                Identity::Sas(token)
            }
            (None, None) => return Err(fault("it has neither AccountKey nor SharedAccessSignature")),
        };
        Ok(Self { endpoint, identity })
    }

    /// Returns the emulator's account. `proxy` is the address of the machine that it runs on, if it is a different one.
    fn development(value: &str, proxy: Option<&str>) -> Result<Self> {
        if !value.eq_ignore_ascii_case("true") {
            return Err(fault("UseDevelopmentStorage must be true"));
        }
        let endpoint = match proxy {
            None => Endpoint::development(),
            Some(proxy) => {
                // The part after the scheme. The colons of an IPv6 address are in brackets.
                let machine = proxy.split_once("://").map_or(proxy, |(_, rest)| rest);
                let machine = machine.split('/').next().unwrap_or_default();
                if machine.rsplit_once(']').map_or(machine, |(_, rest)| rest).contains(':') {
                    return Err(fault(format!(
                        "DevelopmentStorageProxyUri: it must not have a port, the port of tables ({DEVELOPMENT_PORT}) \
                         is added; for another port set AccountName, AccountKey and TableEndpoint"
                    )));
                }
                let url = format!(
                    "{}:{DEVELOPMENT_PORT}/{DEVELOPMENT_ACCOUNT}",
                    proxy.trim_end_matches('/')
                );
                Endpoint::parse(&url, Some(DEVELOPMENT_ACCOUNT))
                    .map_err(|e| fault(format!("DevelopmentStorageProxyUri: {e}")))?
            }
        };
        Ok(Self {
            endpoint,
            identity: Identity::Key(account_key::development()),
        })
    }
}

/// Settings of other services that contain a URL.
const OTHER_ENDPOINTS: [&str; 4] = ["BlobEndpoint", "QueueEndpoint", "FileEndpoint", "AccountEndpoint"];

/// Returns the error of a string without an address of tables. A setting of another service may reveal that address.
fn without_address(settings: &Settings<'_>) -> Error {
    let named = OTHER_ENDPOINTS
        .iter()
        .find_map(|name| Some((name, settings.get(name)?)));
    let Some((name, url)) = named else {
        return fault("it has neither AccountName nor TableEndpoint");
    };
    match Endpoint::parse(url, None) {
        Err(other) => fault(format!("it has {name} and no TableEndpoint: {other}")),
        // A custom address, for example of an emulator.
        Ok(_) => fault(format!(
            "it has {name} and neither AccountName nor TableEndpoint: add the TableEndpoint of the account"
        )),
    }
}

fn default_endpoint(settings: &Settings<'_>, account: &str) -> Result<Endpoint> {
    let protocol = settings.get("DefaultEndpointsProtocol").unwrap_or("https");
    if !["http", "https"].contains(&protocol.to_ascii_lowercase().as_str()) {
        return Err(fault("DefaultEndpointsProtocol must be http or https"));
    }
    let suffix = settings
        .get("EndpointSuffix")
        .filter(|s| !s.is_empty())
        .unwrap_or(DEFAULT_SUFFIX);
    if !suffix
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':'))
    {
        return Err(fault("EndpointSuffix has characters that no host name has"));
    }
    Endpoint::parse(&format!("{protocol}://{account}.table.{suffix}"), Some(account))
        .map_err(|e| fault(format!("EndpointSuffix: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==";

    #[test]
    fn usual_forms_are_parsed() {
        for (text, base, account) in [
            (
                format!("AccountName=contoso;AccountKey={KEY}"),
                "https://contoso.table.core.windows.net",
                "contoso",
            ),
            (
                format!(
                    " defaultendpointsprotocol = http ; ACCOUNTNAME = contoso ; AccountKey = {KEY} ; EndpointSuffix=core.chinacloudapi.cn;"
                ),
                "http://contoso.table.core.chinacloudapi.cn",
                "contoso",
            ),
            (
                format!("AccountName=c;AccountKey={KEY};TableEndpoint=https://c.table.cosmos.azure.com:443/;"),
                "https://c.table.cosmos.azure.com",
                "c",
            ),
            (
                "UseDevelopmentStorage=true".into(),
                "http://127.0.0.1:10002/devstoreaccount1",
                DEVELOPMENT_ACCOUNT,
            ),
            (
                "usedevelopmentstorage=TRUE;DevelopmentStorageProxyUri=http://127.0.0.2".into(),
                "http://127.0.0.2:10002/devstoreaccount1",
                DEVELOPMENT_ACCOUNT,
            ),
            (
                "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://[::1]/".into(),
                "http://[::1]:10002/devstoreaccount1",
                DEVELOPMENT_ACCOUNT,
            ),
        ] {
            let parsed = ConnectionString::parse(&text).unwrap();
            assert_eq!(
                (parsed.endpoint.base(), parsed.endpoint.account()),
                (base, Some(account))
            );
        }
    }

    #[test]
    fn errors_name_the_setting_and_never_its_value() {
        for (text, why) in [
            ("", "empty"),
            ("garbage", "part 1"),
            ("AccountName=a;AccountKey=SECRET*", "AccountKey: "),
            ("AccountName=a;AccountKey=", "empty"),
            ("AccountName=a", "neither AccountKey nor SharedAccessSignature"),
            ("AccountKey=SECRET", "neither AccountName nor TableEndpoint"),
            (
                "AccountName=a;AccountName=b;AccountKey=SECRET",
                "AccountName occurs twice",
            ),
            (
                "DefaultEndpointsProtocol=ftp;AccountName=a;AccountKey=SECRET",
                "DefaultEndpointsProtocol",
            ),
            (
                "AccountName=a;EndpointSuffix=core.windows.net AccountKey=SECRET==",
                "EndpointSuffix",
            ),
            (
                "AccountName=a\u{7f}b;AccountKey=AAAA;TableEndpoint=http://127.0.0.1:1/SECRET",
                "connection string: AccountName: ",
            ),
            (
                "AccountName=a;AccountKey=AAAA;TableEndpoint=https://h/?sv=2019 02&sig=SECRET",
                "TableEndpoint",
            ),
            (
                "AccountName=a;AccountKey=AAAA;SharedAccessSignature=sv=1&sig=SECRET",
                "both AccountKey and SharedAccessSignature",
            ),
            (
                "UseDevelopmentStorage=true;AccountName=a;AccountKey=SECRET",
                "both UseDevelopmentStorage and AccountName",
            ),
            ("AccountName=a;SECRET==;SECRET==", "part 3 repeats a setting"),
            (
                "AccountName=a;AccountKye=SECRET",
                "the setting AccountKye is unknown: write AccountKey",
            ),
            (
                "AccountName=a;AccountKey=SECRET;endpointsufix=core.chinacloudapi.cn",
                "the setting endpointsufix is unknown: write EndpointSuffix",
            ),
            (
                "AccountName=a;AccountKeey=SECRET",
                "the setting AccountKeey is unknown: write AccountKey",
            ),
            (
                "AcountNaem=a;SECRET=SECRET",
                "it has neither AccountName nor TableEndpoint",
            ),
            ("UseDevelopmentStorage=false", "UseDevelopmentStorage must be true"),
            (
                "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://SECRET:10000",
                "DevelopmentStorageProxyUri: it must not have a port",
            ),
            (
                "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://[::1]:10000/",
                "DevelopmentStorageProxyUri: it must not have a port",
            ),
            (
                "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=SECRET",
                "DevelopmentStorageProxyUri: ",
            ),
            (
                "AccountName=SECRET_x;AccountKey=AAAA",
                "connection string: AccountName: it must have letters, digits and hyphens only",
            ),
            (
                "AccountName=SECRET_x;AccountKey=AAAA;TableEndpoint=http://127.0.0.1:1/acct",
                "connection string: AccountName: ",
            ),
            (
                "AccountName=a;AccountKey=AAAA;EndpointSuffix=SECRET_x",
                "EndpointSuffix has characters",
            ),
            (
                "AccountName=a;SharedAccessSignature=sv=1&SECRET",
                "SharedAccessSignature: shared access signature: no `sig`",
            ),
            ("AccountName=a;TableEndpoint=nothing;AccountKey=SECRET", "TableEndpoint"),
            (
                "AccountName=a;TableEndpoint=https://a.blob.core.windows.net;AccountKey=SECRET",
                "TableEndpoint: table endpoint: it is the address of Blob storage, the tables are at https://a.table.core.windows.net",
            ),
            (
                "BlobEndpoint=https://a.blob.core.windows.net/;SharedAccessSignature=sv=1&sig=SECRET",
                "it has BlobEndpoint and no TableEndpoint: table endpoint: it is the address of Blob storage, the tables are at \
                 https://a.table.core.windows.net",
            ),
            (
                "AccountEndpoint=https://a.documents.azure.com:443/;AccountKey=SECRET",
                "it has AccountEndpoint and no TableEndpoint: table endpoint: it is the address of Cosmos DB for NoSQL, the tables \
                 are at https://a.table.cosmos.azure.com",
            ),
            (
                "QueueEndpoint=http://127.0.0.1:10001/SECRET;SharedAccessSignature=sv=1&sig=SECRET",
                "add the TableEndpoint",
            ),
        ] {
            let error = ConnectionString::parse(text).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
            assert!(!error.to_string().contains("SECRET"), "{error}");
        }
    }

    #[test]
    fn typing_error_is_one_letter_or_two_neighbors() {
        let mistyped = [
            "AccountKe",
            "AccountKeyy",
            "AcountKey",
            "AccountKye",
            "AccountKez",
            "xaccountkey",
        ];
        assert!(mistyped.iter().all(|typed| is_mistyped(typed, "AccountKey")));
        for other in [
            "AccountKey",
            "accountkey",
            "AccountK",
            "AccountYek",
            "AcountKye",
            "",
            "AccountName",
        ] {
            assert!(!is_mistyped(other, "AccountKey"), "{other}");
        }
        // The settings of other services, and the known ones among each other.
        for name in SETTINGS
            .iter()
            .chain(&OTHER_ENDPOINTS)
            .chain(&["BlobSecondaryEndpoint", "FileSecondaryEndpoint"])
        {
            assert!(!SETTINGS.iter().any(|known| is_mistyped(name, known)), "{name}");
        }
    }
}
