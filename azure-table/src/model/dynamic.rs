//! Rows without a struct.

use std::collections::BTreeMap;

use crate::model::datetime::DateTime;
use crate::model::edm::EdmValue;
use crate::model::entity::{EntitySchema, MetadataLevel, ReadEntity, TableEntity};
use crate::model::error::{Error, Result};
use crate::model::etag::{Condition, ETag};
use crate::model::key_shape::{KeyShape, KeyWriter};
use crate::model::property_writer::PropertyWriter;
use crate::model::row::Row;

/// An entity whose properties are known at run time only; each keeps its EDM type.
///
/// Read from the service it holds the ETag, and writes of it demand that version; see
/// [`Versioned`](crate::Versioned). A merge sends the properties it holds and leaves all others as they are.
///
/// ```
/// use azure_table::{DynamicEntity, EdmValue};
/// let mut row = DynamicEntity::new("pk", "rk");
/// row.insert("Rating", 5_i32);
/// row.insert("Views", 5_i64);
/// assert_eq!(row.get("Views"), Some(&EdmValue::Int64(5)));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DynamicEntity {
    /// The PartitionKey.
    pub partition_key: String,
    /// The RowKey.
    pub row_key: String,
    /// The version that was read; `None` for an entity made here.
    pub etag: Option<ETag>,
    /// When the service last wrote the entity; `None` for one made here. Never sent.
    pub timestamp: Option<DateTime>,
    /// The properties by name.
    pub properties: BTreeMap<String, EdmValue>,
}

impl DynamicEntity {
    /// An entity without properties.
    pub fn new(partition_key: impl Into<String>, row_key: impl Into<String>) -> Self {
        Self {
            partition_key: partition_key.into(),
            row_key: row_key.into(),
            ..Self::default()
        }
    }

    /// Sets a property and returns the value it had.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<EdmValue>) -> Option<EdmValue> {
        self.properties.insert(name.into(), value.into())
    }

    /// A property's value.
    pub fn get(&self, name: &str) -> Option<&EdmValue> {
        self.properties.get(name)
    }
}

impl TableEntity for DynamicEntity {
    type PartitionFields = (String,);
    type KeyFields = (String, String);
    const SCHEMA: &'static EntitySchema = &EntitySchema {
        name: "DynamicEntity",
        key: KeyShape::SIMPLE,
        properties: &[],
    };

    fn write_key(&self, key: &mut KeyWriter) -> Result<()> {
        key.field(&self.partition_key)?;
        key.field(&self.row_key)
    }

    fn write_properties(&self, properties: &mut PropertyWriter<'_>) -> Result<()> {
        self.properties
            .iter()
            .try_for_each(|(name, value)| properties.value(name, value))
    }

    fn condition(&self) -> Condition {
        self.etag.clone().map_or(Condition::Exists, Condition::Matches)
    }
}

impl ReadEntity for DynamicEntity {
    const METADATA: MetadataLevel = MetadataLevel::Minimal;

    fn read(row: &Row<'_>) -> Result<Self> {
        let mut properties = BTreeMap::new();
        for property in row.properties() {
            let value = property
                .value()
                .to_edm()
                .map_err(|e| Error::invalid_response(format!("property `{}`: {e}", property.name())))?;
            properties.insert(property.name().to_owned(), value.into_owned());
        }
        Ok(Self {
            partition_key: row.partition_key()?.to_owned(),
            row_key: row.row_key()?.to_owned(),
            etag: row.etag(),
            timestamp: row.timestamp()?,
            properties,
        })
    }
}
