//! Declared indexes: `#[table(index(..))]` on an entity.
//!
//! Defines what the derive generates for them. `Indexed` of azure-table-patterns writes and reads the rows.

use std::fmt;
use std::marker::PhantomData;

use azure_table_wire::error::Result;

use crate::entity::table_entity::{ReadEntity, TableEntity};
use crate::key::entity_key::Key;
use crate::write::operation::TableOperation;

/// The beginning of the RowKeys of all index rows. No entity's RowKey may begin with it.
pub const INDEX_PREFIX: &str = "$ix;";

/// A declared index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexSchema {
    /// The name.
    pub name: &'static str,
    /// The properties of the key and the Rust types of their fields, in order.
    pub fields: &'static [(&'static str, &'static str)],
    /// At most one entity of a partition has a value.
    pub is_unique: bool,
    /// The index rows have all properties of their entities.
    pub covers: bool,
}

impl IndexSchema {
    /// Returns the RowKey of the entity: the end of the RowKey of its index row, unless the index is unique.
    #[must_use]
    pub fn entity_row_key<'r>(&self, row_key: &'r str) -> &'r str {
        // The prefix with the name, and the fields.
        let rest = row_key.splitn(self.fields.len() + 2, ' ').last();
        rest.unwrap_or_default()
    }
}

impl fmt::Display for IndexSchema {
    /// Writes the declaration, with the properties and the types of their fields: `by_mail = (mail: String), unique`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self
            .fields
            .iter()
            .map(|(name, ty)| format!("{name}: {}", ty.replace(' ', "")));
        write!(f, "{} = ({})", self.name, fields.collect::<Vec<_>>().join(", "))?;
        f.write_str(if self.is_unique { ", unique" } else { "" })?;
        f.write_str(if self.covers { ", covers" } else { "" })
    }
}

/// The rows of one index. The derive generates such a type for each.
pub trait IndexRow: TableEntity + ReadEntity + Sized {
    /// The indexed entity.
    type Entity: IndexedEntity;

    /// The declaration.
    const INDEX: IndexSchema;

    /// Returns the index row of an entity. `None` if a field of the index is `None`.
    fn of(entity: &Self::Entity) -> Option<Self>;

    /// Returns the RowKey of the entity. `key` is that of this row.
    fn entity_row_key<'r>(&'r self, key: &'r Key<Self>) -> &'r str;

    /// Returns the entity, if the index covers it.
    fn into_entity(self) -> Option<Self::Entity>;
}

/// An entity with declared indexes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` declares no index",
    note = "add #[table(index(by_field = (field)))] to a struct with #[derive(TableEntity)]"
)]
pub trait IndexedEntity: TableEntity {
    /// Its indexes, in the order of their declaration.
    const INDEXES: &'static [IndexSchema];

    /// Returns the index rows of this entity. A row whose field has no key text, or whose RowKey is too long, is an
    /// `InvalidInput` error; the others can still be stored.
    fn index_rows(&self) -> Vec<Result<IndexWrite>>;
}

/// The write of an index row.
#[derive(Debug)]
#[non_exhaustive]
pub struct IndexWrite {
    /// The index.
    pub index: IndexSchema,
    /// The RowKey of the index row.
    pub row_key: String,
    /// The write: an insert for a unique index, otherwise an upsert.
    pub write: TableOperation,
}

impl IndexWrite {
    /// Returns the write of the row of one index. `None` if a field of the index is `None`.
    ///
    /// # Errors
    /// - `InvalidInput`: a field has no key text, or the RowKey is too long.
    pub fn of<R: IndexRow>(entity: &R::Entity) -> Result<Option<Self>> {
        let Some(row) = R::of(entity) else { return Ok(None) };
        let write = if R::INDEX.is_unique {
            TableOperation::insert(&row)
        } else {
            TableOperation::insert_or_replace(&row)
        };
        // An operation without keys has an error, which the key has too.
        let row_key = match write.keys() {
            Some((_, row_key)) => row_key.to_owned(),
            None => Key::of(&row)?.row_key().to_owned(),
        };
        Ok(Some(Self {
            index: R::INDEX,
            row_key,
            write,
        }))
    }
}

/// The name of a declared index: a constant of its entity.
pub struct Index<R>(PhantomData<fn() -> R>);

impl<R> Index<R> {
    #[doc(hidden)]
    pub const NEW: Self = Self(PhantomData);
}

impl<R> Clone for Index<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Index<R> {}

impl<R: IndexRow> fmt::Debug for Index<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Index({})", R::INDEX)
    }
}
