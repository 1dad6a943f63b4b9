//! Reads entities and pages from JSON into rows.
//!
//! It separates the names that are not properties (`odata.…`, `…@odata.type`, the keys, Timestamp). A row is filled in
//! one pass and reused for the next row of the page. All its text is borrowed from the body.
//!
//! The reader is our own, not a serde visitor, because entities need the digits of a number unchanged: `5` is an Int32,
//! `5.0` a Double, and a Double must not be rounded twice. This must hold whatever features of serde_json another crate
//! turns on: with `arbitrary_precision`, a visitor sees numbers as maps. serde_json is the oracle of the property
//! tests, and reads error bodies and lists of tables.

use std::borrow::Cow;

use azure_table_wire::codec::json::token::{JsonError, Reader, Scalar};
use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::edm::EdmType;
use bytes::Bytes;

use crate::entity::row::context::RowContext;
use crate::entity::row::layout::{MAX_MEMBERS, RowLayout, RowMember, annotation};
use crate::entity::row::members::RowMembers;
use crate::entity::row::{self, Row, RowProperty};

/// The number of rows that may differ from the layout before the rest of the page is read without it.
const MAX_MISSES: usize = 8;
/// The initial capacity, enough for most entities.
const USUAL_MEMBERS: usize = 16;

/// Reads one entity, requested at this metadata level, and passes it to `read`.
///
/// `etag` is the ETag of the response header, used if the body has none.
pub(crate) fn entity<T>(
    body: &[u8],
    metadata: MetadataLevel,
    etag: Option<&str>,
    read: impl FnOnce(&Row<'_>) -> Result<T>,
) -> Result<T> {
    entity_in(None, body, metadata, etag, read)
}

/// Reads one entity of a response as [`entity`] does.
pub(crate) fn entity_in<T>(
    context: Option<&RowContext>,
    body: &[u8],
    metadata: MetadataLevel,
    etag: Option<&str>,
    read: impl FnOnce(&Row<'_>) -> Result<T>,
) -> Result<T> {
    let row = row(context, body, metadata, etag)?;
    read(&row).map_err(|e| row::locate(&row, e))
}

/// Reads one entity as [`entity`] does, straight from the text if possible.
pub(crate) fn entity_of_members(
    context: &RowContext,
    body: &[u8],
    metadata: MetadataLevel,
    etag: Option<&str>,
    read: &mut dyn FnMut(&mut RowMembers<'_, '_>) -> Result<()>,
) -> Result<()> {
    let mut layout = RowLayout::new(of_text(metadata), false);
    let mut keys = Row {
        etag: etag.map(Cow::Borrowed),
        context: Some(context),
        ..Row::default()
    };
    if let Ok(mut reader) = Reader::new(body)
        && reader.enter_object().is_ok()
        && read(&mut RowMembers::of_text(&mut reader, &mut layout, &mut keys)).is_ok()
        && reader.end().is_ok()
    {
        return Ok(());
    }
    entity_in(Some(context), body, metadata, etag, |row| {
        read(&mut RowMembers::of(row))
    })
}

fn row<'a>(
    context: Option<&'a RowContext>,
    body: &'a [u8],
    metadata: MetadataLevel,
    etag: Option<&'a str>,
) -> Result<Row<'a>> {
    let mut reader = Reader::new(body).map_err(not_an_entity)?;
    let mut row = usual_row(context);
    fill(&mut reader, &mut Before::default(), metadata, &mut row).map_err(not_an_entity)?;
    reader.end().map_err(not_an_entity)?;
    if row.etag.is_none() {
        row.etag = etag.map(Cow::Borrowed);
    }
    Ok(row)
}

fn usual_row(context: Option<&RowContext>) -> Row<'_> {
    Row {
        context,
        properties: Vec::with_capacity(USUAL_MEMBERS),
        ..Row::default()
    }
}

/// A position between two rows of a page, in bytes from the beginning of the page.
pub(crate) type RowPosition = usize;

/// Reads a row, at the position reached.
type ReadMembers<'r> = dyn FnMut(&mut RowMembers<'_, '_>, RowPosition) -> Result<()> + 'r;

/// Returns the text of a page.
pub(crate) fn page_text(body: &[u8]) -> Result<&str> {
    std::str::from_utf8(body).map_err(|e| not_a_page(e.into()))
}

/// Returns the text of a page as a `String`, without a copy if nobody else holds the body.
pub(crate) fn into_page_text(body: Bytes) -> Result<String> {
    String::from_utf8(body.into()).map_err(|e| not_a_page(e.utf8_error().into()))
}

/// Reads the entities of a page, requested at this metadata level, and passes each to `read` in order, with the
/// position reached. Returns `None` after the last.
///
/// `goes_on` receives the position after each entity and the number of its properties. If it returns `false`, the
/// function returns that position, and another call can continue there. An error of `read` ends the page, unless the
/// entity came straight from the text: `read` then receives it again, as a row.
pub(crate) fn page(
    context: &RowContext,
    text: &str,
    metadata: MetadataLevel,
    from: RowPosition,
    read: &mut ReadMembers<'_>,
    goes_on: &mut dyn FnMut(RowPosition, usize) -> bool,
) -> Result<Option<RowPosition>> {
    let mut is_among_rows = from > 0;
    let mut reader = if is_among_rows {
        Reader::resume(text, from)
    } else {
        Reader::of_text(text)
    };
    let mut row = usual_row(Some(context));
    // The keys of a row whose properties come straight from the text.
    let mut keys = Row {
        context: Some(context),
        ..Row::default()
    };
    let mut before = Before::new();
    let mut layout = RowLayout::new(of_text(metadata), true);
    // Set once the first row is read.
    let mut is_of_members = false;
    let mut has_rows = is_among_rows;
    let mut first = !is_among_rows;
    if !is_among_rows {
        reader.enter_object().map_err(not_a_page)?;
    }
    loop {
        let mut first_row = false;
        if !is_among_rows {
            let Some(name) = reader.next_member(&mut first).map_err(not_a_page)? else {
                break;
            };
            if name != "value" {
                reader.skip().map_err(not_a_page)?;
                continue;
            }
            if has_rows {
                return Err(not_a_page(reader.error("a second member `value`")));
            }
            (has_rows, first_row) = (true, true);
            reader.enter_array().map_err(not_a_page)?;
        }
        is_among_rows = false;
        while reader.next_element(&mut first_row).map_err(not_a_page)? {
            let by_layout = match is_of_members {
                true => by_layout(&mut reader, &mut layout, &mut keys, read),
                false => None,
            };
            let properties = if let Some(properties) = by_layout {
                properties
            } else {
                row.clear_system_properties();
                fill(&mut reader, &mut before, metadata, &mut row).map_err(not_a_page)?;
                let mut members = RowMembers::of(&row);
                read(&mut members, reader.position()).map_err(|e| row::locate(&row, e))?;
                is_of_members = members.is_used();
                row.properties.len()
            };
            if !goes_on(reader.position(), properties) {
                return Ok(Some(reader.position()));
            }
        }
    }
    reader.end().map_err(not_a_page)?;
    if has_rows {
        Ok(None)
    } else {
        Err(Error::invalid_response("the page has no member `value`"))
    }
}

/// Reads the next row straight from the text, and returns the number of its properties, or `None` if it has to be read
/// completely. `reader` is then still before the row.
fn by_layout<'a>(
    reader: &mut Reader<'a>,
    layout: &mut RowLayout<'a>,
    keys: &mut Row<'a>,
    read: &mut ReadMembers<'_>,
) -> Option<usize> {
    if layout.misses == MAX_MISSES {
        return None;
    }
    let (start, unknown) = (reader.clone(), layout.unknown);
    keys.clear_system_properties();
    let properties = reader.enter_object().ok().and_then(|()| {
        let mut members = RowMembers::of_text(reader, layout, keys);
        let read = read(&mut members, start.position());
        read.ok().map(|()| members.properties())
    });
    // A row with unknown members takes as long as one that is read completely.
    if properties.is_none() || layout.unknown > unknown {
        layout.misses += 1;
    }
    if properties.is_none() {
        *reader = start;
    }
    properties
}

fn not_an_entity(error: JsonError) -> Error {
    Error::invalid_response("the response is not an entity in JSON").with_source(error)
}

fn not_a_page(error: JsonError) -> Error {
    Error::invalid_response("the response is not a page of entities in JSON").with_source(error)
}

/// The members of the previous row, with the text before their values: the name, and an annotation right before it.
///
/// The rows of a page mostly have the same members in the same order. Comparing that text costs less than reading it,
/// and a value is read into the property that the previous row had in its place. The default is the state for a single
/// row, which no other follows.
#[derive(Default)]
struct Before<'a> {
    members: Vec<(&'a str, RowMember<'a>)>,
    is_kept: bool,
    /// The number of properties at the beginning of the row that have the names of these members.
    in_place: usize,
    /// The annotations of the current row that are not right before their property.
    pending: Vec<(Cow<'a, str>, EdmType)>,
}

impl<'a> Before<'a> {
    fn new() -> Self {
        Self {
            members: Vec::with_capacity(USUAL_MEMBERS),
            is_kept: true,
            ..Self::default()
        }
    }

    /// Returns the `n`th member of the previous row, if the row has it as well.
    #[inline]
    fn same(&self, reader: &mut Reader<'a>, n: usize, first: &mut bool) -> Option<&RowMember<'a>> {
        let (text, member) = self.members.get(n)?;
        let is_same = reader.next_member_is(text, *first);
        *first &= !is_same;
        is_same.then_some(member)
    }

    /// Returns the `n`th member of a row, which the previous row does not have, or `None` after the last.
    fn next(
        &mut self,
        reader: &mut Reader<'a>,
        n: usize,
        first: &mut bool,
    ) -> std::result::Result<Option<RowMember<'a>>, JsonError> {
        let Some((member, text)) = RowMember::next(reader, first)? else {
            return Ok(None);
        };
        if self.is_kept {
            self.members.truncate(n);
            self.members.push((text, member.clone()));
        }
        Ok(Some(member))
    }
}

/// Returns the type of text without an annotation: if types are annotated, it is an Edm.String, not a date or a number
/// that lost its type.
fn of_text(metadata: MetadataLevel) -> Option<EdmType> {
    (metadata == MetadataLevel::Minimal).then_some(EdmType::String)
}

/// Reads an object into `row`, which is empty but for the properties of the previous row.
fn fill<'a>(
    reader: &mut Reader<'a>,
    before: &mut Before<'a>,
    metadata: MetadataLevel,
    row: &mut Row<'a>,
) -> std::result::Result<(), JsonError> {
    let of_text = of_text(metadata);
    let mut first = true;
    // The number of properties read so far, of properties whose names are in place from the previous row, and of those
    // before the first `null`.
    let (mut read, mut in_place, mut before_null) = (0, before.in_place, None);
    reader.enter_object()?;
    for n in 0.. {
        let member = match before.same(reader, n, &mut first) {
            Some(RowMember::Property(_, annotation)) if read < in_place => {
                let property = &mut row.properties[read];
                property.scalar = value(reader)?;
                property.annotation = match property.scalar {
                    Scalar::Null => {
                        before_null.get_or_insert(read);
                        in_place = read;
                        continue;
                    }
                    Scalar::Text(_) => annotation.or(of_text),
                    _ => *annotation,
                };
                read += 1;
                continue;
            }
            Some(member) => member.clone(),
            None => match before.next(reader, n, &mut first)? {
                Some(member) => member,
                None => break,
            },
        };
        if n == MAX_MEMBERS {
            return Err(reader.error(format!("the entity has more than {MAX_MEMBERS} members")));
        }
        match member {
            RowMember::PartitionKey => row.partition_key = key(reader)?,
            RowMember::RowKey => row.row_key = key(reader)?,
            RowMember::Timestamp => row.timestamp = reader.text()?,
            RowMember::Etag => row.etag = reader.text()?,
            RowMember::Type(name) => before.pending.push((name, annotation(reader)?)),
            RowMember::Ignored => reader.skip()?,
            RowMember::Property(name, annotation) => {
                // No property of this row is read in place from here on.
                row.properties.truncate(read);
                match value(reader)? {
                    Scalar::Null => _ = before_null.get_or_insert(read),
                    scalar => {
                        let annotation = match scalar {
                            Scalar::Text(_) => annotation.or(of_text),
                            _ => annotation,
                        };
                        row.properties.push(RowProperty {
                            name,
                            annotation,
                            scalar,
                        });
                        read += 1;
                    }
                }
            }
        }
    }
    row.properties.truncate(read);
    before.in_place = before_null.unwrap_or(read);
    // An annotation of a null or of Timestamp has no property here.
    for (name, edm_type) in before.pending.drain(..) {
        if let Some(property) = row.properties.iter_mut().find(|property| property.name == name) {
            property.annotation = Some(edm_type);
        }
    }
    Ok(())
}

fn value<'a>(reader: &mut Reader<'a>) -> std::result::Result<Scalar<'a>, JsonError> {
    reader.scalar().or_else(|e| reader.skip_half_pair(e))
}

/// Reads a key, or returns `None` for one with half of a surrogate pair.
fn key<'a>(reader: &mut Reader<'a>) -> std::result::Result<Option<Cow<'a, str>>, JsonError> {
    reader.text().or_else(|e| reader.skip_half_pair(e).map(|_| None))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use azure_table_wire::value::edm::EdmValue;
    use proptest::collection::vec as vec_of;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::entity::dynamic::DynamicEntity;
    use crate::entity::table_entity::ReadEntity;

    const ENTITY: &str = r#"{"odata.metadata":"https://acct/$metadata#t/@Element","odata.etag":"W/\"x\"",
        "PartitionKey":"p","RowKey":"r","Timestamp":"2026-01-02T03:04:05.1Z","Timestamp@odata.type":"Edm.DateTime",
        "L@odata.type":"Edm.Int64","L":"5","D":5.0,"I":5,"S":"a\"b","N":null,
        "G":"debc44d5-04a9-42ea-ab2f-4e2cb49ff833","G@odata.type":"Edm.Guid","X@odata.other":{"deep":[1]}}"#;

    /// Reads a page as rows.
    fn rows_of(
        body: &str,
        metadata: MetadataLevel,
        from: RowPosition,
        read: &mut dyn FnMut(&Row<'_>) -> Result<bool>,
    ) -> Result<Option<RowPosition>> {
        let goes_on = Cell::new(true);
        let mut read = |members: &mut RowMembers<'_, '_>, _| {
            goes_on.set(read(members.row())?);
            Ok(())
        };
        page(&RowContext::default(), body, metadata, from, &mut read, &mut |_, _| {
            goes_on.get()
        })
    }

    #[test]
    fn half_of_a_surrogate_pair_makes_only_its_property_unreadable() {
        for half in [r"\ud83d", r"a\udc00\\", r#"\ud83d\u0041\"b"#, r"\ud83d\n\ud83d\ude00"] {
            let body = format!(r#"{{"PartitionKey":"p","RowKey":"r","Half":"{half}","Whole":"w"}}"#);
            let read = |row: &Row<'_>| Ok((row.property::<String>("Whole")?, row.property::<String>("Half")));
            let (whole, half) = entity(body.as_bytes(), MetadataLevel::Minimal, None, read).unwrap();
            assert_eq!(whole, "w");
            let text = "property `Half`: expected Edm.String, found text with half of a surrogate pair";
            assert_eq!(half.unwrap_err().to_string(), text);
        }
        let endless = br#"{"PartitionKey":"p","RowKey":"r","Half":"\ud83d\""#;
        assert!(entity(endless, MetadataLevel::Minimal, None, DynamicEntity::read).is_err());
    }

    #[test]
    fn half_of_a_surrogate_pair_in_a_key_makes_only_its_row_unreadable() {
        let body = r#"{"value":[{"PartitionKey":"p","RowKey":"r\ud83d","X":1},{"PartitionKey":"\udc00","RowKey":"r"},
            {"PartitionKey":"p","RowKey":"r"}]}"#;
        let mut found = Vec::new();
        let end = rows_of(body, MetadataLevel::Minimal, 0, &mut |row| {
            let keys = row
                .partition_key()
                .and_then(|partition_key| Ok((partition_key.to_owned(), row.row_key()?.to_owned())));
            found.push((
                keys.map_err(|e| e.to_string()),
                row.property::<Option<i32>>("X").unwrap(),
            ));
            Ok(true)
        });
        assert!(end.unwrap().is_none());
        let half = |name| {
            Err(format!(
                "the entity has no {name}, or one with half of a surrogate pair"
            ))
        };
        let whole = Ok(("p".to_owned(), "r".to_owned()));
        assert_eq!(
            found,
            [(half("RowKey"), Some(1)), (half("PartitionKey"), None), (whole, None)]
        );
    }

    #[test]
    fn annotation_may_precede_or_follow_its_property() {
        let entity = entity(ENTITY.as_bytes(), MetadataLevel::Minimal, None, DynamicEntity::read).unwrap();
        assert_eq!(entity.get("L"), Some(&EdmValue::Int64(5)));
        assert_eq!(entity.get("D"), Some(&EdmValue::Double(5.0)));
        assert_eq!(entity.get("I"), Some(&EdmValue::Int32(5)));
        assert_eq!(entity.get("S"), Some(&EdmValue::from("a\"b")));
        assert!(matches!(entity.get("G"), Some(EdmValue::Guid(_))));
        assert_eq!(entity.get("N"), None);
        assert_eq!(entity.properties.len(), 5);
        assert_eq!(entity.etag.unwrap().as_str(), "W/\"x\"");
        assert_eq!(entity.timestamp.unwrap().to_string(), "2026-01-02T03:04:05.1Z");
    }

    #[test]
    fn annotation_may_be_far_before_its_property() {
        let body = r#"{"A@odata.type":"Edm.Int64","PartitionKey":"","RowKey":"","B":1,"A":"7"}"#;
        let entity = entity(body.as_bytes(), MetadataLevel::Minimal, Some("e"), DynamicEntity::read).unwrap();
        assert_eq!(entity.get("A"), Some(&EdmValue::Int64(7)));
        assert_eq!(entity.etag.unwrap().as_str(), "e");
    }

    #[test]
    fn a_page_may_have_its_rows_first_or_last() {
        for body in [
            r#"{"odata.metadata":"m","value":[{"PartitionKey":"a","RowKey":"1"},{"PartitionKey":"a","RowKey":"2","X":1}]}"#,
            r#"{"value":[{"PartitionKey":"a","RowKey":"1"},{"PartitionKey":"a","RowKey":"2","X":1}],"odata.metadata":"m"}"#,
        ] {
            let mut keys = Vec::new();
            rows_of(body, MetadataLevel::Minimal, 0, &mut |row| {
                keys.push((row.row_key()?.to_owned(), row.properties().len()));
                Ok(true)
            })
            .unwrap();
            assert_eq!(keys, [("1".to_owned(), 0), ("2".to_owned(), 1)]);
        }
    }

    #[test]
    fn interrupted_page_continues_after_its_last_row() {
        for body in [
            r#"{"value":[{"RowKey":"ä"},{"RowKey":"2"},{"RowKey":"3"}],"odata.metadata":"m"}"#,
            "\u{feff} {\"odata.metadata\":\"m\",\"value\": [ {\"RowKey\":\"ä\"} , {\"RowKey\":\"2\"} , {\"RowKey\":\"3\"} ] } ",
        ] {
            let (mut keys, mut from, mut turns) = (Vec::new(), Some(0), 0);
            while let Some(position) = from {
                turns += 1;
                let mut read = |row: &Row<'_>| {
                    keys.push(row.row_key()?.to_owned());
                    Ok(false)
                };
                from = rows_of(body, MetadataLevel::Minimal, position, &mut read).unwrap();
            }
            assert_eq!((keys.join(" "), turns), ("ä 2 3".to_owned(), 4));
            let cut = &body[..body.len() - 3];
            let last = cut.rfind('}').unwrap() + 1;
            rows_of(cut, MetadataLevel::Minimal, last, &mut |_| Ok(true)).unwrap_err();
        }
        let two = r#"{"value":[{"RowKey":"1"}],"value":[]}"#;
        rows_of(two, MetadataLevel::Minimal, two.find(']').unwrap(), &mut |_| Ok(true)).unwrap_err();
    }

    #[test]
    fn rows_may_have_other_members_than_the_row_before() {
        let body = r#"{"value":[
            {"PartitionKey":"p","RowKey":"1","A":1,"B@odata.type":"Edm.Int64","B":"2"},
            {"PartitionKey":"p","RowKey":"2","A":1,"B@odata.type":"Edm.Int64","B":"2"},
            {"PartitionKey":"p","RowKey":"3","B@odata.type":"Edm.Int64","B":"2","A":1},
            {"PartitionKey":"p","RowKey":"4","AB":1},
            {"PartitionKey":"p", "RowKey":"5", "A" : 1},
            {"PartitionKey":"p","RowKey":"6","A":1},
            {"PartitionKey":"p","RowKey":"7","Gr\u00f6\u00dfe@odata.type":"Edm.Int64","Gr\u00f6\u00dfe":"1"},
            {"PartitionKey":"p","RowKey":"8","Gr\u00f6\u00dfe@odata.type":"Edm.Int64","Gr\u00f6\u00dfe":"1"},
            {"PartitionKey":"p","RowKey":"9","A@odata.type":"Edm.Int64","A":"1"},
            {"PartitionKey":"p","RowKey":"10","A@odata.type":"Edm.Double","A":"1"},
            {"PartitionKey":"p","RowKey":"11","A":"1"},
            {"PartitionKey":"p","RowKey":"12","A":"1","A@odata.type":"Edm.Double"},
            {"PartitionKey":"p","RowKey":"13","A@odata.type":"Edm.Double"}]}"#;
        let mut rows = Vec::new();
        rows_of(body, MetadataLevel::Minimal, 0, &mut |row| {
            let entity = DynamicEntity::read(row)?;
            rows.push(
                entity
                    .properties
                    .into_iter()
                    .map(|(name, value)| format!("{name} {value:?}"))
                    .collect::<Vec<_>>(),
            );
            Ok(true)
        })
        .unwrap();
        let both = ["A Int32(1)", "B Int64(2)"];
        let size = ["Größe Int64(1)"];
        assert_eq!(
            rows,
            [
                &both[..],
                &both,
                &both,
                &["AB Int32(1)"],
                &both[..1],
                &both[..1],
                &size,
                &size,
                &["A Int64(1)"],
                &["A Double(1.0)"],
                &["A String(\"1\")"],
                &["A Double(1.0)"],
                &[]
            ]
        );
    }

    #[test]
    fn text_that_is_not_a_page_is_an_error() {
        for body in ["<html>", "{}", "[]", r#"{"value":{}}"#, r#"{"value":[1]}"#, ""] {
            let error = rows_of(body, MetadataLevel::Minimal, 0, &mut |_| Ok(true)).unwrap_err();
            assert_eq!(
                error.kind(),
                azure_table_wire::error::ErrorKind::InvalidResponse,
                "{body}"
            );
        }
    }

    #[test]
    fn error_of_a_bad_row_names_its_keys() {
        let body = r#"{"value":[{"PartitionKey":"a","RowKey":"1","X@odata.type":"Edm.Int64","X":"no"}]}"#;
        let error = rows_of(body, MetadataLevel::Minimal, 0, &mut |row| {
            DynamicEntity::read(row).map(|_| true)
        })
        .unwrap_err();
        assert_eq!(error.entity(), Some(("a", "1")));
        assert!(
            error.to_string().contains("property `X`: expected Edm.Int64"),
            "{error}"
        );
    }

    /// Rows with members in any order, with and without values, types and escapes. Many are like the row before.
    fn rows() -> impl Strategy<Value = Vec<String>> {
        let member = |forms: &'static [&'static str]| select(forms);
        let row = (
            member(&["", r#""PartitionKey":"p""#]),
            member(&["", r#""RowKey":"r\u0041""#]),
            member(&["", r#""odata.etag":"W/\"x\"""#, r#""odata.etag":null"#]),
            member(&[
                "",
                r#""A":1"#,
                r#""A":null"#,
                r#""A":"a\n""#,
                r#""A@odata.type":"Edm.Int64","A":"2""#,
            ]),
            member(&[
                "",
                r#""B":true"#,
                r#""B":null"#,
                r#""B" : 1.5"#,
                r#""B@odata.type":"Edm.Guid","B":null"#,
            ]),
            member(&[
                "",
                r#""\u0043":"\ud83d""#,
                r#""C":"c""#,
                r#""C":null"#,
                r#""C@odata.type":"Edm.Guid""#,
            ]),
        );
        let row = row.prop_flat_map(|(a, b, c, d, e, f)| Just([a, b, c, d, e, f]).prop_shuffle());
        vec_of((row, 1..3_usize), 0..6).prop_map(|rows| {
            let rows = rows.iter().flat_map(|(row, times)| {
                let members = row.iter().filter(|member| !member.is_empty());
                let members: Vec<&str> = members.copied().collect();
                vec![format!("{{{}}}", members.join(",")); *times]
            });
            rows.collect()
        })
    }

    proptest! {
        #[test]
        fn row_of_a_page_is_read_as_it_is_alone(rows in rows(), all in any::<bool>()) {
            let metadata = if all { MetadataLevel::Minimal } else { MetadataLevel::None };
            let body = format!(r#"{{"value":[{}]}}"#, rows.join(","));
            let mut found = Vec::new();
            let read = rows_of(&body, metadata, 0, &mut |row| {
                found.push(format!("{row:?}"));
                Ok(true)
            });
            for (row, found) in rows.iter().zip(&found) {
                let context = Some(&RowContext::default());
                let alone = entity_in(context, row.as_bytes(), metadata, None, |row| Ok(format!("{row:?}")));
                prop_assert_eq!(&alone.unwrap(), found);
            }
            prop_assert_eq!(read.is_ok(), found.len() == rows.len());
        }
    }
}
