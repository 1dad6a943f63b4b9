//! What derived code of enums of entities calls.

use std::borrow::Cow;

use crate::model::dynamic::DynamicEntity;
use crate::model::edm::WireValue;
use crate::model::entity::TableEntity;
use crate::model::entity_key::key_texts;
use crate::model::error::{Error, Result};
use crate::model::key_shape::{KeyPiece, KeyShape, KeyWriter};
use crate::model::row::{Row, RowProperty};
use crate::model::shown::Shown;

/// What stands for the key fields of an enum, whose variants differ: no tuple fits it.
#[derive(Debug)]
pub enum KeysDifferByVariant {}

/// What the variant marked with `other` may hold.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not hold every row",
    label = "not every row is one of these",
    note = "the variant marked with #[table(other)] holds a DynamicEntity"
)]
pub trait CatchAll {}

impl CatchAll for DynamicEntity {}

/// Fails to compile for a type that some row is not.
pub const fn assert_catch_all<T: CatchAll>() {}

/// Whether the keys of a row have this form.
pub fn has_form(row: &Row<'_>, shape: &KeyShape) -> bool {
    row.key_parts(shape).is_ok()
}

/// Whether a property is this text.
pub fn is_tag(property: Option<&RowProperty<'_>>, tag: &str) -> bool {
    property.is_some_and(|property| property.value().as_str().is_ok_and(|text| text == tag))
}

/// The row without its tag, as the entity of the variant wrote it.
pub fn untagged<'r>(row: &'r Row<'_>, tag: &str) -> Row<'r> {
    let borrowed = |text: &'r Option<Cow<'_, str>>| text.as_deref().map(Cow::Borrowed);
    let properties = row.properties.iter().filter(|property| property.name != tag);
    Row {
        partition_key: borrowed(&row.partition_key),
        row_key: borrowed(&row.row_key),
        timestamp: borrowed(&row.timestamp),
        etag: borrowed(&row.etag),
        properties: properties
            .map(|property| {
                let WireValue { annotation, token } = property.value();
                RowProperty {
                    name: Cow::Borrowed(&property.name),
                    annotation,
                    token,
                }
            })
            .collect(),
    }
}

/// Writes the key of a variant whose rows are known by what their RowKeys begin with.
pub fn write_prefixed_key<V: TableEntity>(entity: &V, key: &mut KeyWriter, prefix: &str, variant: &str) -> Result<()> {
    let template = entity.key_shape().row_key;
    // With such a template the key need not be looked at.
    if !matches!(template, [KeyPiece::Literal(text), ..] if text.starts_with(prefix)) {
        let texts = key_texts(entity)?;
        let row_key = texts.row_key();
        if !row_key.starts_with(prefix) {
            return Err(Error::invalid_input(format!(
                "RowKey {row_key:?}: that of the variant `{variant}` begins with {prefix:?}"
            )));
        }
    }
    entity.write_key(key)
}

/// Writes the key of a variant whose rows are known by the form of their keys, which is asked of the `earlier` ones first.
pub fn write_key_of_form<V: TableEntity>(
    entity: &V,
    key: &mut KeyWriter,
    earlier: &[(&str, &'static KeyShape)],
) -> Result<()> {
    if !earlier.is_empty() {
        let texts = key_texts(entity)?;
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
    entity.write_key(key)
}

/// The error for a row that is no variant of an enum.
pub fn no_variant<T>(name: &str) -> Result<T> {
    Err(Error::invalid_response(format!("the row is no variant of `{name}`")))
}

/// The same where a property tells the variants apart: what became of it.
pub fn no_tagged<T>(name: &str, tag: &str, property: Option<&RowProperty<'_>>) -> Result<T> {
    let why = match property {
        None => format!("it has no property `{tag}`, which tells the variant: write it as the enum"),
        Some(property) => match property.value().as_str() {
            Ok(text) => format!("its `{tag}` is {}", Shown(text)),
            Err(_) => format!("its `{tag}` is no text"),
        },
    };
    Err(Error::invalid_response(format!(
        "the row is no variant of `{name}`: {why}"
    )))
}
