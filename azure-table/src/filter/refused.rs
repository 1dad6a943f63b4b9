//! What is no column and is taken for one: comparisons that do not compile, each with the reason and what to write.
//!
//! Owns the refusals of flattened fields and of variants, [`Opaque`] and [`OtherRows`]. None of it is documented or
//! ever runs: it is there for what the compiler says.
//!
//! Every compile error names its remedy. Where a type would be demanded, a trait with one impl is (`FilterOf<E>` for
//! `Filter<E>`): the compiler says our words about a trait. What is missing exists as an item that refuses: the
//! constant of a `json` field, the comparisons of a flattened one, the function that a module in `with` lacks.

use std::marker::PhantomData;

use crate::filter::assignment::Assignment;
use crate::filter::nested::{ColumnOfVariant, Nested, Variant};
use crate::filter::typed::{Filter, FilterOf};
use crate::model::dynamic::DynamicEntity;

/// The constant of a field that is stored in a form of which the service knows nothing.
#[derive(Debug)]
pub struct Opaque<E, T> {
    kind: PhantomData<fn() -> (E, T)>,
}

impl<E, T> Opaque<E, T> {
    /// The constant of a field.
    #[expect(clippy::new_without_default, reason = "only constants are made of it")]
    pub const fn new() -> Self {
        Self { kind: PhantomData }
    }
}

/// The constant of the variant that holds all other rows.
#[derive(Debug)]
pub struct OtherRows<E> {
    kind: PhantomData<fn() -> E>,
}

/// Implemented by nothing.
#[diagnostic::on_unimplemented(
    message = "a flattened field of type `{Self}` is several properties, each compared and set alone",
    label = "expected a property of `{Self}`",
    note = "name the property by `then`, as in `Shop::HOME.then({Self}::CITY).eq(..)`; to set it, write the entity"
)]
pub trait Whole<E> {
    /// What would come of it.
    fn refused<Q>() -> Q;
}

/// Implemented by nothing.
#[diagnostic::on_unimplemented(
    message = "a variant is no value: its rows are those of `{Self}`, whose columns are compared",
    label = "expected a column of `{Self}`",
    note = "name the column by `then`, as in `Item::CUSTOMER.then({Self}::NAME).eq(..)`; all rows are `.only()`"
)]
pub trait Single<E> {
    /// What would come of it.
    fn refused<Q>() -> Q;
}

/// Implemented by nothing.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` that is stored by `json`, `with` or `chunked` is neither compared nor set alone",
    label = "the service does not know the value",
    note = "compare the rows that were read; or compare what is stored, by `Column::<{E}, _>::property(\"name\")`",
    note = "to set it, write the entity"
)]
pub trait Known<E> {
    /// What would come of it.
    fn refused<Q>() -> Q;
}

/// Implemented by nothing.
#[diagnostic::on_unimplemented(
    message = "the service cannot be asked for the rows of no other variant of `{Self}`",
    label = "the variant marked with #[table(other)]",
    note = "read the rows of `{Self}` and take those of this variant by `match`, or write `Filter::raw(..)`"
)]
pub trait Listed {
    /// What would come of it.
    fn refused<Q>() -> Q;
}

macro_rules! refused {
    ($of:ident by $why:ident: $($compare:ident)*) => {
        #[doc(hidden)]
        impl<E, T> $of<E, T> {
            $(pub fn $compare<V>(self, _: V) -> Filter<E>
            where
                T: $why<E>,
            {
                T::refused()
            })*

            pub fn between<A, B>(self, _: A, _: B) -> Filter<E>
            where
                T: $why<E>,
            {
                T::refused()
            }

            pub fn set<V>(self, _: V) -> Assignment<E>
            where
                T: $why<E>,
            {
                T::refused()
            }
        }
    };
}
refused! { Nested by Whole: eq ne gt ge lt le is_in starts_with }
refused! { Variant by Single: eq ne gt ge lt le is_in starts_with }
refused! { Opaque by Known: eq ne gt ge lt le is_in starts_with }

#[doc(hidden)]
impl<E> OtherRows<E> {
    /// The constant of an enum.
    #[expect(clippy::new_without_default, reason = "only constants are made of it")]
    pub const fn new() -> Self {
        Self { kind: PhantomData }
    }

    pub fn only(self) -> Filter<E>
    where
        E: Listed,
    {
        E::refused()
    }

    pub fn filter(self, _: impl FilterOf<DynamicEntity>) -> Filter<E>
    where
        E: Listed,
    {
        E::refused()
    }

    pub fn then<C: ColumnOfVariant<DynamicEntity>>(self, _: C) -> C::In<E>
    where
        E: Listed,
    {
        E::refused()
    }
}
