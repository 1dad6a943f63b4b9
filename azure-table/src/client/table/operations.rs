//! The service's operations on the entities of a table, and the constructors of queries and batches.
//!
//! `entity_verbs.rs` builds further operations from them.

use azure_table_wire::error::Result;
use azure_table_wire::value::etag::ETag;

use crate::client::batch::TableBatch;
use crate::client::ops::call::{Call, Conditional};
use crate::client::ops::get_entity::GetEntity;
use crate::client::ops::write_spec::{etag, returned};
use crate::client::query::table_query::TableQuery;
use crate::client::table_handle::TableClient;
use crate::entity::table_entity::{AsEntity, ReadEntity, TableEntity};
use crate::entity::versioned::Versioned;
use crate::filter::assignment::Assignments;
use crate::key::entity_key::IntoKey;
use crate::write::operation::TableOperation;
use crate::write::table_result::TableResult;

impl<E> TableClient<E> {
    /// Reads the entity with this key. Returns `None` if no entity has it.
    ///
    /// The key is a tuple of the key fields, a [`Key`](crate::Key), or an entity.
    ///
    /// Requests: 1. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// - `InvalidResponse`: the stored entity does not fit `E`: a property is missing or has another type.
    ///
    /// Source: REST "Query Entities".
    #[doc(alias("GetEntity", "GetEntityIfExists"))]
    #[doc(alias = "retrieve")]
    pub fn get(&self, key: impl IntoKey<E>) -> GetEntity<E>
    where
        E: ReadEntity,
    {
        GetEntity::new(&self.pipeline, &self.table, key.into_key())
    }

    /// Creates a query for the entities of the table. See [`TableQuery`].
    pub fn query(&self) -> TableQuery<E>
    where
        E: TableEntity + ReadEntity,
    {
        TableQuery::new(&self.pipeline, &self.table)
    }

    /// Inserts a new entity. Returns its ETag.
    ///
    /// After a lost response, two callers that insert the same content under the same key may both see success.
    ///
    /// If the entity represents a lock, a lease or a processed message, add a field marked with `write_id`. The client
    /// can then distinguish its own write from an equal one.
    ///
    /// Requests: 1. Lost response: [reconciled](crate::guide::operations).
    ///
    /// # Errors
    /// - `AlreadyExists`: an entity has this key.
    ///
    /// Source: REST "Insert Entity".
    #[doc(alias = "AddEntity")]
    pub fn insert(&self, entity: &impl AsEntity<E>) -> Call<ETag> {
        let insert = TableOperation::insert(entity);
        self.write(insert, etag)
    }

    /// Inserts a new entity. Returns it as stored, with its ETag and Timestamp.
    ///
    /// Like [`insert`](Self::insert), but the response also contains the entity.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// # let table = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
    /// # table.create_table().await?;
    /// let stored = table.insert_returning(&DynamicEntity::new("Channel9", "1")).await?;
    /// println!("inserted at {}", stored.timestamp);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Requests: 1. Lost response: [reconciled](crate::guide::operations).
    ///
    /// # Errors
    /// - The errors of [`insert`](Self::insert).
    /// - `InvalidResponse`: the response does not fit `E`, or does not contain the entity. The entity was inserted
    ///   nevertheless.
    ///
    /// Source: REST "Insert Entity", header `Prefer`.
    pub fn insert_returning(&self, entity: &impl AsEntity<E>) -> Call<Versioned<E>>
    where
        E: ReadEntity,
    {
        let insert = TableOperation::insert_returning(entity);
        self.write(insert, returned)
    }

    /// Inserts the entity, or replaces the stored one. Returns the new ETag.
    ///
    /// The client does not check the ETag of `entity`, so changes that others made since it was read are lost.
    ///
    /// Requests: 1. Lost response: [reconciled](crate::guide::operations).
    ///
    /// Source: REST "Insert Or Replace Entity".
    #[doc(alias = "UpsertEntity")]
    #[doc(alias = "upsert")]
    pub fn insert_or_replace(&self, entity: &impl AsEntity<E>) -> Call<ETag> {
        let upsert = TableOperation::insert_or_replace(entity);
        self.write(upsert, etag)
    }

    /// Inserts the entity, or merges its properties into the stored one. Returns the new ETag.
    ///
    /// Stored properties that `entity` does not have, or has as `None`, keep their value. The ETag of `entity` is not
    /// checked.
    ///
    /// Requests: 1. Lost response: [reconciled](crate::guide::operations).
    ///
    /// Source: REST "Insert Or Merge Entity".
    #[doc(alias = "UpsertEntity")]
    #[doc(alias = "upsert")]
    pub fn insert_or_merge(&self, entity: &impl AsEntity<E>) -> Call<ETag> {
        let upsert = TableOperation::insert_or_merge(entity);
        self.write(upsert, etag)
    }

    /// Replaces a stored entity. Returns its new ETag.
    ///
    /// A [`Versioned`](crate::Versioned) entity, or one with an ETag in its `etag` field, replaces the stored one only
    /// if the ETag matches. Any other entity replaces the stored one whatever its ETag.
    ///
    /// [`if_match`](Call::if_match) requires another ETag, [`unconditionally`](Call::unconditionally) skips the check.
    ///
    /// Requests: 1. Lost response: [reconciled](crate::guide::operations).
    ///
    /// # Errors
    /// - `NotFound`: no entity has this key.
    /// - `ConditionNotMet`: the ETag differs.
    /// - `InvalidInput`: the entity's `etag` field is empty.
    ///
    /// Source: REST "Update Entity".
    #[doc(alias = "UpdateEntity")]
    pub fn replace(&self, entity: &impl AsEntity<E>) -> Call<ETag, Conditional> {
        let replace = TableOperation::replace(entity);
        self.write(replace, etag)
    }

    /// Merges the entity's properties into a stored one. Returns its new ETag.
    ///
    /// The ETag is checked as in [`replace`](Self::replace). Stored properties that `entity` does not have, or has as
    /// `None`, keep their value.
    ///
    /// Requests: 1. Lost response: [reconciled](crate::guide::operations).
    ///
    /// # Errors
    /// The errors of [`replace`](Self::replace).
    ///
    /// Source: REST "Merge Entity".
    #[doc(alias = "UpdateEntity")]
    pub fn merge(&self, entity: &impl AsEntity<E>) -> Call<ETag, Conditional> {
        let merge = TableOperation::merge(entity);
        self.write(merge, etag)
    }

    /// Writes the named columns of a stored entity. Returns its new ETag.
    ///
    /// All other properties keep their value.
    ///
    /// `columns` is one [`Assignment`](crate::filter::Assignment), or several in an array or another iterator. The
    /// client does not read the entity first. It checks the ETag as [`delete`](Self::delete) does.
    ///
    /// ```
    /// use azure_table::{DateTime, Descending, Emulator, TableEntity, TableServiceClient};
    /// #[derive(TableEntity)]
    /// struct Blog {
    ///     #[table(partition_key)]
    ///     channel: String,
    ///     #[table(row_key)]
    ///     posted: Descending<DateTime>,
    ///     text: String,
    ///     rating: i32,
    /// }
    /// # #[tokio::main]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let blogs = TableServiceClient::from_transport(Emulator::new()).table::<Blog>("Blogs")?;
    /// # blogs.create_table().await?;
    /// # let posted = DateTime::now();
    /// # blogs.insert(&Blog { channel: "Channel9".into(), posted: posted.into(), text: "".into(), rating: 1 }).await?;
    /// blogs.patch(("Channel9", posted), [Blog::RATING.set(5), Blog::TEXT.set("Hello")]).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Requests: 1. Lost response: [reconciled](crate::guide::operations).
    ///
    /// # Errors
    /// The errors of [`merge`](Self::merge).
    ///
    /// Source: REST "Merge Entity".
    pub fn patch(&self, key: impl IntoKey<E>, columns: impl Assignments<E>) -> Call<ETag, Conditional> {
        self.write(TableOperation::patch(key, columns), etag)
    }

    /// Deletes an entity.
    ///
    /// Pass a tuple of the key fields, a [`Key`](crate::Key), or the entity itself. An entity that holds an ETag is
    /// deleted only if the stored ETag matches, as in [`replace`](Self::replace). With a key, the entity is deleted
    /// whatever its ETag.
    ///
    /// [`if_match`](Call::if_match) requires another ETag, [`unconditionally`](Call::unconditionally) skips the check.
    ///
    /// Requests: 1. Lost response: [repeated, not checked](crate::guide::operations).
    ///
    /// # Errors
    /// - `NotFound`: no entity has this key.
    /// - `ConditionNotMet`: the ETag differs.
    ///
    /// Source: REST "Delete Entity".
    #[doc(alias = "DeleteEntity")]
    pub fn delete(&self, key: impl IntoKey<E>) -> Call<(), Conditional> {
        self.write(TableOperation::delete(key), |_| Ok(()))
    }

    /// Executes an operation that was built as a value.
    ///
    /// Requests: 1. Lost response: [same as the operation](crate::guide::operations).
    ///
    /// # Errors
    /// The errors of the method with the same name. For a [`get`](TableOperation::get), reading the entity from the
    /// result returns the errors of [`get`](Self::get).
    pub fn execute(&self, operation: TableOperation) -> Call<TableResult> {
        self.write(operation, Ok)
    }

    /// Creates an empty batch. Its operations are applied together or not at all.
    #[doc(alias("ExecuteBatch", "transaction"))]
    #[doc(alias = "SubmitTransaction")]
    pub fn batch(&self) -> TableBatch<E> {
        TableBatch::new(&self.pipeline, &self.table)
    }

    pub(super) fn write<T, C>(&self, operation: TableOperation, read: fn(TableResult) -> Result<T>) -> Call<T, C> {
        Call::write(&self.pipeline, &self.table, operation, read)
    }
}
