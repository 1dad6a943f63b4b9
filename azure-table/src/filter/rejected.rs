//! Items that look like columns but are not. Comparing them does not compile, and the error names the remedy.
//!
//! Contains the rejected operations of flattened fields and of variants, [`Opaque`] and [`OtherRows`]. None of it is
//! documented or ever runs: it exists for the compiler's messages.
//!
//! Functions take a trait with one impl (`FilterOf<E>` for `Filter<E>`) instead of a type, because the compiler shows a
//! custom message for a trait. Items that users may look for exist but do not compile, such as the constant of a `json`
//! field or the comparisons of a flattened one.

use std::marker::PhantomData;

use crate::entity::dynamic::DynamicEntity;
use crate::filter::assignment::Assignment;
use crate::filter::column::Column;
use crate::filter::nested::{Nested, Variant, VariantColumn};
use crate::filter::typed::{Filter, FilterOf};

/// The bound of a method that does not compile for any type, below a trait with the message.
pub trait Rejected {
    /// Never runs, because no type implements the trait.
    fn rejected<Q>() -> Q;
}

/// The constant of a field that is stored in a form unknown to the service.
#[derive(Debug)]
pub struct Opaque<E, T> {
    kind: PhantomData<fn() -> (E, T)>,
}

impl<E, T> Opaque<E, T> {
    /// The constant of a field.
    pub const NEW: Self = Self { kind: PhantomData };
}

/// The constant of the variant that holds all other rows.
#[derive(Debug)]
pub struct OtherRows<E> {
    kind: PhantomData<fn() -> E>,
}

/// Implemented by no type.
#[diagnostic::on_unimplemented(
    message = "a flattened field of type `{Self}` is several properties, each compared and set alone",
    label = "expected a property of `{Self}`",
    note = "name the property with `field`, as in `Shop::HOME.field({Self}::CITY).eq(..)`; to set it, write the entity"
)]
pub trait Whole<E>: Rejected {}

/// Implemented by no type.
#[diagnostic::on_unimplemented(
    message = "a variant is not a value: compare the columns of `{Self}` instead",
    label = "expected a column of `{Self}`",
    note = "name the column with `field`, as in `Item::CUSTOMER.field({Self}::NAME).eq(..)`; all rows are `.only()`"
)]
pub trait Single<E>: Rejected {}

/// Implemented by no type.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` that is stored by `json`, `with` or `chunked` cannot be compared or set alone",
    label = "the service does not know the value",
    note = "compare the rows that were read; or compare what is stored, by `Column::<{E}, _>::property(\"name\")`",
    note = "to set it, write the entity"
)]
pub trait Known<E>: Rejected {}

/// Implemented by no type.
#[diagnostic::on_unimplemented(
    message = "the service cannot select the rows that belong to no other variant of `{Self}`",
    label = "the variant marked with #[table(other)]",
    note = "read the rows of `{Self}` and select this variant by `match`, or write `Filter::raw(..)`"
)]
pub trait Listed: Rejected {}

macro_rules! rejected {
    ($of:ident by $why:ident: $($compare:ident)*) => {
        #[doc(hidden)]
        impl<E, T> $of<E, T> {
            $(pub fn $compare<V>(self, _: V) -> Filter<E>
            where
                T: $why<E>,
            {
                T::rejected()
            })*

            pub fn between<A, B>(self, _: A, _: B) -> Filter<E>
            where
                T: $why<E>,
            {
                T::rejected()
            }

            pub fn set<V>(self, _: V) -> Assignment<E>
            where
                T: $why<E>,
            {
                T::rejected()
            }
        }
    };
}
rejected! { Nested by Whole: eq ne gt ge lt le is_in starts_with }
rejected! { Variant by Single: eq ne gt ge lt le is_in starts_with }
rejected! { Opaque by Known: eq ne gt ge lt le is_in starts_with }

#[doc(hidden)]
impl<E> OtherRows<E> {
    /// The constant of an enum.
    pub const NEW: Self = Self { kind: PhantomData };

    pub fn only(self) -> Filter<E>
    where
        E: Listed,
    {
        E::rejected()
    }

    pub fn filter(self, _: impl FilterOf<DynamicEntity>) -> Filter<E>
    where
        E: Listed,
    {
        E::rejected()
    }

    pub fn field<T, R>(self, _: Column<DynamicEntity, T, R>) -> VariantColumn<E, DynamicEntity, T, R>
    where
        E: Listed,
    {
        E::rejected()
    }
}
