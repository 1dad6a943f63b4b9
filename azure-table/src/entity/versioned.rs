//! An entity together with its ETag and Timestamp.

use std::ops::{Deref, DerefMut};

use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::etag::{Condition, ETag};

use crate::entity::property_writer::PropertyWriter;
use crate::entity::row::Row;
use crate::entity::row::members::RowMembers;
use crate::entity::schema::EntitySchema;
use crate::entity::table_entity::{AsEntity, ReadEntity, TableEntity};
use crate::key::entity_key::VersionedFields;
use crate::key::key_shape::{KeyShape, KeyWriter};

/// An entity with its ETag and Timestamp.
///
/// A replace, merge or delete of a `Versioned<E>` requires that the stored entity still has this ETag. It fails with
/// [`ConditionNotMet`](crate::ErrorKind::ConditionNotMet) if another write came first.
///
/// `TableClient::save` replaces the entity and stores the new ETag in it. After any other write, assign the new ETag:
/// `blog.etag = blogs.merge(&blog).await?`.
#[doc(alias = "optimistic_concurrency")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versioned<E> {
    /// The entity.
    pub entity: E,
    /// Its ETag.
    pub etag: ETag,
    /// The time at which the service last wrote it. A write of this value does not update it.
    pub timestamp: DateTime,
}

impl<E> Versioned<E> {
    /// Converts the entity, and keeps its ETag and Timestamp.
    ///
    /// Use it, for example, to turn a gathered variant back into its enum, so that writes include the variant's mark.
    ///
    /// ```
    /// use azure_table::{Emulator, TableEntity, TableServiceClient, Versioned};
    /// # #[derive(TableEntity)]
    /// # #[table(row_key = "author")]
    /// # struct Author { #[table(partition_key)] blog: String, name: String }
    /// # #[derive(TableEntity)]
    /// # #[table(row_key = "{post:04}")]
    /// # struct Post { #[table(partition_key)] blog: String, post: u32 }
    /// #[derive(TableEntity)]
    /// #[table(tag = "Kind")]
    /// enum Entry {
    ///     Author(Author),
    ///     Post(Post),
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let entries = TableServiceClient::from_transport(Emulator::new()).table::<Entry>("Entries")?;
    /// # entries.create_table().await?;
    /// # entries.insert(&Entry::Author(Author { blog: "rust".into(), name: "Ada".into() })).await?;
    /// let author: Option<Versioned<Author>> = entries.query().partition("rust").versioned().gather().await?;
    /// if let Some(mut author) = author {
    ///     author.name = "Bea".into();
    ///     entries.replace(&author.map(Entry::Author)).await?;
    /// }
    /// # let rows = entries.query().partition("rust").all().await?;
    /// # assert!(matches!(&rows[..], [Entry::Author(author)] if author.name == "Bea"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn map<U>(self, entity: impl FnOnce(E) -> U) -> Versioned<U> {
        Versioned::of(entity(self.entity), (self.etag, self.timestamp))
    }

    pub(crate) fn of(entity: E, (etag, timestamp): (ETag, DateTime)) -> Self {
        Self {
            entity,
            etag,
            timestamp,
        }
    }
}

fn version(row: &Row<'_>) -> Result<(ETag, DateTime)> {
    let missing = |what| Error::invalid_response(format!("the entity has no {what}"));
    let etag = row.etag().ok_or_else(|| missing("ETag"))?;
    Ok((etag, row.timestamp()?.ok_or_else(|| missing("Timestamp"))?))
}

impl<E> Deref for Versioned<E> {
    type Target = E;
    fn deref(&self) -> &E {
        &self.entity
    }
}

impl<E> DerefMut for Versioned<E> {
    fn deref_mut(&mut self) -> &mut E {
        &mut self.entity
    }
}

impl<E: TableEntity> TableEntity for Versioned<E> {
    type PartitionFields = E::PartitionFields;
    type KeyFields = VersionedFields<E::KeyFields>;
    const SCHEMA: &'static EntitySchema = E::SCHEMA;

    fn key_shape(&self) -> &'static KeyShape {
        self.entity.key_shape()
    }

    fn write_key(&self, key: &mut KeyWriter) -> Result<()> {
        self.entity.write_key(key)
    }

    fn write_properties(&self, properties: &mut PropertyWriter<'_>) -> Result<()> {
        self.entity.write_properties(properties)
    }

    fn condition(&self) -> Condition {
        Condition::Matches(self.etag.clone())
    }

    /// Sets the ETag, and the field that holds it in the entity if there is one.
    fn set_etag(&mut self, etag: &ETag) {
        self.etag = etag.clone();
        self.entity.set_etag(etag);
    }
}

impl<E: TableEntity> AsEntity<E> for Versioned<E> {}

impl<E: ReadEntity> ReadEntity for Versioned<E> {
    const METADATA: MetadataLevel = MetadataLevel::Minimal;
    const SELECT: Option<&'static [&'static str]> = E::SELECT;
    const IS_OF_MEMBERS: bool = E::IS_OF_MEMBERS;

    fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self::of(E::read(row)?, version(row)?))
    }

    fn read_members(members: &mut RowMembers<'_, '_>) -> Result<Self> {
        let entity = E::read_members(members)?;
        Ok(Self::of(entity, version(members.row())?))
    }
}
