//! One value of serde's data model, as an EDM value or as the members of an entity.
//!
//! This file has the rules of the types. The [`Place`] of a value decides which types it may have.

use std::borrow::Cow;
use std::fmt;

use azure_table_wire::value::edm::Edm;
use serde::Serialize;
use serde::ser::{Impossible, SerializeMap, SerializeStruct, Serializer};

use crate::entity::serde_entity::write_error::WriteError;

/// The place of a value: a property, a key, or the entity itself.
pub(super) trait Place: Sized {
    /// The members of a struct or a map.
    type Members: SerializeStruct<Ok = (), Error = WriteError> + SerializeMap<Ok = (), Error = WriteError>;

    /// Returns `true` if values are written with the EDM types of their Rust types.
    fn is_annotated(&self) -> bool;

    fn put(self, value: &Edm<'_>) -> Result<(), WriteError>;

    /// Takes `None` or a value without content.
    fn absent(self, what: &str) -> Result<(), WriteError>;

    fn unit_variant(self, name: &str) -> Result<(), WriteError>;

    fn members(self, what: &str) -> Result<Self::Members, WriteError>;

    /// Returns the error of a list or a tuple.
    fn reject(what: &str) -> WriteError;

    /// Returns the error of a variant with content.
    fn reject_variant(name: &str, content: &str) -> WriteError;
}

/// Serializes one value to its place.
pub(super) struct ValueSerializer<P>(pub(super) P);

/// The place of a property or a key, which has a single value. `put` takes it.
pub(super) struct Single<P> {
    /// Values are written with the EDM types of their Rust types.
    pub(super) is_annotated: bool,
    pub(super) put: P,
}

/// The serializer of values that are rejected. It is never constructed.
type No = Impossible<(), WriteError>;

impl<P: FnOnce(&Edm<'_>) -> Result<(), WriteError>> Place for Single<P> {
    type Members = No;

    fn is_annotated(&self) -> bool {
        self.is_annotated
    }

    fn put(self, value: &Edm<'_>) -> Result<(), WriteError> {
        (self.put)(value)
    }

    fn absent(self, _: &str) -> Result<(), WriteError> {
        Ok(())
    }

    fn unit_variant(self, name: &str) -> Result<(), WriteError> {
        self.put(&Edm::String(Cow::Borrowed(name)))
    }

    fn members(self, what: &str) -> Result<No, WriteError> {
        Err(Self::reject(what))
    }

    fn reject(what: &str) -> WriteError {
        WriteError::reason(format!(
            "a property holds a single value, this is {what}; flatten it with #[serde(flatten)], or store it as JSON text with \
             #[serde(with = \"azure_table::entity::json_text\")]"
        ))
    }

    fn reject_variant(name: &str, content: &str) -> WriteError {
        Self::reject(&format!("the variant `{name}` with {content}"))
    }
}

impl<P: Place> ValueSerializer<P> {
    /// Serializes an integer of a type that `is_wide`: wider than Edm.Int32.
    fn integer(self, value: i128, is_wide: bool) -> Result<(), WriteError> {
        if self.0.is_annotated() && is_wide {
            return match i64::try_from(value) {
                Ok(value) => self.0.put(&Edm::Int64(value)),
                Err(_) => Err(beyond_int64(value)),
            };
        }
        match i32::try_from(value) {
            Ok(value) => self.0.put(&Edm::Int32(value)),
            Err(_) => Err(WriteError::reason(format!(
                "{value} is beyond Edm.Int32, {} to {}, and plain JSON has no larger integers; use `.annotated()` on the \
                 table, which stores Edm.Int64",
                i32::MIN,
                i32::MAX,
            ))),
        }
    }

    fn double(self, value: f64) -> Result<(), WriteError> {
        if !value.is_finite() && !self.0.is_annotated() {
            return Err(WriteError::reason(format!(
                "plain JSON has no form for {value}; use `.annotated()` on the table, which stores it as Edm.Double"
            )));
        }
        self.0.put(&Edm::Double(value))
    }
}

fn beyond_int64(value: impl fmt::Display) -> WriteError {
    WriteError::reason(format!(
        "{value} is beyond Edm.Int64, {} to {}; store it as text",
        i64::MIN,
        i64::MAX
    ))
}

macro_rules! integers {
    ($($method:ident $type:ty, $is_wide:literal;)*) => {$(
        fn $method(self, value: $type) -> Result<(), WriteError> {
            self.integer(value.into(), $is_wide)
        }
    )*};
}

impl<P: Place> Serializer for ValueSerializer<P> {
    type Ok = ();
    type Error = WriteError;
    type SerializeSeq = No;
    type SerializeTuple = No;
    type SerializeTupleStruct = No;
    type SerializeTupleVariant = No;
    type SerializeMap = P::Members;
    type SerializeStruct = P::Members;
    type SerializeStructVariant = No;

    integers! {
        serialize_i8 i8, false;
        serialize_i16 i16, false;
        serialize_i32 i32, false;
        serialize_i64 i64, true;
        serialize_i128 i128, true;
        serialize_u8 u8, false;
        serialize_u16 u16, false;
        serialize_u32 u32, true;
        serialize_u64 u64, true;
    }

    fn serialize_u128(self, value: u128) -> Result<(), WriteError> {
        let value = i128::try_from(value).map_err(|_| beyond_int64(value))?;
        self.integer(value, true)
    }

    fn serialize_bool(self, value: bool) -> Result<(), WriteError> {
        self.0.put(&Edm::Boolean(value))
    }

    fn serialize_f32(self, value: f32) -> Result<(), WriteError> {
        let widened = f64::from(value);
        if self.0.is_annotated() || !widened.is_finite() {
            return self.double(widened);
        }
        // The shortest digits of the f32, as serde_json writes them.
        self.double(value.to_string().parse().unwrap_or(widened))
    }

    fn serialize_f64(self, value: f64) -> Result<(), WriteError> {
        self.double(value)
    }

    fn serialize_char(self, value: char) -> Result<(), WriteError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), WriteError> {
        self.0.put(&Edm::String(Cow::Borrowed(value)))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), WriteError> {
        if !self.0.is_annotated() {
            return Err(WriteError::reason(
                "plain JSON has no form for bytes; use `.annotated()` on the table, which stores Edm.Binary",
            ));
        }
        self.0.put(&Edm::Binary(Cow::Borrowed(value)))
    }

    fn serialize_none(self) -> Result<(), WriteError> {
        self.0.absent("`None`")
    }

    fn serialize_some<V: Serialize + ?Sized>(self, value: &V) -> Result<(), WriteError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), WriteError> {
        self.0.absent("`()`")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), WriteError> {
        self.0.absent("a struct without fields")
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), WriteError> {
        self.0.unit_variant(variant)
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
        Err(P::reject_variant(variant, "a value"))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<No, WriteError> {
        Err(P::reject("a list"))
    }

    fn serialize_tuple(self, _: usize) -> Result<No, WriteError> {
        Err(P::reject("a tuple"))
    }

    fn serialize_tuple_struct(self, name: &'static str, _: usize) -> Result<No, WriteError> {
        Err(P::reject(&format!("the tuple `{name}`")))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<No, WriteError> {
        Err(P::reject_variant(variant, "values"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<P::Members, WriteError> {
        self.0.members("a map")
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<P::Members, WriteError> {
        self.0.members(&format!("the struct `{name}`"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<No, WriteError> {
        Err(P::reject_variant(variant, "fields"))
    }
}
