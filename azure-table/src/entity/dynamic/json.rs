//! The serde form of [`DynamicEntity`]: a map like the service's JSON that keeps every type.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use azure_table_wire::codec::json::token::Scalar;
use azure_table_wire::codec::odata;
use azure_table_wire::codec::odata::value::{ENTITY_ANNOTATION, TYPE_ANNOTATION};
use azure_table_wire::error::ValueError;
use azure_table_wire::value::edm::{Edm, EdmType, EdmValue, WireValue, double_text};
use azure_table_wire::value::etag::ETag;
use serde::de::{self, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::entity::dynamic::DynamicEntity;

impl Serialize for DynamicEntity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(etag) = &self.etag {
            map.serialize_entry("odata.etag", etag.as_str())?;
        }
        map.serialize_entry("PartitionKey", &self.partition_key)?;
        map.serialize_entry("RowKey", &self.row_key)?;
        if let Some(timestamp) = &self.timestamp {
            map.serialize_entry("Timestamp", timestamp)?;
        }
        let mut annotation = String::new();
        for (name, value) in &self.properties {
            if odata::value::annotation(value, |_| true).is_some() {
                annotation.clear();
                annotation.push_str(name);
                annotation.push_str(TYPE_ANNOTATION);
                map.serialize_entry(&annotation, value.edm_type().name())?;
            }
            match value {
                Edm::String(text) => map.serialize_entry(name, text)?,
                Edm::Boolean(value) => map.serialize_entry(name, value)?,
                Edm::Int32(value) => map.serialize_entry(name, value)?,
                Edm::DateTime(value) => map.serialize_entry(name, value)?,
                Edm::Guid(value) => map.serialize_entry(name, value)?,
                // A double too, since a format may round its own numbers.
                Edm::Int64(_) | Edm::Double(_) | Edm::Binary(_) => map.serialize_entry(name, &value.to_string())?,
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for DynamicEntity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntityVisitor)
    }
}

/// The value of a member, of any kind that an entity can have.
enum ValueMember {
    Boolean(bool),
    Integer(i128),
    Number(String),
    Text(String),
    Null,
}

impl<'de> Deserialize<'de> for ValueMember {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

/// Written by hand, because a derived reader would try one kind after the other.
struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = ValueMember;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value of a property: a text, a number, a boolean or null")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<ValueMember, E> {
        Ok(ValueMember::Boolean(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<ValueMember, E> {
        Ok(ValueMember::Integer(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<ValueMember, E> {
        Ok(ValueMember::Integer(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<ValueMember, E> {
        Ok(ValueMember::Number(double_text(value)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ValueMember, E> {
        Ok(ValueMember::Text(text.to_owned()))
    }

    fn visit_unit<E: de::Error>(self) -> Result<ValueMember, E> {
        Ok(ValueMember::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<ValueMember, E> {
        self.visit_unit()
    }

    /// Reads a number that is not a 64-bit integer: a map, with serde_json's feature `arbitrary_precision`.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ValueMember, A::Error> {
        match map.next_key::<String>()?.as_deref() {
            Some("$serde_json::private::Number") => map.next_value().map(ValueMember::Number),
            _ => Err(de::Error::invalid_type(de::Unexpected::Map, &self)),
        }
    }
}

struct EntityVisitor;

impl<'de> Visitor<'de> for EntityVisitor {
    type Value = DynamicEntity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an entity: a map with PartitionKey, RowKey and properties")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DynamicEntity, A::Error> {
        let mut entity = DynamicEntity::default();
        let (mut partition_key, mut row_key) = (None, None);
        let mut members: BTreeMap<String, ValueMember> = BTreeMap::new();
        let mut types: BTreeMap<String, EdmType> = BTreeMap::new();
        // If two members have the same name, nothing shows which one is meant.
        let once = |name: &str, is_new: bool| match is_new {
            true => Ok(()),
            false => Err(de::Error::custom(format_args!("it has {name:?} twice"))),
        };
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "PartitionKey" => once(&name, partition_key.replace(map.next_value()?).is_none())?,
                "RowKey" => once(&name, row_key.replace(map.next_value()?).is_none())?,
                "Timestamp" => {
                    once(&name, entity.timestamp.is_none())?;
                    entity.timestamp = map.next_value()?;
                }
                "odata.etag" => {
                    once(&name, entity.etag.is_none())?;
                    entity.etag = map.next_value::<Option<String>>()?.map(ETag::new);
                }
                _ => match name.strip_suffix(TYPE_ANNOTATION) {
                    Some("Timestamp") => drop(map.next_value::<de::IgnoredAny>()?),
                    Some(property) => {
                        let edm_type: Cow<'_, str> = map.next_value()?;
                        let edm_type = EdmType::from_name(&edm_type)
                            .ok_or_else(|| de::Error::custom(format_args!("unknown property type {edm_type:?}")))?;
                        once(&name, types.insert(property.to_owned(), edm_type).is_none())?;
                    }
                    None if name.starts_with(ENTITY_ANNOTATION) => drop(map.next_value::<de::IgnoredAny>()?),
                    None => match members.entry(name) {
                        Entry::Vacant(member) => drop(member.insert(map.next_value()?)),
                        Entry::Occupied(member) => once(member.key(), false)?,
                    },
                },
            }
        }
        entity.partition_key = partition_key.ok_or_else(|| de::Error::missing_field("PartitionKey"))?;
        entity.row_key = row_key.ok_or_else(|| de::Error::missing_field("RowKey"))?;
        for (name, member) in members {
            if let Some(value) = value(member, types.get(&name).copied())
                .map_err(|e| de::Error::custom(format_args!("property `{name}`: {e}")))?
            {
                entity.properties.insert(name, value);
            }
        }
        Ok(entity)
    }
}

/// Returns the value of a member, or `None` for null.
fn value(member: ValueMember, annotation: Option<EdmType>) -> Result<Option<EdmValue>, ValueError> {
    let scalar = match member {
        ValueMember::Null => return Ok(None),
        ValueMember::Text(text) if matches!(annotation, None | Some(EdmType::String)) => return Ok(Some(text.into())),
        ValueMember::Boolean(value) => Scalar::Boolean(value),
        ValueMember::Integer(value) => integer(value, annotation)?,
        ValueMember::Number(digits) => Scalar::Number(digits.into()),
        ValueMember::Text(text) => Scalar::Text(text.into()),
    };
    let token = scalar.token();
    WireValue { annotation, token }
        .to_edm()
        .map(|value| Some(value.into_owned()))
}

/// Converts an integer. Without an annotation, one beyond Edm.Int32 is an Edm.Double, which cannot hold every integer.
fn integer(value: i128, annotation: Option<EdmType>) -> Result<Scalar<'static>, ValueError> {
    let is_double = annotation == Some(EdmType::Double) || (annotation.is_none() && i32::try_from(value).is_err());
    if is_double && value as f64 as i128 != value {
        return Err(ValueError::new(format!(
            "no Edm.Double is {value} exactly: write it as text, with the type annotation Edm.Int64"
        )));
    }
    Ok(Scalar::Number(value.to_string().into()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_finite_number_is_imported_exactly(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            prop_assume!(number.is_finite());
            let json = format!(r#"{{"PartitionKey":"p","RowKey":"r","D":{}}}"#, double_text(number));
            let entity: DynamicEntity = serde_json::from_str(&json).unwrap();
            let Some(&EdmValue::Double(read)) = entity.get("D") else { panic!("{json}") };
            prop_assert_eq!(read.to_bits(), bits);
        }
    }

    #[test]
    fn every_type_round_trips_through_serde() {
        let mut entity = DynamicEntity::new("p", "r");
        entity.etag = Some(ETag::new("W/\"x\""));
        entity.timestamp = Some("2026-01-02T03:04:05.1Z".parse().unwrap());
        for (name, value) in [
            ("S", EdmValue::from("2026-01-02T03:04:05Z")),
            ("B", true.into()),
            ("I", 5.into()),
            ("L", i64::MIN.into()),
            ("D", 5.0.into()),
            ("E", 0.1.into()),
            ("F", f64::NEG_INFINITY.into()),
            ("T", azure_table_wire::value::datetime::DateTime::MAX.into()),
            ("G", azure_table_wire::value::guid::Guid([7; 16]).into()),
            ("X", vec![0_u8, 255].into()),
        ] {
            entity.insert(name, value);
        }
        let json = serde_json::to_string(&entity).unwrap();
        assert!(
            json.contains(r#""L@odata.type":"Edm.Int64","L":"-9223372036854775808""#),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<DynamicEntity>(&json).unwrap(), entity);
    }

    #[test]
    fn an_integer_that_no_type_holds_exactly_is_an_error() {
        let read = |digits: &str| {
            let json = format!(r#"{{"PartitionKey":"p","RowKey":"r","N":{digits}}}"#);
            serde_json::from_str::<DynamicEntity>(&json)
        };
        for exact in [9_007_199_254_740_992_i64, -9_007_199_254_740_992, 1 << 62, i64::MIN] {
            let entity = read(&exact.to_string()).unwrap();
            assert_eq!(entity.get("N"), Some(&EdmValue::Double(exact as f64)));
        }
        for inexact in [
            "9007199254740993",
            "-9007199254740993",
            "9223372036854775807",
            "18446744073709551615",
        ] {
            let error = read(inexact).unwrap_err().to_string();
            assert!(error.contains("property `N`") && error.contains(inexact), "{error}");
        }
    }

    #[test]
    fn a_member_that_is_there_twice_is_an_error() {
        for (members, name) in [
            (r#""N":1,"N":2"#, "N"),
            (r#""N":1,"N":null"#, "N"),
            (
                r#""N@odata.type":"Edm.Int64","N@odata.type":"Edm.Int32","N":"5""#,
                "N@odata.type",
            ),
            (r#""PartitionKey":"q""#, "PartitionKey"),
            (r#""RowKey":"r""#, "RowKey"),
        ] {
            let json = format!(r#"{{"PartitionKey":"p","RowKey":"r",{members}}}"#);
            let error = serde_json::from_str::<DynamicEntity>(&json).unwrap_err().to_string();
            assert!(error.contains(&format!("it has {name:?} twice")), "{error}");
        }
    }

    #[test]
    fn the_services_own_json_is_read() {
        let json = r#"{"odata.metadata":"m","X":null,"N@odata.type":"Edm.Int64","N":"5","D":2.5,"I":3000000000,
            "PartitionKey":"p","RowKey":"r"}"#;
        let entity: DynamicEntity = serde_json::from_str(json).unwrap();
        assert_eq!(entity.get("N"), Some(&EdmValue::Int64(5)));
        assert_eq!(entity.get("I"), Some(&EdmValue::Double(3e9)));
        assert_eq!(entity.get("X"), None);
        for (wrong, why) in [
            (r#"{"RowKey":"r"}"#, "PartitionKey"),
            (
                r#"{"PartitionKey":"p","RowKey":"r","N@odata.type":"Edm.Guid","N":"5"}"#,
                "property `N`",
            ),
            (
                r#"{"PartitionKey":"p","RowKey":"r","N@odata.type":"Edm.Decimal","N":"5"}"#,
                "Edm.Decimal",
            ),
        ] {
            let error = serde_json::from_str::<DynamicEntity>(wrong).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
