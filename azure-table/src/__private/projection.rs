//! The items that derived code of projections uses.

use std::marker::PhantomData;

use azure_table_wire::error::Result;

use super::assert::is_same;
use crate::entity::property::{Property, ReadProperty};
use crate::entity::row::Row;
use crate::entity::table_entity::TableEntity;
use crate::filter::assignment;
use crate::filter::column::{Column, InKey, Stored};
use crate::filter::nested::Nested;
use crate::filter::projection::ProjectedValues;
use crate::filter::rejected::Opaque;
use crate::key::table_key::{ReadTableKey, TableKey};

/// The stored names that a projection selects. A separate trait, because only a constant can hold them.
pub trait Selection<const N: usize> {
    /// The selected names.
    const NAMES: &'static Distinct<N>;
}

/// At most `N` distinct names.
#[derive(Debug)]
pub struct Distinct<const N: usize> {
    names: [&'static str; N],
    count: usize,
}

impl<const N: usize> Distinct<N> {
    /// Removes duplicates: two fields may read the same column, and a column may be a key.
    pub const fn of(all: [&'static str; N]) -> Self {
        let mut names = all;
        let mut count = 0;
        let mut at = 0;
        while at < N {
            let mut before = 0;
            while before < count && !is_same(&[names[before]], &[all[at]]) {
                before += 1;
            }
            if before == count {
                names[count] = all[at];
                count += 1;
            }
            at += 1;
        }
        Self { names, count }
    }

    /// Returns the names.
    pub const fn names(&'static self) -> &'static [&'static str] {
        self.names.split_at(self.count).0
    }
}

/// The replacement for a constant that the entity does not have.
#[derive(Debug)]
pub struct Absent<E> {
    entity: PhantomData<fn() -> E>,
}

impl<E> Absent<E> {
    /// Creates the constant.
    pub const NEW: Self = Self { entity: PhantomData };
}

/// Implemented by no type: a bound for constants that the entity does not have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no constant for this field of the projection, or none that is visible here",
    label = "no property of `{Self}` with a constant of this name",
    note = "name the field as in `{Self}`; or name the constant by #[table(column = \"NAME\")]",
    note = "a field in a key template has no constant: if it is the only field of its key, #[table(partition_key)] or \
            #[table(row_key)] reads it"
)]
pub trait ColumnOfName {}

impl<E: ColumnOfName, T> ColumnOf<E, T> for Absent<E> {
    fn found(self, _: &Row<'_>) -> Result<Option<T>> {
        Ok(None)
    }

    fn required(self, _: &Row<'_>) -> Result<T> {
        super::missing(None, "", "")
    }
}

/// Defines the stored name of a constant, if it has one. [`ColumnOf`] decides whether it can be read.
macro_rules! selected {
    ($($of:ident<$($parameter:ident),*>: $column:pat => $name:expr;)*) => {$(
        #[doc(hidden)]
        impl<$($parameter),*> $of<$($parameter),*> {
            pub const fn selected(self) -> &'static str {
                let $column = self;
                $name
            }
        }
    )*};
}

/// Adds the value of a field to the values that the projection writes.
///
/// The methods are inherent and lack the bounds of [`ColumnOf`], so that a wrong type is reported only once.
#[doc(hidden)]
impl<E, T> Column<E, T, Stored> {
    pub fn write<V: Property>(self, value: &V, values: &mut ProjectedValues<E>) {
        values.columns.extend(assignment::of_property(self.selected(), value));
    }
}

#[doc(hidden)]
impl<E, T> Column<E, T, InKey> {
    pub fn write<V: TableKey>(self, value: &V, values: &mut ProjectedValues<E>) {
        values.key(value);
    }
}

macro_rules! unwritten {
    ($($of:ty $(, $parameter:ident)*;)*) => {$(
        #[doc(hidden)]
        impl<E $(, $parameter)*> $of {
            pub fn write<V>(self, _: &V, _: &mut ProjectedValues<E>) {}
        }
    )*};
}
unwritten! {
    Nested<E, G>, G;
    Opaque<E, T>, T;
    Absent<E>;
}
selected! {
    Column<E, T, R>: column => column.stored_name().last();
    Nested<E, G>: _ => "";
    Opaque<E, T>: _ => "";
    Absent<E>: _ => "";
}

/// A column of `E` that is read into a field of type `T`.
#[diagnostic::on_unimplemented(
    message = "the constant is a `{Self}`, which cannot be read into a field of type `{T}`",
    label = "not the type of this field in `{E}`",
    note = "give the field of the projection the same type as the field of `{E}`",
    note = "a field that is flattened, or stored by `json`, `with` or `chunked`, cannot be projected: read the whole \
            entity"
)]
pub trait ColumnOf<E, T> {
    /// Returns the value, or `None` if it is absent.
    fn found(self, row: &Row<'_>) -> Result<Option<T>>;

    /// Returns the value, or the value for an absent property.
    fn required(self, row: &Row<'_>) -> Result<T>;
}

impl<E, T: ReadProperty> ColumnOf<E, T> for Column<E, T, Stored> {
    fn found(self, row: &Row<'_>) -> Result<Option<T>> {
        row.found(self.selected())
    }

    fn required(self, row: &Row<'_>) -> Result<T> {
        super::required(self.found(row)?, "", self.selected())
    }
}

impl<E, T: ReadTableKey> ColumnOf<E, T> for Column<E, T, InKey> {
    fn found(self, row: &Row<'_>) -> Result<Option<T>> {
        self.required(row).map(Some)
    }

    fn required(self, row: &Row<'_>) -> Result<T> {
        row.key(self.selected())
    }
}

/// Returns the value of a column, or the value for an absent property.
pub fn select<E, T, C: ColumnOf<E, T>>(column: C, row: &Row<'_>) -> Result<T> {
    column.required(row)
}

/// Returns the value of a column, or `None` if it is absent.
pub fn select_found<E, T, C: ColumnOf<E, T>>(column: C, row: &Row<'_>) -> Result<Option<T>> {
    column.found(row)
}

/// The fields of both keys, in which a single `T` follows the partition fields `P`.
#[diagnostic::on_unimplemented(
    message = "the RowKey is not one field of type `{T}`",
    label = "the fields of both keys are `{Self}`",
    note = "give the field the type that it has in the entity; a key of several fields is read with the whole entity"
)]
pub trait SoleRowField<P, T> {}

macro_rules! sole_row_field {
    ($($field:ident)*) => {
        #[diagnostic::do_not_recommend]
        impl<$($field,)* T> SoleRowField<($($field,)*), T> for ($($field,)* T,) {}
    };
}
sole_row_field! {}
sole_row_field! { A }
sole_row_field! { A B }
sole_row_field! { A B C }
sole_row_field! { A B C D }
sole_row_field! { A B C D E }
sole_row_field! { A B C D E F }
sole_row_field! { A B C D E F G }

/// Returns the only field of the PartitionKey.
pub fn partition_field<E: TableEntity<PartitionFields = (T,)>, T: ReadTableKey>(row: &Row<'_>) -> Result<T> {
    row.key_parts(&E::SCHEMA.key)?.read(0)
}

/// Returns the only field of the RowKey.
pub fn row_field<E: TableEntity, T: ReadTableKey>(row: &Row<'_>) -> Result<T>
where
    E::KeyFields: SoleRowField<E::PartitionFields, T>,
{
    let key = &E::SCHEMA.key;
    let before = key
        .partition_key
        .iter()
        .filter(|piece| !matches!(piece, super::KeyPiece::Literal(_)));
    row.key_parts(key)?.read(before.count())
}
