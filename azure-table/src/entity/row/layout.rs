//! The members that the rows of a page have, learned from rows that were read completely.
//!
//! A row that consists of known members is read straight from the text into its fields, by `members.rs`. The others are
//! read as a [`Row`](crate::entity::row::Row) first, and add what was not known.

use std::borrow::Cow;

use azure_table_wire::codec::json::scan::is_annotation;
use azure_table_wire::codec::odata::value::TYPE_ANNOTATION;
use azure_table_wire::value::edm::EdmType;

/// The number of rows that may differ from the layout before it is no longer tried on this page.
const MAX_MISSES: usize = 8;
/// The maximum number of members.
const MAX_MEMBERS: usize = 1_024;

/// The members of the rows of a page, in the order in which rows have them. No row needs to have all of them.
#[derive(Debug)]
pub(crate) struct RowLayout<'a> {
    members: Vec<LayoutMember<'a>>,
    misses: usize,
    /// The type of text without an annotation.
    pub(super) of_text: Option<EdmType>,
}

/// A member of a row.
#[derive(Debug)]
pub(super) struct LayoutMember<'a> {
    /// The text before its value: the name, and an annotation right before it.
    pub(super) head: &'a str,
    /// The first 8 bytes of it as one number, and the bits of that number that it has.
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
    /// Its row is not read by the layout.
    Unlike,
}

impl<'a> RowLayout<'a> {
    pub(crate) fn new(of_text: Option<EdmType>) -> Self {
        Self {
            members: Vec::new(),
            misses: 0,
            of_text,
        }
    }

    /// Returns `true` if the next row is probably as the layout says.
    pub(crate) fn is_known(&self) -> bool {
        !self.members.is_empty() && self.misses < MAX_MISSES
    }

    /// Counts a row that differs.
    pub(crate) fn missed(&mut self) {
        self.misses += 1;
    }

    /// Adds the members of a row that are not known yet, with the text before their values.
    pub(crate) fn learn(&mut self, row: &[(&'a str, RowMember<'a>)], fields: &[&str]) {
        let mut at = 0;
        for (head, member) in row {
            let known = self.members[at..].iter().position(|known| known.head == *head);
            if let Some(known) = known {
                at += known + 1;
            } else if self.members.len() < MAX_MEMBERS {
                let member = LayoutMember::new(head, LayoutKind::of(member, fields));
                self.members.insert(at, member);
                at += 1;
            }
        }
    }

    /// Returns the first member from the `n`th on with which the text starts, and the number of those up to it.
    #[inline]
    pub(super) fn find(&self, text: &[u8], mut n: usize) -> Option<(usize, &LayoutMember<'a>)> {
        loop {
            let member = self.members.get(n)?;
            n += 1;
            if member.is_before(text) {
                return Some((n, member));
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

    /// Returns `true` if the text starts with this member. A call that compares would cost more than two numbers.
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
    fn of(member: &RowMember<'_>, fields: &[&str]) -> Self {
        match member {
            RowMember::PartitionKey => Self::PartitionKey,
            RowMember::RowKey => Self::RowKey,
            RowMember::Timestamp => Self::Timestamp,
            RowMember::Etag => Self::Etag,
            RowMember::Type(_) => Self::Unlike,
            RowMember::Ignored => Self::Ignored,
            RowMember::Property(name, annotation) => match fields.iter().position(|field| field == name) {
                Some(field) => Self::Field(field, *annotation),
                None => Self::Ignored,
            },
        }
    }
}

/// A member of an entity, classified by its name.
#[derive(Clone)]
pub(crate) enum RowMember<'a> {
    PartitionKey,
    RowKey,
    Timestamp,
    Etag,
    /// The type of the property with this name, which does not follow it.
    Type(Cow<'a, str>),
    /// An annotation that the client does not use.
    Ignored,
    /// A property, with the type that its annotation right before it named.
    Property(Cow<'a, str>, Option<EdmType>),
}

impl<'a> RowMember<'a> {
    pub(crate) fn named(name: Cow<'a, str>, edm_type: Option<EdmType>) -> Self {
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
