//! The limits of a service on one entity, checked before a write is sent.

use azure_table_wire::account::profile::Profile;
use azure_table_wire::codec::json::write::MAX_BODY_BYTES;
use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::error_text::Shown;
use azure_table_wire::error::{Error, Result};

use crate::entity::read_json;

/// Rejects an entity that is too large for this service. `exceeds` is the limit of Azure Storage that it exceeds.
pub(crate) fn check_size(profile: Profile, body: usize, exceeds: Option<&str>) -> Result<()> {
    match (profile.rules().max_entity_bytes, exceeds) {
        (None, Some(why)) => Err(Error::invalid_input(why.to_owned())),
        (limit, _) => match limit.unwrap_or(MAX_BODY_BYTES) {
            limit if body > limit => Err(Error::invalid_input(format!(
                "the entity has {body} bytes of JSON, the limit of {profile} is {limit}"
            ))),
            _ => Ok(()),
        },
    }
}

/// Rejects an entity that this service cannot store but another could. `body` is empty for operations without an
/// entity.
pub(crate) fn check_entity(profile: Profile, partition_key: &str, row_key: &str, body: &[u8]) -> Result<()> {
    let rules = profile.rules();
    for (name, key) in [("PartitionKey", partition_key), ("RowKey", row_key)] {
        if key.is_empty() && !rules.takes_empty_keys {
            return Err(Error::invalid_input(format!(
                "{name}: {profile} does not accept an empty key"
            )));
        }
    }
    if let Some(limit) = rules.max_row_key_bytes.filter(|limit| row_key.len() > *limit) {
        let why = format!(
            "RowKey {}: it has {} bytes of UTF-8, the limit of {profile} is {limit}",
            Shown(row_key),
            row_key.len()
        );
        return Err(Error::invalid_input(why));
    }
    if body.is_empty() || rules.reserved_properties.is_empty() {
        return Ok(());
    }
    // The body is parsed again only for services with reserved names.
    read_json::entity(body, MetadataLevel::None, None, |row| {
        if row.get("etag").and(row.get("Etag")).is_some() {
            return Err(Error::invalid_input(format!(
                "property `Etag`: {profile} drops it from an entity that also has `etag`; store it under another \
                 name, with `#[table(rename = \"…\")]`"
            )));
        }
        let is_reserved = |name: &&str| rules.reserved_properties.contains(name);
        match row.properties.iter().map(|property| &*property.name).find(is_reserved) {
            Some(name) => Err(Error::invalid_input(format!(
                "property `{name}`: {profile} reserves this name; store it under another, with `#[table(rename = \"…\")]`"
            ))),
            None => Ok(()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosmos_limits_are_checked() {
        let long = "x".repeat(256);
        for (partition_key, row_key, body, why) in [
            (
                "",
                "r",
                "",
                "PartitionKey: Azure Cosmos DB for Table does not accept an empty key",
            ),
            ("p", "", "", "RowKey: "),
            (
                "p",
                &*long,
                "",
                "256 bytes of UTF-8, the limit of Azure Cosmos DB for Table is 255",
            ),
            (
                "p",
                "r",
                r#"{"PartitionKey":"p","RowKey":"r","A":1,"rid":"x"}"#,
                "property `rid`",
            ),
            (
                "p",
                "r",
                r#"{"PartitionKey":"p","RowKey":"r","Etag":1,"etag":2}"#,
                "property `Etag`: Azure Cosmos DB for Table drops it",
            ),
        ] {
            assert_eq!(
                check_entity(Profile::Storage, partition_key, row_key, body.as_bytes())
                    .err()
                    .map(|e| e.to_string()),
                None
            );
            let error = check_entity(Profile::Cosmos, partition_key, row_key, body.as_bytes()).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
        let good = r#"{"PartitionKey":"p","RowKey":"r","Id":1,"Etag":"id"}"#;
        assert!(check_entity(Profile::Cosmos, "p", "r", good.as_bytes()).is_ok());
    }
}
