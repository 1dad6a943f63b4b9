//! Writes entities from values directly to the bytes of a request body.
//!
//! `codec/json/write.rs` of azure-table-wire writes the object.

use std::cell::Cell;
use std::sync::Arc;

use azure_table_wire::codec::json::write::Object;
use azure_table_wire::error::{Error, Result};

use crate::entity::property_writer::{self, Destination, PropertyWriter, Rare};
use crate::entity::table_entity::TableEntity;

/// An encoded entity in one allocation, since many wait for their batch.
#[derive(Debug)]
pub(crate) struct Written {
    /// The body of an insert, replace or merge: the keys, then the properties. Both keys follow once more, unescaped.
    pub text: Arc<str>,
    /// The length of the body.
    pub body: usize,
    pub rare: Option<Box<Rare>>,
}

/// Encodes an entity with its keys.
pub(crate) fn entity<E: TableEntity + ?Sized>(entity: &E, (partition_key, row_key): (&str, &str)) -> Result<Written> {
    properties((partition_key, row_key), &mut |writer| entity.write_properties(writer))
}

/// Encodes properties that a closure writes, with their keys.
pub(crate) fn properties(
    keys: (&str, &str),
    write: &mut dyn FnMut(&mut PropertyWriter<'_>) -> Result<()>,
) -> Result<Written> {
    let mut scratch = SCRATCH.try_with(Cell::take).unwrap_or_default();
    scratch.clear();
    let rare = append(&mut scratch, keys, write)?;
    let body = scratch.len();
    let (partition_key, row_key) = keys;
    scratch.extend_from_slice(partition_key.as_bytes());
    scratch.extend_from_slice(row_key.as_bytes());
    let text = str::from_utf8(&scratch).map_err(|e| Error::invalid_input(format!("the entity's JSON: {e}")))?;
    let text = Arc::from(text);
    if scratch.capacity() <= MAX_SCRATCH {
        // A thread that is ending no longer needs the buffer.
        let _ = SCRATCH.try_with(|spare| spare.set(scratch));
    }
    Ok(Written { text, body, rare })
}

/// Appends an entity with its keys to `bytes`.
///
/// # Errors
/// `bytes` may then end with a part of the entity.
pub(crate) fn append(
    bytes: &mut Vec<u8>,
    (partition_key, row_key): (&str, &str),
    write: &mut dyn FnMut(&mut PropertyWriter<'_>) -> Result<()>,
) -> Result<Option<Box<Rare>>> {
    let before = bytes.len();
    let mut object = Object::after(std::mem::take(bytes));
    object.text_member("\"PartitionKey\":", partition_key);
    object.text_member("\"RowKey\":", row_key);
    let mut writer = property_writer::writer(Destination::Json(&mut object), partition_key, row_key);
    let rare = write(&mut writer).and_then(|()| property_writer::finish(writer));
    *bytes = object.end();
    match bytes.len() - before {
        body if body > MAX_ENCODED => Err(Error::invalid_input(format!(
            "the entity has {body} bytes of JSON, more than the limit of {MAX_ENCODED}"
        ))),
        _ => rare,
    }
}

thread_local! {
    /// The buffer for an entity until its length is known, so that each entity gets exactly the memory that it needs.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Far above the limit of any service, which is checked once the service is known.
const MAX_ENCODED: usize = 1 << 30;

/// The largest buffer that is kept.
const MAX_SCRATCH: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use azure_table_wire::value::edm::EdmValue;

    use super::*;
    use crate::entity::dynamic::DynamicEntity;

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
                        .parse::<azure_table_wire::value::datetime::DateTime>()
                        .unwrap(),
                ),
                r#""V@odata.type":"Edm.DateTime","V":"2026-01-02T03:04:05.1234567Z""#,
            ),
            (
                EdmValue::from(azure_table_wire::value::guid::Guid([0; 16])),
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
                with("V", azure_table_wire::value::datetime::DateTime::MIN),
                "property `V`: 0001-01-01T00:00:00Z is before the earliest date stored",
            ),
            (with("a-b", 1), "property name \"a-b\": it contains '-'"),
            (with("RowKey", 1), "property name \"RowKey\": the service reserves it"),
        ];
        for (entity, expected) in cases {
            let error = body(&entity).unwrap_err();
            assert_eq!(error.kind(), azure_table_wire::error::ErrorKind::InvalidInput);
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
}
