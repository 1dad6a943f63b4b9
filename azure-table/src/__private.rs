//! All that derived code may name, besides the derive's traits and `Column`. Not part of the public interface.

pub use crate::filter::column::InKey;
pub use crate::model::datetime::DateTime;
use std::collections::BTreeMap;

pub use crate::codec::json::embedded as json;
pub use crate::filter::nested::{Nested, Variant};
pub use crate::model::chunked::{self, Chunked};
pub use crate::model::dynamic::DynamicEntity;
pub use crate::model::edm::{Edm, EdmType, EdmValue, WireValue};
pub use crate::model::entity::{MetadataLevel, ReadEntity, TableEntity};
pub use crate::model::error::{Error, Result, ValueError};
pub use crate::model::etag::{Condition, ETag};
pub use crate::model::group::{PropertyGroup, ReadPropertyGroup};
pub use crate::model::key::{ReadTableKey, TableKey};
pub use crate::model::key_shape::{KeyPiece, KeyShape, KeyWriter};
pub use crate::model::property::{Property, ReadProperty};
pub use crate::model::property_writer::PropertyWriter;
pub use crate::model::row::{Row, RowProperty};
pub use crate::model::schema::{EntitySchema, GroupSchema, PropertySchema};

/// What a write demands of an entity whose ETag is kept in a field.
pub fn condition(etag: &Option<ETag>) -> Condition {
    etag.clone().map_or(Condition::Unread, Condition::Matches)
}

/// The value of a field whose property may not have come.
pub fn required<T: ReadProperty>(value: Option<T>, name: &str) -> Result<T> {
    value
        .or_else(T::absent)
        .ok_or_else(|| Error::invalid_response(format!("property `{name}`: it is missing")))
}

/// The least metadata with which all of these are read.
pub const fn metadata(levels: &[MetadataLevel]) -> MetadataLevel {
    let mut at = 0;
    while at < levels.len() {
        if matches!(levels[at], MetadataLevel::Minimal) {
            return MetadataLevel::Minimal;
        }
        at += 1;
    }
    MetadataLevel::None
}

/// Reads a property by a conversion of its own, for `with` and `json`.
pub fn convert<T>(
    property: &RowProperty<'_>,
    convert: impl FnOnce(WireValue<'_>) -> std::result::Result<T, ValueError>,
) -> Result<T> {
    property.convert(convert)
}

/// The error for a property that must be there, of a type that cannot be asked what its absence means.
pub fn missing<T>(value: Option<T>, name: &str) -> Result<T> {
    value.ok_or_else(|| Error::invalid_response(format!("property `{name}`: it is missing")))
}

/// The error for a property that the entity does not declare.
pub fn unknown(property: &RowProperty<'_>) -> Error {
    Error::invalid_response(format!(
        "property `{}`: the entity does not declare it",
        property.name()
    ))
}

/// Keeps a property that the entity does not declare.
pub fn keep(extra: &mut BTreeMap<String, EdmValue>, property: &RowProperty<'_>) -> Result<()> {
    let value = property.convert(|value| value.to_edm().map(crate::Edm::into_owned))?;
    extra.insert(property.name().to_owned(), value);
    Ok(())
}

/// Writes the properties that were kept.
pub fn write_extra(properties: &mut PropertyWriter<'_>, extra: &BTreeMap<String, EdmValue>) -> Result<()> {
    extra.iter().try_for_each(|(name, value)| properties.value(name, value))
}

/// A row that does not read as the present struct goes to the upgrade of older rows.
pub fn upgrade<T>(row: &Row<'_>, read: Result<T>, upgrade: impl FnOnce(DynamicEntity) -> Result<T>) -> Result<T> {
    match read {
        Ok(read) => Ok(read),
        Err(_) => upgrade(DynamicEntity::read(row)?),
    }
}

/// Whether the keys of a row have this form.
pub fn has_form(row: &Row<'_>, shape: &KeyShape) -> bool {
    row.key_parts(shape).is_ok()
}

/// Whether a property of a row is this text.
pub fn has_tag(row: &Row<'_>, name: &str, tag: &str) -> bool {
    row.property(name)
        .is_some_and(|property| property.value().as_str().is_ok_and(|text| text == tag))
}

/// The error for a row that is no variant of an enum.
pub fn no_variant<T>(name: &str) -> Result<T> {
    Err(Error::invalid_response(format!("the row is no variant of `{name}`")))
}

/// What stands for the key fields of an enum, whose variants differ: no tuple fits it.
#[derive(Debug)]
pub enum VariantKeys {}
