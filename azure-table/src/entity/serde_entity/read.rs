//! Deserializes a value from the properties of a row.
//!
//! This file decides which members a value receives, and their types in serde. All text is borrowed from the row.

use std::error::Error as StdError;
use std::fmt;

use azure_table_wire::codec::json::token::Scalar;
use azure_table_wire::error::{Error, Result, ValueError};
use azure_table_wire::value::edm::{EdmType, Token, WireValue, mismatch};
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, Expected, MapAccess, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

use crate::entity::row::{Row, RowProperty};

/// The greatest integer up to which a double holds every integer.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads a row as a `T`.
pub(super) fn row<T: DeserializeOwned>(row: &Row<'_>) -> Result<T> {
    T::deserialize(RowDeserializer(row)).map_err(|e| Error::invalid_response(e.text))
}

/// The reason why a row cannot be read.
#[derive(Debug)]
struct ReadError {
    text: String,
    /// `true` if the text names the property.
    is_located: bool,
}

impl ReadError {
    fn reason(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_located: false,
        }
    }

    /// Names the property, unless a deeper value did.
    fn at(self, name: &str) -> Self {
        if self.is_located {
            return self;
        }
        Self {
            text: format!("property `{name}`: {}", self.text),
            is_located: true,
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl StdError for ReadError {}

impl From<ValueError> for ReadError {
    fn from(error: ValueError) -> Self {
        Self::reason(error.to_string())
    }
}

impl de::Error for ReadError {
    fn custom<M: fmt::Display>(message: M) -> Self {
        Self::reason(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::reason(format!("expected {expected}, found {}", Found(found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn missing_field(name: &'static str) -> Self {
        Self {
            text: format!("property `{name}`: it is missing; make its field an Option, or give it #[serde(default)]"),
            is_located: true,
        }
    }
}

/// A value in an error. Text is not shown, since it may be long or private.
struct Found<'a>(Unexpected<'a>);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Unexpected::Str(_) => f.write_str("text"),
            Unexpected::Bytes(_) => f.write_str("bytes"),
            other => other.fmt(f),
        }
    }
}

/// A row as a struct or a map.
struct RowDeserializer<'de>(&'de Row<'de>);

impl<'de> Deserializer<'de> for RowDeserializer<'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_map(Members::new(self.0, None))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_map(Members::new(self.0, Some(fields)))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, ReadError> {
        Err(ReadError::reason(format!(
            "a property must distinguish the rows of the enum `{name}`: give it #[serde(tag = \"Kind\")]"
        )))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier
    }
}

/// The members of a row, in turn.
struct Members<'de> {
    /// Keys, Timestamp and ETag.
    system: std::array::IntoIter<(&'static str, Option<Value<'de>>), 4>,
    properties: std::slice::Iter<'de, RowProperty<'de>>,
    /// The member whose name was read last.
    member: Option<(&'de str, Value<'de>)>,
}

impl<'de> Members<'de> {
    /// Passes the service's own members to a struct only if it has `fields` with their names. Other structs may reject
    /// them.
    fn new(row: &'de Row<'de>, fields: Option<&'static [&'static str]>) -> Self {
        let member = |name, text: fn(&'de Row<'de>) -> Option<&'de str>, edm_type| {
            let is_wanted = fields.is_none_or(|fields| fields.contains(&name));
            let text = is_wanted.then(|| text(row)).flatten();
            (name, text.map(|text| Value::of_text(text, edm_type)))
        };
        let system = [
            member("PartitionKey", |row| row.partition_key.as_deref(), EdmType::String),
            member("RowKey", |row| row.row_key.as_deref(), EdmType::String),
            member("Timestamp", Row::timestamp_text, EdmType::DateTime),
            member("odata.etag", |row| row.etag.as_deref(), EdmType::String),
        ];
        Self {
            system: system.into_iter(),
            properties: row.properties.iter(),
            member: None,
        }
    }

    fn next(&mut self) -> Option<(&'de str, Value<'de>)> {
        let system = self.system.find_map(|(name, value)| Some((name, value?)));
        system.or_else(|| {
            self.properties
                .find_map(|property| Some((property.name(), Value::of(property)?)))
        })
    }
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        self.member = self.next();
        self.member
            .as_ref()
            .map(|(name, _)| seed.deserialize(BorrowedStrDeserializer::new(name)))
            .transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let (name, value) = self
            .member
            .take()
            .ok_or_else(|| ReadError::reason("a value was requested before its name"))?;
        seed.deserialize(value).map_err(|e| e.at(name))
    }
}

/// A value of a row.
struct Value<'de>(WireValue<'de>);

impl<'de> Value<'de> {
    fn of_text(text: &'de str, edm_type: EdmType) -> Self {
        Self(WireValue {
            annotation: Some(edm_type),
            token: Token::Text(text),
        })
    }

    fn of(property: &'de RowProperty<'_>) -> Option<Self> {
        (property.scalar != Scalar::Null).then(|| Self(property.value()))
    }

    /// Returns the integer that the double holds exactly, if any.
    fn integral(&self) -> Option<i64> {
        let is_double = match self.0.annotation {
            Some(edm_type) => edm_type == EdmType::Double,
            None => matches!(&self.0.token, Token::Number(digits) if digits.parse::<i128>().is_err()),
        };
        let value = is_double.then(|| self.0.as_f64().ok()).flatten()?;
        (value.fract() == 0.0 && value.abs() <= MAX_EXACT).then_some(value as i64)
    }

    fn integer<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.integral() {
            Some(value) => visitor.visit_i64(value),
            None => self.deserialize_any(visitor),
        }
    }

    /// Reads an `f32`. A double is rounded to the nearest one, since serde writes the shortest digits of an `f32`.
    fn single<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if let Ok(value) = self.0.as_i64()
            && value as f32 as i128 != i128::from(value)
        {
            let reason = format!("no f32 is {value} exactly; make it an f64 or an integer field");
            return Err(ReadError::reason(reason));
        }
        if let Ok(value) = self.0.as_f64()
            && value.is_finite()
            && !(value as f32).is_finite()
        {
            return Err(ReadError::reason(format!(
                "{value} is beyond the range of f32; make it an f64 field"
            )));
        }
        self.float(visitor)
    }

    fn float<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if self.0.annotation != Some(EdmType::Int64) {
            return match self.0.as_f64() {
                Ok(value) => visitor.visit_f64(value),
                Err(_) => self.deserialize_any(visitor),
            };
        }
        let value = self.0.as_i64()?;
        if value as f64 as i128 != i128::from(value) {
            return Err(ReadError::reason(format!(
                "no floating point number is the Edm.Int64 {value} exactly; make it an integer field"
            )));
        }
        visitor.visit_f64(value as f64)
    }

    fn text<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0.token {
            Token::Text(text) => visitor.visit_borrowed_str(text),
            _ => self.deserialize_any(visitor),
        }
    }
}

/// Returns the error for a field that holds more than one value.
fn not_single() -> ReadError {
    ReadError::reason(
        "a property holds a single value, the field is a list, a map or a struct; flatten it with #[serde(flatten)], read JSON \
         text with #[serde(with = \"azure_table::entity::json_text\")], or bytes with the crate serde_bytes",
    )
}

macro_rules! by {
    ($way:ident: $($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            self.$way(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let value = &self.0;
        match (value.annotation, &value.token) {
            (None, Token::Boolean(value)) => visitor.visit_bool(*value),
            // Digits without a type annotation.
            (None, Token::Number(digits)) => match (digits.parse(), digits.parse()) {
                (Ok(integer), _) => visitor.visit_i64(integer),
                (_, Ok(integer)) => visitor.visit_u64(integer),
                _ => visitor.visit_f64(value.as_f64()?),
            },
            (None | Some(EdmType::String | EdmType::DateTime | EdmType::Guid), Token::Text(text)) => {
                visitor.visit_borrowed_str(text)
            }
            (Some(EdmType::Boolean), _) => visitor.visit_bool(value.as_bool()?),
            (Some(EdmType::Int32 | EdmType::Int64), _) => visitor.visit_i64(value.as_i64()?),
            (Some(EdmType::Double), _) => visitor.visit_f64(value.as_f64()?),
            (Some(EdmType::Binary), _) => visitor.visit_byte_buf(value.as_binary()?),
            _ => Err(mismatch(value, "text").into()),
        }
    }

    by! { integer: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
    deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 }
    by! { single: deserialize_f32 }
    by! { float: deserialize_f64 }
    by! { text: deserialize_str deserialize_string deserialize_char deserialize_identifier }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.0.token {
            Token::Text(text) => visitor.visit_enum(BorrowedStrDeserializer::new(text)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }

    fn deserialize_seq<V: Visitor<'de>>(self, _: V) -> Result<V::Value, ReadError> {
        Err(not_single())
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, ReadError> {
        Err(not_single())
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(self, _: &'static str, _: usize, _: V) -> Result<V::Value, ReadError> {
        Err(not_single())
    }

    fn deserialize_map<V: Visitor<'de>>(self, _: V) -> Result<V::Value, ReadError> {
        Err(not_single())
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, ReadError> {
        Err(not_single())
    }

    forward_to_deserialize_any! { bool bytes byte_buf unit unit_struct }
}
