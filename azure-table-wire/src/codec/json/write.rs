//! Writes entities from values directly to the bytes of a request body.

use std::cell::Cell;
use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;

use crate::codec::json::scan::{LEAD, plain_length_to_write};
use crate::codec::odata::value::{self, Dialect};
use crate::model::edm::Edm;
use crate::model::entity::TableEntity;
use crate::model::error::{Error, Result};
use crate::model::property_writer::{self, PropertySink, PropertyWriter, Rare};

/// The largest request body, in bytes (4 MiB).
///
/// Source: REST "Performing entity group transactions" and common error code `RequestBodyTooLarge`.
pub const MAX_BODY_BYTES: usize = 4 << 20;

/// An encoded entity in one allocation, since many wait for their batch.
#[derive(Debug)]
pub struct Written {
    /// The body of an insert, replace or merge: the keys, then the properties. Both keys follow once more, unescaped.
    pub text: Arc<str>,
    /// The length of the body.
    pub body: usize,
    pub rare: Option<Box<Rare>>,
}

/// Encodes an entity with its keys.
pub fn entity<E: TableEntity + ?Sized>(entity: &E, (partition_key, row_key): (&str, &str)) -> Result<Written> {
    properties((partition_key, row_key), |writer| entity.write_properties(writer))
}

/// Encodes properties that a closure writes, with their keys.
pub fn properties(keys: (&str, &str), write: impl FnOnce(&mut PropertyWriter<'_>) -> Result<()>) -> Result<Written> {
    let mut scratch = SCRATCH.try_with(Cell::take).unwrap_or_default();
    scratch.clear();
    let rare = append(&mut scratch, keys, write)?;
    let body = scratch.len();
    let (partition_key, row_key) = keys;
    scratch.extend_from_slice(partition_key.as_bytes());
    scratch.extend_from_slice(row_key.as_bytes());
    let text = str::from_utf8(&scratch).map_err(|e| Error::invalid_input(format!("the entity's JSON: {e}")))?;
    let text = Arc::from(text);
    if scratch.capacity() <= MOST_SCRATCH {
        // A thread that is ending no longer needs the buffer.
        let _ = SCRATCH.try_with(|spare| spare.set(scratch));
    }
    Ok(Written { text, body, rare })
}

/// Appends an entity with its keys to `bytes`.
///
/// # Errors
/// `bytes` may then end with a part of the entity.
pub fn append(
    bytes: &mut Vec<u8>,
    (partition_key, row_key): (&str, &str),
    write: impl FnOnce(&mut PropertyWriter<'_>) -> Result<()>,
) -> Result<Option<Box<Rare>>> {
    let before = bytes.len();
    let mut object = Object::after(std::mem::take(bytes));
    object.string(&Quoted("\"PartitionKey\":"), partition_key);
    object.string(&Quoted("\"RowKey\":"), row_key);
    let mut writer = property_writer::writer(&mut object, partition_key, row_key);
    let rare = write(&mut writer).and_then(|()| property_writer::finish(writer));
    *bytes = object.end();
    match bytes.len() - before {
        body if body > MOST_ENCODED => Err(Error::invalid_input(format!(
            "the entity has {body} bytes of JSON, more than the limit of {MOST_ENCODED}"
        ))),
        _ => rare,
    }
}

/// Returns the JSON object `body`, which has a member, with further properties.
pub fn extended<'p>(body: &[u8], properties: impl IntoIterator<Item = (&'p str, Edm<'p>)>) -> Vec<u8> {
    let mut object = Object { bytes: body.to_vec() };
    object.bytes.pop_if(|last| *last == b'}');
    object.bytes.push(b',');
    for (name, value) in properties {
        object.property(name, &value);
    }
    object.end()
}

thread_local! {
    /// The buffer for an entity until its length is known, so that each entity gets exactly the memory that it needs.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A limit far above the limit of any service, which is checked where the service is known.
const MOST_ENCODED: usize = 1 << 30;

/// The largest buffer that is kept.
const MOST_SCRATCH: usize = 64 << 10;

/// The initial capacity, enough for most entities.
const INITIAL_CAPACITY: usize = 1_024;

/// A JSON object under construction.
#[derive(Debug)]
pub struct Object {
    bytes: Vec<u8>,
}

impl Object {
    pub fn new() -> Self {
        Self::after(Vec::new())
    }

    /// Starts an object after the bytes of an existing buffer.
    fn after(mut bytes: Vec<u8>) -> Self {
        bytes.reserve(INITIAL_CAPACITY);
        bytes.push(b'{');
        Self { bytes }
    }

    /// Writes a member whose value is text.
    pub fn text(&mut self, name: &str, value: &str) {
        self.string(&Name(name), value);
    }

    fn string(&mut self, head: &impl Head, value: &str) {
        head.begin(&mut self.bytes);
        quoted(&mut self.bytes, value);
        self.bytes.push(b',');
    }

    /// Writes a property with the type annotation that its value needs.
    pub fn property(&mut self, name: &str, value: &Edm<'_>) {
        self.member(&Name(name), value);
    }

    fn member(&mut self, head: &impl Head, value: &Edm<'_>) {
        // An integral double has its decimal point, which the live service reads. A server that parses numbers like
        // JavaScript (Azurite) loses it, so the type is annotated as well.
        if let Some(annotation) = value::annotation(value, |value| value.fract() == 0.0) {
            head.annotate(&mut self.bytes, annotation.as_bytes());
        }
        head.begin(&mut self.bytes);
        value::write::<Requests>(&mut self.bytes, value);
        self.bytes.push(b',');
    }

    pub fn finish(self) -> Bytes {
        self.end().into()
    }

    fn end(mut self) -> Vec<u8> {
        // The comma after the last member.
        self.bytes.pop_if(|last| *last == b',');
        self.bytes.push(b'}');
        self.bytes
    }
}

impl PropertySink for Object {
    fn put(&mut self, name: &str, value: &Edm<'_>) {
        self.property(name, value);
    }

    fn put_plain(&mut self, name: &str, value: &Edm<'_>) {
        Name(name).begin(&mut self.bytes);
        value::write::<Requests>(&mut self.bytes, value);
        self.bytes.push(b',');
    }

    fn put_member(&mut self, member: &str, value: &Edm<'_>) {
        self.member(&Quoted(member), value);
    }
}

/// The start of a member. Names need no escapes: they were validated as letters, digits and `_`.
trait Head {
    /// Writes `"Name":`.
    fn begin(&self, bytes: &mut Vec<u8>);

    /// Writes `"Name` and `then`.
    fn annotate(&self, bytes: &mut Vec<u8>, then: &[u8]);
}

/// A name.
struct Name<'a>(&'a str);

impl Head for Name<'_> {
    fn begin(&self, bytes: &mut Vec<u8>) {
        self.annotate(bytes, b"\":");
    }

    fn annotate(&self, bytes: &mut Vec<u8>, then: &[u8]) {
        bytes.push(b'"');
        bytes.extend_from_slice(self.0.as_bytes());
        bytes.extend_from_slice(then);
    }
}

/// A name with its punctuation: `"Name":`. One piece is faster to copy.
struct Quoted<'a>(&'a str);

impl Head for Quoted<'_> {
    fn begin(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.0.as_bytes());
    }

    fn annotate(&self, bytes: &mut Vec<u8>, then: &[u8]) {
        let name = self.0.strip_suffix("\":").unwrap_or(self.0);
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(then);
    }
}

/// The form of values in requests.
struct Requests;

impl Dialect for Requests {
    fn text(out: &mut Vec<u8>, text: &str) {
        quoted(out, text);
    }

    fn finite(out: &mut Vec<u8>, value: f64) {
        finite(out, value);
    }
}

/// Appends the shortest digits that parse to the same double, with a decimal point.
fn finite(bytes: &mut Vec<u8>, value: f64) {
    let start = bytes.len();
    value::number(bytes, &value);
    let digits = &bytes[start..];
    if !digits.contains(&b'.') {
        let exponent = digits.iter().position(|b| *b == b'e').unwrap_or(digits.len());
        bytes.splice(start + exponent..start + exponent, *b".0");
    }
}

/// Appends a JSON string.
///
/// U+2028 and U+2029 are escaped although JSON does not require it: Azurite takes them for the end of a line of a
/// batch.
pub fn quoted(bytes: &mut Vec<u8>, text: &str) {
    bytes.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let (plain, special) = rest.split_at(plain_length_to_write(rest));
        bytes.extend_from_slice(plain);
        rest = match special {
            [] => break,
            [b'"', after @ ..] => {
                bytes.extend_from_slice(b"\\\"");
                after
            }
            [b'\\', after @ ..] => {
                bytes.extend_from_slice(b"\\\\");
                after
            }
            [LEAD, 0x80, last @ 0xa8..=0xa9, after @ ..] => {
                // Writing to a Vec cannot fail.
                let _ = write!(bytes, "\\u20{:02x}", last - 0x80);
                after
            }
            [LEAD, after @ ..] => {
                bytes.push(LEAD);
                after
            }
            [control, after @ ..] => {
                let _ = write!(bytes, "\\u{control:04x}");
                after
            }
        };
    }
    bytes.push(b'"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::dynamic::DynamicEntity;
    use crate::model::edm::EdmValue;

    fn body(entity: &DynamicEntity) -> Result<String> {
        let written = super::entity(entity, (&entity.partition_key, &entity.row_key))?;
        Ok(written.text[..written.body].to_owned())
    }

    fn with(name: &str, value: impl Into<EdmValue>) -> DynamicEntity {
        let mut entity = DynamicEntity::new("p", "r");
        entity.insert(name, value);
        entity
    }

    #[test]
    fn every_type_has_its_wire_text() {
        for (value, text) in [
            (EdmValue::from("O'Br\"ien\n"), r#""V":"O'Br\"ien\u000a""#),
            (
                EdmValue::from("“\u{2028}\u{2029}\u{2027}â"),
                "\"V\":\"“\\u2028\\u2029\u{2027}â\"",
            ),
            (EdmValue::from(true), r#""V":true"#),
            (EdmValue::from(-5_i32), r#""V":-5"#),
            (EdmValue::from(5_i64), r#""V@odata.type":"Edm.Int64","V":"5""#),
            (EdmValue::from(0.5), r#""V":0.5"#),
            (EdmValue::from(5.0), r#""V@odata.type":"Edm.Double","V":5.0"#),
            (EdmValue::from(1e300), r#""V@odata.type":"Edm.Double","V":1.0e+300"#),
            (EdmValue::from(-0.0), r#""V@odata.type":"Edm.Double","V":-0.0"#),
            (EdmValue::from(f64::NAN), r#""V@odata.type":"Edm.Double","V":"NaN""#),
            (
                EdmValue::from(f64::NEG_INFINITY),
                r#""V@odata.type":"Edm.Double","V":"-Infinity""#,
            ),
            (
                EdmValue::from(
                    "2026-01-02T03:04:05.1234567Z"
                        .parse::<crate::model::datetime::DateTime>()
                        .unwrap(),
                ),
                r#""V@odata.type":"Edm.DateTime","V":"2026-01-02T03:04:05.1234567Z""#,
            ),
            (
                EdmValue::from(crate::model::guid::Guid([0; 16])),
                r#""V@odata.type":"Edm.Guid","V":"00000000-0000-0000-0000-000000000000""#,
            ),
            (
                EdmValue::from(vec![1_u8, 2]),
                r#""V@odata.type":"Edm.Binary","V":"AQI=""#,
            ),
        ] {
            assert_eq!(
                body(&with("V", value)).unwrap(),
                format!(r#"{{"PartitionKey":"p","RowKey":"r",{text}}}"#)
            );
        }
    }

    #[test]
    fn limits_are_named_with_property_limit_and_value() {
        let cases = [
            (
                with("V", crate::model::datetime::DateTime::MIN),
                "property `V`: 0001-01-01T00:00:00Z is before the earliest date stored",
            ),
            (with("a-b", 1), "property name \"a-b\": it contains '-'"),
            (with("RowKey", 1), "property name \"RowKey\": the service reserves it"),
        ];
        for (entity, expected) in cases {
            let error = body(&entity).unwrap_err();
            assert_eq!(error.kind(), crate::model::error::ErrorKind::InvalidInput);
            assert!(error.to_string().starts_with(expected), "{error}");
        }
        let mut many = DynamicEntity::new("p", "r");
        for n in 0..253 {
            many.insert(format!("P{n}"), n);
        }
        assert!(
            body(&many)
                .unwrap_err()
                .to_string()
                .contains("253 properties, more than the limit of 252")
        );
    }

    #[test]
    fn limits_of_storage_are_noted_for_the_service_that_has_them() {
        let exceeds = |entity: &DynamicEntity| {
            let written = super::entity(entity, (&entity.partition_key, &entity.row_key)).unwrap();
            written.rare.and_then(|rare| rare.exceeds).unwrap_or_default()
        };
        let mut large = with("V", "x".repeat(32_769).as_str());
        let first = "property `V`: the text has 32769 UTF-16 units, more than the limit of 32768; use #[table(chunked)] for \
                     longer text";
        assert_eq!(&*exceeds(&large), first);
        large.insert("W", vec![0_u8; 65_537]);
        assert_eq!(&*exceeds(&large), first);
        let binary = with("V", vec![0_u8; 65_537]);
        assert_eq!(
            &*exceeds(&binary),
            "property `V`: it has 65537 bytes, more than the limit of 65536; use #[table(chunked)] for longer values"
        );
        assert_eq!(&*exceeds(&with("V", "é".repeat(32_768).as_str())), "");
        let mut many = DynamicEntity::new("p", "r");
        for n in 0..17 {
            many.insert(format!("P{n}"), vec![0_u8; 65_536]);
        }
        assert!(exceeds(&many).contains("(estimated), more than the limit of 1048576"));
    }

    proptest! {
        #[test]
        fn strings_are_written_as_serde_json_reads_them(text in "(\\PC|[\u{0}-\u{7f}\u{2020}-\u{2030}])*") {
            let mut bytes = Vec::new();
            quoted(&mut bytes, &text);
            let written = str::from_utf8(&bytes).unwrap();
            let ends_line = |c: char| c < ' ' || matches!(c, '\u{2028}' | '\u{2029}');
            prop_assert!(!written.contains(ends_line));
            prop_assert_eq!(serde_json::from_str::<String>(written).unwrap(), text);
        }
    }
}
