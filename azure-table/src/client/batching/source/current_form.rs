//! Rewrites a stored row in the current form of its struct, an entity or a projection.
//!
//! It keeps the properties that the struct does not know, and checks whether a row is up to date.
//!
//! Updates and upgrades over a query keep properties that the struct does not know. This differs from `modify`, whose
//! caller has seen the row. A property that the struct knew and no longer writes is removed, even if it has an older
//! name or the upgrade of the row removed it. A removal takes a replace with the rest of the row. If nothing is
//! removed, a merge sends less.

use std::collections::BTreeMap;

use azure_table_wire::error::error_text::Shown;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::edm::EdmValue;
use azure_table_wire::value::guid::Guid;

use crate::client::batching::source::row_plan::{Plan, ReadRow, RowVersion};
use crate::entity::dynamic::{DynamicEntity, is_same};
use crate::entity::property_writer::{self, Destination, PropertyWriter};
use crate::entity::schema::{self, EntitySchema};
use crate::entity::table_entity::TableEntity;
use crate::filter::assignment::AssignedProperties;
use crate::filter::projection::{ProjectedValues, UpdatableRow, Updated};
use crate::key::entity_key::key_texts;
use crate::key::key_shape::{KeyShape, KeyWriter};
use crate::write::operation::TableOperation;

/// The properties that a struct writes.
pub(crate) struct Form {
    row: DynamicEntity,
    write_id: Option<Guid>,
    /// The texts of the fields that a projection reads from the keys.
    key_fields: Vec<String>,
}

impl Form {
    /// Returns the form of a row that was read with this key.
    ///
    /// # Errors
    /// - `InvalidInput`: the row cannot be written, or its key belongs to another row.
    pub(crate) fn of<E: TableEntity, P: UpdatableRow<E>>(row: &P, version: &RowVersion<E>) -> Result<Self> {
        match row.updated() {
            Updated::Entity(entity) => Self::from_entity(entity, version),
            Updated::Projection(values) => Self::from_projection(values, version),
        }
    }

    fn from_entity<E: TableEntity>(entity: &E, version: &RowVersion<E>) -> Result<Self> {
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
        let mut writer = property_writer::writer(Destination::Values(&mut row), partition_key, row_key);
        entity.write_properties(&mut writer)?;
        let write_id = property_writer::finish(writer)?.and_then(|rare| rare.write_id);
        Ok(Self {
            row,
            write_id,
            key_fields: Vec::new(),
        })
    }

    fn from_projection<E>(values: ProjectedValues<E>, version: &RowVersion<E>) -> Result<Self> {
        let (partition_key, row_key) = (version.key.partition_key(), version.key.row_key());
        let mut row = DynamicEntity::new(partition_key, row_key);
        let mut writer = property_writer::writer(Destination::Values(&mut row), partition_key, row_key);
        AssignedProperties::of(values.columns)?.write(&mut writer)?;
        property_writer::finish(writer)?;
        let rejected = |e| Error::invalid_input(format!("a field in the key: {e}"));
        let key_fields = values.keys.into_iter().map(|text| text.map_err(rejected));
        Ok(Self {
            row,
            write_id: None,
            key_fields: key_fields.collect::<Result<_>>()?,
        })
    }

    /// Returns the operation that writes only these properties, or `None` without any. `before` is the form in which
    /// the row was read.
    ///
    /// # Errors
    /// - `InvalidInput`: a property would have to be removed.
    pub(crate) fn patch<E>(&self, before: &Self, version: &RowVersion<E>) -> Result<Option<TableOperation>> {
        if let Some(name) = before.row.properties.keys().find(|name| !self.has(name)) {
            return Err(Error::invalid_input(format!(
                "property `{name}`: an update of some columns cannot remove it; update whole entities, without `project` \
                 or `select_names`"
            )));
        }
        let keys = (version.key.partition_key(), version.key.row_key());
        let merge = || {
            let merge = TableOperation::merge_properties(keys, &mut |writer| self.row.write_properties(writer));
            merge.if_match(version.etag.clone())
        };
        Ok((!self.row.properties.is_empty()).then(merge))
    }

    /// Returns `true` if the fields that a projection read from the keys are unchanged.
    pub(crate) fn has_key_of(&self, before: &Self) -> bool {
        self.key_fields == before.key_fields
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

/// Returns the plan that writes `entity` into its row. `before` is the form of the entity as it was read.
///
/// Properties that the struct does not know stay. Properties that it knew and no longer writes are removed, older names
/// and those that the upgrade removed included, which takes a replace. If none is removed, a merge is shorter.
pub(crate) fn rewrite<E: TableEntity, P>(
    entity: &E,
    ReadRow { stored, removed, .. }: &ReadRow<P>,
    version: &RowVersion<E>,
    (before, now): (&Form, &Form),
) -> Plan {
    let is_older = |name: &str| schema::has_older_name(E::SCHEMA, name) || removed.iter().any(|gone| gone == name);
    let goes = |name: &str| !now.has(name) && (before.has(name) || is_older(name));
    let unknown = stored.properties.iter();
    let unknown: BTreeMap<_, _> = unknown.filter(|(name, _)| !now.has(name) && !goes(name)).collect();
    let has_unknown = !unknown.is_empty();
    let operation = if stored.properties.keys().any(|name| goes(name)) {
        TableOperation::replace(&WithUnknown { entity, unknown })
    } else {
        TableOperation::merge(entity)
    };
    let operation = operation.if_match(version.etag.clone());
    if has_unknown {
        Plan::WriteBeside(operation)
    } else {
        Plan::Write(operation)
    }
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
