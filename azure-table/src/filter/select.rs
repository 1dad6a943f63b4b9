//! Tuples of columns to select from a table.

use azure_table_wire::error::Result;

use crate::entity::property::ReadProperty;
use crate::entity::row::{self, Row};
use crate::filter::column::{Column, InKey, Stored};
use crate::key::table_key::ReadTableKey;

/// A column that can be selected by itself.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be selected from `{E}`",
    label = "expected a column of `{E}` whose type can be read",
    note = "name constants of `{E}`, those in a flattened field with `field`; a field that borrows, or is stored by `json`, \
            `with` or `chunked`, is read with the whole entity"
)]
pub trait SelectColumn<E> {
    /// The type of the column's field.
    type Value;

    #[doc(hidden)]
    fn selected_name(&self) -> String;

    #[doc(hidden)]
    fn read_from(&self, row: &Row<'_>, name: &str) -> Result<Self::Value>;
}

impl<E, T: ReadProperty> SelectColumn<E> for Column<E, T, Stored> {
    type Value = T;

    fn selected_name(&self) -> String {
        self.name()
    }

    fn read_from(&self, row: &Row<'_>, name: &str) -> Result<T> {
        row::required(row.found(name)?, name)
    }
}

impl<E, T: ReadTableKey> SelectColumn<E> for Column<E, T, InKey> {
    type Value = T;

    fn selected_name(&self) -> String {
        self.name()
    }

    fn read_from(&self, row: &Row<'_>, name: &str) -> Result<T> {
        row.key(name)
    }
}

/// A tuple of columns of `E` for `TableQuery::select`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not select from `{E}`",
    label = "expected a tuple of columns of `{E}`, such as `(Blog::TEXT, Blog::RATING)`"
)]
pub trait Columns<E>: Send + Sync + 'static {
    /// The tuple of the columns' values.
    type Values;

    #[doc(hidden)]
    fn names(&self) -> Vec<String>;

    #[doc(hidden)]
    fn read_all(&self, names: &[String], row: &Row<'_>) -> Result<Self::Values>;
}

macro_rules! tuples {
    ($(($($column:ident $n:tt),+))*) => {$(
        impl<E, $($column: SelectColumn<E> + Send + Sync + 'static),+> Columns<E> for ($($column,)+) {
            type Values = ($($column::Value,)+);

            fn names(&self) -> Vec<String> {
                vec![$(self.$n.selected_name()),+]
            }

            fn read_all(&self, names: &[String], row: &Row<'_>) -> Result<Self::Values> {
                let name = |n: usize| names.get(n).map(String::as_str).unwrap_or_default();
                Ok(($(self.$n.read_from(row, name($n))?,)+))
            }
        }
    )*};
}
tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, F 4)
    (A 0, B 1, C 2, D 3, F 4, G 5)
    (A 0, B 1, C 2, D 3, F 4, G 5, H 6)
    (A 0, B 1, C 2, D 3, F 4, G 5, H 6, I 7)
}
