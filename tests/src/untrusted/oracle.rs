//! The verdict of serde_json on a page or an entity.
//!
//! Decides everything again from the documented form of responses. Only GUIDs and times are parsed by the crate under
//! test.

use std::collections::BTreeSet;
use std::fmt;

use azure_table::{DynamicEntity, ETag, EdmValue};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The maximum depth of a value that the client skips.
const MAX_DEPTH: usize = 64;

/// The expected result for a text.
pub(super) enum Verdict {
    /// It is not JSON: rejected.
    NotJson,
    /// It has these rows.
    Rows(Vec<DynamicEntity>),
    /// It may be read or rejected.
    Open,
}

/// JSON with every member as it was sent.
enum Json {
    Null,
    Boolean(bool),
    Integer(i128),
    Double(f64),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

struct AnyJson;

impl<'de> Visitor<'de> for AnyJson {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Integer(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Double(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Json, A::Error> {
        let mut array = Vec::new();
        while let Some(element) = elements.next_element()? {
            array.push(element);
        }
        Ok(Json::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut object = Vec::new();
        while let Some(member) = members.next_entry()? {
            object.push(member);
        }
        Ok(Json::Object(object))
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyJson)
    }
}

impl Json {
    fn depth(&self) -> usize {
        match self {
            Self::Array(elements) => 1 + elements.iter().map(Self::depth).max().unwrap_or(0),
            Self::Object(members) => 1 + members.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// Returns the members of an object without duplicate names.
    fn members(self) -> Option<Vec<(String, Json)>> {
        let Self::Object(members) = self else { return None };
        let names: BTreeSet<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
        (names.len() == members.len()).then_some(members)
    }
}

pub(super) fn page(body: &[u8]) -> Verdict {
    verdict(body, |json| {
        let mut rows = None;
        for (name, value) in json.members()? {
            match value {
                Json::Array(entities) if name == "value" => {
                    rows = entities.into_iter().map(row).collect::<Option<Vec<_>>>();
                    rows.as_ref()?;
                }
                value if name == "value" || value.depth() > MAX_DEPTH => return None,
                _ => {}
            }
        }
        rows
    })
}

pub(super) fn entity(body: &[u8]) -> Verdict {
    verdict(body, |json| row(json).map(|row| vec![row]))
}

fn verdict(body: &[u8], rows: impl FnOnce(Json) -> Option<Vec<DynamicEntity>>) -> Verdict {
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    let Some(text) = std::str::from_utf8(body).ok() else {
        return Verdict::NotJson;
    };
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        return Verdict::NotJson;
    }
    match serde_json::from_str(text).ok().and_then(rows) {
        Some(rows) => Verdict::Rows(rows),
        None => Verdict::Open,
    }
}

/// Returns an entity with keys and with values that fit their types, or `None`.
fn row(json: Json) -> Option<DynamicEntity> {
    let members = json.members()?;
    let mut row = DynamicEntity::default();
    let mut keys = 0;
    for (name, value) in &members {
        match (name.as_str(), value) {
            ("PartitionKey", Json::Text(text)) => {
                row.partition_key = text.clone();
                keys += 1;
            }
            ("RowKey", Json::Text(text)) => {
                row.row_key = text.clone();
                keys += 1;
            }
            ("Timestamp", Json::Text(text)) => row.timestamp = Some(text.parse().ok()?),
            ("odata.etag", Json::Text(text)) => row.etag = Some(ETag::new(text.as_str())),
            ("Timestamp" | "odata.etag", Json::Null) => {}
            ("PartitionKey" | "RowKey" | "Timestamp" | "odata.etag", _) => return None,
            (name, Json::Text(edm_type)) if name.ends_with("@odata.type") => is_type(edm_type).then_some(())?,
            (name, _) if name.ends_with("@odata.type") => return None,
            (name, value) if name.contains(['@', '.']) => (value.depth() <= MAX_DEPTH).then_some(())?,
            (_, Json::Null) => {}
            (name, value) => {
                let annotation = format!("{name}@odata.type");
                let annotated = members.iter().find(|(name, _)| *name == annotation);
                let annotated = match annotated {
                    None => None,
                    Some((_, Json::Text(edm_type))) => Some(edm_type.as_str()),
                    Some(_) => return None,
                };
                row.insert(name, property(annotated, value)?);
            }
        }
    }
    (keys == 2).then_some(row)
}

fn is_type(name: &str) -> bool {
    let known = [
        "String", "Boolean", "Int32", "Int64", "Double", "DateTime", "Guid", "Binary",
    ];
    name.strip_prefix("Edm.").is_some_and(|name| known.contains(&name))
}

fn property(annotation: Option<&str>, value: &Json) -> Option<EdmValue> {
    Some(match (annotation, value) {
        (None | Some("Edm.String"), Json::Text(text)) => EdmValue::from(text.as_str()),
        (None | Some("Edm.Boolean"), Json::Boolean(value)) => EdmValue::from(*value),
        (None | Some("Edm.Int32"), Json::Integer(value)) if i32::try_from(*value).is_ok() => {
            EdmValue::from(i32::try_from(*value).ok()?)
        }
        (Some("Edm.Int64"), Json::Integer(value)) => EdmValue::from(i64::try_from(*value).ok()?),
        (None | Some("Edm.Double"), Json::Integer(value)) => EdmValue::from(*value as f64),
        (None | Some("Edm.Double"), Json::Double(value)) => EdmValue::from(*value),
        (Some("Edm.Double"), Json::Text(text)) => EdmValue::from(match text.as_str() {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            _ => return None,
        }),
        // Only digits: Rust also accepts a `+`, which is left open.
        (Some("Edm.Int64"), Json::Text(text)) if !text.starts_with('+') => EdmValue::from(text.parse::<i64>().ok()?),
        (Some("Edm.DateTime"), Json::Text(text)) => EdmValue::DateTime(text.parse().ok()?),
        (Some("Edm.Guid"), Json::Text(text)) => EdmValue::Guid(text.parse().ok()?),
        (Some("Edm.Binary"), Json::Text(text)) if text == "AAEC" => EdmValue::from(vec![0, 1, 2]),
        _ => return None,
    })
}
