//! Comparisons that users look for and that columns do not have: operators, searches inside of a text, tests for
//! absence.
//!
//! Contains the items whose compile errors explain this. None of it is documented or ever runs. Each trait has an impl
//! for a type without values, which is never shown: without any impl the compiler would suggest to write one.

use std::cmp::Ordering;
use std::convert::Infallible;

use crate::filter::column::{Column, ColumnRole};
use crate::filter::typed::{self, Filter};

/// Bounds the right side of an operator on a column. No type with values implements it.
#[diagnostic::on_unimplemented(
    message = "a column is compared by methods: `==` and `>=` would return a `bool`, not a condition for the service",
    label = "write `.eq(..)`, `.ne(..)`, `.gt(..)`, `.ge(..)`, `.lt(..)` or `.le(..)`",
    note = "`Blog::RATING >= 3` is `Blog::RATING.ge(3)`; conditions are joined by `&` and `|`"
)]
pub trait ComparedByOperator {}

#[diagnostic::do_not_recommend]
impl ComparedByOperator for Infallible {}

/// Bounds the values inside of which the service could search. No type with values implements it.
#[diagnostic::on_unimplemented(
    message = "the service cannot search inside of a text: its filters compare whole values",
    label = "not supported by the service",
    note = "for texts with a common beginning use `.starts_with(..)`; otherwise read the rows of a partition and search them in your code",
    note = "store a value that is often searched as a property, or as an entity, of its own"
)]
pub trait SearchedInside {}

#[diagnostic::do_not_recommend]
impl SearchedInside for Infallible {}

/// Bounds the values whose absence a filter could test. No type with values implements it.
#[diagnostic::on_unimplemented(
    message = "the service stores no null: a filter cannot test whether a property is absent",
    label = "not supported by the service",
    note = "a row without the property matches no comparison, not even `.ne(..)`: `.ge(least)` selects the rows that have it",
    note = "for the others read the rows and test the field for `None`, or store a value that stands for absence"
)]
pub trait AbsenceIsStored {}

#[diagnostic::do_not_recommend]
impl AbsenceIsStored for Infallible {}

#[doc(hidden)]
impl<E, T, R, U: ComparedByOperator> PartialEq<U> for Column<E, T, R> {
    fn eq(&self, _: &U) -> bool {
        false
    }
}

#[doc(hidden)]
impl<E, T, R, U: ComparedByOperator> PartialOrd<U> for Column<E, T, R> {
    fn partial_cmp(&self, _: &U) -> Option<Ordering> {
        None
    }
}

#[doc(hidden)]
impl<E, T, R: ColumnRole<T>> Column<E, T, R> {
    pub fn contains<V>(self, _: V) -> Filter<E>
    where
        R::Compared: SearchedInside,
    {
        typed::nothing()
    }

    pub fn ends_with<V>(self, _: V) -> Filter<E>
    where
        R::Compared: SearchedInside,
    {
        typed::nothing()
    }

    pub fn is_null(self) -> Filter<E>
    where
        R::Compared: AbsenceIsStored,
    {
        typed::nothing()
    }

    pub fn is_none(self) -> Filter<E>
    where
        R::Compared: AbsenceIsStored,
    {
        typed::nothing()
    }

    pub fn is_some(self) -> Filter<E>
    where
        R::Compared: AbsenceIsStored,
    {
        typed::nothing()
    }
}
