//! URLs: the account that a request names, and the resource in it.
//!
//! Owns both forms of base URL (the account in the path, as emulators have it, and the account in the host name), the
//! recognition of the service by its host, and the parsing of `table(PartitionKey='…',RowKey='…')`. Encoded text is
//! `codec/url.rs`.
//!
//! Not confirmed: further segments of a path besides the recorded ones; the response to an unknown `comp`, or to one
//! without its `restype`; the URL length from which a request is rejected; code and form of the rejection of a path
//! with a percent sign that encodes nothing (the live service's server responds in HTML).
//!
//! Source: REST "Addressing Table service resources"; "Use the Azurite emulator", both kinds of URL.

use http::Uri;

use crate::codec::odata::path::{self, PathFault};
use crate::codec::url;
use crate::emulator::request::Verb;
use crate::emulator::rules::refusal::{Refusal, Result};
use crate::emulator::rules::{MAX_URL, Rules, STORAGE};
use crate::emulator::settings::Settings;
use crate::emulator::store::account::Replica;
use crate::emulator::store::row::RowId;
use crate::protocol::endpoint::{DEVELOPMENT_ACCOUNT, SECONDARY};

/// The addressed account, and its base URL.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) account: String,
    pub(crate) is_secondary: bool,
    /// It shows an older state than the primary.
    pub(crate) is_behind: bool,
    /// The rules of the service at that host.
    pub(crate) rules: &'static Rules,
    pub(crate) is_https: bool,
    /// Scheme, host and account prefix, without a slash at the end. `Location` and metadata URLs begin with it.
    pub(crate) base: String,
    /// The part of the path that belongs to the base: `/account`, or nothing.
    prefix: String,
}

/// The resource below the base URL.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Service,
    /// Settings of the service.
    Properties,
    Statistics,
    /// The source of user delegation keys.
    DelegationKey,
    Batch,
    Tables,
    Table(String),
    /// A table's stored access policies.
    Policies(String),
    Entities(String),
    Entity(String, RowId),
    /// The list of tables below a table. Only a `GET` of it differs from one of the table's entities.
    TablesBelow(String),
    /// An entity of a table, addressed by a wrong number of keys.
    WrongKeys(String),
}

impl Resource {
    /// Returns the table of the entities or policies.
    pub(crate) fn table(&self) -> Option<&str> {
        match self {
            Self::Policies(table)
            | Self::Entities(table)
            | Self::TablesBelow(table)
            | Self::Entity(table, _)
            | Self::WrongKeys(table) => Some(table),
            _ => None,
        }
    }

    /// Returns `true` for a row, or all rows, of the table.
    pub(crate) fn is_in(&self, table: &str, site: &Site) -> bool {
        let name = match self {
            Self::Entities(name) | Self::TablesBelow(name) | Self::Entity(name, _) => name,
            _ => return false,
        };
        site.is_same_table(name, table)
    }

    /// Returns the part of a resource that the query's `comp` names, for an operation with this method.
    ///
    /// Source: REST "Set Table Service Properties", "Get Table Service Stats", "Set Table ACL", "Get User Delegation
    /// Key".
    pub(crate) fn part(self, verb: Verb, restype: Option<&str>, comp: Option<&str>) -> Result<Self> {
        let whole = match self {
            Self::TablesBelow(table) if verb != Verb::Get || comp.is_some() => Self::Entities(table),
            whole => whole,
        };
        match (whole, restype, comp) {
            (whole, _, None) => Ok(whole),
            (Self::Service, Some("service"), Some("properties")) => Ok(Self::Properties),
            (Self::Service, Some("service"), Some("stats")) => Ok(Self::Statistics),
            (Self::Service, Some("service"), Some("userdelegationkey")) => Ok(Self::DelegationKey),
            (Self::Entities(table), _, Some("acl")) => Ok(Self::Policies(table)),
            _ => Err(Refusal::INVALID_QUERY_PARAMETER),
        }
    }
}

impl Site {
    /// Returns the site of a request.
    pub(crate) fn of(uri: &Uri) -> Result<Self> {
        let authority = uri.authority().ok_or(Refusal::NO_HOST)?;
        if !is_encoded(uri.path()) {
            return Err(Refusal::INVALID_URI);
        }
        let scheme = uri.scheme_str().unwrap_or("http");
        let (name, prefix) = match authority.host().split_once(".table.") {
            Some((account, _)) => (account, String::new()),
            None => {
                let account = uri
                    .path()
                    .split('/')
                    .nth(1)
                    .filter(|a| !a.is_empty())
                    .ok_or(Refusal::INVALID_URI)?;
                (account, format!("/{account}"))
            }
        };
        let account = name.strip_suffix(SECONDARY).unwrap_or(name);
        Ok(Self {
            account: account.to_owned(),
            is_secondary: account.len() < name.len(),
            is_behind: false,
            rules: Rules::at(authority.host()),
            is_https: scheme == "https",
            base: format!("{scheme}://{authority}{prefix}"),
            prefix,
        })
    }

    /// Returns the account that all emulators have.
    pub(crate) fn development() -> Self {
        Self {
            account: DEVELOPMENT_ACCOUNT.to_owned(),
            is_secondary: false,
            is_behind: false,
            rules: &STORAGE,
            is_https: false,
            base: String::new(),
            prefix: String::new(),
        }
    }

    /// Returns `true` if the account is in the path. Accounts of Cosmos DB never are, so clients take such a URL for
    /// Table storage's and may merge without a tunnel.
    pub(crate) fn is_of_emulators(&self) -> bool {
        !self.prefix.is_empty()
    }

    /// Applies the settings of an emulator to the site.
    pub(crate) fn under(mut self, settings: &Settings) -> Self {
        self.rules = settings.rules.unwrap_or(self.rules);
        self.is_behind = self.is_secondary && !settings.secondary_lag.is_zero();
        self
    }

    /// Returns the account in the addressed location.
    pub(crate) fn replica(&self) -> Replica<'_> {
        Replica {
            account: &self.account,
            is_behind: self.is_behind,
            rules: self.rules,
        }
    }

    /// Returns the account in the primary, which receives all writes.
    pub(crate) fn primary(&self) -> Replica<'_> {
        Replica {
            is_behind: false,
            ..self.replica()
        }
    }

    /// Returns `true` if two names are those of the same table.
    pub(crate) fn is_same_table(&self, one: &str, other: &str) -> bool {
        self.rules.table_key(one) == self.rules.table_key(other)
    }

    /// Returns the path with the account of the primary, if the request addresses the secondary by its path. A request
    /// may be signed for either path; Azurite accepts both.
    pub(crate) fn primary_path(&self, path: &str) -> Option<String> {
        let below = path
            .strip_prefix(&self.prefix)
            .filter(|_| self.is_secondary && !self.prefix.is_empty())?;
        Some(format!("/{}{below}", self.account))
    }

    /// Returns the resource that a path names. In a batch the path may omit the account.
    pub(crate) fn resource(&self, path: &str) -> Result<Resource> {
        let below = match path.strip_prefix(self.prefix.as_str()) {
            Some(below) if below.is_empty() || below.starts_with('/') => below,
            _ => path,
        };
        let below = below.strip_prefix('/').unwrap_or(below);
        let decoded = url::decode(below).ok_or(Refusal::INVALID_URI)?;
        let (name, keys) = decoded.split_at(decoded.find('(').unwrap_or(decoded.len()));
        match name.split_once('/') {
            None => self.read(&decoded),
            Some(_) if !self.rules.ignores_further_segments => Err(match self.read(&format!("Table{keys}")) {
                Ok(Resource::Entity(..)) => Refusal::INVALID_ENTITY_ADDRESS,
                _ => Refusal::INVALID_ADDRESS,
            }),
            Some((first, "Tables")) if !first.is_empty() && keys.is_empty() => Ok(match self.read(first)? {
                Resource::Entities(table) => Resource::TablesBelow(table),
                other => other,
            }),
            Some((first, "" | "/" | "Tables" | "$batch")) if !first.is_empty() => self.read(&format!("{first}{keys}")),
            // Recorded of an insert.
            Some((first, second)) if !first.is_empty() && keys.is_empty() && self.is_same_table(first, second) => {
                self.read(first)
            }
            Some(_) => Err(Refusal::INVALID_URI),
        }
    }

    fn read(&self, path: &str) -> Result<Resource> {
        let resource = match path::Resource::read(path) {
            Ok(resource) => resource,
            Err(PathFault::Path) => return Err(Refusal::INVALID_URI),
            Err(PathFault::Keys) => return Err(Refusal::INVALID_INPUT),
            Err(PathFault::NumberOfKeys(table)) => return Ok(Resource::WrongKeys(table)),
        };
        Ok(match resource {
            path::Resource::Service => Resource::Service,
            path::Resource::Batch => Resource::Batch,
            path::Resource::Tables => Resource::Tables,
            path::Resource::Table(name) => Resource::Table(name),
            path::Resource::Entities(table) => Resource::Entities(table),
            path::Resource::Entity {
                table,
                partition_key,
                row_key,
            } => Resource::Entity(table, RowId::new(partition_key, row_key)),
        })
    }
}

/// Returns the length of a URL, in bytes.
pub(crate) fn length(uri: &Uri) -> usize {
    let scheme = uri.scheme_str().map_or(0, |scheme| scheme.len() + "://".len());
    let authority = uri.authority().map_or(0, |authority| authority.as_str().len());
    let path_and_query = uri.path_and_query().map_or(0, |below| below.as_str().len());
    scheme + authority + path_and_query
}

/// Returns the reason for rejecting a URL of this length.
pub(crate) fn too_long(length: usize) -> String {
    format!("the URL has {length} characters, the limit is {MAX_URL}")
}

/// Returns `true` if two digits follow every percent sign. The live service never sees another path: its server rejects
/// it, like one that is too long (orleans issue 772). Paths inside a batch are not checked.
fn is_encoded(path: &str) -> bool {
    let mut parts = path.split('%').skip(1).map(str::as_bytes);
    parts.all(|part| part.len() >= 2 && part[..2].iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(uri: &str) -> (Site, String) {
        let uri: Uri = uri.parse().unwrap();
        (Site::of(&uri).unwrap(), uri.path().to_owned())
    }

    fn read(uri: &str) -> Result<Resource> {
        let (site, path) = site(uri);
        site.resource(&path)
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
            let (site, path) = site(uri);
            assert_eq!(
                (&*site.account, &*site.base, site.is_secondary),
                (account, base, secondary)
            );
            assert!(site.resource(&path).is_ok());
        }
        assert_eq!(Site::of(&"/dev/Tables".parse().unwrap()).unwrap_err(), Refusal::NO_HOST);
        for wrong in ["", "dev/t%", "dev/t%2", "dev/t%zz", "dev/%%"] {
            let uri = format!("http://localhost/{wrong}").parse().unwrap();
            assert_eq!(Site::of(&uri).unwrap_err(), Refusal::INVALID_URI, "{wrong}");
        }
    }

    #[test]
    fn resources_are_parsed_raw_and_encoded() {
        let entity = |p: &str, r: &str| Ok(Resource::Entity("t".into(), RowId::new(p, r)));
        for (path, expected) in [
            ("", Ok(Resource::Service)),
            ("$batch", Ok(Resource::Batch)),
            ("Tables", Ok(Resource::Tables)),
            ("Tables()", Ok(Resource::Tables)),
            ("Tables('x')", Ok(Resource::Table("x".into()))),
            ("Tables(%27x%27)", Ok(Resource::Table("x".into()))),
            ("t", Ok(Resource::Entities("t".into()))),
            ("t()", Ok(Resource::Entities("t".into()))),
            ("t(PartitionKey='a',RowKey='b')", entity("a", "b")),
            ("t(RowKey=%27b%27,%20PartitionKey=%27a%27)", entity("a", "b")),
            ("t%28PartitionKey%3D%27a%27%2CRowKey%3D%27b%27%29", entity("a", "b")),
            ("t(PartitionKey='',RowKey='')", entity("", "")),
            (
                "t(PartitionKey='it''s',RowKey='100%25+%F0%9F%98%80,)(')",
                entity("it's", "100%+😀,)("),
            ),
            ("t(PartitionKey='a%2Fb',RowKey='')", entity("a/b", "")),
            ("t('x')", Ok(Resource::WrongKeys("t".into()))),
            ("t(PartitionKey='x')", Ok(Resource::WrongKeys("t".into()))),
            ("t/Tables", Ok(Resource::TablesBelow("t".into()))),
            ("t/T", Ok(Resource::Entities("t".into()))),
            ("t/Tables('t')", Ok(Resource::WrongKeys("t".into()))),
            ("t/$batch", Ok(Resource::Entities("t".into()))),
            ("t%2F%2F(PartitionKey='a',RowKey='b')", entity("a", "b")),
            ("a/b", Err(Refusal::INVALID_URI)),
            ("/Tables", Err(Refusal::INVALID_URI)),
            ("t(PartitionKey='x',Other='y')", Err(Refusal::INVALID_INPUT)),
            ("t(PartitionKey=1,RowKey='y')", Err(Refusal::INVALID_INPUT)),
            ("t(PartitionKey='x',RowKey='y',)", Err(Refusal::INVALID_INPUT)),
            ("t(PartitionKey='x'RowKey='y')", Err(Refusal::INVALID_INPUT)),
            ("t(PartitionKey='x',RowKey='y)", Err(Refusal::INVALID_INPUT)),
            ("t(PartitionKey='x',RowKey='y'", Err(Refusal::INVALID_URI)),
            ("%ff", Err(Refusal::INVALID_URI)),
            ("t%28", Err(Refusal::INVALID_URI)),
            ("()", Err(Refusal::INVALID_URI)),
        ] {
            assert_eq!(read(&format!("http://localhost/dev/{path}")), expected, "{path}");
        }
    }

    #[test]
    fn path_in_a_batch_may_omit_the_account() {
        let (site, _) = site("http://localhost/dev/$batch");
        for path in ["/dev/t()", "/t()", "t()"] {
            assert_eq!(site.resource(path), Ok(Resource::Entities("t".into())), "{path}");
        }
        assert_eq!(site.resource("/dev"), Ok(Resource::Service));
        assert_eq!(
            site.resource("/developers"),
            Ok(Resource::Entities("developers".into()))
        );
    }
}
