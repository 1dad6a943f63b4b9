//! A value for a column: what a patch is made of.

use std::fmt;
use std::marker::PhantomData;

use crate::filter::column::{Column, ColumnRole, Stored};
use crate::filter::literal::Literal;
use crate::model::edm::EdmValue;
use crate::model::error::{Error, Result, ValueError};
use crate::model::operand::Operand;

/// A column and its new value, made by [`Column::set`] and sent by [`TableClient::patch`](crate::TableClient::patch).
///
/// There is no way to unset a column: the service keeps what a merge does not name, and has no stored null. To remove a
/// property read the entity, make the field `None`, and replace it under its ETag.
pub struct Assignment<E> {
    name: String,
    value: Result<EdmValue, ValueError>,
    entity: PhantomData<fn() -> E>,
}

impl<E, T> Column<E, T, Stored>
where
    Stored: ColumnRole<T>,
{
    /// The new value of a property, for a patch. Keys have none: an entity keeps its keys for life.
    pub fn set(self, value: impl Operand<<Stored as ColumnRole<T>>::Compared>) -> Assignment<E> {
        let value = match self.stored_name().fault() {
            Some(fault) => Err(ValueError::new(fault)),
            None => Stored::literal(&value.into_operand()),
        };
        Assignment {
            name: self.name(),
            value,
            entity: PhantomData,
        }
    }
}

impl<E> Assignment<E> {
    /// Name and value.
    ///
    /// # Errors
    /// `InvalidInput` — the value has no form in the service.
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
