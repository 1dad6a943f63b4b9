//! The client of one table: a typed handle and the constructors of the operations on its entities.
//!
//! Handles of other types are `table/typed_handles.rs`; operations on the table itself are `table/lifecycle.rs`, those
//! on its access policies `table/access_policies.rs`.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::client::batch::TableBatch;
use crate::client::ops::delete_entity::DeleteEntity;
use crate::client::ops::execute::ExecuteOperation;
use crate::client::ops::get_entity::GetEntity;
use crate::client::ops::write_entity::{InsertEntityEcho, UpdateEntity, WriteEntity};
use crate::client::query::TableQuery;
use crate::client::service::TableServiceClient;
use crate::filter::assignment::Assignments;
use crate::model::dynamic::DynamicEntity;
use crate::model::entity::{AsEntity, ReadEntity, TableEntity};
use crate::model::entity_key::IntoKey;
use crate::model::error::Result;
use crate::model::name::TableName;
use crate::model::variant_mark::AsVariant;
use crate::pipeline::Pipeline;
use crate::pipeline::options::CallOptions;
use crate::protocol::operation::TableOperation;

mod access_policies;
mod entity_verbs;
mod lifecycle;
pub(crate) mod partition;
mod query_writes;
mod typed_handles;

/// One table whose rows are entities of type `E`. A clone is cheap.
///
/// Every method gives a builder that is a future: set its options, then await it, or hand it to `spawn` or `join_all`.
/// Nothing is sent before the first poll.
///
/// ```
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
/// # #[tokio::main]
/// # async fn main() -> azure_table::Result<()> {
/// let table = TableServiceClient::on(Emulator::new()).dynamic_table("Blogs")?;
/// table.create_table_if_not_exists().await?;
/// let mut blog = DynamicEntity::new("Channel9", "1");
/// blog.insert("Text", "Hello");
/// table.insert(&blog).await?;
/// let read = table.get(("Channel9", "1")).await?.unwrap();
/// assert_eq!(read.get("Text"), Some(&"Hello".into()));
/// # Ok(())
/// # }
/// ```
///
/// # Cancel safety
/// Dropping the future of a call stops it, as `tokio::select!` and `timeout` do. No further attempt, page or batch is
/// sent, and its place among [`max_in_flight`](TableServiceClient::max_in_flight) is free. A future that was never
/// polled sent nothing.
///
/// The service may still apply the write whose request was in flight, once; read before you write again. What takes
/// several requests stops between two of them: rows that a [`bulk`](Self::bulk) or [`delete_where`](Self::delete_where)
/// has written stay written, and a table that [`recreate_table`](Self::recreate_table) has deleted stays deleted. The
/// `try_next` of a stream, the `next` of a bulk's outcomes and the methods of a [`Writer`](crate::Writer) except
/// `close` can be dropped and called again: no row and no outcome is lost, and a `send` that was dropped took nothing.
///
/// # Errors
/// All operations: `InvalidInput` — a key, name, value or size that the service would refuse; nothing is sent.
/// `Unauthenticated`, `Forbidden` — the key is not accepted. `NotFound` — the table does not exist. `Connection`,
/// `Timeout`, `ServerFault`, `Throttled` — no useful answer after the retries;
/// [`may_have_applied`](crate::Error::may_have_applied) tells whether a write is in doubt. Each method names
/// what else it may give.
#[doc(alias = "CloudTable")]
pub struct TableClient<E = DynamicEntity> {
    pipeline: Arc<Pipeline>,
    table: TableName,
    entity: PhantomData<fn() -> E>,
}

impl<E> TableClient<E> {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: TableName) -> Self {
        Self {
            pipeline: Arc::clone(pipeline),
            table,
            entity: PhantomData,
        }
    }

    /// A table of the account that a connection string names.
    ///
    /// # Errors
    /// As [`TableServiceClient::from_connection_string`] and [`TableServiceClient::table`].
    pub fn from_connection_string(connection_string: &str, table: impl AsRef<str>) -> Result<Self> {
        TableServiceClient::from_connection_string(connection_string)?.table(table)
    }

    pub(crate) fn pipeline(&self) -> &Arc<Pipeline> {
        &self.pipeline
    }

    /// The entity as it is written: by a handle to the rows of a variant with its mark.
    pub(crate) fn written<'e, T>(&self, entity: &'e T) -> AsVariant<'e, T> {
        AsVariant::new(entity, self.pipeline.settings.variant)
    }

    /// Returns a handle to the same table that applies `options` to every call.
    ///
    /// Options that are set override those of this handle; headers are merged by name. See [`CallOptions`].
    #[must_use]
    pub fn with(&self, options: &CallOptions) -> Self {
        let mut pipeline = Pipeline::clone(&self.pipeline);
        pipeline.settings.defaults = pipeline.settings.defaults.with(options);
        Self {
            pipeline: Arc::new(pipeline),
            ..self.clone()
        }
    }

    /// The table's name.
    pub fn name(&self) -> &TableName {
        &self.table
    }

    /// Inserts a new entity. Returns its ETag.
    ///
    /// If a response is lost, the client reads the entity back and compares its content. Two callers that insert the
    /// same content under the same key may then both see success. Give an entity that stands for a lock, a lease or a
    /// processed message a field marked with `write_id`: the client then knows its own write from an equal one.
    ///
    /// # Errors
    /// `AlreadyExists`: an entity has this key.
    ///
    /// Source: REST "Insert Entity".
    #[doc(alias = "AddEntity")]
    pub fn insert(&self, entity: &impl AsEntity<E>) -> WriteEntity {
        WriteEntity::new(
            &self.pipeline,
            &self.table,
            TableOperation::insert(&self.written(entity)),
        )
    }

    /// Makes a new entity and gives it as it was stored, with its ETag and Timestamp: [`insert`](Self::insert) has the
    /// entity in its answer as well.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// # let table = TableServiceClient::on(Emulator::new()).dynamic_table("Blogs")?;
    /// # table.create_table().await?;
    /// let stored = table.insert_echo(&DynamicEntity::new("Channel9", "1")).await?;
    /// println!("made at {}", stored.timestamp);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`insert`](Self::insert). `InvalidResponse` — the answer does not fit `E`, or does not have the entity: then
    /// it was made all the same.
    ///
    /// Source: REST "Insert Entity", header `Prefer`.
    pub fn insert_echo(&self, entity: &impl AsEntity<E>) -> InsertEntityEcho<E>
    where
        E: ReadEntity,
    {
        InsertEntityEcho::new(
            &self.pipeline,
            &self.table,
            TableOperation::insert_echo(&self.written(entity)),
        )
    }

    /// Makes the entity or puts it in the place of the stored one, and gives its ETag.
    ///
    /// Source: REST "Insert Or Replace Entity".
    #[doc(alias = "upsert")]
    pub fn insert_or_replace(&self, entity: &impl AsEntity<E>) -> WriteEntity {
        WriteEntity::new(
            &self.pipeline,
            &self.table,
            TableOperation::insert_or_replace(&self.written(entity)),
        )
    }

    /// Makes the entity or writes its properties into the stored one, and gives its ETag. Stored properties that
    /// `entity` does not have, or has as `None`, stay as they are.
    ///
    /// Source: REST "Insert Or Merge Entity".
    #[doc(alias = "upsert")]
    pub fn insert_or_merge(&self, entity: &impl AsEntity<E>) -> WriteEntity {
        WriteEntity::new(
            &self.pipeline,
            &self.table,
            TableOperation::insert_or_merge(&self.written(entity)),
        )
    }

    /// Puts the entity in the place of the stored one and gives its new ETag. A [`Versioned`](crate::Versioned) entity,
    /// or one with a filled etag field, demands that the stored one is that version; any other only that it exists.
    ///
    /// # Errors
    /// `NotFound` — there is none. `ConditionNotMet` — it has another version. `InvalidInput` — the etag field is
    /// empty.
    ///
    /// Source: REST "Update Entity".
    #[doc(alias = "UpdateEntity")]
    pub fn replace(&self, entity: &impl AsEntity<E>) -> UpdateEntity {
        UpdateEntity::new(
            &self.pipeline,
            &self.table,
            TableOperation::replace(&self.written(entity)),
        )
    }

    /// Writes the entity's properties into the stored one and gives its new ETag; conditions as in
    /// [`replace`](Self::replace). Stored properties that `entity` does not have, or has as `None`, stay as they are.
    ///
    /// # Errors
    /// As [`replace`](Self::replace).
    ///
    /// Source: REST "Merge Entity".
    pub fn merge(&self, entity: &impl AsEntity<E>) -> UpdateEntity {
        UpdateEntity::new(
            &self.pipeline,
            &self.table,
            TableOperation::merge(&self.written(entity)),
        )
    }

    /// Writes the named columns of a stored entity and returns its new ETag. All other properties stay as they are.
    ///
    /// `columns` is one [`Assignment`](crate::filter::Assignment), or several in an array or another iterator. No
    /// request reads the entity first. Conditions are those of [`delete`](Self::delete).
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
    /// # let blogs = TableServiceClient::on(Emulator::new()).table::<Blog>("Blogs")?;
    /// # blogs.create_table().await?;
    /// # let posted = DateTime::now();
    /// # blogs.insert(&Blog { channel: "Channel9".into(), posted: posted.into(), text: "".into(), rating: 1 }).await?;
    /// blogs.patch(("Channel9", posted), [Blog::RATING.set(5), Blog::TEXT.set("Hello")]).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`merge`](Self::merge).
    ///
    /// Source: REST "Merge Entity".
    pub fn patch(&self, key: impl IntoKey<E>, columns: impl Assignments<E>) -> UpdateEntity {
        UpdateEntity::new(&self.pipeline, &self.table, TableOperation::patch(key, columns))
    }

    /// Removes an entity, named by the tuple of its key fields, a [`Key`](crate::Key), or itself. An entity demands the
    /// version it holds, as in [`replace`](Self::replace); a key only that there is one.
    ///
    /// # Errors
    /// `NotFound` — there is none. `ConditionNotMet` — it has another version.
    ///
    /// Source: REST "Delete Entity".
    pub fn delete(&self, key: impl IntoKey<E>) -> DeleteEntity {
        DeleteEntity::new(&self.pipeline, &self.table, TableOperation::delete(key))
    }

    /// Runs an operation that was built as a value.
    ///
    /// # Errors
    /// Those of the method of the same name; of a [`retrieve`](TableOperation::get) those of [`get`](Self::get),
    /// where the entity is read from the result.
    pub fn execute(&self, operation: TableOperation) -> ExecuteOperation {
        ExecuteOperation::new(&self.pipeline, &self.table, operation)
    }

    /// A batch of operations that are applied all together or not at all.
    #[doc(alias = "SubmitTransaction")]
    pub fn batch(&self) -> TableBatch<E> {
        TableBatch::new(&self.pipeline, &self.table)
    }

    /// Reads the entity of this key, given as the tuple of its key fields, a [`Key`](crate::Key), or an entity;
    /// `None` if there is none.
    ///
    /// # Errors
    /// `InvalidResponse` — the stored entity does not fit `E`: a property is missing or of another type.
    ///
    /// Source: REST "Query Entities".
    #[doc(alias = "retrieve")]
    pub fn get(&self, key: impl IntoKey<E>) -> GetEntity<E>
    where
        E: ReadEntity,
    {
        GetEntity::new(&self.pipeline, &self.table, key.into_key())
    }

    /// Reads many entities: see [`TableQuery`].
    pub fn query(&self) -> TableQuery<E>
    where
        E: TableEntity + ReadEntity,
    {
        TableQuery::new(&self.pipeline, &self.table)
    }
}

impl<E> Clone for TableClient<E> {
    fn clone(&self) -> Self {
        Self::new(&self.pipeline, self.table.clone())
    }
}

impl<E> fmt::Debug for TableClient<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableClient")
            .field("endpoint", &self.pipeline.endpoint.base())
            .field("table", &self.table.as_str())
            .finish_non_exhaustive()
    }
}
