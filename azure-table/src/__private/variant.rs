//! What derived code of enums of entities calls.

use crate::model::dynamic::DynamicEntity;
use crate::model::error::{Error, Result};
use crate::model::key_shape::KeyWriter;
use crate::model::row::RowProperty;
use crate::model::row_key::IntoRowKey;
use crate::model::variant_mark::tag_found;

/// What stands for the key fields of an enum, whose variants differ: no tuple fits it.
#[derive(Debug)]
pub enum KeysDifferByVariant {}

/// The RowKey of a row of any variant is its text.
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

/// The error for a row that is no variant of an enum.
pub fn no_variant<T>(name: &str) -> Result<T> {
    Err(Error::invalid_response(format!("the row is no variant of `{name}`")))
}

/// The same where a property tells the variants apart: what became of it.
pub fn no_tagged<T>(name: &str, tag: &str, property: Option<&RowProperty<'_>>) -> Result<T> {
    let remedy = match property {
        None => ", which tells the variant: write it as the enum",
        Some(_) => "",
    };
    let why = tag_found(tag, property);
    Err(Error::invalid_response(format!(
        "the row is no variant of `{name}`: {why}{remedy}"
    )))
}
