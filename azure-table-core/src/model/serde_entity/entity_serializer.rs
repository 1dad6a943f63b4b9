//! The members of an entity, from whatever serializes as a struct or a map.

use std::borrow::Cow;
use std::mem;

use serde::Serialize;
use serde::ser::{Impossible, SerializeMap, SerializeStruct, Serializer};

use crate::model::edm::Edm;
use crate::model::serde_entity::value_serializer::{Target, ValueSerializer};
use crate::model::serde_entity::write_error::WriteError;

/// Takes the members of an entity.
pub(super) trait Fields {
    fn field<V: Serialize + ?Sized>(&mut self, name: Cow<'static, str>, value: &V) -> Result<(), WriteError>;
}

/// Passes the members of an entity to `F`.
pub(super) struct EntitySerializer<'f, F>(pub(super) &'f mut F);

/// The members of a struct or of a map.
pub(super) struct Members<'f, F> {
    fields: &'f mut F,
    /// The name of a map entry whose value comes next.
    name: String,
}

impl<'f, F> EntitySerializer<'f, F> {
    fn members(self) -> Members<'f, F> {
        Members {
            fields: self.0,
            name: String::new(),
        }
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
        name.serialize(ValueSerializer(NameTarget(&mut self.name)))
    }

    fn serialize_value<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), WriteError> {
        self.fields.field(Cow::Owned(mem::take(&mut self.name)), value)
    }

    fn end(self) -> Result<(), WriteError> {
        Ok(())
    }
}

/// Receives the name of a map entry.
struct NameTarget<'n>(&'n mut String);

impl Target for NameTarget<'_> {
    fn is_annotated(&self) -> bool {
        true
    }

    fn put(self, value: &Edm<'_>) -> Result<(), WriteError> {
        match value {
            Edm::String(text) => {
                self.0.push_str(text);
                Ok(())
            }
            _ => Err(WriteError::reason("the name of a property is not text")),
        }
    }
}

/// Returns the error of a value that is no entity.
fn no_members(what: &str) -> WriteError {
    WriteError::reason(format!(
        "an entity is a struct or a map of named values, this is {what}"
    ))
}

/// Returns the error of a variant whose name would enclose its members.
fn untagged(variant: &str) -> WriteError {
    WriteError::reason(format!(
        "the variant `{variant}` would enclose its members; give the enum #[serde(tag = \"Kind\")], which stores the \
         name as a property"
    ))
}

/// The serializer of values that are rejected. It is never constructed.
type No = Impossible<(), WriteError>;

macro_rules! no_members {
    ($($method:ident $type:ty, $what:literal;)*) => {$(
        fn $method(self, _: $type) -> Result<(), WriteError> {
            Err(no_members($what))
        }
    )*};
}

impl<'f, F: Fields> Serializer for EntitySerializer<'f, F> {
    type Ok = ();
    type Error = WriteError;
    type SerializeSeq = No;
    type SerializeTuple = No;
    type SerializeTupleStruct = No;
    type SerializeTupleVariant = No;
    type SerializeMap = Members<'f, F>;
    type SerializeStruct = Members<'f, F>;
    type SerializeStructVariant = No;

    no_members! {
        serialize_bool bool, "a boolean";
        serialize_i8 i8, "a number";
        serialize_i16 i16, "a number";
        serialize_i32 i32, "a number";
        serialize_i64 i64, "a number";
        serialize_i128 i128, "a number";
        serialize_u8 u8, "a number";
        serialize_u16 u16, "a number";
        serialize_u32 u32, "a number";
        serialize_u64 u64, "a number";
        serialize_u128 u128, "a number";
        serialize_f32 f32, "a number";
        serialize_f64 f64, "a number";
        serialize_char char, "text";
        serialize_str &str, "text";
        serialize_bytes &[u8], "bytes";
        serialize_unit_struct &'static str, "a struct without fields";
    }

    fn serialize_none(self) -> Result<(), WriteError> {
        Err(no_members("`None`"))
    }

    fn serialize_some<V: Serialize + ?Sized>(self, value: &V) -> Result<(), WriteError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), WriteError> {
        Err(no_members("`()`"))
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), WriteError> {
        Err(untagged(variant))
    }

    fn serialize_newtype_struct<V: Serialize + ?Sized>(self, _: &'static str, value: &V) -> Result<(), WriteError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<V: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: &V,
    ) -> Result<(), WriteError> {
        Err(untagged(variant))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<No, WriteError> {
        Err(no_members("a list"))
    }

    fn serialize_tuple(self, _: usize) -> Result<No, WriteError> {
        Err(no_members("a tuple"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<No, WriteError> {
        Err(no_members("a tuple"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<No, WriteError> {
        Err(untagged(variant))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members<'f, F>, WriteError> {
        Ok(self.members())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members<'f, F>, WriteError> {
        Ok(self.members())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<No, WriteError> {
        Err(untagged(variant))
    }
}
