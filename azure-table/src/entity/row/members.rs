//! The values of a row, one after the other, as derived code reads them into fields.
//!
//! Defines [`RowMembers`]. They are the properties of a [`Row`], or come straight from the text of a page if the row
//! consists of members that the [`RowLayout`] knows. An error of the second kind has no text: the page reads that row
//! again, as a [`Row`], so values and errors are the same in both.

use std::borrow::Cow;

use azure_table_wire::codec::json::token::{Reader, Scalar};
use azure_table_wire::error::{Error, Result, ValueError};
use azure_table_wire::value::edm::{EdmType, Token, WireValue};

use crate::entity::row::layout::{LayoutKind, RowLayout};
use crate::entity::row::{Row, RowProperty, rejected};

/// No member follows.
const END: usize = usize::MAX;
/// The row differs from its layout.
const UNLIKE: usize = usize::MAX - 1;

/// The values of a row, for the fields of a derived struct.
#[derive(Debug)]
pub struct RowMembers<'r, 'a> {
    source: Source<'r, 'a>,
    /// The names of the fields.
    fields: &'static [&'static str],
    /// The number of properties so far.
    properties: usize,
}

#[derive(Debug)]
enum Source<'r, 'a> {
    Row {
        row: &'r Row<'a>,
        /// The beginning of the names of a group.
        prefix: &'r str,
        /// The properties from the current one on.
        properties: &'r [RowProperty<'a>],
        /// The field after the last one that was found: the properties mostly have the order of the fields.
        likely: usize,
    },
    Text {
        reader: &'r mut Reader<'a>,
        layout: &'r RowLayout<'a>,
        /// The keys, the Timestamp and the ETag.
        row: &'r mut Row<'a>,
        /// The number of members of the layout that are passed.
        passed: usize,
        /// The annotation of the current member.
        annotation: Option<EdmType>,
        /// The current value, unless it is text without escapes.
        scalar: Scalar<'a>,
    },
}

impl<'r, 'a> RowMembers<'r, 'a> {
    /// Returns the properties of a row.
    pub fn of(row: &'r Row<'a>) -> Self {
        Self::of_group(row, "")
    }

    /// Returns the properties of a row whose names begin with `prefix`.
    pub fn of_group(row: &'r Row<'a>, prefix: &'r str) -> Self {
        Self {
            source: Source::Row {
                row,
                prefix,
                properties: &row.properties,
                likely: 0,
            },
            fields: &[],
            properties: 0,
        }
    }

    /// Returns the properties of a row, from the one at this index on, which is the current one.
    pub(crate) fn at(row: &'r Row<'a>, index: usize) -> Self {
        let mut members = Self::of(row);
        if let Source::Row { properties, .. } = &mut members.source {
            *properties = row.properties.get(index..).unwrap_or_default();
        }
        members
    }

    /// Returns the members of the next row of a text. `row` is empty, and gets its keys, Timestamp and ETag.
    pub(crate) fn of_text(reader: &'r mut Reader<'a>, layout: &'r RowLayout<'a>, row: &'r mut Row<'a>) -> Self {
        Self {
            source: Source::Text {
                reader,
                layout,
                row,
                passed: 0,
                annotation: None,
                scalar: Scalar::Null,
            },
            fields: &[],
            properties: 0,
        }
    }

    /// Returns the row. Of a text it has no properties, and all else once the last member is read.
    pub fn row(&self) -> &Row<'a> {
        match &self.source {
            Source::Row { row, .. } => row,
            Source::Text { row, .. } => row,
        }
    }

    /// Returns the names of the fields that were read by [`next`](Self::next).
    pub(crate) fn fields(&self) -> &'static [&'static str] {
        self.fields
    }

    /// Returns the number of properties, once the last is read.
    pub(crate) fn properties(&self) -> usize {
        match &self.source {
            Source::Row { row, .. } => row.properties().len(),
            Source::Text { .. } => self.properties,
        }
    }

    /// Returns the index of the field of the next property, or `None` after the last. A property of a row that no field
    /// has is the one after the last field. The caller then reads its value, if it is that of a field.
    ///
    /// # Errors
    /// The row differs from its layout.
    #[inline]
    pub fn next(&mut self, fields: &'static [&'static str]) -> Result<Option<usize>> {
        match &mut self.source {
            Source::Row {
                prefix,
                properties,
                likely,
                ..
            } => {
                self.fields = fields;
                // The first one is not passed yet.
                if self.properties > 0 {
                    *properties = properties.get(1..).unwrap_or_default();
                }
                self.properties += 1;
                while let [property, rest @ ..] = *properties {
                    if let Some(name) = property.name.strip_prefix(*prefix) {
                        let field = field(fields, name, *likely);
                        *likely = field + 1;
                        return Ok(Some(field));
                    }
                    *properties = rest;
                }
                Ok(None)
            }
            Source::Text { .. } => match self.next_of_text() {
                END => Ok(None),
                UNLIKE => Err(unlike()),
                field => Ok(Some(field)),
            },
        }
    }

    /// Passes the members that are no fields. Returns the index of the field, [`END`] or [`UNLIKE`]: a result would be
    /// written to memory.
    fn next_of_text(&mut self) -> usize {
        let Source::Text {
            reader,
            layout,
            row,
            passed,
            annotation,
            ..
        } = &mut self.source
        else {
            return END;
        };
        loop {
            // Before the first member is the `{`.
            let separator = if *passed == 0 { b'{' } else { b',' };
            let text = match reader.rest() {
                [byte, text @ ..] if *byte == separator => text,
                [b'}', ..] if *passed > 0 => {
                    reader.advance(1);
                    return END;
                }
                _ => return UNLIKE,
            };
            let Some((number, member)) = layout.find(text, *passed) else {
                return UNLIKE;
            };
            reader.advance(1 + member.head.len());
            *passed = number;
            // Each text has code of its own, whose branches the processor learns: together they cost a tenth of a row.
            let is_read = match member.kind {
                LayoutKind::Field(field, of) => {
                    self.properties += 1;
                    *annotation = of;
                    return field;
                }
                LayoutKind::PartitionKey => read_text(reader, &mut row.partition_key),
                LayoutKind::RowKey => read_text(reader, &mut row.row_key),
                LayoutKind::Timestamp => read_text(reader, &mut row.timestamp),
                LayoutKind::Etag => read_text(reader, &mut row.etag),
                LayoutKind::Ignored => {
                    self.properties += 1;
                    reader.scalar().is_ok()
                }
                LayoutKind::Unlike => false,
            };
            if !is_read {
                return UNLIKE;
            }
        }
    }

    /// Returns the value of the current field, or `None` if it is `null`.
    ///
    /// # Errors
    /// The row differs from its layout.
    #[inline(always)]
    pub(crate) fn value(&mut self) -> Result<Option<WireValue<'_>>> {
        match self.plain_value() {
            None => self.other_value(),
            plain => Ok(plain),
        }
    }

    /// Returns the value of the current field, if it is text without escapes or a number in a text.
    #[inline(always)]
    fn plain_value(&mut self) -> Option<WireValue<'a>> {
        let Source::Text {
            reader,
            layout,
            annotation,
            ..
        } = &mut self.source
        else {
            return None;
        };
        let token = reader.plain_scalar()?;
        let annotation = match token {
            Token::Text(_) => annotation.or(layout.of_text),
            _ => *annotation,
        };
        Some(WireValue { annotation, token })
    }

    fn other_value(&mut self) -> Result<Option<WireValue<'_>>> {
        if let Some(property) = self.current() {
            return Ok(Some(property.value()));
        }
        let Source::Text {
            reader,
            layout,
            annotation,
            scalar,
            ..
        } = &mut self.source
        else {
            return Ok(None);
        };
        *scalar = reader.scalar().map_err(|_| unlike())?;
        let (annotation, token) = match scalar.token() {
            Token::Null => return Ok(None),
            token @ Token::Text(_) => (annotation.or(layout.of_text), token),
            token => (*annotation, token),
        };
        Ok(Some(WireValue { annotation, token }))
    }

    /// Returns the current property of a row.
    fn current(&self) -> Option<&'r RowProperty<'a>> {
        match &self.source {
            Source::Row { properties, .. } => properties.first(),
            Source::Text { .. } => None,
        }
    }

    /// Returns the current property, or `None` if it is `null`.
    ///
    /// # Errors
    /// The row differs from its layout.
    pub fn property(&mut self) -> Result<Option<RowProperty<'_>>> {
        let name = self.current().map_or("", |property| &property.name);
        Ok(self.value()?.map(|value| RowProperty::of(name, value)))
    }

    /// Returns the error of a value of the current field.
    #[cold]
    pub(crate) fn rejected(&self, error: &ValueError) -> Error {
        rejected(self.current().map_or("", RowProperty::name), error)
    }
}

/// Reads a text of the service. Returns `false` if it is none.
#[inline(always)]
fn read_text<'a>(reader: &mut Reader<'a>, place: &mut Option<Cow<'a, str>>) -> bool {
    match reader.plain_text() {
        Some(text) => *place = Some(Cow::Borrowed(text)),
        None => match reader.text() {
            Ok(text) => *place = text,
            Err(_) => return false,
        },
    }
    true
}

/// Returns the index of the field of this name. `likely` is tried first.
#[inline]
fn field(fields: &[&str], name: &str, likely: usize) -> usize {
    if fields.get(likely).is_some_and(|field| *field == name) {
        return likely;
    }
    fields.iter().position(|field| *field == name).unwrap_or(fields.len())
}

/// Returns the error of a row that is not as its layout says, which nobody sees.
#[cold]
fn unlike() -> Error {
    Error::invalid_response("the row differs from its layout")
}
