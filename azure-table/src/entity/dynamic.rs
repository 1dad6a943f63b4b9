//! Entities without a struct.
//!
//! Defines [`DynamicEntity`]: its properties, its conversion from and to any entity type. Its serde form is
//! `entity/dynamic/json.rs`.

mod json;

use std::borrow::Cow;
use std::collections::BTreeMap;

use azure_table_wire::codec::json::token::Scalar;
use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::Result;
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::edm::{Edm, EdmType, EdmValue};
use azure_table_wire::value::etag::{Condition, ETag};

use crate::entity::property::ReadProperty;
use crate::entity::property_writer::{self, Destination, PropertySink, PropertyWriter};
use crate::entity::row::{self, Row, RowProperty};
use crate::entity::schema::EntitySchema;
use crate::entity::table_entity::{ReadEntity, TableEntity};
use crate::key::entity_key::key_texts;
use crate::key::key_shape::{KeyShape, KeyWriter};

/// An entity whose properties are known only at run time. Each property keeps its EDM type.
///
/// An entity read from the service holds its ETag, so writing it back fails if the stored entity has changed; see
/// [`Versioned`](crate::Versioned). A merge sends every property that it holds: remove the ones that should stay
/// unchanged, or use `TableClient::patch`.
///
/// Its serde form is the service's JSON: keys and properties, with a member `name@odata.type` beside each property
/// whose type JSON does not show.
///
/// ```
/// use azure_table::{DynamicEntity, EdmValue};
/// let mut row = DynamicEntity::new("pk", "rk");
/// row.insert("Rating", 5_i32);
/// row.insert("Views", 5_i64);
/// assert_eq!(row.get("Views"), Some(&EdmValue::Int64(5)));
/// assert_eq!(row.property::<i64>("Rating")?, 5); // widened without loss
/// let error = row.property::<i32>("Views").unwrap_err();
/// assert!(error.to_string().contains("property `Views`: expected Edm.Int32, found Edm.Int64"));
/// # Ok::<(), azure_table::Error>(())
/// ```
#[doc(alias = "DynamicTableEntity")]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DynamicEntity {
    /// The PartitionKey.
    pub partition_key: String,
    /// The RowKey.
    pub row_key: String,
    /// The ETag that was read; `None` for an entity built locally.
    pub etag: Option<ETag>,
    /// The time of the service's last write; `None` for an entity built locally. Never sent.
    pub timestamp: Option<DateTime>,
    /// The properties by name.
    pub properties: BTreeMap<String, EdmValue>,
}

impl DynamicEntity {
    /// Creates an entity without properties.
    pub fn new(partition_key: impl Into<String>, row_key: impl Into<String>) -> Self {
        Self {
            partition_key: partition_key.into(),
            row_key: row_key.into(),
            ..Self::default()
        }
    }

    /// Converts an entity to the keys and properties that would be stored.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the service would reject a key, name or value.
    pub fn from_entity<E: TableEntity + ?Sized>(entity: &E) -> Result<Self> {
        let texts = key_texts(entity)?;
        let (partition_key, row_key) = texts.pair();
        let mut dynamic = Self::new(partition_key, row_key);
        let mut writer = property_writer::writer(Destination::Values(&mut dynamic), partition_key, row_key);
        entity.write_properties(&mut writer)?;
        property_writer::finish(writer)?;
        if let Condition::Matches(etag) = entity.condition() {
            dynamic.etag = Some(etag);
        }
        Ok(dynamic)
    }

    /// Decodes this row as an `E`, as if it came from the service.
    ///
    /// # Errors
    /// - [`InvalidResponse`](crate::ErrorKind::InvalidResponse): a property is missing or has another type, or the keys
    ///   do not have the form that `E` expects.
    #[doc(alias = "ConvertBack")]
    pub fn to_entity<E: ReadEntity>(&self) -> Result<E> {
        let row = Row {
            partition_key: Some(Cow::Borrowed(&self.partition_key)),
            row_key: Some(Cow::Borrowed(&self.row_key)),
            timestamp: self.timestamp.map(|timestamp| timestamp.to_string().into()),
            etag: self.etag.as_ref().map(|etag| Cow::Borrowed(etag.as_str())),
            properties: self
                .properties
                .iter()
                .map(|(name, value)| row_property(name, value))
                .collect(),
            context: None,
        };
        E::read(&row).map_err(|e| row::locate(&row, e))
    }

    /// Sets a property and returns its previous value.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<EdmValue>) -> Option<EdmValue> {
        self.properties.insert(name.into(), value.into())
    }

    /// Returns the value of a property.
    pub fn get(&self, name: &str) -> Option<&EdmValue> {
        self.properties.get(name)
    }

    /// Removes a property and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<EdmValue> {
        self.properties.remove(name)
    }

    /// Returns the value of a property as a Rust type. Use `Option<T>` for one that may be missing.
    ///
    /// # Errors
    /// - [`InvalidResponse`](crate::ErrorKind::InvalidResponse): the property is missing, or its type does not widen to
    ///   `T` without loss.
    pub fn property<T: ReadProperty>(&self, name: &str) -> Result<T> {
        let found = self.properties.get(name).map(|value| row_property(name, value).read());
        let read = found.transpose().and_then(|found| row::required(found, name));
        read.map_err(|e| e.at_entity(&self.partition_key, &self.row_key))
    }

    /// Removes a property and returns its value as a Rust type. Use `Option<T>` for one that may be missing.
    ///
    /// Use it in an `upgrade` function to read properties of an older form: `upgrade_where` then removes them from the
    /// stored row.
    ///
    /// ```
    /// use azure_table::DynamicEntity;
    ///
    /// let mut price = DynamicEntity::new("shop", "article");
    /// price.insert("Euros", 9.99);
    /// let euros: f64 = price.take_property("Euros")?;
    /// assert_eq!((euros, price.get("Euros")), (9.99, None));
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`property`](Self::property). In that case the property stays.
    pub fn take_property<T: ReadProperty>(&mut self, name: &str) -> Result<T> {
        let value = self.property(name)?;
        self.properties.remove(name);
        Ok(value)
    }
}

/// Converts a value to its form in a response at metadata level `minimal`.
fn row_property<'a>(name: &'a str, value: &'a EdmValue) -> RowProperty<'a> {
    let (annotated, scalar) = match value {
        Edm::String(text) => (true, Scalar::Text(Cow::Borrowed(text))),
        Edm::Boolean(value) => (false, Scalar::Boolean(*value)),
        Edm::Int32(value) => (false, Scalar::Number(value.to_string().into())),
        value => (true, Scalar::Text(value.to_string().into())),
    };
    let annotation: Option<EdmType> = annotated.then(|| value.edm_type());
    RowProperty {
        name: Cow::Borrowed(name),
        annotation,
        scalar,
    }
}

impl PropertySink for DynamicEntity {
    fn put(&mut self, name: &str, value: &Edm<'_>) {
        self.properties.insert(name.to_owned(), value.clone().into_owned());
    }
}

impl TableEntity for DynamicEntity {
    type PartitionFields = (String,);
    type KeyFields = (String, String);
    const SCHEMA: &'static EntitySchema = &EntitySchema::new("DynamicEntity", KeyShape::SIMPLE);

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

    fn set_etag(&mut self, etag: &ETag) {
        self.etag = Some(etag.clone());
    }
}

impl ReadEntity for DynamicEntity {
    const METADATA: MetadataLevel = MetadataLevel::Minimal;

    fn read(row: &Row<'_>) -> Result<Self> {
        let mut properties = BTreeMap::new();
        for property in row.properties() {
            let value = property.convert(|value| value.to_edm().map(Edm::into_owned))?;
            properties.insert(property.name().to_owned(), value);
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
/// Compares two values. NaN equals NaN.
pub(crate) fn is_same(a: &EdmValue, b: &EdmValue) -> bool {
    match (a, b) {
        (EdmValue::Double(a), EdmValue::Double(b)) => a == b || (a.is_nan() && b.is_nan()),
        (a, b) => a == b,
    }
}
