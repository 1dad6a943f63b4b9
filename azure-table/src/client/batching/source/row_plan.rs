//! The plan of each row that a query selects: the properties to read, and the operation to write.

use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::etag::ETag;

use crate::client::shape::bad_row::BadRow;
use crate::entity::dynamic::DynamicEntity;
use crate::entity::row::Row;
use crate::entity::table_entity::ReadEntity;
use crate::key::entity_key::Key;
use crate::write::operation::TableOperation;

/// Plans the write of each row that a query selects.
pub(crate) trait PlanRows<E> {
    type Row: SelectedRow<E>;
    type Error: From<Error>;

    /// Returns `true` if a row may be written twice.
    fn is_repeatable(&self) -> bool {
        true
    }

    /// Validates the write before the first page.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Returns the plan for a row.
    ///
    /// # Errors
    /// Returns an error that stops the whole operation.
    fn plan(&mut self, row: Self::Row) -> Result<Plan, Self::Error>;
}

/// The plan for a row.
pub(crate) enum Plan {
    Write(TableOperation),
    /// The same, with properties that the struct does not know.
    WriteBeside(TableOperation),
    Keep,
    /// The row does not fit its entity type.
    Bad(BadRow),
    /// The row cannot be written.
    Reject(Error),
}

/// A row that a query selects.
pub(crate) trait SelectedRow<E>: ReadEntity {
    fn key(&self) -> &Key<E>;
}

/// The key and the ETag of a row. No property of it is read.
pub(crate) struct RowVersion<E> {
    pub(crate) key: Key<E>,
    pub(crate) etag: ETag,
}

impl<E> ReadEntity for RowVersion<E> {
    /// The lowest level that has ETags.
    const METADATA: MetadataLevel = MetadataLevel::Minimal;
    const SELECT: Option<&'static [&'static str]> = Some(&["PartitionKey", "RowKey"]);

    fn read(row: &Row<'_>) -> Result<Self> {
        let missing = || Error::invalid_response("the entity has no ETag");
        Ok(Self {
            key: Key::from_text(row.partition_key()?, row.row_key()?)?,
            etag: row.etag().ok_or_else(missing)?,
        })
    }
}

impl<E> SelectedRow<E> for RowVersion<E> {
    fn key(&self) -> &Key<E> {
        &self.key
    }
}

/// A row read as a `P`, an `E` or a projection, if it fits. A row that does not fit does not end the page.
pub(crate) struct TypedRow<E, P = E> {
    pub(crate) version: RowVersion<E>,
    pub(crate) read: Result<ReadRow<P>, BadRow>,
}

/// A row that fits.
pub(crate) struct ReadRow<P> {
    pub(crate) row: P,
    /// The selected properties.
    pub(crate) stored: DynamicEntity,
    /// The names of the properties that the upgrade of the row removed.
    pub(crate) removed: Vec<String>,
}

impl<E, P: ReadEntity> ReadEntity for TypedRow<E, P> {
    const METADATA: MetadataLevel = MetadataLevel::Minimal;
    const SELECT: Option<&'static [&'static str]> = P::SELECT;

    fn read(row: &Row<'_>) -> Result<Self> {
        let read = || {
            let mut removed = Vec::new();
            Ok(ReadRow {
                row: P::read_upgraded(row, &mut removed)?,
                stored: DynamicEntity::read(row)?,
                removed,
            })
        };
        Ok(Self {
            version: RowVersion::read(row)?,
            read: read().map_err(|e| BadRow::of(row, e)),
        })
    }
}

impl<E, P: ReadEntity> SelectedRow<E> for TypedRow<E, P> {
    fn key(&self) -> &Key<E> {
        &self.version.key
    }
}
