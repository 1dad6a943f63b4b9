//! Projections: some of the columns of an entity, read and written back.
//!
//! Contains the traits that the derive of `Projection` implements, and the values that a projection writes. The code
//! that reads its fields is in `__private/projection.rs`.

use std::fmt;

use azure_table_wire::error::ValueError;

use crate::entity::table_entity::{ReadEntity, TableEntity};
use crate::filter::assignment::Assignment;
use crate::key::table_key::TableKey;

/// A projection: some of the columns of the entity `E`. Derived.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not select from `{E}`",
    label = "no projection of `{E}`",
    note = "add #[derive(Projection)] and #[table(of = {E})], with field names of `{E}`"
)]
pub trait Projection<E>: UpdatableRow<E> {
    /// Returns the values of this projection as assignments, to write them with a patch.
    ///
    /// Leaves out key fields, the ETag, the Timestamp and ignored fields. Also leaves out a field that is `None`: the
    /// patch keeps its stored property.
    ///
    /// ```
    /// use azure_table::{Projection, TableEntity};
    /// # use azure_table::{Emulator, TableServiceClient};
    ///
    /// #[derive(TableEntity)]
    /// struct Employee {
    ///     #[table(partition_key)]
    ///     department: String,
    ///     #[table(row_key)]
    ///     id: u32,
    ///     name: String,
    ///     salary: i32,
    /// }
    ///
    /// #[derive(Projection)]
    /// #[table(of = Employee)]
    /// struct Pay {
    ///     id: u32,
    ///     salary: i32,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let employees = TableServiceClient::from_transport(Emulator::new()).table::<Employee>("Employees")?;
    /// # employees.create_table().await?;
    /// # employees
    /// #     .insert(&Employee { department: "Sales".into(), id: 1, name: "Ada".into(), salary: 100 })
    /// #     .await?;
    /// let key = ("Sales", 1);
    /// let read = employees.get(key).project::<Pay>().await?;
    /// # let read = read.map(Some).unwrap_or_default();
    /// if let Some(mut pay) = read {
    ///     pay.salary += 10;
    ///     let mut batch = employees.batch();
    ///     batch.patch(key, pay.assignments())?; // merges `salary` alone
    ///     batch.submit().await?;
    /// }
    /// # assert_eq!(employees.get(key).await?.map(|it| (it.name, it.salary)), Some(("Ada".to_owned(), 110)));
    /// # Ok(())
    /// # }
    /// ```
    fn assignments(&self) -> Vec<Assignment<E>> {
        match self.updated() {
            Updated::Projection(values) => values.columns,
            Updated::Entity(_) => Vec::new(),
        }
    }
}

/// A row that `update_where` changes: an entity, or a projection of it.
///
/// Implemented for entities, and derived for projections.
#[diagnostic::on_unimplemented(
    message = "`update_where` cannot write `{Self}` back to a row of `{E}`",
    label = "neither the entity nor a projection of it",
    note = "pass a `Filter<{E}>`, a query of whole entities, or a query with `.project::<P>()` of a \
            #[derive(Projection)]"
)]
pub trait UpdatableRow<E>: ReadEntity {
    #[doc(hidden)]
    fn updated(&self) -> Updated<'_, E>;
}

impl<E: TableEntity + ReadEntity> UpdatableRow<E> for E {
    fn updated(&self) -> Updated<'_, E> {
        Updated::Entity(self)
    }
}

/// The values of a row to write.
#[doc(hidden)]
pub enum Updated<'a, E> {
    /// The whole entity.
    Entity(&'a E),
    /// The columns of a projection.
    Projection(ProjectedValues<E>),
}

/// The values of a projection's fields.
#[doc(hidden)]
pub struct ProjectedValues<E> {
    /// The columns of properties. An absent value is left out.
    pub columns: Vec<Assignment<E>>,
    /// The texts of the fields in keys, which are read only.
    pub keys: Vec<Result<String, ValueError>>,
}

impl<E> ProjectedValues<E> {
    /// Creates an empty set of values.
    #[expect(clippy::new_without_default, reason = "derived code may not see `Default`")]
    pub fn new() -> Self {
        Self {
            columns: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Adds the field of a key.
    pub fn key<T: TableKey>(&mut self, value: &T) {
        let mut text = String::new();
        self.keys.push(value.write_key(&mut text).map(|()| text));
    }
}

impl<E> fmt::Debug for ProjectedValues<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProjectedValues")
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}

impl<E> fmt::Debug for Updated<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entity(_) => f.write_str("Entity"),
            Self::Projection(values) => values.fmt(f),
        }
    }
}
