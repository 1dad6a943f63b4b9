//! A whole URL with its shared access signature, as the portal hands it out, taken apart.
//!
//! Owns which part of the path is an account and which a table. Errors never show a part of the URL but the names of tables: the
//! rest of it may hold the signature.
//!
//! Source: REST "Delegating access with a shared access signature"; "Use the Azurite emulator", both kinds of URL.

use std::net::IpAddr;

use crate::model::error::{Error, Result};
use crate::model::name::TableName;
use crate::model::shown::Shown;
use crate::protocol::endpoint::{self, Endpoint};
use crate::protocol::sas_token::SasToken;

/// The services besides that of tables that have hosts of their own.
const OTHER_SERVICES: [&str; 5] = ["blob", "queue", "file", "dfs", "web"];

/// The parts of a URL.
struct Parts<'a> {
    /// Scheme and authority.
    base: String,
    host: String,
    path: Vec<&'a str>,
    token: SasToken,
}

/// The address of an account and its signature.
pub(crate) fn of_service(url: &str) -> Result<(Endpoint, SasToken)> {
    let parts = parts(url)?;
    let base = match parts.path.as_slice() {
        [] if !parts.needs_account() => parts.base.clone(),
        [] => {
            return Err(refused(
                "its path names no account, as that of an emulator does: `/devstoreaccount1` before the `?`",
            ));
        }
        [account] if !parts.has_account() && !parts.is_for(account) => format!("{}/{account}", parts.base),
        _ => return Err(refused("its path names a table: use `TableClient::from_sas_url`")),
    };
    Ok((endpoint_of(&base)?, parts.token))
}

/// The address of an account, a table of it, and the signature.
pub(crate) fn of_table(url: &str) -> Result<(Endpoint, TableName, SasToken)> {
    let parts = parts(url)?;
    let (base, table) = match parts.path.as_slice() {
        [table] if !parts.needs_account() => (parts.base.clone(), table),
        [account, table] if !parts.has_account() => (format!("{}/{account}", parts.base), table),
        [] | [_] => {
            return Err(refused(
                "its path names no table: put the name before the `?`, or use `TableServiceClient::from_sas_url`",
            ));
        }
        _ => {
            return Err(refused("its path goes on behind the table's name: it must end there"));
        }
    };
    // What is no name may be anything, and is not shown.
    let table = TableName::new(table).map_err(|_| {
        refused("its path ends in what is no name of a table: 3 to 63 letters and digits, beginning with a letter")
    })?;
    if let Some(other) = parts
        .token_table()
        .filter(|other| !other.eq_ignore_ascii_case(table.as_str()))
    {
        return Err(refused(&format!(
            "its path names the table {:?}, its signature is for {} (`tn`)",
            table.as_str(),
            Shown(&other)
        )));
    }
    Ok((endpoint_of(&base)?, table, parts.token))
}

fn parts(url: &str) -> Result<Parts<'_>> {
    let (address, query) = url
        .trim()
        .split_once('?')
        .ok_or_else(|| refused("it has no query: give the whole URL, with the signature behind its `?`"))?;
    if query.contains('?') {
        return Err(refused("it has a second `?`: give the URL as it was made"));
    }
    let token = SasToken::read(query).map_err(refused)?;
    let (uri, authority, _) = endpoint::parts(address).map_err(|e| refused(&e.to_string()))?;
    let host = authority.host().to_owned();
    if let Some(other) = OTHER_SERVICES
        .iter()
        .find(|name| host.contains(&format!(".{name}.core.")))
    {
        return Err(refused(&format!(
            "it is the address of another service: that of tables has `.table.` in the place of `.{other}.`"
        )));
    }
    let path = address.splitn(4, '/').nth(3).unwrap_or_default();
    Ok(Parts {
        base: format!("{}://{authority}", uri.scheme_str().unwrap_or_default()),
        host,
        path: path.split('/').filter(|part| !part.is_empty()).collect(),
        token,
    })
}

impl Parts<'_> {
    /// Whether the host names the account.
    fn has_account(&self) -> bool {
        self.host.contains(".table.")
    }

    /// Whether the path has to name it: that of an emulator does, that of a custom domain does not.
    fn needs_account(&self) -> bool {
        let is_address = self.host.starts_with('[') || self.host.parse::<IpAddr>().is_ok();
        is_address || !self.host.contains('.')
    }

    /// The table that the signature is for, if it is for one.
    fn token_table(&self) -> Option<String> {
        let parameters = self.token.parameters();
        Some(parameters.get("tn").to_owned()).filter(|table| !table.is_empty())
    }

    fn is_for(&self, table: &str) -> bool {
        self.token_table().is_some_and(|own| own.eq_ignore_ascii_case(table))
    }
}

fn endpoint_of(base: &str) -> Result<Endpoint> {
    Endpoint::parse(base, None).map_err(|e| refused(&e.to_string()))
}

fn refused(why: &str) -> Error {
    Error::invalid_input(format!("URL with a shared access signature: {why}"))
}
