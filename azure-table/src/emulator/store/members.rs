//! The properties of a row as the JSON members that answers have: a page is mostly a copy of them.
//!
//! Owns the text of a property, and the form in which rows are kept: the text at minimal metadata, with an index of types and
//! lengths before it, so that annotations can be left out and values can be read. Which members an answer has, and their order,
//! is `response/payload.rs`.
//!
//! The text is Storage's; only times differ on Cosmos DB, which are written anew. A merge reads the row and writes it again:
//! merges are rarer than reads.

use std::borrow::Cow;
use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::emulator::store::json_text;
use crate::model::edm::{Edm, EdmType, EdmValue, double_text};

/// What stands around an annotation: `"` name `@odata.type":"` type `",`.
const BEFORE_TYPE: &[u8] = b"@odata.type\":\"";
const BEHIND_TYPE: &[u8] = b"\",";
/// The type of a kind; the last one is of doubles that are no numbers, which are text.
const KINDS: [EdmType; 9] = [
    EdmType::String,
    EdmType::Boolean,
    EdmType::Int32,
    EdmType::Int64,
    EdmType::Double,
    EdmType::DateTime,
    EdmType::Guid,
    EdmType::Binary,
    EdmType::Double,
];
const NO_NUMBER: u8 = 8;
/// About how much text a property has.
const USUAL_TEXT: usize = 48;

/// Properties besides Timestamp, in the order in which they are answered. The keys are among them only where their place is kept:
/// on Cosmos DB, from an insert.
pub(crate) type Properties = Vec<(Box<str>, EdmValue)>;

/// Properties in their order, in one piece: the length of the index, the index, the text. For each property the index has its
/// kind, the length of its name and that of its value; the text separates members by commas.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Members(Box<[u8]>);

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member<'a> {
    kind: u8,
    /// As text of JSON, without quotes.
    name: &'a [u8],
    /// With the annotation of its type before it, where it needs one.
    pub(crate) annotated: &'a [u8],
    /// Without the annotation.
    pub(crate) bare: &'a [u8],
}

impl Members {
    pub(crate) fn new(properties: &Properties) -> Self {
        let mut index = Vec::with_capacity(4 * properties.len());
        let mut text = Vec::with_capacity(USUAL_TEXT * properties.len());
        for (name, value) in properties {
            if !text.is_empty() {
                text.push(b',');
            }
            write(&mut index, &mut text, name, value);
        }
        let mut bytes = Vec::with_capacity(MOST_BYTES + index.len() + text.len());
        put_number(&mut bytes, index.len());
        bytes.extend_from_slice(&index);
        bytes.extend_from_slice(&text);
        Self(bytes.into_boxed_slice())
    }

    fn parts(&self) -> (&[u8], &[u8]) {
        let mut rest = &*self.0;
        let length = number(&mut rest);
        rest.split_at_checked(length).unwrap_or_default()
    }

    /// All members with their annotations, separated by commas.
    pub(crate) fn annotated(&self) -> &[u8] {
        self.parts().1
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Member<'_>> {
        let (mut index, mut text) = self.parts();
        std::iter::from_fn(move || next(&mut index, &mut text))
    }

    pub(crate) fn find(&self, name: &str) -> Option<Member<'_>> {
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

/// Reads an entry of the index, and its member.
fn next<'a>(index: &mut &[u8], text: &mut &'a [u8]) -> Option<Member<'a>> {
    let (kind, rest) = index.split_first()?;
    *index = rest;
    let (name, value) = (number(index), number(index));
    let annotation = annotation_of(*kind).map_or(0, |edm_type| {
        1 + name + BEFORE_TYPE.len() + edm_type.name().len() + BEHIND_TYPE.len()
    });
    let (annotated, rest) = text.split_at_checked(annotation + name + 3 + value)?;
    *text = rest.strip_prefix(b",").unwrap_or(rest);
    let bare = &annotated[annotation..];
    Some(Member {
        kind: *kind,
        name: &bare[1..=name],
        annotated,
        bare,
    })
}

fn annotation_of(kind: u8) -> Option<EdmType> {
    let edm_type = *KINDS.get(usize::from(kind))?;
    let is_annotated = match edm_type {
        EdmType::Int64 | EdmType::DateTime | EdmType::Guid | EdmType::Binary => true,
        EdmType::Double => kind == NO_NUMBER,
        EdmType::String | EdmType::Boolean | EdmType::Int32 => false,
    };
    is_annotated.then_some(edm_type)
}

fn write(index: &mut Vec<u8>, text: &mut Vec<u8>, name: &str, value: &Edm<'_>) {
    let kind = match value {
        Edm::String(_) => 0,
        Edm::Boolean(_) => 1,
        Edm::Int32(_) => 2,
        Edm::Int64(_) => 3,
        Edm::Double(value) if value.is_finite() => 4,
        Edm::Double(_) => NO_NUMBER,
        Edm::DateTime(_) => 5,
        Edm::Guid(_) => 6,
        Edm::Binary(_) => 7,
    };
    let begin = text.len();
    json_text::text(text, name);
    let name = begin + 1..text.len() - 1;
    index.push(kind);
    put_number(index, name.len());
    if let Some(edm_type) = annotation_of(kind) {
        text.pop();
        text.extend_from_slice(BEFORE_TYPE);
        text.extend_from_slice(edm_type.name().as_bytes());
        text.extend_from_slice(BEHIND_TYPE);
        text.push(b'"');
        text.extend_from_within(name);
        text.push(b'"');
    }
    text.push(b':');
    let begin = text.len();
    write_value(text, value);
    put_number(index, text.len() - begin);
}

/// The value as Storage writes it.
fn write_value(text: &mut Vec<u8>, value: &Edm<'_>) {
    // Writing to a Vec cannot fail.
    let _ = match value {
        Edm::String(value) => {
            json_text::text(text, value);
            Ok(())
        }
        Edm::Boolean(value) => write!(text, "{value}"),
        Edm::Int32(value) => write!(text, "{value}"),
        Edm::Double(value) if value.is_finite() => write!(text, "{}", json_text::double(*value)),
        Edm::Double(value) => write!(text, "\"{}\"", double_text(*value)),
        Edm::Int64(value) => write!(text, "\"{value}\""),
        Edm::DateTime(value) => write!(text, "\"{value}\""),
        Edm::Guid(value) => write!(text, "\"{value}\""),
        Edm::Binary(bytes) => write!(text, "\"{}\"", STANDARD.encode(bytes)),
    };
}

impl<'a> Member<'a> {
    pub(crate) fn edm_type(&self) -> EdmType {
        KINDS.get(usize::from(self.kind)).copied().unwrap_or(EdmType::String)
    }

    pub(crate) fn name(&self) -> Cow<'a, str> {
        unescaped(self.name).unwrap_or_default()
    }

    /// The value, read. What was written is read back as it was: `None` is never given.
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
            EdmType::Double if self.kind == NO_NUMBER => Edm::Double(match text()? {
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

/// The text between the quotes of a JSON string.
fn unescaped(text: &[u8]) -> Option<Cow<'_, str>> {
    if memchr::memchr(b'\\', text).is_none() {
        return std::str::from_utf8(text).ok().map(Cow::Borrowed);
    }
    let quoted = [b"\"", text, b"\""].concat();
    serde_json::from_slice::<String>(&quoted).ok().map(Cow::Owned)
}

/// The most bytes of a number: seven bits in each, the lowest first, and a mark on all but the last.
const MOST_BYTES: usize = 10;

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
    use proptest::prelude::*;

    use super::*;
    use crate::model::datetime::DateTime;
    use crate::model::guid::Guid;

    fn any_value() -> impl Strategy<Value = EdmValue> {
        prop_oneof![
            any::<String>().prop_map(|value| Edm::String(value.into())),
            "[a-z]{0,300}".prop_map(|value| Edm::String(value.into())),
            any::<bool>().prop_map(Edm::Boolean),
            any::<i32>().prop_map(Edm::Int32),
            any::<i64>().prop_map(Edm::Int64),
            // One NaN is like another, but equal to none.
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
        fn what_is_written_is_read_back(
            properties in proptest::collection::btree_map("[A-Za-zé\u{1F600}\"]{0,140}", any_value(), 0..12)
        ) {
            let properties: Properties = properties.into_iter().map(|(name, value)| (name.into(), value)).collect();
            let members = Members::new(&properties);
            let read: Properties = members
                .iter()
                .map(|member| (member.name().into(), member.value().unwrap().into_owned()))
                .collect();
            prop_assert_eq!(&read, &properties);
            for (name, value) in &properties {
                prop_assert_eq!(members.find(name).unwrap().value().unwrap(), value.clone());
            }
            prop_assert!(members.find("Missing1").is_none());
            // Together they are the members of an object, with annotations and without.
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
    fn doubles_that_are_no_numbers_are_annotated() {
        let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(|value| ("D".into(), Edm::Double(value)));
        for property in values {
            let members = Members::new(&vec![property.clone()]);
            let member = members.iter().next().unwrap();
            assert!(member.annotated.starts_with(br#""D@odata.type":"Edm.Double","D":""#));
            assert_eq!(format!("{:?}", member.value().unwrap()), format!("{:?}", property.1));
        }
    }
}
