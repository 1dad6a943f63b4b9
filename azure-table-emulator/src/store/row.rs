//! One stored entity: its keys, its properties in order, its ETag.
//!
//! Contains the limits on an entity as a whole. `value/row_id.rs` orders rows, `store.rs` changes them,
//! `store/members.rs` encodes their properties, `operations/payload.rs` writes them as JSON. Not confirmed: that the 1
//! MiB limit uses the published formula, as this file does.

use std::borrow::Cow;

use azure_table_wire::codec::odata::time::TimeText;
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::edm::Edm;
use azure_table_wire::value::entity_size;
use azure_table_wire::value::ordinal;
pub(crate) use azure_table_wire::value::row_id::RowId;

use crate::rules::service_error::{Result, ServiceError};
use crate::rules::{MAX_PROPERTIES, ServiceRules};
use crate::store::members::{Members, Properties};

/// The stored contents under a [`RowId`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) timestamp: DateTime,
    /// The number in the order of insertion, if that is kept; 0 before it is stored.
    pub(crate) place: u64,
    pub(crate) members: Members,
}

impl Row {
    pub(crate) fn new(properties: &Properties<'_>, timestamp: DateTime) -> Self {
        Self {
            timestamp,
            place: 0,
            members: Members::new(properties),
        }
    }

    /// Returns the ETag, derived from the Timestamp, which no two writes share.
    pub(crate) fn etag(&self, rules: &ServiceRules) -> String {
        time_text(self.timestamp, rules).etag()
    }

    /// Returns the decoded properties, in their order.
    pub(crate) fn properties(&self) -> impl Iterator<Item = (Cow<'_, str>, Edm<'_>)> {
        let members = self.members.iter();
        members.filter_map(|member| Some((member.name(), member.value()?)))
    }

    /// Returns the value that a filter sees under `name`.
    pub(crate) fn value<'a>(&'a self, id: &'a RowId, name: &str) -> Option<Edm<'a>> {
        match name {
            "PartitionKey" => Some(Edm::String(Cow::Borrowed(&id.partition_key))),
            "RowKey" => Some(Edm::String(Cow::Borrowed(&id.row_key))),
            "Timestamp" => Some(Edm::DateTime(self.timestamp)),
            _ => self.members.find(name)?.value(),
        }
    }
}

/// Formats a time as in responses.
pub(crate) fn time_text(time: DateTime, rules: &ServiceRules) -> TimeText {
    if rules.has_full_times {
        TimeText::seven_digits(time)
    } else {
        TimeText::shortest(time)
    }
}

/// Sorts properties into the order after any write except an insert.
pub(crate) fn sort(properties: &mut Properties<'_>) {
    properties.sort_by(|(a, _), (b, _)| ordinal::compare(a, b));
}

/// Returns `properties` overlaid with `changes`.
pub(crate) fn merged<'a>(mut properties: Properties<'a>, changes: Properties<'a>) -> Properties<'a> {
    for (name, value) in changes {
        match properties.iter_mut().find(|(known, _)| *known == name) {
            Some(property) => property.1 = value,
            None => properties.push((name, value)),
        }
    }
    properties
}

/// Returns `true` for the name of a key.
pub(crate) fn is_key(name: &str) -> bool {
    matches!(name, "PartitionKey" | "RowKey")
}

/// Rejects an entity that is too large or has too many properties.
///
/// Source: REST "Understanding the Table service data model"; "How the size of an entity is calculated" (2011).
pub(crate) fn check_limits(id: &RowId, properties: &Properties<'_>, rules: &ServiceRules) -> Result<()> {
    let own = || properties.iter().filter(|(name, _)| !is_key(name));
    if own().count() > MAX_PROPERTIES {
        return Err(ServiceError::TOO_MANY_PROPERTIES);
    }
    let size: usize = own()
        .map(|(name, value)| entity_size::of_property(ordinal::utf16_len(name), value))
        .sum();
    if entity_size::of_keys(&id.partition_key, &id.row_key) + size > rules.max_entity_bytes {
        return Err(ServiceError::ENTITY_TOO_LARGE);
    }
    Ok(())
}
