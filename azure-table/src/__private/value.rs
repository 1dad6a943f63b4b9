//! The values of fields that are read, and of JSON that is written.
//!
//! It handles absent values, and converts fields that are stored as JSON or in pieces.

use azure_table_wire::error::{Error, Result, ValueError};
use azure_table_wire::value::edm::Edm;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::entity::embedded_json as json;
use crate::entity::property::ReadProperty;
use crate::entity::row::RowProperty;
use crate::entity::row::members::RowMembers;

/// Reads the value of the current field into `place`.
///
/// Never inlined, like [`put`]: the optimizer would hold the values of all fields in registers on all paths of the
/// match by index. Compile time would grow with a power of the number of fields.
#[inline(never)]
pub fn read<T: ReadProperty>(members: &mut RowMembers<'_, '_>, place: &mut Option<T>) -> Result<()> {
    if let Some(value) = members.value()? {
        *place = Some(T::from_wire(value).map_err(|e| members.rejected(&e))?);
    }
    Ok(())
}

/// Stores a value in `place`.
#[inline(never)]
pub fn put<T>(place: &mut Option<T>, value: T) {
    *place = Some(value);
}

/// Returns the value of a field whose property may be absent. In a group the name has a prefix.
pub fn required<T: ReadProperty>(value: Option<T>, prefix: &str, name: &str) -> Result<T> {
    missing(value.or_else(T::absent), prefix, name)
}

/// Returns the value of a required property, or an error. For types without a value for an absent property.
pub fn missing<T>(value: Option<T>, prefix: &str, name: &str) -> Result<T> {
    value.ok_or_else(|| Error::invalid_response(format!("property `{prefix}{name}`: it is missing")))
}

/// Reads a property as JSON into `place`.
pub fn read_json<T: DeserializeOwned>(property: &RowProperty<'_>, place: &mut Option<T>) -> Result<()> {
    put(place, property.convert(json::from_wire)?);
    Ok(())
}

/// Encodes a value as JSON text. A value whose JSON is `null`, such as `None`, is absent.
pub fn json_to_edm<T: Serialize>(value: &T) -> std::result::Result<Option<Edm<'static>>, ValueError> {
    let value = json::to_edm(value)?;
    Ok(value.filter(|value| !matches!(value, Edm::String(text) if text == "null")))
}

/// Returns the value for absent JSON.
pub fn json_absent<T: DeserializeOwned>() -> Option<T> {
    serde_json::from_str("null").ok()
}
