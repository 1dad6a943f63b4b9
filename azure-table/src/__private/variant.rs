//! The items that derived code of enums of entities uses.

use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::edm::Edm;

use crate::entity::dynamic::DynamicEntity;
use crate::entity::row::RowProperty;
use crate::entity::table_entity::TableEntity;
use crate::entity::variant_mark::tag_found;
use crate::key::entity_key::{PlainFields, key_texts};
use crate::key::key_shape::KeyWriter;

/// The key fields of an enum, whose variants differ: no tuple matches it.
#[derive(Debug)]
pub enum KeysDifferByVariant {}

impl PlainFields for KeysDifferByVariant {}

/// The types that the variant marked with `other` may hold.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not hold every row",
    label = "not every row is one of these",
    note = "the variant marked with #[table(other)] holds a DynamicEntity"
)]
pub trait CatchAll {}

impl CatchAll for DynamicEntity {}

/// Fails to compile for a type that cannot hold every row.
pub const fn assert_catch_all<T: CatchAll>() {}

/// Writes the key of the variant marked `other`. Rejects a key that begins with the prefix of a variant, because it
/// would be read as that variant.
pub fn write_key_of_other<T: TableEntity + ?Sized>(
    entity: &T,
    key: &mut KeyWriter,
    prefixes: &[(&str, &str)],
) -> Result<()> {
    let texts = key_texts(entity)?;
    let row_key = texts.row_key();
    match prefixes.iter().find(|(_, prefix)| row_key.starts_with(prefix)) {
        Some((variant, prefix)) => Err(Error::invalid_input(format!(
            "RowKey {row_key:?}: it begins with {prefix:?}, as the RowKeys of the variant `{variant}`, and would be read as \
             that; write it as that variant"
        ))),
        None => entity.write_key(key),
    }
}

/// Checks that the variant marked `other` does not have the tag of another variant, which it would be read as.
pub fn check_tag_of_other<T: TableEntity + ?Sized>(entity: &T, property: &str, tags: &[(&str, &str)]) -> Result<()> {
    let row = DynamicEntity::from_entity(entity)?;
    let Some(Edm::String(found)) = row.get(property) else {
        return Ok(());
    };
    match tags.iter().find(|(_, tag)| **tag == **found) {
        Some((variant, tag)) => Err(Error::invalid_input(format!(
            "property `{property}`: {tag:?} is the tag of the variant `{variant}`, and the row would be read as that; write it \
             as that variant"
        ))),
        None => Ok(()),
    }
}

/// Returns the error for a row that matches no variant of an enum.
pub fn no_variant<T>(name: &str) -> Result<T> {
    Err(Error::invalid_response(format!(
        "the row matches no variant of `{name}`"
    )))
}

/// Returns the error for a row whose tag matches no variant, with the value of the tag.
pub fn no_tagged<T>(name: &str, tag: &str, property: Option<&RowProperty<'_>>) -> Result<T> {
    let remedy = match property {
        None => ", which distinguishes the variants: write it as the enum",
        Some(_) => "",
    };
    let why = tag_found(tag, property);
    Err(Error::invalid_response(format!(
        "the row matches no variant of `{name}`: {why}{remedy}"
    )))
}
