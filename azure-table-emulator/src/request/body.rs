//! Bodies: the JSON of writes.
//!
//! Decides which members of a body are used, and checks names and values. The limits on an entity as a whole are in
//! `store/row.rs`, because a merge can exceed them only together with the stored row. Not confirmed: the text for a
//! body that is not JSON and for an unknown `Edm.…` type (InvalidInput is expected); that a key beyond the limit is
//! rejected as PropertyValueTooLarge (seen for 2,048 characters); which of the two documented codes for a repeated name
//! applies to keys.
//!
//! Source: REST "Insert Entity", "Understanding the Table service data model"; recorded errors.

use azure_table_wire::codec::json::token::{JsonError, Reader, Scalar};
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::edm::{Edm, EdmType, Token, WireValue};
use azure_table_wire::value::key_text::key_text_fault;
use azure_table_wire::value::name::property_name_fault;
use azure_table_wire::value::ordinal::utf16_len;

use crate::request::member::{self, Member, MemberFault, OtherAnnotations};
use crate::rules::service_error::{Result, ServiceError};
use crate::rules::{MAX_KEY_UNITS, MAX_PROPERTIES, MAX_PROPERTY_NAME, ServiceRules};
use crate::store::members::Properties;
use crate::store::row::{RowId, is_key};

/// Parses the body of an insert, which contains the keys.
pub(crate) fn insert<'a>(body: &'a [u8], rules: &ServiceRules) -> Result<(RowId, Properties<'a>)> {
    let (id, mut properties) = stored(body, rules)?;
    drop_second_etag(&mut properties, rules);
    Ok((id, properties))
}

/// Parses a stored row in the form of an insert. A merge may have left properties in it that an insert would drop.
pub(crate) fn stored<'a>(body: &'a [u8], rules: &ServiceRules) -> Result<(RowId, Properties<'a>)> {
    let Entity {
        partition_key,
        row_key,
        properties,
    } = Entity::read(body, rules)?;
    let id = RowId::new(key(partition_key, rules)?, key(row_key, rules)?);
    check_keys(&id, rules)?;
    Ok((id, properties))
}

/// Parses the body of a replace or merge. Keys in it are ignored: the URL has the keys (recorded).
pub(crate) fn update<'a>(body: &'a [u8], rules: &ServiceRules) -> Result<Properties<'a>> {
    let Entity {
        partition_key,
        row_key,
        mut properties,
    } = Entity::read(body, rules)?;
    if rules.checks_keys_of_updates {
        for repeated in [partition_key, row_key].into_iter().flatten() {
            key(Some(repeated), rules)?;
        }
    }
    properties.retain(|(name, _)| !is_key(name));
    drop_second_etag(&mut properties, rules);
    Ok(properties)
}

fn drop_second_etag(properties: &mut Properties<'_>, rules: &ServiceRules) {
    if rules.drops_second_etag && properties.iter().any(|(name, _)| name == "etag") {
        properties.retain(|(name, _)| name != "Etag");
    }
}

/// Checks keys and properties as an insert does, independently of the rest of the row.
pub(crate) fn check(id: &RowId, properties: &Properties<'_>, rules: &ServiceRules) -> Result<()> {
    check_keys(id, rules)?;
    properties.iter().try_for_each(|(name, value)| {
        check_name(name, rules)?;
        check_value(name, value, rules)
    })
}

/// Parses the name in the body of a Create Table.
pub(crate) fn table_name(body: &[u8]) -> Result<String> {
    let mut reader = Reader::new(body).map_err(unreadable)?;
    let (mut table, mut first) = (None, true);
    reader.enter_object().map_err(unreadable)?;
    while let Some(name) = reader.next_member(&mut first).map_err(unreadable)? {
        if name == "TableName" {
            table = Some(reader.scalar().map_err(unreadable)?);
        } else {
            reader.skip().map_err(unreadable)?;
        }
    }
    reader.end().map_err(unreadable)?;
    match table {
        Some(Scalar::Text(name)) => Ok(name.into_owned()),
        None | Some(Scalar::Null) => Err(ServiceError::PROPERTIES_NEED_VALUE),
        Some(_) => Err(ServiceError::INVALID_INPUT),
    }
}

/// Rejects keys that the service does not store.
///
/// Source: REST "Understanding the Table service data model", characters disallowed in key fields.
pub(crate) fn check_keys(id: &RowId, rules: &ServiceRules) -> Result<()> {
    if !rules.shared().takes_empty_keys && (id.partition_key.is_empty() || id.row_key.is_empty()) {
        return Err(ServiceError::PROPERTIES_NEED_VALUE);
    }
    let most = rules.shared().max_row_key_bytes;
    if most.is_some_and(|most| id.row_key.len() > most) {
        return Err(ServiceError::INVALID_INPUT);
    }
    for (name, key) in [("PartitionKey", &id.partition_key), ("RowKey", &id.row_key)] {
        if key.len() > MAX_KEY_UNITS && utf16_len(key) > MAX_KEY_UNITS {
            return Err(ServiceError::PROPERTY_VALUE_TOO_LARGE);
        }
        if key_text_fault(key).is_some() {
            return Err(ServiceError::out_of_range(name, key));
        }
    }
    Ok(())
}

fn key(member: Option<Member<'_>>, rules: &ServiceRules) -> Result<String> {
    match member.as_ref().map(|member| (member.value().token, member.annotation)) {
        None | Some((Token::Null, _)) => Err(ServiceError::PROPERTIES_NEED_VALUE),
        Some((Token::Text(text), None | Some(EdmType::String))) => Ok(text.to_string()),
        Some(_) => Err(rules.invalid_key.clone()),
    }
}

fn unreadable(_: JsonError) -> ServiceError {
    ServiceError::UNREADABLE_VALUE
}

/// The contents of a body.
#[derive(Default)]
struct Entity<'a> {
    partition_key: Option<Member<'a>>,
    row_key: Option<Member<'a>>,
    properties: Properties<'a>,
}

impl<'a> Entity<'a> {
    fn read(body: &'a [u8], rules: &ServiceRules) -> Result<Self> {
        let members = members(body)?;
        let mut entity = Self {
            properties: Properties::with_capacity(members.len()),
            ..Self::default()
        };
        for mut member in members {
            let is_number = matches!(member.scalar, Scalar::Number(_));
            if rules.takes_numbers_as_text && is_number && member.annotation == Some(EdmType::String) {
                member.annotation = None;
            }
            let name = &*member.name;
            if let (Scalar::Text(key), true) = (&member.scalar, !rules.sorts_properties && is_key(name)) {
                let key = Edm::String(key.clone());
                entity.properties.push((member.name.clone(), key));
            }
            match name {
                "PartitionKey" => entity.partition_key = Some(member),
                "RowKey" => entity.row_key = Some(member),
                // The service sets it and ignores the value in the request (recorded).
                "Timestamp" => {}
                // A null has the same effect as an omitted property, in every write (recorded).
                _ if member.scalar == Scalar::Null => check_name(name, rules)?,
                _ => {
                    check_name(name, rules)?;
                    if !rules.takes_large_integers && is_large_integer(&member.value()) {
                        return Err(ServiceError::UNREADABLE_VALUE);
                    }
                    let property = member.into_property().map_err(|_| ServiceError::UNREADABLE_VALUE)?;
                    check_value(&property.0, &property.1, rules)?;
                    entity.properties.push(property);
                }
            }
        }
        Ok(entity)
    }
}

/// Parses the members of an object. Their maximum number is far above any valid entity.
fn members(body: &[u8]) -> Result<Vec<Member<'_>>> {
    member::members(
        body,
        8 * MAX_PROPERTIES,
        OtherAnnotations::Ignored,
        |fault| match fault {
            MemberFault::Json(_) | MemberFault::Type(..) => ServiceError::UNREADABLE_VALUE,
            MemberFault::Duplicate(_, name) if is_key(name) => ServiceError::DUPLICATE_KEY_PROPERTY,
            MemberFault::Duplicate(..) => ServiceError::DUPLICATE_PROPERTIES,
            MemberFault::TooMany(_) => ServiceError::TOO_MANY_PROPERTIES,
        },
    )
}

fn check_name(name: &str, rules: &ServiceRules) -> Result<()> {
    if rules.shared().reserved_properties.contains(&name) {
        return Err(rules.invalid_property_name(name));
    }
    if name.len() > MAX_PROPERTY_NAME && utf16_len(name) > MAX_PROPERTY_NAME {
        return Err(ServiceError::PROPERTY_NAME_TOO_LONG);
    }
    property_name_fault(name).map_or(Ok(()), |_| Err(rules.invalid_property_name(name)))
}

/// Returns `true` for a bare integer that exceeds every type.
fn is_large_integer(value: &WireValue<'_>) -> bool {
    match (value.token, value.annotation()) {
        (Token::Number(digits), None) => !digits.contains(['.', 'e', 'E']) && digits.parse::<i64>().is_err(),
        _ => false,
    }
}

/// The size of a value from which its entity is too large, in bytes.
const LARGE_PROPERTY: usize = 1 << 20;

fn check_value(name: &str, value: &Edm<'_>, rules: &ServiceRules) -> Result<()> {
    let bytes = match value {
        Edm::String(text) if text.len() >= LARGE_PROPERTY / 2 => utf16_len(text) * 2,
        Edm::Binary(bytes) => bytes.len(),
        _ => 0,
    };
    // The tests of azure-storage-net; the exact size is not known.
    if rules.has_storage_form && bytes >= LARGE_PROPERTY {
        return Err(ServiceError::ENTITY_TOO_LARGE);
    }
    match value {
        Edm::String(text) if text.len() > rules.max_string_units && utf16_len(text) > rules.max_string_units => {
            Err(ServiceError::PROPERTY_VALUE_TOO_LARGE)
        }
        Edm::Binary(bytes) if bytes.len() > rules.max_binary_bytes => Err(ServiceError::PROPERTY_VALUE_TOO_LARGE),
        Edm::DateTime(time) if *time < DateTime::MIN_STORED => Err(ServiceError::out_of_range(name, time)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::edm::EdmValue;

    use super::*;
    use crate::rules::STORAGE;

    fn code(body: &str) -> (u16, &'static str, String) {
        let service_error = insert(body.as_bytes(), &STORAGE).unwrap_err();
        (
            service_error.status,
            service_error.code,
            service_error.message.into_owned(),
        )
    }

    fn with(members: &str) -> String {
        format!(r#"{{"PartitionKey":"p","RowKey":"r",{members}}}"#)
    }

    #[test]
    fn values_have_the_types_of_the_service() {
        let body = with(
            r#""L@odata.type":"Edm.Int64","L":"5","I":5,"Big":9223372036854775808000,"D":5.0,"B":"False",
                "B@odata.type":"Edm.Boolean","S":"5","F@odata.type":"Edm.Double","F":"1.23e+24","N":null,
                "T@odata.type":"Edm.Boolean","T":null,"Timestamp":"0001-01-01T00:00:00Z","odata.etag":{"x":[1]},
                "PartitionKey@odata.type":"Edm.String""#,
        );
        let (id, properties) = insert(body.as_bytes(), &STORAGE).unwrap();
        assert_eq!(id, RowId::new("p", "r"));
        let expected: Properties = [
            ("L", EdmValue::from(5_i64)),
            ("I", EdmValue::from(5)),
            ("Big", EdmValue::from(9.223_372_036_854_776e21)),
            ("D", EdmValue::from(5.0)),
            ("B", EdmValue::from(false)),
            ("S", EdmValue::from("5")),
            ("F", EdmValue::from(1.23e24)),
        ]
        .map(|(name, value)| (name.into(), value))
        .into();
        assert_eq!(properties, expected);
    }

    #[test]
    fn errors_match_live_responses() {
        let unreadable = "An error occurred while processing this request.";
        let generic = "One of the request inputs is not valid.";
        for (body, status, code_expected, text) in [
            (
                r#"{"String":"x"}"#.to_owned(),
                400,
                "PropertiesNeedValue",
                "The values are not specified",
            ),
            (
                r#"{"PartitionKey":null,"RowKey":"r"}"#.into(),
                400,
                "PropertiesNeedValue",
                "The values are not specified",
            ),
            (
                r#"{"PartitionKey":"p","RowKey":1}"#.into(),
                400,
                "InvalidInput",
                generic,
            ),
            (
                with(r#""RowKey@odata.type":"Edm.Binary""#),
                400,
                "InvalidInput",
                generic,
            ),
            (
                with(r#""A@odata.type":"Edm.Int64","A":"9223372036854775808""#),
                400,
                "InvalidInput",
                unreadable,
            ),
            (
                with(r#""A@odata.type":"Edm.Double","A":"13e7705""#),
                400,
                "InvalidInput",
                unreadable,
            ),
            (
                with(r#""A@odata.type":"Edm.Other","A":"1""#),
                400,
                "InvalidInput",
                unreadable,
            ),
            (with(r#""A":{}"#), 400, "InvalidInput", unreadable),
            (
                with(r#""A":1,"A":2"#),
                400,
                "DuplicatePropertiesSpecified",
                "A property is specified",
            ),
            (
                with(r#""123":1"#),
                400,
                "PropertyNameInvalid",
                "The property name is invalid.",
            ),
            (
                with(r#""a-b":1"#),
                400,
                "PropertyNameInvalid",
                "The property name is invalid.",
            ),
            (
                with(&format!(r#""{}":1"#, "a".repeat(256))),
                400,
                "PropertyNameTooLong",
                "The property name exceeds",
            ),
            (
                with(&format!(r#""A":"{}""#, "é".repeat(32_769))),
                400,
                "PropertyValueTooLarge",
                "The property value",
            ),
            (
                with(r#""A@odata.type":"Edm.DateTime","A":"0001-01-01T00:00:00Z""#),
                400,
                "OutOfRangeInput",
                "The 'A' parameter of value '0001-01-01T00:00:00Z' is out of range.",
            ),
            (
                r#"{"PartitionKey":"a/b","RowKey":"r"}"#.into(),
                400,
                "OutOfRangeInput",
                "The 'PartitionKey' parameter of value 'a/b' is out of range.",
            ),
            (
                format!(r#"{{"PartitionKey":"p","RowKey":"{}"}}"#, "x".repeat(1_025)),
                400,
                "PropertyValueTooLarge",
                "The property value",
            ),
            ("not json".into(), 400, "InvalidInput", unreadable),
            ("".into(), 400, "InvalidInput", unreadable),
            ("[]".into(), 400, "InvalidInput", unreadable),
        ] {
            let found = code(&body);
            assert_eq!((found.0, found.1), (status, code_expected), "{body:.100}");
            assert!(found.2.starts_with(text), "{}", found.2);
        }
        assert!(insert(with(&format!(r#""A":"{}""#, "é".repeat(32_768))).as_bytes(), &STORAGE).is_ok());
    }

    #[test]
    fn update_accepts_keys_of_any_type() {
        let body = r#"{"PartitionKey":1,"RowKey@odata.type":"Edm.Binary","RowKey":"AQ==","A":1}"#;
        assert_eq!(update(body.as_bytes(), &STORAGE).unwrap().len(), 1);
        assert_eq!(update(b"{}", &STORAGE).unwrap(), Properties::new());
    }

    #[test]
    fn body_designed_to_be_slow_is_rejected_early() {
        let many: String = (0..200_000).map(|n| format!(r#""P{n}":1,"#)).collect();
        assert_eq!(code(&with(&format!("{many}\"Z\":1"))).1, "TooManyProperties");
    }

    #[test]
    fn table_name_must_be_text() {
        assert_eq!(table_name(br#"{"TableName":"T"}"#).unwrap(), "T");
        assert_eq!(table_name(b"{}").unwrap_err(), ServiceError::PROPERTIES_NEED_VALUE);
        assert_eq!(
            table_name(br#"{"TableName":1}"#).unwrap_err(),
            ServiceError::INVALID_INPUT
        );
        assert_eq!(table_name(b"{").unwrap_err(), ServiceError::UNREADABLE_VALUE);
    }
}
