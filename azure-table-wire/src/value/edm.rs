//! The eight value types of the service (EDM, the Entity Data Model) and values of them.
//!
//! Defines [`EdmType`], [`Edm`] and [`EdmValue`], and [`WireValue`] (a received value before it has a Rust type).
//! `codec/json` writes values as JSON, `filter/literal.rs` as filter text.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{self, MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{ValueError, expected};
use crate::value::datetime::{self, DateTime};
use crate::value::guid::Guid;

/// The type of a property in the service.
///
/// Source: REST "Understanding the Table service data model", property types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[repr(usize)] // Values move as whole words: a byte that is copied as a part of a word stalls the processor.
pub enum EdmType {
    /// Text of up to 32,768 UTF-16 units.
    String,
    /// `true` or `false`.
    Boolean,
    /// A signed integer of 32 bits.
    Int32,
    /// A signed integer of 64 bits.
    Int64,
    /// An IEEE 754 number of 64 bits.
    Double,
    /// UTC time in steps of 100 ns, from the year 1601.
    DateTime,
    /// A GUID.
    Guid,
    /// Up to 65,536 bytes.
    Binary,
}

impl EdmType {
    /// Returns the name on the wire, such as `Edm.Int64`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "Edm.String",
            Self::Boolean => "Edm.Boolean",
            Self::Int32 => "Edm.Int32",
            Self::Int64 => "Edm.Int64",
            Self::Double => "Edm.Double",
            Self::DateTime => "Edm.DateTime",
            Self::Guid => "Edm.Guid",
            Self::Binary => "Edm.Binary",
        }
    }

    /// Returns the type with this name on the wire, or `None` for an unknown name.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "Edm.String" => Self::String,
            "Edm.Boolean" => Self::Boolean,
            "Edm.Int32" => Self::Int32,
            "Edm.Int64" => Self::Int64,
            "Edm.Double" => Self::Double,
            "Edm.DateTime" => Self::DateTime,
            "Edm.Guid" => Self::Guid,
            "Edm.Binary" => Self::Binary,
            _ => return None,
        })
    }
}

impl fmt::Display for EdmType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A value with its EDM type. Text and bytes may be borrowed, so that writing an entity copies nothing.
///
/// [`EdmValue`] is the owned form.
#[derive(Clone, Debug, PartialEq)]
pub enum Edm<'a> {
    /// Edm.String.
    String(Cow<'a, str>),
    /// Edm.Boolean.
    Boolean(bool),
    /// Edm.Int32.
    Int32(i32),
    /// Edm.Int64.
    Int64(i64),
    /// Edm.Double.
    Double(f64),
    /// Edm.DateTime.
    DateTime(DateTime),
    /// Edm.Guid.
    Guid(Guid),
    /// Edm.Binary.
    Binary(Cow<'a, [u8]>),
}

/// An owned value with its EDM type.
///
/// ```
/// use azure_table::{EdmType, EdmValue};
/// let value = EdmValue::from(5_i64);
/// assert_eq!(value.edm_type(), EdmType::Int64);
/// ```
pub type EdmValue = Edm<'static>;

impl Edm<'_> {
    /// Returns the type of the value.
    #[inline]
    pub fn edm_type(&self) -> EdmType {
        match self {
            Self::String(_) => EdmType::String,
            Self::Boolean(_) => EdmType::Boolean,
            Self::Int32(_) => EdmType::Int32,
            Self::Int64(_) => EdmType::Int64,
            Self::Double(_) => EdmType::Double,
            Self::DateTime(_) => EdmType::DateTime,
            Self::Guid(_) => EdmType::Guid,
            Self::Binary(_) => EdmType::Binary,
        }
    }

    /// Returns the same value with its text or bytes owned.
    pub fn into_owned(self) -> EdmValue {
        match self {
            Self::String(text) => Edm::String(Cow::Owned(text.into_owned())),
            Self::Binary(bytes) => Edm::Binary(Cow::Owned(bytes.into_owned())),
            Self::Boolean(value) => Edm::Boolean(value),
            Self::Int32(value) => Edm::Int32(value),
            Self::Int64(value) => Edm::Int64(value),
            Self::Double(value) => Edm::Double(value),
            Self::DateTime(value) => Edm::DateTime(value),
            Self::Guid(value) => Edm::Guid(value),
        }
    }
}

/// Writes only the value: text unchanged, times in ISO 8601, bytes in base64.
///
/// ```
/// use azure_table::EdmValue;
/// assert_eq!(EdmValue::from(5.0).to_string(), "5.0");
/// assert_eq!(EdmValue::from("O'Brien").to_string(), "O'Brien");
/// ```
impl fmt::Display for Edm<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String(text) => f.pad(text),
            Self::Boolean(value) => value.fmt(f),
            Self::Int32(value) => value.fmt(f),
            Self::Int64(value) => value.fmt(f),
            Self::Double(value) => f.pad(&double_text(*value)),
            Self::DateTime(value) => f.pad(&value.to_string()),
            Self::Guid(value) => f.pad(&value.to_string()),
            Self::Binary(bytes) => f.pad(&base64_text(bytes)),
        }
    }
}

/// Serializes a map with one entry, from type to value: `{"Edm.Int64":"5"}`. Int64, Double, DateTime, Guid and Binary
/// are text, so that no format rounds them.
impl Serialize for Edm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        let name = self.edm_type().name();
        match self {
            Self::Boolean(value) => map.serialize_entry(name, value)?,
            Self::Int32(value) => map.serialize_entry(name, value)?,
            value => map.serialize_entry(name, &value.to_string())?,
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for EdmValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EdmVisitor)
    }
}

struct EdmVisitor;

impl<'de> Visitor<'de> for EdmVisitor {
    type Value = EdmValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of one entry from an Edm type to a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<EdmValue, A::Error> {
        let name: String = map
            .next_key()?
            .ok_or_else(|| de::Error::invalid_length(0, &"one entry"))?;
        let edm_type = EdmType::from_name(&name)
            .ok_or_else(|| de::Error::custom(format_args!("unknown property type {name:?}")))?;
        let text;
        let token = match edm_type {
            EdmType::Boolean => Token::Boolean(map.next_value()?),
            EdmType::Int32 => {
                text = map.next_value::<i32>()?.to_string();
                Token::Number(&text)
            }
            _ => {
                text = map.next_value()?;
                Token::Text(&text)
            }
        };
        let value = WireValue {
            annotation: Some(edm_type),
            token,
        };
        let value = value.to_edm().map(Edm::into_owned).map_err(de::Error::custom)?;
        if map.next_key::<de::IgnoredAny>()?.is_some() {
            return Err(de::Error::custom("more than one entry"));
        }
        Ok(value)
    }
}

macro_rules! from {
    ($($variant:ident: $type:ty),* $(,)?) => {$(
        impl From<$type> for EdmValue {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}
from! { String: String, Boolean: bool, Int32: i32, Int64: i64, Double: f64, DateTime: DateTime, Guid: Guid, Binary: Vec<u8> }

impl From<&str> for EdmValue {
    fn from(value: &str) -> Self {
        Self::String(Cow::Owned(value.to_owned()))
    }
}

/// A received property value: a JSON token, and its type annotation if the response has one.
///
/// A `ReadProperty` turns it into a Rust value. At metadata level `none` there are no annotations: Int64, DateTime,
/// Guid and Binary arrive as plain text, like String. A value that arrives as text is therefore parsed from it,
/// whatever its annotation, so that every read of a row has the same result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WireValue<'a> {
    #[doc(hidden)]
    pub annotation: Option<EdmType>,
    #[doc(hidden)]
    pub token: Token<'a>,
}

/// A JSON value that a property can have.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(usize)] // See `EdmType`.
pub enum Token<'a> {
    Null,
    Boolean(bool),
    /// The digits as received, so that `5` and `5.0` stay distinct and no double is rounded twice.
    Number(&'a str),
    Text(&'a str),
    /// Text with half of a surrogate pair, which the service stores and no `str` can hold.
    HalfPair,
}

/// Returns the shortest digits that read back as the same double; NaN and the infinities by their names.
///
/// The digits have a decimal point, because the service reads a number without one as an integer.
pub fn double_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    let mut text = format!("{value:?}");
    if !text.contains('.') {
        let exponent = text.find('e').unwrap_or(text.len());
        text.insert_str(exponent, ".0");
    }
    text
}

/// Returns the text of an Edm.Binary.
pub(crate) fn base64_text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

impl<'a> WireValue<'a> {
    /// Returns the annotated EDM type of the value, if the response has one.
    #[inline]
    pub fn annotation(&self) -> Option<EdmType> {
        self.annotation
    }

    /// Returns the value with its EDM type: the annotated one, or else the one that JSON shows.
    ///
    /// Without an annotation, text is a string, and `true` and `false` are booleans. Digits without point or exponent
    /// are Int32 if they fit. Other numbers are doubles.
    ///
    /// # Errors
    /// The text does not fit the annotated type, or the value is `null`.
    pub fn to_edm(&self) -> Result<Edm<'a>, ValueError> {
        let assumed = match &self.token {
            Token::Null | Token::HalfPair => return Err(mismatch(self, "a value")),
            Token::Boolean(_) => EdmType::Boolean,
            Token::Text(_) => EdmType::String,
            Token::Number(digits) => match digits.parse::<i32>() {
                Ok(_) => EdmType::Int32,
                Err(_) => EdmType::Double,
            },
        };
        Ok(match self.annotation.unwrap_or(assumed) {
            EdmType::String => match &self.token {
                Token::Text(text) => Edm::String(Cow::Borrowed(text)),
                _ => return Err(mismatch(self, "Edm.String")),
            },
            EdmType::Boolean => Edm::Boolean(self.as_bool()?),
            EdmType::Int32 => Edm::Int32(self.as_i32()?),
            EdmType::Int64 => Edm::Int64(self.as_i64()?),
            EdmType::Double => Edm::Double(self.as_f64()?),
            EdmType::DateTime => Edm::DateTime(self.as_datetime()?),
            EdmType::Guid => Edm::Guid(self.as_guid()?),
            EdmType::Binary => Edm::Binary(Cow::Owned(self.as_binary()?)),
        })
    }

    /// Returns the text of an Edm.String, or of any value that arrives as text.
    ///
    /// # Errors
    /// The value is a number or a boolean.
    #[inline]
    pub fn as_str(&self) -> Result<&'a str, ValueError> {
        self.text_of(EdmType::String)
    }

    /// Returns an Edm.Boolean.
    ///
    /// # Errors
    /// The value has another type.
    #[inline]
    pub fn as_bool(&self) -> Result<bool, ValueError> {
        match (&self.token, self.annotation) {
            (Token::Boolean(value), None | Some(EdmType::Boolean)) => Ok(*value),
            (Token::Text(text), Some(EdmType::Boolean)) if text.eq_ignore_ascii_case("true") => Ok(true),
            (Token::Text(text), Some(EdmType::Boolean)) if text.eq_ignore_ascii_case("false") => Ok(false),
            _ => Err(mismatch(self, "Edm.Boolean")),
        }
    }

    /// Returns an Edm.Int32.
    ///
    /// # Errors
    /// The value has another type. An Edm.Int64 is not narrowed.
    #[inline]
    pub fn as_i32(&self) -> Result<i32, ValueError> {
        let digits = match (&self.token, self.annotation) {
            (Token::Number(digits), None | Some(EdmType::Int32)) => digits,
            (Token::Text(text), Some(EdmType::Int32)) => text,
            _ => return Err(mismatch(self, "Edm.Int32")),
        };
        digits.parse().map_err(|_| mismatch(self, "Edm.Int32"))
    }

    /// Returns an Edm.Int64, or an Edm.Int32 widened.
    ///
    /// # Errors
    /// The value has another type, or its text is not an integer of 64 bits.
    #[inline]
    pub fn as_i64(&self) -> Result<i64, ValueError> {
        let digits = match (&self.token, self.annotation) {
            (Token::Number(digits), None | Some(EdmType::Int32 | EdmType::Int64)) => digits,
            (Token::Text(text), _) => text,
            _ => return Err(mismatch(self, "Edm.Int64")),
        };
        digits.parse().map_err(|_| mismatch(self, "Edm.Int64"))
    }

    /// Returns an Edm.Double, or an Edm.Int32 widened. The digits are rounded to the nearest double.
    ///
    /// # Errors
    /// The value has another type, or its digits are beyond a double's range. An Edm.Int64 is not converted, because
    /// not every one is exact as a double.
    #[inline]
    pub fn as_f64(&self) -> Result<f64, ValueError> {
        let digits = match (&self.token, self.annotation) {
            (Token::Number(digits), None | Some(EdmType::Double | EdmType::Int32)) => digits,
            (Token::Text(text), _) if matches!(*text, "NaN" | "Infinity" | "-Infinity") => text,
            (Token::Text(text), Some(EdmType::Double)) => text,
            _ => return Err(mismatch(self, "Edm.Double")),
        };
        match *digits {
            "NaN" => Ok(f64::NAN),
            "Infinity" => Ok(f64::INFINITY),
            "-Infinity" => Ok(f64::NEG_INFINITY),
            _ if !digits.ends_with(|c: char| c.is_ascii_digit() || c == '.') => Err(mismatch(self, "Edm.Double")),
            _ => match digits.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(value),
                _ => Err(mismatch(self, "Edm.Double")),
            },
        }
    }

    /// Returns an Edm.DateTime.
    ///
    /// # Errors
    /// The value has another type, or its text is not a date.
    #[inline]
    pub fn as_datetime(&self) -> Result<DateTime, ValueError> {
        datetime::of_service(self.text_of(EdmType::DateTime)?)
    }

    /// Returns an Edm.Guid.
    ///
    /// # Errors
    /// The value has another type, or its text is not a GUID.
    #[inline]
    pub fn as_guid(&self) -> Result<Guid, ValueError> {
        self.text_of(EdmType::Guid)?.parse()
    }

    /// Returns an Edm.Binary.
    ///
    /// # Errors
    /// The value has another type, or its text is not base64.
    pub fn as_binary(&self) -> Result<Vec<u8>, ValueError> {
        let text = self.text_of(EdmType::Binary)?;
        STANDARD.decode(text).map_err(|_| mismatch(self, "Edm.Binary"))
    }

    #[inline]
    fn text_of(&self, edm_type: EdmType) -> Result<&'a str, ValueError> {
        match &self.token {
            Token::Text(text) => Ok(text),
            _ => Err(mismatch(self, edm_type.name())),
        }
    }
}

/// Returns an error such as "expected Edm.Int32, found Edm.Int64": the annotation if present, else the kind of JSON
/// value. It shows numbers, which may only be too large, but no text, which may be long or private.
pub fn mismatch(value: &WireValue<'_>, wanted: &str) -> ValueError {
    match (&value.token, value.annotation) {
        (Token::HalfPair, _) => expected(wanted, "text with half of a surrogate pair"),
        (Token::Number(digits), None) => expected(wanted, format_args!("the number {digits}")),
        (Token::Number(digits), Some(found)) => expected(wanted, format_args!("{found} {digits}")),
        (_, Some(found)) if found.name() != wanted => expected(wanted, found),
        (Token::Text(_), _) => expected(wanted, "text"),
        (Token::Boolean(_), _) => expected(wanted, "a boolean"),
        (Token::Null, _) => expected(wanted, "null"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str, annotation: Option<EdmType>) -> WireValue<'_> {
        WireValue {
            annotation,
            token: Token::Text(text),
        }
    }

    fn number(digits: &str, annotation: Option<EdmType>) -> WireValue<'_> {
        WireValue {
            annotation,
            token: Token::Number(digits),
        }
    }

    #[test]
    fn unannotated_json_has_the_services_types() {
        assert_eq!(number("5", None).to_edm().unwrap(), Edm::Int32(5));
        assert_eq!(number("5.0", None).to_edm().unwrap(), Edm::Double(5.0));
        assert_eq!(
            number("2147483648", None).to_edm().unwrap(),
            Edm::Double(2_147_483_648.0)
        );
        assert_eq!(text("5", None).to_edm().unwrap(), Edm::String("5".into()));
    }

    #[test]
    fn widening_is_lossless_and_narrowing_is_an_error() {
        assert_eq!(number("5", None).as_i64().unwrap(), 5);
        assert_eq!(number("5", None).as_f64().unwrap(), 5.0);
        assert_eq!(text("9223372036854775807", None).as_i64().unwrap(), i64::MAX);
        let narrowed = text("5", Some(EdmType::Int64)).as_i32().unwrap_err();
        assert_eq!(narrowed.to_string(), "expected Edm.Int32, found Edm.Int64");
        assert!(text("5", Some(EdmType::Int64)).as_f64().is_err());
        assert!(
            number("2147483648", None)
                .as_i32()
                .unwrap_err()
                .to_string()
                .contains("2147483648")
        );
        assert!(number("5.5", None).as_i64().is_err());
    }

    #[test]
    fn special_doubles_are_read_and_overflow_is_an_error() {
        assert!(text("NaN", Some(EdmType::Double)).as_f64().unwrap().is_nan());
        assert_eq!(text("-Infinity", None).as_f64().unwrap(), f64::NEG_INFINITY);
        assert_eq!(text("1.23e+24", Some(EdmType::Double)).as_f64().unwrap(), 1.23e24);
        for wrong in ["13e7705", "inf", "nan", "infinity", ""] {
            assert!(text(wrong, Some(EdmType::Double)).as_f64().is_err(), "{wrong}");
        }
    }
}
