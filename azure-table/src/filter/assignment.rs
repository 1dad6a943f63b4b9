//! Values for columns, as a patch sends them.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use azure_table_wire::error::{Error, Result, ValueError};
use azure_table_wire::filter::literal::Literal;
use azure_table_wire::value::edm::{Edm, EdmValue};

use crate::entity::property::Property;
use crate::entity::property_writer::PropertyWriter;
use crate::filter::column::{Column, ColumnRole, Stored};
use crate::filter::column_name::ColumnName;
use crate::key::operand::Operand;

/// A column and its new value, created by [`Column::set`] and sent by `TableClient::patch`.
///
/// A patch cannot remove a property: a merge keeps every property that it does not name, and the service stores no
/// null. To remove one, read the entity, set the field to `None`, and replace the entity, requiring its ETag.
pub struct Assignment<E> {
    name: String,
    value: Result<EdmValue, ValueError>,
    entity: PhantomData<fn() -> E>,
}

/// The columns that a patch writes: an [`Assignment`], or several in an array, a `Vec` or any other iterator.
///
/// ```
/// use azure_table::{Column, DynamicEntity, TableOperation};
/// let rating = Column::<DynamicEntity, i32>::property("Rating");
/// let views = Column::<DynamicEntity, i64>::property("Views");
/// let one = TableOperation::patch(("Channel9", "1"), rating.set(5));
/// let several = TableOperation::patch(("Channel9", "1"), [rating.set(5), views.set(70)]);
/// # let _ = (one, several);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` sets no columns of `{E}`",
    label = "expected an `Assignment<{E}>`, or several in an array or another iterator",
    note = "set columns of `{E}`, as in `{E}::COLUMN.set(value)`; pass several in an array, `[a, b]`",
    note = "the columns of a variant are set by `table.execute(TableOperation::patch(key, columns))`"
)]
pub trait Assignments<E> {
    #[doc(hidden)]
    fn into_assignments(self) -> impl Iterator<Item = Assignment<E>>;
}

impl<E> Assignments<E> for Assignment<E> {
    fn into_assignments(self) -> impl Iterator<Item = Self> {
        std::iter::once(self)
    }
}

#[diagnostic::do_not_recommend]
impl<E, I: IntoIterator<Item = Assignment<E>>> Assignments<E> for I {
    fn into_assignments(self) -> impl Iterator<Item = Assignment<E>> {
        self.into_iter()
    }
}

/// Creates the assignment of a field's value to the property of this name, or returns `None` if the value is absent.
#[doc(hidden)]
pub(crate) fn of_property<E, T: Property + ?Sized>(name: &str, value: &T) -> Option<Assignment<E>> {
    let value = value.to_edm().map(|value| value.map(Edm::into_owned)).transpose()?;
    Some(Assignment::new(name.to_owned(), value))
}

impl<E> Assignment<E> {
    fn new(name: String, value: Result<EdmValue, ValueError>) -> Self {
        Self {
            name,
            value,
            entity: PhantomData,
        }
    }

    /// Creates the assignment of a column with this name.
    pub(crate) fn from_column(name: ColumnName, value: impl FnOnce() -> Result<EdmValue, ValueError>) -> Self {
        let value = match name.fault() {
            Some(fault) => Err(ValueError::new(fault)),
            None => value(),
        };
        Self::new(name.to_string(), value)
    }
}

/// A column that can be set: the column of a property.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be set: the keys of an entity never change",
    label = "a column of a key",
    note = "to move an entity insert it under its other key, and delete the one with this key"
)]
pub trait Settable {}

impl<E, T> Settable for Column<E, T, Stored> {}

impl<E, T, R: ColumnRole<T>> Column<E, T, R> {
    /// Assigns a new value to a property, for a patch.
    ///
    /// Keys cannot be set: the keys of an entity never change.
    pub fn set(self, value: impl Operand<R::Compared>) -> Assignment<E>
    where
        Self: Settable,
    {
        Assignment::from_column(self.stored_name(), || Ok(R::literal(&value.into_operand()?)?.0))
    }
}

/// The properties that assignments write. Of two values for a column, the last one counts.
#[doc(hidden)]
#[derive(Clone, Default)]
pub(crate) struct AssignedProperties {
    values: BTreeMap<String, EdmValue>,
}

impl AssignedProperties {
    /// Collects the properties.
    ///
    /// # Errors
    /// - `InvalidInput`: the service cannot represent a value.
    pub(crate) fn of<E>(columns: impl Assignments<E>) -> Result<Self> {
        let mut values = BTreeMap::new();
        for assignment in columns.into_assignments() {
            let name = assignment.name;
            let value = assignment
                .value
                .map_err(|e| Error::invalid_input(format!("property `{name}`: {e}")))?;
            values.insert(name, value);
        }
        Ok(Self { values })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Writes the properties.
    ///
    /// # Errors
    /// - `InvalidInput`: the service would reject one.
    pub(crate) fn write(&self, writer: &mut PropertyWriter<'_>) -> Result<()> {
        let mut values = self.values.iter();
        values.try_for_each(|(name, value)| writer.value(name, value))
    }
}

/// Shows names only: a value may be secret.
impl fmt::Debug for AssignedProperties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.values.keys()).finish()
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
