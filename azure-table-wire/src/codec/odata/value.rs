//! The values of properties in JSON, and the annotations of their types.
//!
//! Decides which values are quoted, and which need a type annotation. Requests and responses differ in escapes and in
//! doubles: each is a [`Dialect`].

use crate::value::datetime;
use crate::value::edm::{Edm, EdmType, base64_text, double_text};

/// The ending of the name of a type annotation.
pub const TYPE_ANNOTATION: &str = "@odata.type";

/// The beginning of the names of annotations of an entity.
pub const ENTITY_ANNOTATION: &str = "odata.";

/// A way to write JSON.
pub trait Dialect {
    /// Appends a string with its quotes.
    fn text(out: &mut Vec<u8>, text: &str);

    /// Appends the digits of a finite double.
    fn finite(out: &mut Vec<u8>, value: f64);
}

/// Returns the rest of the annotation of a value, from the end of the property's name to the comma.
///
/// Returns `None` if the value shows its type itself. For a finite double `annotates` decides.
#[inline(always)]
pub fn annotation(value: &Edm<'_>, annotates: impl FnOnce(f64) -> bool) -> Option<&'static str> {
    match value {
        Edm::String(_) | Edm::Boolean(_) | Edm::Int32(_) => None,
        Edm::Double(value) if value.is_finite() && !annotates(*value) => None,
        value => Some(annotation_of(value.edm_type())),
    }
}

/// Returns the annotation in one piece, because an entity is written faster in few long pieces.
#[inline]
pub const fn annotation_of(edm_type: EdmType) -> &'static str {
    match edm_type {
        EdmType::String => "@odata.type\":\"Edm.String\",",
        EdmType::Boolean => "@odata.type\":\"Edm.Boolean\",",
        EdmType::Int32 => "@odata.type\":\"Edm.Int32\",",
        EdmType::Int64 => "@odata.type\":\"Edm.Int64\",",
        EdmType::Double => "@odata.type\":\"Edm.Double\",",
        EdmType::DateTime => "@odata.type\":\"Edm.DateTime\",",
        EdmType::Guid => "@odata.type\":\"Edm.Guid\",",
        EdmType::Binary => "@odata.type\":\"Edm.Binary\",",
    }
}

/// Appends a value.
#[inline(always)]
pub fn write<D: Dialect>(out: &mut Vec<u8>, value: &Edm<'_>) {
    match value {
        Edm::String(text) => D::text(out, text),
        Edm::Boolean(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Edm::Int32(value) => number(out, value),
        Edm::Double(value) if value.is_finite() => D::finite(out, *value),
        Edm::Double(value) => in_quotes(out, |out| out.extend_from_slice(double_text(*value).as_bytes())),
        Edm::Int64(value) => in_quotes(out, |out| number(out, value)),
        Edm::DateTime(value) => in_quotes(out, |out| {
            let (text, length) = datetime::ascii(*value);
            out.extend_from_slice(&text[..length]);
        }),
        Edm::Guid(value) => in_quotes(out, |out| out.extend_from_slice(&value.ascii())),
        Edm::Binary(value) => in_quotes(out, |out| out.extend_from_slice(base64_text(value).as_bytes())),
    }
}

/// Writes the digits of a number.
pub fn number(out: &mut Vec<u8>, value: &impl serde::Serialize) {
    // Writing to a Vec cannot fail.
    let _ = serde_json::to_writer(out, value);
}

#[inline(always)]
fn in_quotes(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    write(out);
    out.push(b'"');
}
