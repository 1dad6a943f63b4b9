//! A URL with a shared access signature, as the portal shows it, split into its parts.
//!
//! Decides which segment of the path is an account and which a table. Errors show table names and the URL of the
//! primary only: the rest of the URL may contain the signature.
//!
//! Source: REST "Delegating access with a shared access signature"; "Use the Azurite emulator", both kinds of URL.

use std::net::IpAddr;

use crate::model::error::{Error, Result};
use crate::model::name::TableName;
use crate::protocol::endpoint::{self, Endpoint};
use crate::protocol::other_service;
use crate::protocol::sas_token::{self, SasToken};

/// The ports of the service itself, which a custom domain uses too. Emulators listen on other ports.
const SERVICE_PORTS: [u16; 2] = [80, 443];

/// The parts of a URL.
struct Parts<'a> {
    /// Scheme and authority.
    base: String,
    host: String,
    port: Option<u16>,
    path: Vec<&'a str>,
    token: SasToken,
}

/// Returns the endpoint of an account and the signature.
pub fn of_service(url: &str) -> Result<(Endpoint, SasToken)> {
    let parts = parts(url)?;
    let base = match parts.path.as_slice() {
        [] if !parts.needs_account() => parts.base.clone(),
        [] => {
            return Err(invalid(
                "the path names no account: an emulator's URL has it before the `?`, such as `/devstoreaccount1`",
            ));
        }
        [account] if parts.may_have_account() && !parts.is_for(account) => format!("{}/{account}", parts.base),
        _ => {
            return Err(invalid(
                "the path names a table: use `TableClient::from_sas_url`, or `TableServiceClient::new` if the path belongs to \
                 the account's address",
            ));
        }
    };
    let endpoint = endpoint_of(&base)?;
    check_is_primary(&endpoint, None)?;
    Ok((endpoint, parts.token))
}

/// Returns the endpoint of an account, the name of its table, and the signature.
pub fn of_table(url: &str) -> Result<(Endpoint, TableName, SasToken)> {
    let parts = parts(url)?;
    let (base, table) = match parts.path.as_slice() {
        [table] if !parts.needs_account() => (parts.base.clone(), table),
        [account, table] if parts.may_have_account() => (format!("{}/{account}", parts.base), table),
        [] | [_] => {
            return Err(invalid(
                "the path names no table: put the name before the `?`, or use `TableServiceClient::from_sas_url`",
            ));
        }
        _ => {
            return Err(invalid("the path continues after the table's name: remove the rest"));
        }
    };
    // Any text other than a table name may be a secret, so it is not shown.
    let table = TableName::new(table).map_err(|_| {
        invalid("the last path segment is not a table name: 3 to 63 letters and digits, beginning with a letter")
    })?;
    if let Some(other) = parts.token_table() {
        check_is_for(&table, &other)?;
    }
    let endpoint = endpoint_of(&base)?;
    check_is_primary(&endpoint, Some(&table))?;
    Ok((endpoint, table, parts.token))
}

/// Checks that the signature's table is the one in the path.
fn check_is_for(table: &TableName, signed: &str) -> Result<()> {
    if signed.eq_ignore_ascii_case(table.as_str()) {
        return Ok(());
    }
    let signed =
        TableName::new(signed).map_or_else(|_| "another one".to_owned(), |name| format!("{:?}", name.as_str()));
    Err(invalid(&format!(
        "the path names the table {:?}, the signature is for {signed} (`tn`): use a URL whose table is the signature's",
        table.as_str()
    )))
}

/// Checks that the URL is not that of a secondary. The client would send its writes there, and the signature is valid
/// for the primary too.
fn check_is_primary(endpoint: &Endpoint, table: Option<&TableName>) -> Result<()> {
    let Some(primary) = endpoint.primary_of_secondary() else {
        return Ok(());
    };
    let table = table.map_or_else(String::new, |table| format!("/{}", table.as_str()));
    let primary = match endpoint.account() {
        Some(account) if endpoint::is_showable(account) => format!("`{primary}{table}`"),
        _ => "the account's name without `-secondary`".to_owned(),
    };
    Err(invalid(&format!(
        "the address is that of the secondary: use {primary} with the same signature, and `location_mode` to read from the \
         secondary"
    )))
}

fn parts(url: &str) -> Result<Parts<'_>> {
    let (address, query) = url
        .trim()
        .split_once('?')
        .ok_or_else(|| invalid("no query: use the whole URL, with the signature after its `?`"))?;
    if query.contains('?') {
        return Err(invalid("a second `?`: use the URL unchanged"));
    }
    let token = SasToken::read(query).map_err(invalid)?;
    let (uri, authority, _) = endpoint::parts(address).map_err(|e| invalid(&e.to_string()))?;
    let host = authority.host().to_owned();
    if let Some(other) = other_service::fault(&host) {
        return Err(invalid(&other));
    }
    let path = address.splitn(4, '/').nth(3).unwrap_or_default();
    Ok(Parts {
        base: format!("{}://{authority}", uri.scheme_str().unwrap_or_default()),
        host,
        port: authority.port_u16(),
        path: path.split('/').filter(|part| !part.is_empty()).collect(),
        token,
    })
}

impl Parts<'_> {
    /// Returns `true` if the path must name the account: the host is an IP address or has no dot, as for an emulator.
    fn needs_account(&self) -> bool {
        let is_address = self.host.starts_with('[') || self.host.parse::<IpAddr>().is_ok();
        is_address || !self.host.contains('.')
    }

    /// Returns `true` if the path may name the account. A host such as `host.docker.internal` is an emulator's if its
    /// port is not the service's. Otherwise it is a custom domain, whose path never names an account.
    fn may_have_account(&self) -> bool {
        let has_own_port = self.port.is_some_and(|port| !SERVICE_PORTS.contains(&port));
        !self.host.contains(".table.") && (self.needs_account() || has_own_port)
    }

    /// Returns the table of the signature, or `None` for an account signature.
    fn token_table(&self) -> Option<String> {
        let parameters = sas_token::parameters(&self.token);
        Some(parameters.get("tn").to_owned()).filter(|table| !table.is_empty())
    }

    fn is_for(&self, table: &str) -> bool {
        self.token_table().is_some_and(|own| own.eq_ignore_ascii_case(table))
    }
}

fn endpoint_of(base: &str) -> Result<Endpoint> {
    Endpoint::parse(base, None).map_err(|e| invalid(&e.to_string()))
}

fn invalid(why: &str) -> Error {
    Error::invalid_input(format!("URL with a shared access signature: {why}"))
}
