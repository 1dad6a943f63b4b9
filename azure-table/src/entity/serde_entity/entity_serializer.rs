//! The members of an entity, from any value that serializes as a struct or a map.

use std::borrow::Cow;
use std::mem;

use azure_table_wire::value::edm::Edm;
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeStruct};

use crate::entity::serde_entity::value_serializer::{Place, Single, ValueSerializer};
use crate::entity::serde_entity::write_error::WriteError;

/// Takes the members of an entity.
pub(super) trait Fields {
    fn field<V: Serialize + ?Sized>(&mut self, name: Cow<'static, str>, value: &V) -> Result<(), WriteError>;
}

/// The place of an entity. `F` takes its members.
pub(super) struct Entity<'f, F>(pub(super) &'f mut F);

/// The members of a struct or of a map.
pub(super) struct Members<'f, F> {
    fields: &'f mut F,
    /// The name of a map entry whose value comes next.
    name: String,
}

impl<'f, F: Fields> Place for Entity<'f, F> {
    type Members = Members<'f, F>;

    fn is_annotated(&self) -> bool {
        true
    }

    fn put(self, value: &Edm<'_>) -> Result<(), WriteError> {
        Err(Self::reject(match value {
            Edm::Boolean(_) => "a boolean",
            Edm::String(_) => "text",
            Edm::Binary(_) => "bytes",
            _ => "a number",
        }))
    }

    fn absent(self, what: &str) -> Result<(), WriteError> {
        Err(Self::reject(what))
    }

    fn unit_variant(self, name: &str) -> Result<(), WriteError> {
        Err(Self::reject_variant(name, ""))
    }

    fn members(self, _: &str) -> Result<Members<'f, F>, WriteError> {
        Ok(Members {
            fields: self.0,
            name: String::new(),
        })
    }

    fn reject(what: &str) -> WriteError {
        WriteError::reason(format!(
            "an entity is a struct or a map of named values, this is {what}"
        ))
    }

    fn reject_variant(name: &str, _: &str) -> WriteError {
        WriteError::reason(format!(
            "the variant `{name}` would enclose its members; give the enum #[serde(tag = \"Kind\")], which stores the \
             name as a property"
        ))
    }
}

impl<F: Fields> SerializeStruct for Members<'_, F> {
    type Ok = ();
    type Error = WriteError;

    fn serialize_field<V: Serialize + ?Sized>(&mut self, name: &'static str, value: &V) -> Result<(), WriteError> {
        self.fields.field(Cow::Borrowed(name), value)
    }

    fn end(self) -> Result<(), WriteError> {
        Ok(())
    }
}

impl<F: Fields> SerializeMap for Members<'_, F> {
    type Ok = ();
    type Error = WriteError;

    fn serialize_key<K: Serialize + ?Sized>(&mut self, name: &K) -> Result<(), WriteError> {
        let put = |value: &Edm<'_>| match value {
            Edm::String(text) => {
                self.name.push_str(text);
                Ok(())
            }
            _ => Err(WriteError::reason("the name of a property is not text")),
        };
        name.serialize(ValueSerializer(Single {
            is_annotated: true,
            put,
        }))
    }

    fn serialize_value<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), WriteError> {
        self.fields.field(Cow::Owned(mem::take(&mut self.name)), value)
    }

    fn end(self) -> Result<(), WriteError> {
        Ok(())
    }
}
