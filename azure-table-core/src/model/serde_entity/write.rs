//! Serializes a value to keys and properties.
//!
//! Owns the choice between keys, properties and members that are not sent. A value is serialized twice: first for its
//! keys and to find names that occur twice, then for its properties. The types of values are `value_serializer.rs`.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Serialize;

use crate::model::edm::Edm;
use crate::model::error::{Error, Result};
use crate::model::key_shape::KeyWriter;
use crate::model::property_writer::PropertyWriter;
use crate::model::serde_entity::entity_serializer::{EntitySerializer, Fields};
use crate::model::serde_entity::value_serializer::{Target, ValueSerializer};
use crate::model::serde_entity::write_error::WriteError;

/// Writes the two keys of `value`, which is a `type_name`.
pub(super) fn key<T: Serialize + ?Sized>(value: &T, keys: &mut KeyWriter, type_name: &str) -> Result<()> {
    let mut fields = KeyFields {
        keys,
        names: HashSet::new(),
        has_partition_key: false,
        has_row_key: false,
        row_key: None,
    };
    value
        .serialize(EntitySerializer(&mut fields))
        .map_err(WriteError::into_error)?;
    for (name, is_there) in [
        ("PartitionKey", fields.has_partition_key),
        ("RowKey", fields.has_row_key),
    ] {
        if !is_there {
            return Err(Error::invalid_input(format!(
                "{name}: `{type_name}` has no value of this name; give it a string field with #[serde(rename = \
                 \"{name}\")]"
            )));
        }
    }
    Ok(())
}

/// Writes everything of `value` that is a property.
pub(super) fn properties<T: Serialize + ?Sized>(
    value: &T,
    writer: &mut PropertyWriter<'_>,
    annotated: bool,
) -> Result<()> {
    let mut fields = PropertyFields { writer, annotated };
    value
        .serialize(EntitySerializer(&mut fields))
        .map_err(WriteError::into_error)
}

/// Collects the keys, in either order.
struct KeyFields<'k> {
    keys: &'k mut KeyWriter,
    /// The names of all members. `#[serde(flatten)]` and `#[serde(tag)]` can repeat one.
    names: HashSet<Cow<'static, str>>,
    has_partition_key: bool,
    has_row_key: bool,
    /// A RowKey that came before the PartitionKey.
    row_key: Option<String>,
}

impl Fields for KeyFields<'_> {
    fn field<V: Serialize + ?Sized>(&mut self, name: Cow<'static, str>, value: &V) -> Result<(), WriteError> {
        if self.names.contains(&name) {
            let reason = "the value has two members of this name; rename one with #[serde(rename = \"…\")]";
            return Err(WriteError::reason(reason).at(name));
        }
        let is_partition_key = name == "PartitionKey";
        if is_partition_key || name == "RowKey" {
            let target = KeyTarget {
                fields: self,
                is_partition_key,
            };
            value.serialize(ValueSerializer(target)).map_err(|e| e.at(&name))?;
        }
        self.names.insert(name);
        Ok(())
    }
}

impl KeyFields<'_> {
    fn partition_key(&mut self, text: &str) -> Result<()> {
        self.has_partition_key = true;
        self.keys.field(text)?;
        self.row_key.take().map_or(Ok(()), |row_key| self.keys.field(&row_key))
    }

    fn row_key(&mut self, text: &str) -> Result<()> {
        self.has_row_key = true;
        if self.has_partition_key {
            return self.keys.field(text);
        }
        self.row_key = Some(text.to_owned());
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
        let target = PropertyTarget {
            writer: self.writer,
            name,
            annotated: self.annotated,
        };
        value
            .serialize(ValueSerializer(target))
            .map_err(|e| e.at(format_args!("property `{name}`")))
    }
}

struct PropertyTarget<'f, 'w> {
    writer: &'f mut PropertyWriter<'w>,
    name: &'f str,
    annotated: bool,
}

impl Target for PropertyTarget<'_, '_> {
    fn is_annotated(&self) -> bool {
        self.annotated
    }

    fn put(self, value: &Edm<'_>) -> Result<(), WriteError> {
        if self.annotated {
            self.writer.value(self.name, value)
        } else {
            self.writer.plain(self.name, value)
        }
        .map_err(WriteError::Located)
    }
}

struct KeyTarget<'f, 'k> {
    fields: &'f mut KeyFields<'k>,
    is_partition_key: bool,
}

impl Target for KeyTarget<'_, '_> {
    fn is_annotated(&self) -> bool {
        true
    }

    fn put(self, value: &Edm<'_>) -> Result<(), WriteError> {
        let Edm::String(text) = value else {
            let reason = format!("expected text, found {}; make it a string field", value.edm_type());
            return Err(WriteError::reason(reason));
        };
        if self.is_partition_key {
            self.fields.partition_key(text)
        } else {
            self.fields.row_key(text)
        }
        .map_err(WriteError::Located)
    }
}
