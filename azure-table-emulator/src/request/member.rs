//! The members of an entity's object: properties, and annotations of their types.
//!
//! Defines [`members`], which reads the members of an object with their positions. Rows of pages are read by
//! `entity/read_json.rs` of azure-table, which borrows and keeps no positions.

use std::borrow::Cow;

use azure_table_wire::codec::json::token::{JsonError, Reader, Scalar};
use azure_table_wire::codec::odata::value::{ENTITY_ANNOTATION, TYPE_ANNOTATION};
use azure_table_wire::error::ValueError;
use azure_table_wire::value::edm::{Edm, EdmType, WireValue};

/// A property, as it was sent.
#[derive(Debug)]
pub(crate) struct Member<'a> {
    pub(crate) name: Cow<'a, str>,
    /// The position of its value.
    pub(crate) at: usize,
    pub(crate) annotation: Option<EdmType>,
    pub(crate) scalar: Scalar<'a>,
}

impl<'a> Member<'a> {
    pub(crate) fn value(&self) -> WireValue<'_> {
        WireValue {
            annotation: self.annotation,
            token: self.scalar.token(),
        }
    }

    /// Returns the name and the value, borrowed from the body where it has no escapes.
    ///
    /// # Errors
    /// The text does not fit the annotated type, or the value is `null`.
    pub(crate) fn into_property(self) -> Result<(Cow<'a, str>, Edm<'a>), ValueError> {
        let annotation = self.annotation;
        let value = match self.scalar {
            Scalar::Text(text) if annotation.is_none_or(|edm_type| edm_type == EdmType::String) => Edm::String(text),
            scalar => {
                let token = scalar.token();
                WireValue { annotation, token }.to_edm()?.into_owned()
            }
        };
        Ok((self.name, value))
    }
}

/// The fault of an object that is not an entity.
#[derive(Debug)]
pub(crate) enum MemberFault<'a> {
    Json(JsonError),
    /// The type of this property is not one of the eight EDM types. With the position of the type.
    Type(usize, &'a str),
    /// This property occurs twice. With the position of the second.
    Duplicate(usize, &'a str),
    /// More members than allowed. With the position of the first one too many.
    TooMany(usize),
}

/// The handling of annotations that belong neither to a type nor to the entity, such as `Text@odata.associationLink`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherAnnotations {
    Ignored,
    /// They are read as properties, whose names are not valid.
    Kept,
}

/// The typical maximum number of members, for which memory is reserved.
const USUAL_MEMBERS: usize = 16;

/// Reads the properties of an object, each with its type annotation, which may come before or after it.
///
/// `most` limits the number of properties and of annotations, which keeps the searches short for a malicious body.
///
/// # Errors
/// The text is not a JSON object, a type is unknown, a property occurs twice, or there are more than `most` members.
pub(crate) fn members<E>(
    body: &[u8],
    most: usize,
    others: OtherAnnotations,
    fault: impl Fn(MemberFault<'_>) -> E,
) -> Result<Vec<Member<'_>>, E> {
    let json = |error| fault(MemberFault::Json(error));
    let mut members: Vec<Member<'_>> = Vec::with_capacity(USUAL_MEMBERS);
    let mut pending: Vec<(Cow<'_, str>, EdmType)> = Vec::new();
    let mut reader = Reader::new(body).map_err(json)?;
    let mut first = true;
    reader.enter_object().map_err(json)?;
    while let Some(name) = reader.next_member(&mut first).map_err(json)? {
        let at = reader.position();
        if name.starts_with(ENTITY_ANNOTATION) {
            reader.skip().map_err(json)?;
        } else if let Some(property) = name.strip_suffix(TYPE_ANNOTATION) {
            let edm_type = match reader.scalar().map_err(json)? {
                Scalar::Text(text) => EdmType::from_name(&text),
                _ => None,
            };
            let edm_type = edm_type.ok_or_else(|| fault(MemberFault::Type(at, property)))?;
            match members.iter_mut().rfind(|member| member.name == property) {
                Some(member) => member.annotation = Some(edm_type),
                None => pending.push((property.to_owned().into(), edm_type)),
            }
        } else if name.contains('@') && others == OtherAnnotations::Ignored {
            reader.skip().map_err(json)?;
        } else {
            let scalar = reader.scalar().map_err(json)?;
            if members.iter().any(|member| member.name == name) {
                return Err(fault(MemberFault::Duplicate(at, &name)));
            }
            let annotated = pending.iter().position(|(pending, _)| *pending == name);
            let annotation = annotated.map(|place| pending.swap_remove(place).1);
            members.push(Member {
                name,
                at,
                annotation,
                scalar,
            });
        }
        if members.len().max(pending.len()) > most {
            return Err(fault(MemberFault::TooMany(at)));
        }
    }
    reader.end().map_err(json)?;
    Ok(members)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use azure_table::testing::{ResponseTemplate, Script};
    use azure_table::{DynamicEntity, TableServiceClient};
    use azure_table_wire::value::edm::EdmValue;
    use bytes::Bytes;
    use http::Response;
    use proptest::prelude::*;

    use super::*;

    fn read_by_the_client(body: String) -> DynamicEntity {
        let response = ResponseTemplate::from(Response::new(Bytes::from(body)));
        let service = TableServiceClient::from_transport(Script::new().then_any(response));
        let table = service.dynamic_table("Things").unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let read = runtime.block_on(async { table.get(("p", "r")).await });
        read.unwrap().unwrap()
    }

    /// The text of a value, its annotation, and the position of the annotation: before or after.
    fn value() -> impl Strategy<Value = (String, Option<&'static str>, bool)> {
        let text = prop_oneof![
            (any::<i32>().prop_map(|n| n.to_string()), Just(None)),
            (any::<i64>().prop_map(|n| format!("\"{n}\"")), Just(Some("Edm.Int64"))),
            (any::<bool>().prop_map(|b| b.to_string()), Just(None)),
            ("[a-z\u{e9} ]{0,9}".prop_map(|text| format!("{text:?}")), Just(None)),
            (Just("5.0".to_owned()), Just(Some("Edm.Double"))),
            (
                Just("\"2026-01-02T03:04:05.1Z\"".to_owned()),
                Just(Some("Edm.DateTime"))
            ),
            (Just("\"AAEC\"".to_owned()), Just(Some("Edm.Binary"))),
            (Just("null".to_owned()), Just(None)),
        ];
        (text, any::<bool>()).prop_map(|((text, annotation), is_before)| (text, annotation, is_before))
    }

    proptest! {
        #[test]
        fn members_agree_with_the_reader_of_pages(
            values in proptest::collection::btree_map("[A-O][a-z0-9]{0,5}", value(), 0..8)
        ) {
            let mut parts = vec![r#""odata.etag":"e""#.to_owned(), r#""PartitionKey":"p""#.into(), r#""RowKey":"r""#.into()];
            for (name, (text, annotation, is_before)) in &values {
                let at = parts.len();
                parts.push(format!(r#""{name}":{text}"#));
                if let Some(annotation) = annotation {
                    parts.insert(at + usize::from(!is_before), format!(r#""{name}@odata.type":"{annotation}""#));
                }
            }
            let body = format!("{{{}}}", parts.join(","));
            let read = read_by_the_client(body.clone());
            let members = members(body.as_bytes(), 99, OtherAnnotations::Kept, |fault| format!("{fault:?}")).unwrap();
            let members: BTreeMap<String, EdmValue> = members
                .into_iter()
                .filter(|member| member.name != "PartitionKey" && member.name != "RowKey" && member.scalar != Scalar::Null)
                .map(|mut member| {
                    // Text without a type is an Edm.String at this level.
                    if matches!(member.scalar, Scalar::Text(_)) {
                        member.annotation.get_or_insert(EdmType::String);
                    }
                    (member.name.clone().into_owned(), member.value().to_edm().unwrap().into_owned())
                })
                .collect();
            prop_assert_eq!(members, read.properties.into_iter().collect());
        }
    }
}
