//! The builder of one entity group transaction.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use azure_table_wire::error::operation_kind::OperationKind;

use crate::account::table_name::TableName;
use crate::client::ops::call::Call;
use crate::client::ops::submission::Submission;
use crate::entity::table_entity::AsEntity;
use crate::filter::assignment::Assignments;
use crate::key::entity_key::IntoKey;
use crate::pipeline::Pipeline;
use crate::write::batch::{ChangeSet, MAX_BATCH_OPERATIONS, RejectedOperation};
use crate::write::operation::TableOperation;
use crate::write::table_result::TableResult;

/// Operations on one partition that the service applies atomically: all of them, or none.
///
/// An entity group transaction has these limits:
/// - At most 100 operations.
/// - At most 4 MiB (2 MB on Cosmos DB).
/// - One PartitionKey for all operations.
/// - One operation per entity.
/// - A get must be the only operation of its batch.
///
/// If an operation breaks a rule, the method returns it in a [`RejectedOperation`] and leaves the batch unchanged.
/// ```
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
/// # #[tokio::main]
/// # async fn main() -> azure_table::Result<()> {
/// let table = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
/// table.create_table().await?;
/// let mut batch = table.batch();
/// batch
///     .insert(&DynamicEntity::new("Channel9", "1"))?
///     .insert_or_replace(&DynamicEntity::new("Channel9", "2"))?;
/// let results = batch.submit().await?;
/// assert_eq!(results.len(), 2);
/// # Ok(())
/// # }
/// ```
///
/// Source: REST "Performing entity group transactions".
#[doc(alias = "TableBatchOperation")]
#[doc(alias = "SubmitTransaction")]
#[must_use = "nothing is sent until `submit` is awaited"]
pub struct TableBatch<E> {
    pipeline: Arc<Pipeline>,
    table: TableName,
    change_set: ChangeSet,
    entity: PhantomData<fn() -> E>,
}

impl<E> TableBatch<E> {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName) -> Self {
        Self {
            pipeline: Arc::clone(pipeline),
            table: table.clone(),
            change_set: ChangeSet::new(&pipeline.endpoint, table.as_str()),
            entity: PhantomData,
        }
    }

    /// Adds an insert.
    ///
    /// The batch fails if the entity exists.
    ///
    /// # Errors
    /// - [`RejectedOperation`]: the operation breaks a rule of batches, or is itself invalid.
    pub fn insert(&mut self, entity: &impl AsEntity<E>) -> Result<&mut Self, RejectedOperation> {
        if self.change_set.insert(entity) {
            Ok(self)
        } else {
            self.push(TableOperation::insert(entity))
        }
    }

    /// Adds an insert that returns the entity as stored, in its [result](crate::TableResult::entity).
    ///
    /// # Errors
    /// See [`insert`](Self::insert).
    pub fn insert_returning(&mut self, entity: &impl AsEntity<E>) -> Result<&mut Self, RejectedOperation> {
        self.push(TableOperation::insert_returning(entity))
    }

    /// Adds a replace.
    ///
    /// The batch fails if the entity is absent, or if its ETag differs from the one that `entity` holds.
    ///
    /// # Errors
    /// See [`insert`](Self::insert).
    pub fn replace(&mut self, entity: &impl AsEntity<E>) -> Result<&mut Self, RejectedOperation> {
        self.push(TableOperation::replace(entity))
    }

    /// Adds a merge.
    ///
    /// The batch fails if the entity is absent, or if its ETag differs from the one that `entity` holds.
    ///
    /// # Errors
    /// See [`insert`](Self::insert).
    pub fn merge(&mut self, entity: &impl AsEntity<E>) -> Result<&mut Self, RejectedOperation> {
        self.push(TableOperation::merge(entity))
    }

    /// Adds an insert-or-replace: inserts the entity, or replaces the stored one.
    ///
    /// # Errors
    /// See [`insert`](Self::insert).
    pub fn insert_or_replace(&mut self, entity: &impl AsEntity<E>) -> Result<&mut Self, RejectedOperation> {
        self.push(TableOperation::insert_or_replace(entity))
    }

    /// Adds an insert-or-merge: inserts the entity, or merges it into the stored one.
    ///
    /// # Errors
    /// See [`insert`](Self::insert).
    pub fn insert_or_merge(&mut self, entity: &impl AsEntity<E>) -> Result<&mut Self, RejectedOperation> {
        self.push(TableOperation::insert_or_merge(entity))
    }

    /// Adds a patch, which writes only the given columns of a stored entity.
    ///
    /// The batch fails if the entity is absent, or if its ETag differs from the one that `key` holds. All other
    /// properties stay unchanged. See [`TableClient::patch`](crate::TableClient::patch).
    /// ```
    /// # use azure_table::{Emulator, TableEntity, TableServiceClient};
    /// # #[derive(TableEntity)]
    /// # struct Blog { #[table(partition_key)] channel: String, #[table(row_key)] id: u32, rating: i32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let blogs = TableServiceClient::from_transport(Emulator::new()).table::<Blog>("Blogs")?;
    /// # blogs.create_table().await?;
    /// # for id in 1..=2 { blogs.insert(&Blog { channel: "Channel9".into(), id, rating: 1 }).await?; }
    /// let mut batch = blogs.batch();
    /// batch.patch(("Channel9", 1), [Blog::RATING.set(5)])?.delete(("Channel9", 2))?;
    /// batch.submit().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`insert`](Self::insert).
    pub fn patch(
        &mut self,
        key: impl IntoKey<E>,
        columns: impl Assignments<E>,
    ) -> Result<&mut Self, RejectedOperation> {
        self.push(TableOperation::patch(key, columns))
    }

    /// Adds a delete.
    ///
    /// The batch fails if the entity is absent, or if its ETag differs from the one that `key` holds.
    ///
    /// A delete by key checks only the key: it deletes the row whatever its variant.
    ///
    /// # Errors
    /// See [`insert`](Self::insert).
    pub fn delete(&mut self, key: impl IntoKey<E>) -> Result<&mut Self, RejectedOperation> {
        self.push(TableOperation::delete(key))
    }

    /// Adds a read, which must be the only operation of its batch.
    ///
    /// The entity is in its [result](crate::TableResult::entity). A get with
    /// [`CallOptions::via_batch`](crate::CallOptions::via_batch) sends the same request.
    ///
    /// # Errors
    /// See [`insert`](Self::insert).
    #[doc(alias = "retrieve")]
    pub fn get(&mut self, key: impl IntoKey<E>) -> Result<&mut Self, RejectedOperation> {
        self.push(TableOperation::get(key))
    }

    /// Adds any operation, of any entity type.
    ///
    /// The operation is sent as it was encoded. In the table of an enum, the batch does not add a missing tag.
    ///
    /// A bulk's [leftover](crate::bulk::Leftover) that is in doubt may already have been applied. If the batch's
    /// response is lost, the operation's `write_id` therefore proves that it was applied only if all rows are as the
    /// batch leaves them.
    ///
    /// # Errors
    /// See [`insert`](Self::insert).
    #[doc(alias = "add")]
    pub fn push(&mut self, operation: TableOperation) -> Result<&mut Self, RejectedOperation> {
        self.change_set.add_own(operation)?;
        Ok(self)
    }

    /// Returns the number of operations.
    pub fn len(&self) -> usize {
        self.change_set.len()
    }

    /// Returns `true` if the batch has no operations.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of operations that can still be added: up to 100, or 0 after a get.
    pub fn remaining(&self) -> usize {
        if self.is_full() {
            0
        } else {
            MAX_BATCH_OPERATIONS - self.len()
        }
    }

    /// Returns `true` if the batch has the maximum number of operations: 100, or one get.
    ///
    /// A batch that is not full may still lack the [bytes](Self::remaining_bytes) for another operation.
    pub fn is_full(&self) -> bool {
        self.change_set.is_full()
    }

    /// Returns the size of the request body so far, in bytes.
    pub fn bytes(&self) -> usize {
        self.change_set.bytes()
    }

    /// Returns the number of bytes left in the request body, out of 4 MiB (2 MB on Cosmos DB).
    ///
    /// An operation takes the bytes of its URL and of its entity as JSON, and about 250 more.
    ///
    /// Source: REST "Performing entity group transactions"; "Azure Cosmos DB for Table FAQ".
    pub fn remaining_bytes(&self) -> usize {
        self.change_set.max_bytes() - self.bytes()
    }

    /// Sends the batch. The service applies all operations, or none.
    ///
    /// Returns the results in the order of the operations. Each has its [`row_key`](crate::TableResult::row_key).
    ///
    /// Requests: 1. Lost response: [reconciled](crate::guide::operations).
    ///
    /// # Errors
    /// Returns the error of the operation that failed, with its keys. Its [`batch_index`](crate::Error::batch_index) is
    /// set if the service reports it.
    /// - `AlreadyExists`: the entity of an insert exists.
    /// - `NotFound`: no entity to replace, merge or delete exists. `TableNotFound`: the table does not exist.
    /// - `ConditionNotMet`: the ETag of an entity differs.
    /// - `InvalidInput`: the batch is empty.
    /// - [`InDoubt`](crate::ErrorKind::InDoubt): the batch may have been applied. Any other kind means that it was not.
    #[doc(alias("commit", "submit_transaction"))]
    pub fn submit(self) -> Call<Vec<TableResult>> {
        Submission::new(&self.pipeline, &self.table, self.change_set).call
    }
}

impl<E> fmt::Debug for TableBatch<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableBatch")
            .field("table", &self.table.as_str())
            .field("operations", &Operations(&self.change_set))
            .finish()
    }
}

/// Formats each operation with its keys.
struct Operations<'a>(&'a ChangeSet);

impl fmt::Debug for Operations<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |(kind, partition_key, row_key): (OperationKind, &str, &str)| {
            format!("{} ({partition_key:?}, {row_key:?})", kind.name())
        };
        f.debug_list().entries(self.0.operations().map(named)).finish()
    }
}
