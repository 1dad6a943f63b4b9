//! The items that derived code of enums of entities uses.

use crate::model::dynamic::DynamicEntity;
use crate::model::entity_key::PlainFields;
use crate::model::error::{Error, ErrorInternals, Result};
use crate::model::key_shape::KeyWriter;
use crate::model::row::RowProperty;
use crate::model::row_key::IntoRowKey;
use crate::model::variant_mark::tag_found;

/// The key fields of an enum, whose variants differ: no tuple matches it.
#[derive(Debug)]
pub enum KeysDifferByVariant {}

impl PlainFields for KeysDifferByVariant {}

/// Implements the key of a row of any variant, whose RowKey is text.
macro_rules! row_key_texts {
    ($($text:ty),+) => {$(
        #[diagnostic::do_not_recommend]
        impl<P> IntoRowKey<P, KeysDifferByVariant> for $text {
            fn write_row_key(self, key: &mut KeyWriter) -> Result<()> {
                key.field::<str>(self.as_ref())
            }
        }
    )+};
}
row_key_texts! { &str, String, &String }

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
