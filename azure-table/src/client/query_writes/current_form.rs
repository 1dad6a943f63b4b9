//! Rewrites a stored row in the current form of its struct.
//!
//! Owns the properties that the struct does not know, and the check for a row that is up to date.
//!
//! Updates and upgrades over a query keep properties that the struct does not know. This differs from `modify`, whose
//! caller has seen the row. A property that the struct knew and no longer writes, older names included, is removed by a
//! replace with the rest of the row. If nothing is removed, a merge sends less.

use std::collections::BTreeMap;

use azure_table_core::model::dynamic::DynamicEntity;
use azure_table_core::model::edm::EdmValue;
use azure_table_core::model::entity::TableEntity;
use azure_table_core::model::entity_key::key_texts;
use azure_table_core::model::error::{Error, Result};
use azure_table_core::model::error_text::Shown;
use azure_table_core::model::guid::Guid;
use azure_table_core::model::key_shape::{KeyShape, KeyWriter};
use azure_table_core::model::property_writer::{self, PropertyWriter};
use azure_table_core::model::schema::{self, EntitySchema};
use azure_table_core::model::variant_mark::{AsVariant, MarkedVariant};
use azure_table_core::protocol::operation::TableOperation;
use azure_table_core::protocol::read_back::is_same;

use crate::client::query_writes::row_plan::RowVersion;

/// The properties that a struct writes.
pub(crate) struct Form {
    row: DynamicEntity,
    write_id: Option<Guid>,
}

impl Form {
    /// Returns the form of an entity that was read as the row of this key.
    ///
    /// # Errors
    /// - `InvalidInput`: the entity cannot be written, or its key is that of another row.
    pub(crate) fn of<E: TableEntity>(entity: &E, version: &RowVersion<E>) -> Result<Self> {
        let texts = key_texts(entity)?;
        let (partition_key, row_key) = texts.pair();
        let stored = (version.key.partition_key(), version.key.row_key());
        if (partition_key, row_key) != stored {
            return Err(Error::invalid_input(format!(
                "the key would change to ({}, {}): an update cannot change the key of a row",
                Shown(partition_key),
                Shown(row_key)
            )));
        }
        let mut row = DynamicEntity::new(partition_key, row_key);
        let (partition_key, row_key) = stored;
        let mut writer = property_writer::writer(&mut row, partition_key, row_key);
        entity.write_properties(&mut writer)?;
        let write_id = property_writer::finish(writer)?.and_then(|rare| rare.write_id);
        Ok(Self { row, write_id })
    }

    /// Returns `true` if the stored row has all of it: names, types and values.
    ///
    /// A write id differs each time, so it only needs to be present.
    pub(crate) fn is_stored(&self, stored: &DynamicEntity) -> bool {
        self.row.properties.iter().all(|(name, value)| {
            let is_id = |value: &EdmValue| matches!(value, EdmValue::Guid(_));
            let is_write_id = self.write_id.is_some_and(|id| *value == EdmValue::Guid(id));
            let found = stored.properties.get(name);
            found.is_some_and(|found| is_same(found, value) || (is_write_id && is_id(found)))
        })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.row.properties.contains_key(name)
    }
}

/// Returns `true` if a row has properties under names that the struct reads and no longer writes.
pub(crate) fn has_older_names<E: TableEntity>(stored: &DynamicEntity, now: &Form) -> bool {
    let mut names = stored.properties.keys();
    names.any(|name| !now.has(name) && schema::has_older_name(E::SCHEMA, name))
}

/// Returns the operation that writes `entity` into its row. `before` is the form of the entity as it was read.
///
/// Properties that the struct does not know stay. Properties that it knew and no longer writes are removed, older names
/// included, which takes a replace. If none is removed, a merge is shorter.
pub(crate) fn rewrite<E: TableEntity>(
    entity: &E,
    version: &RowVersion<E>,
    stored: &DynamicEntity,
    (before, now): (&Form, &Form),
    variant: Option<&'static MarkedVariant>,
) -> TableOperation {
    let goes = |name: &str| !now.has(name) && (before.has(name) || schema::has_older_name(E::SCHEMA, name));
    let operation = if stored.properties.keys().any(|name| goes(name)) {
        let unknown = stored.properties.iter();
        let unknown = unknown.filter(|(name, _)| !now.has(name) && !goes(name)).collect();
        TableOperation::replace(&AsVariant::new(&WithUnknown { entity, unknown }, variant))
    } else {
        TableOperation::merge(&AsVariant::new(entity, variant))
    };
    operation.if_match(version.etag.clone())
}

/// An entity with the stored properties that its struct does not know.
struct WithUnknown<'a, E> {
    entity: &'a E,
    unknown: BTreeMap<&'a String, &'a EdmValue>,
}

impl<E: TableEntity> TableEntity for WithUnknown<'_, E> {
    type PartitionFields = E::PartitionFields;
    type KeyFields = E::KeyFields;
    const SCHEMA: &'static EntitySchema = E::SCHEMA;

    fn key_shape(&self) -> &'static KeyShape {
        self.entity.key_shape()
    }

    fn write_key(&self, key: &mut KeyWriter) -> Result<()> {
        self.entity.write_key(key)
    }

    fn write_properties(&self, properties: &mut PropertyWriter<'_>) -> Result<()> {
        self.entity.write_properties(properties)?;
        let mut unknown = self.unknown.iter();
        unknown.try_for_each(|(name, value)| properties.value(name, value))
    }
}
