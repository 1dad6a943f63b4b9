//! The marks by which rows show their variant of an enum of entities.
//!
//! Defines [`VariantMark`], and the functions with which derived code reads and writes marked rows.

use std::borrow::Cow;

use azure_table_wire::error::error_text::Shown;
use azure_table_wire::error::{Error, Result};

use crate::entity::row::{Row, RowProperty};
use crate::entity::table_entity::TableEntity;
use crate::key::entity_key::key_texts;
use crate::key::key_shape::{KeyPiece, KeyShape, KeyWriter};
use crate::key::key_texts::KeyTexts;

/// The mark by which the rows of one variant of an enum of entities differ from the rows of the others.
#[derive(Clone, Copy, Debug, PartialEq)]
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
        /// The earlier variants and their forms: a row whose keys fit one of them belongs to that variant.
        earlier: &'static [(&'static str, &'static KeyShape)],
    },
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
