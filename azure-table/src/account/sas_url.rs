//! The URL of an account or of a table, with a shared access signature or without.
//!
//! Defines [`SasUrl`]. Decides which segment of the path is an account and which a table. Errors show table names and
//! the URL of the primary only: the rest of the URL may contain the signature.
//!
//! Source: REST "Delegating access with a shared access signature"; "Use the Azurite emulator", both kinds of URL.

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use azure_table_wire::account::endpoint::{self, DEVELOPMENT_ACCOUNT, Endpoint};
use azure_table_wire::account::other_service;
use azure_table_wire::account::profile::Profile;
use azure_table_wire::codec::url;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::name;
use zeroize::Zeroizing;

use crate::account::sas_token::SasToken;
use crate::account::table_name::TableName;

/// The ports of the service itself, which a custom domain uses too. Emulators listen on other ports.
const SERVICE_PORTS: [u16; 2] = [80, 443];

/// The parts of a URL.
struct Parts<'a> {
    /// Scheme and authority.
    base: String,
    host: String,
    port: Option<u16>,
    path: Vec<&'a str>,
    /// The table of the signature, or `None` for an account signature.
    signed_table: Option<String>,
}

/// A URL with a shared access signature, with which programs hand out access to an account or a table.
///
/// `TableServiceClient::sas_url` and `TableClient::sas_url` create it, and `from_sas_url` of either client takes its
/// text. The text grants access to anyone who has it. `Debug` hides the signature, and the text is overwritten on drop.
///
/// ```
/// use azure_table::auth::SasUrl;
///
/// let url = "https://contoso.table.core.windows.net/Blogs?sv=2019-02-02&tn=Blogs&sp=r&se=2040-01-01&sig=c2VjcmV0";
/// let url = SasUrl::new(url)?;
/// assert_eq!(url.endpoint(), "https://contoso.table.core.windows.net");
/// assert_eq!(url.table().map(|table| table.as_str()), Some("Blogs"));
/// let parts = url.token().parts();
/// assert_eq!((parts.permissions.as_str(), parts.policy), ("r", None));
/// assert!(!format!("{url:?}").contains("c2VjcmV0"));
/// # Ok::<(), azure_table::Error>(())
/// ```
///
/// Source: REST "Delegating access with a shared access signature".
#[derive(Clone, PartialEq, Eq)]
pub struct SasUrl {
    endpoint: Endpoint,
    table: Option<TableName>,
    token: SasToken,
    text: Zeroizing<Box<str>>,
}

impl SasUrl {
    /// Parses the URL of an account or of a table.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the URL has no signature or no account, has
    ///   parts that no table's URL has, or belongs to a secondary or another service. The error never shows the
    ///   signature.
    pub fn new(url: impl AsRef<str>) -> Result<Self> {
        let url = url.as_ref();
        let of_service = of_service(url).map(|(endpoint, token)| (endpoint, None, token));
        let (endpoint, table, token) = of_service.or_else(|of_service| match of_table(url) {
            Ok((endpoint, table, token)) => Ok((endpoint, Some(table), token)),
            Err(of_table) => Err(if names_table(url) { of_table } else { of_service }),
        })?;
        Ok(Self::of(endpoint, table, token))
    }

    /// Creates the URL of an account, or of one of its tables.
    pub(crate) fn of(endpoint: Endpoint, table: Option<TableName>, token: SasToken) -> Self {
        let path = table.as_ref().map(|table| url::encode(table.as_str()).to_string());
        let path = path.unwrap_or_default();
        // The capacity is exact, so that no reallocation leaves a copy of the signature.
        let length = endpoint.base().len() + 2 + path.len() + token.expose().len();
        let mut text = Zeroizing::new(String::with_capacity(length));
        for part in [endpoint.base(), "/", &path, "?", token.expose()] {
            text.push_str(part);
        }
        Self {
            endpoint,
            table,
            token,
            text: Zeroizing::new(Box::from(text.as_str())),
        }
    }

    /// Returns the URL of the account, without a table and without the signature.
    pub fn endpoint(&self) -> &str {
        self.endpoint.base()
    }

    /// Returns the table in the path, or `None` for the URL of an account.
    pub fn table(&self) -> Option<&TableName> {
        self.table.as_ref()
    }

    /// Returns the signature.
    pub fn token(&self) -> &SasToken {
        &self.token
    }

    /// Returns the text of the URL, **including the signature**.
    ///
    /// The text grants access to anyone who has it: keep it out of logs and arguments of programs.
    pub fn expose(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for SasUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SasUrl")
            .field("endpoint", &self.endpoint())
            .field("table", &self.table.as_ref().map(TableName::as_str))
            .finish_non_exhaustive()
    }
}

/// Returns the URL of an account with a signature.
pub(crate) fn for_service(endpoint: &Endpoint, token: SasToken) -> SasUrl {
    SasUrl::of(endpoint.clone(), None, token)
}

/// Returns the URL of a table with a signature.
///
/// # Errors
/// - `InvalidInput`: the signature is for another table.
pub(crate) fn for_table(endpoint: &Endpoint, table: &TableName, token: SasToken) -> Result<SasUrl> {
    if let Some(signed) = token.parts().table {
        check_is_for(table, &signed)?;
    }
    Ok(SasUrl::of(endpoint.clone(), Some(table.clone()), token))
}

/// Returns the endpoint of an account and the signature.
pub(crate) fn of_service(url: &str) -> Result<(Endpoint, SasToken)> {
    let (parts, token) = signed_parts(url)?;
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
    Ok((endpoint, token))
}

/// Returns the endpoint of an account, the name of its table, and the signature.
pub(crate) fn of_table(url: &str) -> Result<(Endpoint, TableName, SasToken)> {
    let (parts, token) = signed_parts(url)?;
    let before = usize::from(parts.needs_account())..=usize::from(parts.may_have_account());
    let (endpoint, table) = table_in(&parts, before)?;
    Ok((endpoint, table, token))
}

/// Returns the endpoint of an account and the name of its table, from a URL without a signature. `account` is the
/// credential's.
///
/// Emulators and gateways may have any path before the table, or none.
pub(crate) fn of_unsigned_table(url: &str, account: Option<&str>) -> Result<(Endpoint, TableName)> {
    if url.contains('?') {
        return Err(invalid("it continues after its path: a signature needs `from_sas_url`"));
    }
    let parts = parts(url.trim(), None)?;
    let is_account = |name: &str| name == DEVELOPMENT_ACCOUNT || Some(name) == account;
    let names_account = parts.needs_account() && matches!(&*parts.path, [name] if is_account(name));
    table_in(&parts, usize::from(names_account)..=usize::MAX)
}

/// Returns the endpoint and the last segment of the path, with this number of segments before it.
fn table_in(parts: &Parts<'_>, before: RangeInclusive<usize>) -> Result<(Endpoint, TableName)> {
    let segments = parts.path.split_last();
    let Some((table, path)) = segments.filter(|(_, path)| path.len() >= *before.start()) else {
        return Err(invalid(
            "the path names no table: append its name, or use `TableServiceClient`",
        ));
    };
    if path.len() > *before.end() {
        return Err(invalid("the path continues after the table's name: remove the rest"));
    }
    let endpoint = endpoint_of(&[&[&*parts.base][..], path].concat().join("/"))?;
    let table = table_of(table, endpoint.profile())?;
    if let Some(other) = &parts.signed_table {
        check_is_for(&table, other)?;
    }
    check_is_primary(&endpoint, Some(&table))?;
    Ok((endpoint, table))
}

/// Returns the table of the last segment. Its error does not show the segment, which may be a secret.
fn table_of(segment: &str, profile: Profile) -> Result<TableName> {
    let table = url::decode(segment).and_then(|name| TableName::new(name).ok());
    let table = table.filter(|table| profile.check_table_name(table.as_str()).is_ok());
    table.ok_or_else(|| {
        invalid(&format!(
            "the last path segment is not a table name of {profile}: see `TableName` for the rules"
        ))
    })
}

/// Returns a table's name in quotes, or `otherwise`: a name with other characters than letters and digits may be a
/// secret.
fn shown(name: &str, otherwise: &str) -> String {
    match name::storage_table_name_fault(name) {
        None => format!("{name:?}"),
        Some(_) => otherwise.to_owned(),
    }
}

/// Returns `true` if the path of a URL has two segments, or names the table of the signature. The error is then about a
/// table's URL.
fn names_table(url: &str) -> bool {
    signed_parts(url).is_ok_and(|(parts, _)| parts.path.len() > 1 || parts.signed_table.is_some())
}

/// Checks that the signature's table is the one in the path.
fn check_is_for(table: &TableName, signed: &str) -> Result<()> {
    if signed.eq_ignore_ascii_case(table.as_str()) {
        return Ok(());
    }
    let (table, signed) = (shown(table.as_str(), "(not shown)"), shown(signed, "another one"));
    Err(invalid(&format!(
        "the path names the table {table}, the signature is for {signed} (`tn`): use a URL whose table is the signature's"
    )))
}

/// Checks that the URL does not belong to a secondary. The client would send its writes there, and the credential is
/// valid for the primary too.
fn check_is_primary(endpoint: &Endpoint, table: Option<&TableName>) -> Result<()> {
    let Some(primary) = endpoint.primary_of_secondary() else {
        return Ok(());
    };
    let table = table.map_or_else(String::new, |table| format!("/{}", url::encode(table.as_str())));
    let primary = match endpoint.account() {
        Some(account) if endpoint::is_showable(account) => format!("`{primary}{table}`"),
        _ => "the account's name without `-secondary`".to_owned(),
    };
    Err(invalid(&format!(
        "the address belongs to the secondary: use {primary} with the same credential, and `location_mode` to read from \
         the secondary"
    )))
}

fn signed_parts(url: &str) -> Result<(Parts<'_>, SasToken)> {
    let (address, query) = url
        .trim()
        .split_once('?')
        .ok_or_else(|| invalid("no query: use the whole URL, with the signature after its `?`"))?;
    if query.contains('?') {
        return Err(invalid("a second `?`: use the URL unchanged"));
    }
    let token = SasToken::read(query).map_err(invalid)?;
    Ok((parts(address, token.parts().table)?, token))
}

fn parts(address: &str, signed_table: Option<String>) -> Result<Parts<'_>> {
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
        signed_table,
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

    fn is_for(&self, table: &str) -> bool {
        let signed = self.signed_table.as_ref();
        signed.is_some_and(|own| own.eq_ignore_ascii_case(table))
    }
}

fn endpoint_of(base: &str) -> Result<Endpoint> {
    Endpoint::parse(base, None).map_err(|e| invalid(&e.to_string()))
}

fn invalid(why: &str) -> Error {
    Error::invalid_input(format!("URL: {why}"))
}
