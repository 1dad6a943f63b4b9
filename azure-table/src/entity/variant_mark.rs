//! The marks that distinguish the rows of one variant of an enum of entities from the rows of the others.
//!
//! Defines [`VariantMark`], its use by a handle to the rows of a variant ([`MarkedVariant`]), and the entity with its
//! mark ([`AsVariant`]). The enum's own reading and writing is code of the derive, which calls the same functions.
//!
//! `variant::<V>()` returns a `TableClient<V>`, so it works wherever a table does. The mark is data in the settings of
//! its pipeline: writes wrap their entity, and reads check the row and remove the tag. A const assertion rejects
//! `typed::<V>()` of a variant. It compares schemas, since a type has no identity in a constant. `cargo build` reports
//! it, `cargo check` does not.

use std::borrow::Cow;

use azure_table_wire::error::error_text::Shown;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::etag::Condition;

use crate::entity::property_writer::PropertyWriter;
use crate::entity::row::{Row, RowProperty};
use crate::entity::schema::EntitySchema;
use crate::entity::table_entity::TableEntity;
use crate::key::entity_key::key_texts;
use crate::key::key_shape::{KeyPiece, KeyShape, KeyWriter};
use crate::key::key_texts::KeyTexts;

/// The mark that distinguishes the rows of one variant of an enum of entities from the rows of its other variants.
///
/// See [`MarkedVariantOf`](crate::entity::MarkedVariantOf).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VariantMark {
    /// A property that the enum writes beside the entity's own.
    Tag {
        /// The name of the property.
        property: &'static str,
        /// Its text.
        tag: &'static str,
    },
    /// The prefix of the RowKeys.
    RowKeyPrefix(&'static str),
    /// The form of the keys.
    KeyForm {
        /// The form.
        form: &'static KeyShape,
        /// The variants before this one and their forms: a row whose keys fit one of these is of that variant.
        earlier: &'static [(&'static str, &'static KeyShape)],
    },
}

/// The variant of a handle that reads and writes only its rows.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MarkedVariant {
    /// The name of the variant.
    pub name: &'static str,
    /// The name of its enum.
    pub of: &'static str,
    pub mark: VariantMark,
}

impl MarkedVariant {
    /// Returns the error of a variant of a variant, where `outer` is the enum of `self`.
    ///
    /// Such rows have two marks, and a handle writes one.
    pub(crate) fn within(&self, outer: &Self) -> Error {
        Error::invalid_input(format!(
            "`{}` is a variant of the variant `{}` of `{}`, and a handle writes the mark of one variant alone: read and write \
             whole values of the inner enum by the handle of `{}`",
            self.name, outer.name, outer.of, outer.name
        ))
    }

    /// Returns the names to select besides the requested ones, so that the variant of a row can be determined.
    pub(crate) fn names(&self) -> &[&'static str] {
        match &self.mark {
            VariantMark::Tag { property, .. } => std::slice::from_ref(property),
            VariantMark::RowKeyPrefix(_) => &["RowKey"],
            VariantMark::KeyForm { .. } => &["PartitionKey", "RowKey"],
        }
    }

    /// Checks that a row is of the variant.
    pub(crate) fn check(&self, row: &Row<'_>) -> Result<()> {
        let why = match self.mark {
            VariantMark::Tag { property, tag } => match row.get(property) {
                found if is_tag(found, tag) => return Ok(()),
                found => format!("{}, not {tag:?}", tag_found(property, found)),
            },
            VariantMark::RowKeyPrefix(prefix) => match row.row_key()? {
                row_key if row_key.starts_with(prefix) => return Ok(()),
                row_key => format!("its RowKey {} does not begin with {prefix:?}", Shown(row_key)),
            },
            VariantMark::KeyForm { form, earlier } => match earlier.iter().find(|(_, form)| has_form(row, form)) {
                Some((earlier, _)) => format!("its keys have the form of the variant `{earlier}`"),
                None => return row.key_parts(form).map(drop),
            },
        };
        Err(Error::invalid_response(format!(
            "the row is not of the variant `{}`: {why}",
            self.name
        )))
    }

    /// Reads a row of the variant, without the tag, which is no property of its entity.
    pub(crate) fn read<T>(&self, row: &Row<'_>, read: impl FnOnce(&Row<'_>) -> Result<T>) -> Result<T> {
        match self.mark {
            VariantMark::Tag { property, .. } => read(&untagged(row, property)),
            VariantMark::RowKeyPrefix(_) | VariantMark::KeyForm { .. } => read(row),
        }
    }
}

/// An entity as its enum writes it, or unchanged without a variant.
#[doc(hidden)]
#[derive(Debug)]
pub(crate) struct AsVariant<'a, T: ?Sized> {
    entity: &'a T,
    variant: Option<&'static MarkedVariant>,
}

impl<'a, T: ?Sized> AsVariant<'a, T> {
    /// Writes `entity` as a row of the variant.
    pub(crate) fn new(entity: &'a T, variant: Option<&'static MarkedVariant>) -> Self {
        Self { entity, variant }
    }
}

#[diagnostic::do_not_recommend]
impl<T: TableEntity + ?Sized> TableEntity for AsVariant<'_, T> {
    type PartitionFields = T::PartitionFields;
    type KeyFields = T::KeyFields;
    const SCHEMA: &'static EntitySchema = T::SCHEMA;

    fn key_shape(&self) -> &'static KeyShape {
        self.entity.key_shape()
    }

    fn write_key(&self, key: &mut KeyWriter) -> Result<()> {
        match self.variant {
            Some(variant) => write_marked_key(self.entity, key, variant.mark, variant.name),
            None => self.entity.write_key(key),
        }
    }

    fn write_properties(&self, properties: &mut PropertyWriter<'_>) -> Result<()> {
        if let Some(VariantMark::Tag { property, tag }) = self.variant.map(|variant| variant.mark) {
            properties.tag(property, tag)?;
        }
        self.entity.write_properties(properties)
    }

    fn condition(&self) -> Condition {
        self.entity.condition()
    }
}

/// Returns `true` if the keys of a row have this form.
pub fn has_form(row: &Row<'_>, shape: &KeyShape) -> bool {
    row.key_parts(shape).is_ok()
}

/// Returns `true` if a property is this text.
pub fn is_tag(property: Option<&RowProperty<'_>>, tag: &str) -> bool {
    property.is_some_and(|property| property.value().as_str().is_ok_and(|text| text == tag))
}

/// Returns the tag of a row, for an error.
pub(crate) fn tag_found(name: &str, property: Option<&RowProperty<'_>>) -> String {
    match property.map(RowProperty::value) {
        None => format!("it has no property `{name}`"),
        Some(value) => match value.as_str() {
            Ok(text) => format!("its `{name}` is {}", Shown(text)),
            Err(_) => format!("its `{name}` is not text"),
        },
    }
}

/// Returns the row without its tag, as the entity of the variant wrote it.
pub fn untagged<'r>(row: &'r Row<'_>, tag: &str) -> Row<'r> {
    row.borrowed(|property| property.name != tag)
}

/// Writes the key of a variant, and checks that it has the mark.
///
/// Rejects a key that fits a form of an earlier variant, because it would be read as that variant.
pub fn write_marked_key<V: TableEntity + ?Sized>(
    entity: &V,
    key: &mut KeyWriter,
    mark: VariantMark,
    variant: &str,
) -> Result<()> {
    check_mark(entity.key_shape(), &|| key_texts(entity), mark, variant)?;
    entity.write_key(key)
}

fn check_mark(shape: &KeyShape, texts: &dyn Fn() -> Result<KeyTexts>, mark: VariantMark, variant: &str) -> Result<()> {
    match mark {
        VariantMark::RowKeyPrefix(prefix) if !writes_prefix(shape, prefix) => {
            let texts = texts()?;
            let row_key = texts.row_key();
            if !row_key.starts_with(prefix) {
                return Err(Error::invalid_input(format!(
                    "RowKey {row_key:?}: the RowKey of the variant `{variant}` begins with {prefix:?}"
                )));
            }
        }
        VariantMark::KeyForm { earlier, .. } if !earlier.is_empty() => {
            let texts = texts()?;
            let (partition_key, row_key) = texts.pair();
            let row = Row {
                partition_key: Some(Cow::Borrowed(partition_key)),
                row_key: Some(Cow::Borrowed(row_key)),
                ..Row::default()
            };
            if let Some((variant, _)) = earlier.iter().find(|(_, shape)| has_form(&row, shape)) {
                return Err(Error::invalid_input(format!(
                    "RowKey {row_key:?}: it has the form of the variant `{variant}`, and would be read as that"
                )));
            }
        }
        _ => {}
    }
    Ok(())
}

/// Returns `true` if every RowKey of a template begins with the prefix, so that the key needs no check.
fn writes_prefix(shape: &KeyShape, prefix: &str) -> bool {
    matches!(shape.row_key, [KeyPiece::Literal(text), ..] if text.starts_with(prefix))
}
