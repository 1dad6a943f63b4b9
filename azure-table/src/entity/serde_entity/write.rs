//! Serializes a value to keys and properties.
//!
//! It separates keys, properties and members that are not sent. A value is serialized twice: first for its keys and to
//! find names that occur twice, then for its properties. `value_serializer.rs` has the types of values.

use std::borrow::Cow;
use std::collections::HashSet;

use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::edm::Edm;
use serde::Serialize;

use crate::entity::property_writer::PropertyWriter;
use crate::entity::serde_entity::entity_serializer::{Entity, Fields};
use crate::entity::serde_entity::value_serializer::{Single, ValueSerializer};
use crate::entity::serde_entity::write_error::WriteError;
use crate::key::key_shape::KeyWriter;

const KEYS: [&str; 2] = ["PartitionKey", "RowKey"];

/// Writes the two keys of `value`, which is a `type_name`.
pub(super) fn key<T: Serialize + ?Sized>(value: &T, keys: &mut KeyWriter, type_name: &str) -> Result<()> {
    let mut fields = KeyFields::default();
    value
        .serialize(ValueSerializer(Entity(&mut fields)))
        .map_err(WriteError::into_error)?;
    for (name, text) in KEYS.into_iter().zip(fields.keys) {
        let text = text.ok_or_else(|| {
            Error::invalid_input(format!(
                "{name}: `{type_name}` has no value of this name; give it a string field with #[serde(rename = \
                 \"{name}\")]"
            ))
        })?;
        keys.field(&text)?;
    }
    Ok(())
}

/// Writes the members of `value` that are properties.
pub(super) fn properties<T: Serialize + ?Sized>(
    value: &T,
    writer: &mut PropertyWriter<'_>,
    annotated: bool,
) -> Result<()> {
    let mut fields = PropertyFields { writer, annotated };
    value
        .serialize(ValueSerializer(Entity(&mut fields)))
        .map_err(WriteError::into_error)
}

/// Collects the keys, in either order.
#[derive(Default)]
struct KeyFields {
    /// The names of all members. `#[serde(flatten)]` and `#[serde(tag)]` can repeat one.
    names: HashSet<Cow<'static, str>>,
    /// The texts of [`KEYS`].
    keys: [Option<String>; 2],
}

impl Fields for KeyFields {
    fn field<V: Serialize + ?Sized>(&mut self, name: Cow<'static, str>, value: &V) -> Result<(), WriteError> {
        if self.names.contains(&name) {
            let reason = "the value has two members of this name; rename one with #[serde(rename = \"…\")]";
            return Err(WriteError::reason(reason).at(name));
        }
        if let Some(key) = KEYS.iter().position(|key| *key == name) {
            let put = |value: &Edm<'_>| match value {
                Edm::String(text) => {
                    self.keys[key] = Some(text.to_string());
                    Ok(())
                }
                other => Err(WriteError::reason(format!(
                    "expected text, found {}; make it a string field",
                    other.edm_type()
                ))),
            };
            let place = Single {
                is_annotated: true,
                put,
            };
            value.serialize(ValueSerializer(place)).map_err(|e| e.at(&name))?;
        }
        self.names.insert(name);
        Ok(())
    }
}

/// Collects the properties.
struct PropertyFields<'f, 'w> {
    writer: &'f mut PropertyWriter<'w>,
    annotated: bool,
}

impl Fields for PropertyFields<'_, '_> {
    fn field<V: Serialize + ?Sized>(&mut self, name: Cow<'static, str>, value: &V) -> Result<(), WriteError> {
        let name = &*name;
        if matches!(name, "PartitionKey" | "RowKey" | "Timestamp") || name.starts_with("odata.") {
            return Ok(());
        }
        if name.contains('@') {
            let reason =
                "a field cannot be the annotation of another one; remove it, and use `.annotated()` on the table";
            return Err(WriteError::reason(reason).at(format_args!("property `{name}`")));
        }
        let put = |value: &Edm<'_>| {
            let written = if self.annotated {
                self.writer.value(name, value)
            } else {
                self.writer.plain(name, value)
            };
            written.map_err(WriteError::Located)
        };
        let place = Single {
            is_annotated: self.annotated,
            put,
        };
        value
            .serialize(ValueSerializer(place))
            .map_err(|e| e.at(format_args!("property `{name}`")))
    }
}
