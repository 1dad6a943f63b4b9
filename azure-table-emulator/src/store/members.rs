//! The properties of a row as the JSON members of responses: a page is mostly a copy of them.
//!
//! Encodes properties as text. The stored form of a row is its text at minimal metadata, preceded by an index of types
//! and lengths. With the index, annotations can be skipped and values can be decoded. `operations/payload.rs` chooses
//! the members of a response and their order.
//!
//! The text is Storage's. On Cosmos DB only times differ, which are formatted again. A merge decodes the row and
//! encodes it again: merges are rarer than reads.

use std::borrow::Cow;

use azure_table_wire::codec::odata::value;
use azure_table_wire::value::edm::{Edm, EdmType};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::json_text::{self, Responses};

/// The flag of a kind whose type is an annotation next to the value.
const ANNOTATED: u8 = 0x80;
/// The type of a kind without its flag.
const KINDS: [EdmType; 8] = [
    EdmType::String,
    EdmType::Boolean,
    EdmType::Int32,
    EdmType::Int64,
    EdmType::Double,
    EdmType::DateTime,
    EdmType::Guid,
    EdmType::Binary,
];
/// The typical size of a property's text in bytes.
const USUAL_TEXT: usize = 48;

/// Properties besides Timestamp, in the order of responses. The keys are among them only if their position is kept: on
/// Cosmos DB, from an insert. They borrow from the body of a request.
pub(crate) type Properties<'a> = Vec<(Cow<'a, str>, Edm<'a>)>;

/// Properties in their order, in one allocation: the length of the index, the index, the text. For each property the
/// index has its type, the lengths of its name and its value. In the text, commas separate the members.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Members(Box<[u8]>);

/// One member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredMember<'a> {
    kind: u8,
    /// JSON text without quotes.
    name: &'a [u8],
    /// The member preceded by the annotation of its type, if it needs one.
    pub(crate) annotated: &'a [u8],
    /// The member without the annotation.
    pub(crate) bare: &'a [u8],
}

impl Members {
    pub(crate) fn new(properties: &Properties<'_>) -> Self {
        let mut index = Vec::with_capacity(4 * properties.len());
        let mut text = Vec::with_capacity(USUAL_TEXT * properties.len());
        for (name, value) in properties {
            if !text.is_empty() {
                text.push(b',');
            }
            write(&mut index, &mut text, name, value);
        }
        let mut bytes = Vec::with_capacity(MAX_BYTES + index.len() + text.len());
        put_number(&mut bytes, index.len());
        bytes.extend_from_slice(&index);
        bytes.extend_from_slice(&text);
        Self(bytes.into_boxed_slice())
    }

    /// Returns the bytes to be stored.
    #[cfg(feature = "durable")]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Restores members from stored bytes. `None` if the index does not match the text.
    #[cfg(feature = "durable")]
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let members = Self(bytes.into());
        let (mut index, mut text) = members.parts();
        // Truncated bytes do not have an index either.
        if index.is_empty() && bytes != [0] {
            return None;
        }
        while !index.is_empty() {
            next(&mut index, &mut text)?;
        }
        text.is_empty().then_some(members)
    }

    fn parts(&self) -> (&[u8], &[u8]) {
        let mut rest = &*self.0;
        let length = number(&mut rest);
        rest.split_at_checked(length).unwrap_or_default()
    }

    /// Returns all members with their annotations, separated by commas.
    pub(crate) fn annotated(&self) -> &[u8] {
        self.parts().1
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = StoredMember<'_>> {
        let (mut index, mut text) = self.parts();
        std::iter::from_fn(move || next(&mut index, &mut text))
    }

    pub(crate) fn find(&self, name: &str) -> Option<StoredMember<'_>> {
        let is_plain = json_text::is_plain(name);
        let text = if is_plain {
            Cow::Borrowed(name.as_bytes())
        } else {
            quoted(name).into()
        };
        let name = if is_plain { &*text } else { &text[1..text.len() - 1] };
        self.iter().find(|member| member.name == name)
    }
}

fn quoted(name: &str) -> Vec<u8> {
    let mut text = Vec::new();
    json_text::text(&mut text, name);
    text
}

/// Decodes an entry of the index, and its member.
fn next<'a>(index: &mut &[u8], text: &mut &'a [u8]) -> Option<StoredMember<'a>> {
    let (kind, rest) = index.split_first()?;
    *index = rest;
    let (name, value) = (number(index), number(index));
    let annotation = match kind & ANNOTATED {
        0 => 0,
        _ => 1 + name + value::annotation_of(type_of(*kind)).len(),
    };
    let (annotated, rest) = text.split_at_checked(annotation + name + 3 + value)?;
    *text = rest.strip_prefix(b",").unwrap_or(rest);
    let bare = &annotated[annotation..];
    Some(StoredMember {
        kind: *kind,
        name: &bare[1..=name],
        annotated,
        bare,
    })
}

fn type_of(kind: u8) -> EdmType {
    let kind = usize::from(kind & !ANNOTATED);
    KINDS.get(kind).copied().unwrap_or(EdmType::String)
}

fn write(index: &mut Vec<u8>, text: &mut Vec<u8>, name: &str, value: &Edm<'_>) {
    let annotation = value::annotation(value, |_| false);
    let begin = text.len();
    json_text::text(text, name);
    let name = begin + 1..text.len() - 1;
    let kind = KINDS.iter().position(|edm_type| *edm_type == value.edm_type());
    let kind = kind.unwrap_or_default() as u8;
    index.push(annotation.map_or(kind, |_| kind | ANNOTATED));
    put_number(index, name.len());
    if let Some(annotation) = annotation {
        text.pop();
        text.extend_from_slice(annotation.as_bytes());
        text.push(b'"');
        text.extend_from_within(name);
        text.push(b'"');
    }
    text.push(b':');
    let begin = text.len();
    value::write::<Responses>(text, value);
    put_number(index, text.len() - begin);
}

impl<'a> StoredMember<'a> {
    pub(crate) fn edm_type(&self) -> EdmType {
        type_of(self.kind)
    }

    pub(crate) fn name(&self) -> Cow<'a, str> {
        unescaped(self.name).unwrap_or_default()
    }

    /// Decodes the value, which is the one that was encoded. `None` does not occur.
    pub(crate) fn value(&self) -> Option<Edm<'a>> {
        let value = &self.bare[self.name.len() + 3..];
        let inner = || value.get(1..value.len() - 1);
        let digits = || std::str::from_utf8(value).ok();
        let text = || std::str::from_utf8(inner()?).ok();
        Some(match self.edm_type() {
            EdmType::String => Edm::String(unescaped(inner()?)?),
            EdmType::Boolean => Edm::Boolean(value == b"true"),
            EdmType::Int32 => Edm::Int32(digits()?.parse().ok()?),
            EdmType::Int64 => Edm::Int64(text()?.parse().ok()?),
            // Only doubles that are not finite are annotated.
            EdmType::Double if self.kind & ANNOTATED != 0 => Edm::Double(match text()? {
                "Infinity" => f64::INFINITY,
                "-Infinity" => f64::NEG_INFINITY,
                _ => f64::NAN,
            }),
            EdmType::Double => Edm::Double(digits()?.parse().ok()?),
            EdmType::DateTime => Edm::DateTime(text()?.parse().ok()?),
            EdmType::Guid => Edm::Guid(text()?.parse().ok()?),
            EdmType::Binary => Edm::Binary(STANDARD.decode(inner()?).ok()?.into()),
        })
    }
}

/// Decodes the text between the quotes of a JSON string.
fn unescaped(text: &[u8]) -> Option<Cow<'_, str>> {
    if memchr::memchr(b'\\', text).is_none() {
        return std::str::from_utf8(text).ok().map(Cow::Borrowed);
    }
    let quoted = [b"\"", text, b"\""].concat();
    serde_json::from_slice::<String>(&quoted).ok().map(Cow::Owned)
}

/// The maximum length of an encoded number: seven bits per byte, the lowest first, and a flag on all but the last.
const MAX_BYTES: usize = 10;

fn put_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number > 0x7f {
        bytes.push(0x80 | (number & 0x7f) as u8);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn number(bytes: &mut &[u8]) -> usize {
    let mut number = 0;
    let mut shift = 0;
    while let Some((byte, rest)) = bytes.split_first() {
        *bytes = rest;
        number |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::datetime::DateTime;
    use azure_table_wire::value::edm::EdmValue;
    use azure_table_wire::value::guid::Guid;
    use proptest::prelude::*;

    use super::*;

    fn any_value() -> impl Strategy<Value = EdmValue> {
        prop_oneof![
            any::<String>().prop_map(|value| Edm::String(value.into())),
            "[a-z]{0,300}".prop_map(|value| Edm::String(value.into())),
            any::<bool>().prop_map(Edm::Boolean),
            any::<i32>().prop_map(Edm::Int32),
            any::<i64>().prop_map(Edm::Int64),
            // NaN values are interchangeable, but not equal.
            any::<f64>()
                .prop_filter("a NaN", |value| !value.is_nan())
                .prop_map(Edm::Double),
            (0..=DateTime::MAX.ticks()).prop_map(|ticks| Edm::DateTime(DateTime::from_ticks(ticks).unwrap())),
            any::<u64>().prop_map(|_| Edm::Guid(Guid::random())),
            proptest::collection::vec(any::<u8>(), 0..200).prop_map(|bytes| Edm::Binary(bytes.into())),
        ]
    }

    proptest! {
        #[test]
        fn encoded_members_decode_to_the_same_values(
            properties in proptest::collection::btree_map("[A-Za-zé\u{1F600}\"]{0,140}", any_value(), 0..12)
        ) {
            let properties: Properties = properties.into_iter().map(|(name, value)| (name.into(), value)).collect();
            let members = Members::new(&properties);
            let read: Properties = members
                .iter()
                .map(|member| (member.name(), member.value().unwrap().into_owned()))
                .collect();
            prop_assert_eq!(&read, &properties);
            for (name, value) in &properties {
                prop_assert_eq!(members.find(name).unwrap().value().unwrap(), value.clone());
            }
            prop_assert!(members.find("Missing1").is_none());
            // Together they form the members of an object, with annotations and without.
            let bare: Vec<&[u8]> = members.iter().map(|member| member.bare).collect();
            let all = [b"{", members.annotated(), b"}"].concat();
            let object: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&all).unwrap();
            let annotations = object.keys().filter(|name| name.ends_with("@odata.type")).count();
            prop_assert_eq!(object.len() - annotations, properties.len());
            let all = [b"{", &*bare.join(&b','), b"}"].concat();
            let object: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&all).unwrap();
            prop_assert_eq!(object.len(), properties.len());
        }
    }

    #[test]
    fn doubles_that_are_not_finite_are_annotated() {
        let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(|value| ("D".into(), Edm::Double(value)));
        for property in values {
            let members = Members::new(&vec![property.clone()]);
            let member = members.iter().next().unwrap();
            assert!(member.annotated.starts_with(br#""D@odata.type":"Edm.Double","D":""#));
            assert_eq!(format!("{:?}", member.value().unwrap()), format!("{:?}", property.1));
        }
    }
}
