//! The members of rows in a text: their names and kinds.
//!
//! The rows of a page mostly have the same members. A [`RowLayout`] keeps the text before each value, and comparing
//! that costs less than reading it. `members.rs` reads rows by it.

use std::borrow::Cow;

use azure_table_wire::codec::json::scan::is_annotation;
use azure_table_wire::codec::json::token::{JsonError, Reader};
use azure_table_wire::codec::odata::value::TYPE_ANNOTATION;
use azure_table_wire::error::error_text::Shown;
use azure_table_wire::value::edm::EdmType;

/// The maximum number of members in an entity's object.
///
/// An annotation right before its property counts with it. The service's entities have at most 255 properties. An
/// object with more members is not an entity. It would take many times the memory of its text, and its annotations
/// would take long to find.
///
/// Source: REST "Understanding the Table service data model".
pub(crate) const MAX_MEMBERS: usize = 1_024;
/// The number of consecutive members that a row may lack, which limits the time to find the next one.
const MAX_AHEAD: usize = 64;

/// The members of a page's rows, in their order. A row need not have all of them.
#[derive(Debug)]
pub(crate) struct RowLayout<'a> {
    members: Vec<LayoutMember<'a>>,
    /// The number of members that were not known.
    pub(crate) unknown: usize,
    /// The number of rows that had such members, or were not read by the layout.
    pub(crate) misses: usize,
    is_kept: bool,
    /// The field after the last one that was found: members mostly have the order of the fields.
    likely: usize,
    /// The type of text without an annotation.
    pub(super) of_text: Option<EdmType>,
}

/// A member of a row.
#[derive(Debug)]
pub(super) struct LayoutMember<'a> {
    /// The text before its value: the name, and an annotation right before it.
    pub(super) head: &'a str,
    /// The first 8 bytes of `head` as one number, and a mask of the bits in use.
    first: (u64, u64),
    pub(super) kind: LayoutKind,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum LayoutKind {
    PartitionKey,
    RowKey,
    Timestamp,
    Etag,
    /// A value that no field has.
    Ignored,
    /// The value of the field at this index, with its annotation.
    Field(usize, Option<EdmType>),
    /// The row cannot be read by the layout.
    Unlike,
}

impl<'a> RowLayout<'a> {
    /// Creates the layout of a page, or of a single row, which keeps nothing.
    pub(crate) fn new(of_text: Option<EdmType>, is_kept: bool) -> Self {
        Self {
            members: Vec::new(),
            unknown: 0,
            misses: 0,
            is_kept,
            likely: 0,
            of_text,
        }
    }

    /// Reads the name of a member that is not known, or returns `None` after the last. Adds it as the `n`th.
    pub(super) fn read_unknown(
        &mut self,
        reader: &mut Reader<'a>,
        n: &mut usize,
        first: &mut bool,
        fields: &[&str],
    ) -> Result<Option<LayoutKind>, JsonError> {
        let Some((member, head)) = RowMember::next(reader, first)? else {
            return Ok(None);
        };
        self.unknown += 1;
        if self.unknown > MAX_MEMBERS {
            return Err(reader.error("too many members"));
        }
        let kind = LayoutKind::of(&member, fields, self.likely);
        if let LayoutKind::Field(field, _) = kind {
            self.likely = field + 1;
        }
        if self.is_kept {
            self.members.insert(*n, LayoutMember::new(head, kind));
            *n += 1;
        }
        Ok(Some(kind))
    }

    /// Returns the first member from the `n`th on that the text starts with, and the number of members up to it.
    #[inline]
    pub(super) fn find(&self, text: &[u8], mut n: usize) -> Option<(usize, &LayoutMember<'a>)> {
        let end = n + MAX_AHEAD;
        loop {
            let member = self.members.get(n)?;
            n += 1;
            if member.is_before(text) {
                return Some((n, member));
            }
            if n == end {
                return None;
            }
        }
    }
}

impl<'a> LayoutMember<'a> {
    fn new(head: &'a str, kind: LayoutKind) -> Self {
        let mut first = [0; 8];
        let mut bits = [0; 8];
        for ((first, bits), byte) in first.iter_mut().zip(&mut bits).zip(head.bytes()) {
            (*first, *bits) = (byte, u8::MAX);
        }
        Self {
            head,
            first: (u64::from_le_bytes(first), u64::from_le_bytes(bits)),
            kind,
        }
    }

    /// Returns `true` if the text starts with this member. Compares numbers first, which is cheaper than a call.
    #[inline]
    fn is_before(&self, text: &[u8]) -> bool {
        let (first, bits) = self.first;
        let Some(chunk) = text.first_chunk() else {
            return false;
        };
        if u64::from_le_bytes(*chunk) & bits != first {
            return false;
        }
        let head = self.head.as_bytes();
        match (
            head.last_chunk::<8>(),
            text.get(..head.len()).and_then(<[u8]>::last_chunk::<8>),
        ) {
            (Some(last), Some(text)) if head.len() <= 16 => last == text,
            (None, _) => true,
            _ => text.starts_with(head),
        }
    }
}

impl LayoutKind {
    fn of(member: &RowMember<'_>, fields: &[&str], likely: usize) -> Self {
        match member {
            RowMember::PartitionKey => Self::PartitionKey,
            RowMember::RowKey => Self::RowKey,
            RowMember::Timestamp => Self::Timestamp,
            RowMember::Etag => Self::Etag,
            RowMember::Type(_) => Self::Unlike,
            RowMember::Ignored => Self::Ignored,
            RowMember::Property(name, annotation) => match field(fields, name, likely) {
                field if field < fields.len() => Self::Field(field, *annotation),
                _ => Self::Ignored,
            },
        }
    }
}

/// Returns the index of the field of this name. `likely` is tried first.
#[inline]
pub(super) fn field(fields: &[&str], name: &str, likely: usize) -> usize {
    if fields.get(likely).is_some_and(|field| *field == name) {
        return likely;
    }
    fields.iter().position(|field| *field == name).unwrap_or(fields.len())
}

/// A member of an entity, classified by its name.
#[derive(Clone)]
pub(crate) enum RowMember<'a> {
    PartitionKey,
    RowKey,
    Timestamp,
    Etag,
    /// The type of the property with this name, if the property does not follow right away.
    Type(Cow<'a, str>),
    /// An annotation that the client does not use.
    Ignored,
    /// A property, with the type that its annotation right before it named.
    Property(Cow<'a, str>, Option<EdmType>),
}

impl<'a> RowMember<'a> {
    /// Reads the name of the next member, or returns `None` after the last. Returns the text before its value too.
    ///
    /// The service writes each annotation right before its property.
    pub(crate) fn next(reader: &mut Reader<'a>, first: &mut bool) -> Result<Option<(Self, &'a str)>, JsonError> {
        let Some((mut name, start)) = reader.next_member_start(first)? else {
            return Ok(None);
        };
        let mut edm_type = None;
        if let Some(property) = name.strip_suffix(TYPE_ANNOTATION) {
            let mut ahead = reader.clone();
            let found = annotation(&mut ahead)?;
            if let Some(next) = ahead.next_member(&mut false)?.filter(|next| next == property) {
                (name, edm_type) = (next, Some(found));
                *reader = ahead;
            }
        }
        Ok(Some((Self::named(name, edm_type), reader.text_from(start))))
    }

    fn named(name: Cow<'a, str>, edm_type: Option<EdmType>) -> Self {
        match &*name {
            "PartitionKey" => Self::PartitionKey,
            "RowKey" => Self::RowKey,
            "Timestamp" => Self::Timestamp,
            "odata.etag" => Self::Etag,
            text if !is_annotation(text.as_bytes()) => Self::Property(name, edm_type),
            text if text.ends_with(TYPE_ANNOTATION) => Self::Type(cut(name, TYPE_ANNOTATION.len())),
            _ => Self::Ignored,
        }
    }
}

/// Reads the name of a type.
pub(crate) fn annotation(reader: &mut Reader<'_>) -> Result<EdmType, JsonError> {
    let name = reader.text()?.unwrap_or_default();
    EdmType::from_name(&name).ok_or_else(|| reader.error(format!("unknown property type {}", Shown(&name))))
}

/// Returns the name without its last `length` bytes.
fn cut(name: Cow<'_, str>, length: usize) -> Cow<'_, str> {
    match name {
        Cow::Borrowed(name) => Cow::Borrowed(&name[..name.len() - length]),
        Cow::Owned(mut name) => {
            name.truncate(name.len() - length);
            Cow::Owned(name)
        }
    }
}
