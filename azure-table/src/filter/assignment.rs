//! Values for columns, as a patch sends them.

use std::fmt;
use std::marker::PhantomData;

use crate::filter::column::{Column, ColumnRole, Stored};
use crate::filter::literal::Literal;
use crate::model::edm::EdmValue;
use crate::model::error::{Error, Result, ValueError};
use crate::model::operand::Operand;

/// A column and its new value, created by [`Column::set`] and sent by
/// [`TableClient::patch`](crate::TableClient::patch).
///
/// A column cannot be unset: the service keeps properties that a merge does not name, and it has no stored null. To
/// remove a property, read the entity, set the field to `None`, and replace the entity under its ETag.
pub struct Assignment<E> {
    name: String,
    value: Result<EdmValue, ValueError>,
    entity: PhantomData<fn() -> E>,
}

/// Accepts only an [`Assignment`] of `E`.
///
/// It is a trait so that the compiler can explain a wrong argument.
#[diagnostic::on_unimplemented(
    message = "`{Self}` sets no column of `{E}`",
    label = "expected an `Assignment<{E}>`",
    note = "set columns of `{E}`, as in `[{E}::COLUMN.set(value)]`"
)]
pub trait AssignmentOf<E> {
    #[doc(hidden)]
    fn into_assignment(self) -> Assignment<E>;
}

impl<E> AssignmentOf<E> for Assignment<E> {
    fn into_assignment(self) -> Self {
        self
    }
}

/// A column that can be set, which is a column of a property.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be set: an entity keeps its keys for life",
    label = "a column of a key",
    note = "to move an entity insert it under its other key, and delete the one with this key"
)]
pub trait Settable {}

impl<E, T> Settable for Column<E, T, Stored> {}

impl<E, T, R: ColumnRole<T>> Column<E, T, R> {
    /// Creates the assignment of a new value to a property, for a patch.
    ///
    /// Keys cannot be set: an entity keeps its keys for life.
    pub fn set(self, value: impl Operand<R::Compared>) -> Assignment<E>
    where
        Self: Settable,
    {
        let value = match self.stored_name().fault() {
            Some(fault) => Err(ValueError::new(fault)),
            None => R::literal(&value.into_operand()),
        };
        Assignment {
            name: self.name(),
            value,
            entity: PhantomData,
        }
    }
}

impl<E> Assignment<E> {
    /// Returns the name and the value.
    ///
    /// # Errors
    /// - `InvalidInput`: the service cannot represent the value.
    pub(crate) fn into_property(self) -> Result<(String, EdmValue)> {
        match self.value {
            Ok(value) => Ok((self.name, value)),
            Err(e) => Err(Error::invalid_input(format!("property `{}`: {e}", self.name))),
        }
    }
}

impl<E> fmt::Display for Assignment<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Ok(value) => write!(f, "{} = {}", self.name, Literal(value)),
            Err(e) => write!(f, "{} = <{e}>", self.name),
        }
    }
}

impl<E> fmt::Debug for Assignment<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Assignment({self})")
    }
}
