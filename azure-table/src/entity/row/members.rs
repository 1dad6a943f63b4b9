//! The values of a row, one after the other, as derived code reads them into fields.
//!
//! Defines [`RowMembers`]: the properties of a [`Row`], or values straight from a text. Nobody sees an error of the
//! second kind: the row is then read again, as a [`Row`], so both return the same values and errors.

use std::borrow::Cow;

use azure_table_wire::codec::json::token::{Reader, Scalar};
use azure_table_wire::error::{Error, Result, ValueError};
use azure_table_wire::value::edm::{EdmType, Token, WireValue};

use crate::entity::row::layout::{LayoutKind, RowLayout, field};
use crate::entity::row::{Row, RowProperty, rejected};

/// No member follows.
const END: usize = usize::MAX;
/// The row is not read from the text: it has a fault, a value that no field can have, or a type that is not right
/// before its property.
const UNLIKE: usize = usize::MAX - 1;

/// The values of a row, for the fields of a derived struct.
#[derive(Debug)]
pub struct RowMembers<'r, 'a> {
    source: Source<'r, 'a>,
    /// The number of properties passed so far; in a text it includes those that are `null`.
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
        layout: &'r mut RowLayout<'a>,
        /// The keys, the Timestamp and the ETag.
        row: &'r mut Row<'a>,
        /// The number of members of the layout that are passed.
        passed: usize,
        /// No member is passed.
        is_first: bool,
        /// The annotation of the current member.
        annotation: Option<EdmType>,
        /// The current value, unless it is plain: a number, a boolean or text without escapes.
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

    /// Returns the members of a row in a text, whose object is entered. `row` receives its keys, Timestamp and ETag.
    pub(crate) fn of_text(reader: &'r mut Reader<'a>, layout: &'r mut RowLayout<'a>, row: &'r mut Row<'a>) -> Self {
        Self {
            source: Source::Text {
                reader,
                layout,
                row,
                passed: 0,
                is_first: true,
                annotation: None,
                scalar: Scalar::Null,
            },
            properties: 0,
        }
    }

    /// Returns the row. If it comes from a text, it has no properties, and all else only after the last member.
    pub fn row(&self) -> &Row<'a> {
        match &self.source {
            Source::Row { row, .. } => row,
            Source::Text { row, .. } => row,
        }
    }

    /// Returns `true` if the members come straight from a text.
    pub(crate) fn is_of_text(&self) -> bool {
        matches!(self.source, Source::Text { .. })
    }

    /// Returns `true` if the caller used [`next`](Self::next), and not only the row.
    pub(crate) fn is_used(&self) -> bool {
        self.properties > 0
    }

    /// Returns the number of properties that were passed.
    pub(crate) fn properties(&self) -> usize {
        self.properties
    }

    /// Returns the field index of the next property, or `None` after the last. For a property without a field, it is
    /// the number of fields. Otherwise the caller reads the value next.
    ///
    /// # Errors
    /// The row comes from a text, and has to be read as a [`Row`].
    #[inline]
    pub fn next(&mut self, fields: &[&str]) -> Result<Option<usize>> {
        match &mut self.source {
            Source::Row {
                prefix,
                properties,
                likely,
                ..
            } => {
                // The first one is not passed yet.
                if self.properties > 0 {
                    *properties = properties.get(1..).unwrap_or_default();
                }
                self.properties += 1;
                while let [property, rest @ ..] = *properties {
                    // Skips an empty prefix: its address may be invalid, and AVX-512 loads slowly from there.
                    let own = if prefix.is_empty() {
                        Some(&*property.name)
                    } else {
                        property.name.strip_prefix(*prefix)
                    };
                    if let Some(name) = own {
                        let field = field(fields, name, *likely);
                        *likely = field + 1;
                        return Ok(Some(field));
                    }
                    *properties = rest;
                }
                Ok(None)
            }
            Source::Text { .. } => match self.next_of_text(fields) {
                END => Ok(None),
                UNLIKE => Err(needs_full_row()),
                field => Ok(Some(field)),
            },
        }
    }

    /// Skips the members that are not fields. Returns the index of the field, [`END`] or [`UNLIKE`], because a `Result`
    /// would be written to memory.
    fn next_of_text(&mut self, fields: &[&str]) -> usize {
        let Source::Text {
            reader,
            layout,
            row,
            passed,
            is_first,
            annotation,
            ..
        } = &mut self.source
        else {
            return END;
        };
        loop {
            let text = match reader.rest() {
                text if *is_first => text,
                [b',', text @ ..] => text,
                [b'}', ..] => {
                    reader.advance(1);
                    return END;
                }
                _ => &[],
            };
            let kind = if let Some((number, member)) = layout.find(text, *passed) {
                reader.advance(usize::from(!*is_first) + member.head.len());
                (*passed, *is_first) = (number, false);
                member.kind
            } else {
                match layout.read_unknown(reader, passed, is_first, fields) {
                    Ok(Some(kind)) => kind,
                    Ok(None) => return END,
                    Err(_) => return UNLIKE,
                }
            };
            // Each text has its own code, so that the processor learns its branches: sharing cost a tenth of a row.
            let is_read = match kind {
                LayoutKind::Field(field, of) => {
                    self.properties += 1;
                    *annotation = of;
                    return field;
                }
                LayoutKind::PartitionKey => read_text(reader, &mut row.partition_key),
                LayoutKind::RowKey => read_text(reader, &mut row.row_key),
                LayoutKind::Timestamp => read_text(reader, &mut row.timestamp),
                // A `null` would remove the ETag of the header.
                LayoutKind::Etag => read_text(reader, &mut row.etag) && row.etag.is_some(),
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
    /// The row comes from a text, and has to be read as a [`Row`].
    #[inline(always)]
    pub(crate) fn value(&mut self) -> Result<Option<WireValue<'_>>> {
        match self.plain_value() {
            None => self.other_value(),
            plain => Ok(plain),
        }
    }

    /// Returns the value of the current field, if it is plain and comes from a text.
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
        *scalar = reader.scalar().map_err(|_| needs_full_row())?;
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
    /// The row comes from a text, and has to be read as a [`Row`].
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

/// Reads a value that must be text. Returns `false` if it is not.
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

/// Returns the internal error of a row that has to be read as a [`Row`]. Nobody sees it.
#[cold]
fn needs_full_row() -> Error {
    Error::invalid_response("the row has to be read completely")
}
