//! The resource that a request addresses, by its path and the parameters `restype` and `comp`.
//!
//! Defines [`Target`] and the faults of paths as values. `write/path.rs` writes paths.
//!
//! Source: REST "Addressing Table service resources", "Set Table Service Properties", "Get Table Service Stats", "Set
//! Table ACL", "Get User Delegation Key".

use crate::codec::odata::literal::quoted;
use crate::codec::url::{self, parameter};
use crate::value::row_id::RowId;

/// The addressed resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
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
    /// The list of tables below a table, or an entity below its table's name. Only a `GET` of them differs from one of
    /// the table's entities.
    TablesBelow(String),
    /// An entity of a table, addressed by a wrong number of keys.
    WrongKeys(String),
}

/// The fault of a URL that addresses no resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetFault {
    Path,
    Keys,
    /// Further segments before the keys, which may belong to an entity.
    Segments {
        is_entity: bool,
    },
    /// A resource without this `comp`, or without its `restype`.
    Component,
}

/// The paths of a service.
#[derive(Clone, Copy, Debug, Default)]
pub struct Paths<'p> {
    /// The part of the path that belongs to the account's URL: `/account`, or nothing. A path may omit it.
    pub prefix: &'p str,
    /// `Tables`, `$batch` and its own name after a table are ignored instead of rejected.
    pub ignores_further_segments: bool,
    /// An encoded parenthesis is part of a table's name. Otherwise keys may begin with it.
    pub names_have_parentheses: bool,
}

impl<'p> Paths<'p> {
    /// Returns the paths of a client whose request has this one.
    ///
    /// A parenthesis in a table's name is encoded, and so is a slash in a key.
    pub fn of_client(path: &'p str) -> Self {
        let head = path.split('(').next().unwrap_or_default();
        Self {
            prefix: &head[..head.rfind('/').unwrap_or_default()],
            ignores_further_segments: false,
            names_have_parentheses: true,
        }
    }
}

impl Target {
    /// Returns the table of the entities or policies.
    pub fn table(&self) -> Option<&str> {
        match self {
            Self::Policies(table)
            | Self::Entities(table)
            | Self::TablesBelow(table)
            | Self::Entity(table, _)
            | Self::WrongKeys(table) => Some(table),
            _ => None,
        }
    }

    /// Parses the path and query of a request.
    pub fn parse(path: &str, query: &str, is_get: bool, paths: Paths<'_>) -> Result<Self, TargetFault> {
        let below = match path.strip_prefix(paths.prefix) {
            Some(below) if below.is_empty() || below.starts_with('/') => below,
            _ => path,
        };
        let (name, keys) = name_and_keys(below.strip_prefix('/').unwrap_or(below), paths).ok_or(TargetFault::Path)?;
        let whole = match name.split_once('/') {
            None => Self::named(&name, &keys)?,
            Some(segments) => Self::below(segments, &keys, is_get, paths)?,
        };
        let (restype, component) = (parameter(query, "restype"), parameter(query, "comp"));
        let whole = match whole {
            Self::TablesBelow(table) if !is_get || component.is_some() => Self::Entities(table),
            whole => whole,
        };
        match (whole, restype.as_deref(), component.as_deref()) {
            (whole, _, None) | (whole @ Self::Batch, ..) => Ok(whole),
            (Self::Service, Some("service"), Some("properties")) => Ok(Self::Properties),
            (Self::Service, Some("service"), Some("stats")) => Ok(Self::Statistics),
            (Self::Service, Some("service"), Some("userdelegationkey")) => Ok(Self::DelegationKey),
            (Self::Entities(table), _, Some("acl")) => Ok(Self::Policies(table)),
            _ => Err(TargetFault::Component),
        }
    }

    /// Returns the target of a path with further segments.
    fn below((first, further): (&str, &str), keys: &str, is_get: bool, paths: Paths<'_>) -> Result<Self, TargetFault> {
        if !paths.ignores_further_segments {
            let is_entity = matches!(Self::named("Table", keys), Ok(Self::Entity(..)));
            return Err(TargetFault::Segments { is_entity });
        }
        match further {
            _ if first.is_empty() => Err(TargetFault::Path),
            "Tables" if keys.is_empty() => Ok(match Self::named(first, keys)? {
                Self::Entities(table) => Self::TablesBelow(table),
                other => other,
            }),
            "" | "/" | "Tables" | "$batch" => Self::named(first, keys),
            // Recorded for an insert.
            _ if keys.is_empty() && first.eq_ignore_ascii_case(further) => Self::named(first, keys),
            // Recorded from azure-data-tables (2020): as for the list of tables there.
            _ if is_get && first.eq_ignore_ascii_case(further) => Ok(Self::TablesBelow(first.to_owned())),
            _ => Err(TargetFault::Path),
        }
    }

    /// Returns the target of a name and its keys: nothing, or text in parentheses.
    fn named(name: &str, keys: &str) -> Result<Self, TargetFault> {
        if keys.is_empty() {
            return Ok(match name {
                "" => Self::Service,
                "$batch" => Self::Batch,
                "Tables" => Self::Tables,
                _ => Self::Entities(name.to_owned()),
            });
        }
        let keys = keys.strip_prefix('(').and_then(|keys| keys.strip_suffix(')'));
        let mut keys = key_values(keys.ok_or(TargetFault::Path)?).ok_or(TargetFault::Keys)?;
        match (name, keys.as_mut_slice()) {
            ("", _) => Err(TargetFault::Path),
            ("Tables", []) => Ok(Self::Tables),
            ("Tables", [("" | "TableName", table)]) => Ok(Self::Table(std::mem::take(table))),
            (_, []) => Ok(Self::Entities(name.to_owned())),
            (_, [("PartitionKey", partition), ("RowKey", row)] | [("RowKey", row), ("PartitionKey", partition)]) => {
                let id = RowId::new(std::mem::take(partition), std::mem::take(row));
                Ok(Self::Entity(name.to_owned(), id))
            }
            (_, [_, _]) => Err(TargetFault::Keys),
            _ => Ok(Self::WrongKeys(name.to_owned())),
        }
    }
}

/// Splits a path before the parenthesis of its keys, and decodes both parts.
fn name_and_keys(path: &str, paths: Paths<'_>) -> Option<(String, String)> {
    if paths.names_have_parentheses {
        let (name, keys) = path.split_at(path.find('(').unwrap_or(path.len()));
        return Some((url::decode(name)?, url::decode(keys)?));
    }
    let mut name = url::decode(path)?;
    let keys = name.split_off(name.find('(').unwrap_or(name.len()));
    Some((name, keys))
}

/// Parses the keys between the parentheses: `Name='value'`, or a value alone, whose name is then empty.
fn key_values(mut text: &str) -> Option<Vec<(&str, String)>> {
    let mut keys = Vec::new();
    text = text.trim();
    while !text.is_empty() {
        let quote = text.find('\'')?;
        let name = match text[..quote].trim() {
            "" => "",
            name => name.strip_suffix('=')?.trim_end(),
        };
        if !name.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return None;
        }
        let (value, length) = quoted(&text[quote..])?;
        keys.push((name, value));
        text = text[quote + length..].trim_start();
        match text.strip_prefix(',') {
            Some(rest) if !rest.trim().is_empty() => text = rest.trim_start(),
            Some(_) => return None,
            None if text.is_empty() => {}
            None => return None,
        }
    }
    Some(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORAGE: Paths<'_> = Paths {
        prefix: "/dev",
        ignores_further_segments: true,
        names_have_parentheses: false,
    };

    fn parse(path: &str) -> Result<Target, TargetFault> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        Target::parse(path, query, true, STORAGE)
    }

    #[test]
    fn paths_are_parsed_raw_and_encoded() {
        let entity = |p: &str, r: &str| Ok(Target::Entity("t".into(), RowId::new(p, r)));
        for (path, expected) in [
            ("", Ok(Target::Service)),
            ("$batch", Ok(Target::Batch)),
            ("Tables", Ok(Target::Tables)),
            ("Tables()", Ok(Target::Tables)),
            ("Tables('x')", Ok(Target::Table("x".into()))),
            ("Tables(%27x%27)", Ok(Target::Table("x".into()))),
            ("t", Ok(Target::Entities("t".into()))),
            ("t()", Ok(Target::Entities("t".into()))),
            ("t(PartitionKey='a',RowKey='b')", entity("a", "b")),
            ("t(RowKey=%27b%27,%20PartitionKey=%27a%27)", entity("a", "b")),
            ("t%28PartitionKey%3D%27a%27%2CRowKey%3D%27b%27%29", entity("a", "b")),
            ("t(PartitionKey='',RowKey='')", entity("", "")),
            (
                "t(PartitionKey='it''s',RowKey='100%25+%F0%9F%98%80,)(')",
                entity("it's", "100%+😀,)("),
            ),
            ("t(PartitionKey='a%2Fb',RowKey='')", entity("a/b", "")),
            ("t('x')", Ok(Target::WrongKeys("t".into()))),
            ("t(PartitionKey='x')", Ok(Target::WrongKeys("t".into()))),
            ("t/Tables", Ok(Target::TablesBelow("t".into()))),
            ("t/T", Ok(Target::Entities("t".into()))),
            ("t/Tables('t')", Ok(Target::WrongKeys("t".into()))),
            ("t/$batch", Ok(Target::Entities("t".into()))),
            ("t%2F%2F(PartitionKey='a',RowKey='b')", entity("a", "b")),
            ("a/b", Err(TargetFault::Path)),
            ("/Tables", Err(TargetFault::Path)),
            ("t(PartitionKey='x',Other='y')", Err(TargetFault::Keys)),
            ("t(PartitionKey=1,RowKey='y')", Err(TargetFault::Keys)),
            ("t(PartitionKey='x',RowKey='y',)", Err(TargetFault::Keys)),
            ("t(PartitionKey='x'RowKey='y')", Err(TargetFault::Keys)),
            ("t(PartitionKey='x',RowKey='y)", Err(TargetFault::Keys)),
            ("t(PartitionKey='x',RowKey='y'", Err(TargetFault::Path)),
            ("%ff", Err(TargetFault::Path)),
            ("t%28", Err(TargetFault::Path)),
            ("()", Err(TargetFault::Path)),
        ] {
            assert_eq!(parse(&format!("/dev/{path}")), expected, "{path}");
        }
    }

    #[test]
    fn component_needs_its_resource_and_restype() {
        for (path, expected) in [
            ("/dev/t?comp=acl", Ok(Target::Policies("t".into()))),
            ("/dev/?restype=service&comp=stats", Ok(Target::Statistics)),
            ("/dev/?comp=stats", Err(TargetFault::Component)),
            ("/dev/t?comp=other", Err(TargetFault::Component)),
            ("/dev/t/Tables?comp=acl", Ok(Target::Policies("t".into()))),
        ] {
            assert_eq!(parse(path), expected, "{path}");
        }
    }

    #[test]
    fn path_in_a_batch_may_omit_the_account() {
        for path in ["/dev/t()", "/t()", "t()"] {
            assert_eq!(parse(path), Ok(Target::Entities("t".into())), "{path}");
        }
        assert_eq!(parse("/dev"), Ok(Target::Service));
        assert_eq!(parse("/developers"), Ok(Target::Entities("developers".into())));
    }

    #[test]
    fn further_segments_are_a_fault_where_they_are_not_ignored() {
        let of = |path| Target::parse(path, "", true, Paths::of_client("/t"));
        assert_eq!(of("/t/Tables"), Err(TargetFault::Segments { is_entity: false }));
        let entity = of("/t/Tables(PartitionKey='p',RowKey='r')");
        assert_eq!(entity, Err(TargetFault::Segments { is_entity: true }));
    }
}
