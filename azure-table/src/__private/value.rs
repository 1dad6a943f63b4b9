//! The values of fields that are read, and of JSON that is written.
//!
//! Owns what becomes of a value that is absent, and the conversions of fields that are stored as JSON or in pieces.

use std::borrow::Cow;

use crate::__private::field::{FromJson, ToJson};
use crate::codec::json::embedded as json;
use crate::model::chunked::{self, Chunked};
use crate::model::edm::Edm;
use crate::model::error::{Error, Result, ValueError};
use crate::model::property::ReadProperty;
use crate::model::row::{Row, RowProperty};

/// Reads a property into its place.
///
/// Never inlined, as [`put`]: the optimizer would hold the values of all fields in registers on all paths of the
/// match by name. Its time would grow with a power of the number of fields.
#[inline(never)]
pub fn read<T: ReadProperty>(property: &RowProperty<'_>, place: &mut Option<T>) -> Result<()> {
    *place = Some(property.read()?);
    Ok(())
}

/// Keeps a value in its place.
#[inline(never)]
pub fn put<T>(place: &mut Option<T>, value: T) {
    *place = Some(value);
}

/// The value of a field whose property may not have come. In a group the name has a prefix.
pub fn required<T: ReadProperty>(value: Option<T>, prefix: &str, name: &str) -> Result<T> {
    missing(value.or_else(T::absent), prefix, name)
}

/// The error for a property that must be there, of a type that cannot be asked what its absence means.
pub fn missing<T>(value: Option<T>, prefix: &str, name: &str) -> Result<T> {
    value.ok_or_else(|| Error::invalid_response(format!("property `{prefix}{name}`: it is missing")))
}

/// The name of a property or a group inside of a group.
pub fn within<'n>(prefix: &str, name: &'n str) -> Cow<'n, str> {
    if prefix.is_empty() {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("{prefix}{name}"))
    }
}

/// The value stored in pieces under the first of these names that is there.
pub fn pieces<T: Chunked>(row: &Row<'_>, prefix: &str, names: &[&str]) -> Result<Option<T>> {
    let whole = names.iter().map(|name| within(prefix, name));
    let mut there = whole.filter(|whole| row.properties().iter().any(|p| chunked::owns(whole, p.name())));
    there.next().map(|whole| chunked::read(row, &whole)).transpose()
}

/// The value of a field that is stored in pieces, which may not have come.
pub fn required_pieces<T: Chunked>(value: Option<T>, prefix: &str, name: &str) -> Result<T> {
    missing(value.or_else(T::absent), prefix, name)
}

/// Reads a property as JSON into its place.
pub fn read_json<T: FromJson>(property: &RowProperty<'_>, place: &mut Option<T>) -> Result<()> {
    put(place, property.convert(json::from_wire)?);
    Ok(())
}

/// A value as JSON text. One whose JSON is `null`, as that of `None`, is absent.
pub fn json_to_edm<T: ToJson>(value: &T) -> std::result::Result<Option<Edm<'static>>, ValueError> {
    let value = json::to_edm(value)?;
    Ok(value.filter(|value| !matches!(value, Edm::String(text) if text == "null")))
}

/// The value of JSON that is absent.
pub fn json_absent<T: FromJson>() -> Option<T> {
    serde_json::from_str("null").ok()
}
