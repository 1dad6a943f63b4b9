//! The builder of one entity group transaction.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::client::ops::submit_batch::SubmitBatch;
use crate::filter::assignment::Assignments;
use crate::model::entity::AsEntity;
use crate::model::entity_key::IntoKey;
use crate::model::name::TableName;
use crate::model::operation_kind::OperationKind;
use crate::model::variant_mark::AsVariant;
use crate::pipeline::Pipeline;
use crate::protocol::batch::{ChangeSet, MAX_BATCH_OPERATIONS, RejectedOperation};
use crate::protocol::operation::TableOperation;

/// Operations on one partition that are applied all together or not at all.
///
/// At most 100 operations and 4 MiB (2 MB on Cosmos DB), one PartitionKey, each entity once, a retrieve alone: an
/// operation that breaks a rule is given back by [`RejectedOperation`], and the batch stays as it was.
///
/// ```
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
/// # #[tokio::main]
/// # async fn main() -> azure_table::Result<()> {
/// let table = TableServiceClient::on(Emulator::new()).dynamic_table("Blogs")?;
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
#[doc(alias = "SubmitTransaction")]
#[must_use = "nothing is sent until `submit` is awaited"]
pub struct TableBatch<E> {
    pipeline: Arc<Pipeline>,
    change_set: ChangeSet,
    entity: PhantomData<fn() -> E>,
}

impl<E> TableBatch<E> {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName) -> Self {
        let change_set = ChangeSet::new(&pipeline.endpoint, table.as_str());
        Self {
            pipeline: Arc::clone(pipeline),
            change_set,
            entity: PhantomData,
        }
    }

    /// The same batch for the rows of this partition alone.
    pub(crate) fn in_partition(mut self, partition_key: &str) -> Self {
        self.change_set = self.change_set.in_partition(partition_key);
        self
    }

    /// The entity as it is written: by a handle to the rows of a variant with its mark.
    fn written<'e, T>(&self, entity: &'e T) -> AsVariant<'e, T> {
        AsVariant::new(entity, self.pipeline.settings.variant)
    }

    /// Adds an insert; the batch fails if the entity exists.
    ///
    /// # Errors
    /// [`RejectedOperation`] — the operation breaks a rule of batches, or cannot be sent at all.
    pub fn insert(&mut self, entity: &impl AsEntity<E>) -> Result<&mut Self, RejectedOperation> {
        self.push(TableOperation::insert(&self.written(entity)))
    }

    /// Adds an insert whose [result](crate::TableResult::entity) has the entity as it was stored.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn insert_echo(&mut self, entity: &impl AsEntity<E>) -> Result<&mut Self, RejectedOperation> {
        self.push(TableOperation::insert_echo(&self.written(entity)))
    }

    /// Adds a replace; the batch fails if the entity does not exist, or has another version than `entity` holds.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn replace(&mut self, entity: &impl AsEntity<E>) -> Result<&mut Self, RejectedOperation> {
        self.push(TableOperation::replace(&self.written(entity)))
    }

    /// Adds a merge; the batch fails if the entity does not exist, or has another version than `entity` holds.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn merge(&mut self, entity: &impl AsEntity<E>) -> Result<&mut Self, RejectedOperation> {
        self.push(TableOperation::merge(&self.written(entity)))
    }

    /// Adds an insert that replaces the stored entity if there is one.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn insert_or_replace(&mut self, entity: &impl AsEntity<E>) -> Result<&mut Self, RejectedOperation> {
        self.push(TableOperation::insert_or_replace(&self.written(entity)))
    }

    /// Adds an insert that merges into the stored entity if there is one.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn insert_or_merge(&mut self, entity: &impl AsEntity<E>) -> Result<&mut Self, RejectedOperation> {
        self.push(TableOperation::insert_or_merge(&self.written(entity)))
    }

    /// Adds a write of the named columns of a stored entity; the batch fails if the entity does not exist, or has
    /// another version than `key` holds. All other properties stay as they are. See
    /// [`TableClient::patch`](crate::TableClient::patch).
    ///
    /// ```
    /// # use azure_table::{Emulator, TableEntity, TableServiceClient};
    /// # #[derive(TableEntity)]
    /// # struct Blog { #[table(partition_key)] channel: String, #[table(row_key)] id: u32, rating: i32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let blogs = TableServiceClient::on(Emulator::new()).table::<Blog>("Blogs")?;
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
    /// As [`insert`](Self::insert).
    pub fn patch(
        &mut self,
        key: impl IntoKey<E>,
        columns: impl Assignments<E>,
    ) -> Result<&mut Self, RejectedOperation> {
        self.push(TableOperation::patch(key, columns))
    }

    /// Adds a delete; the batch fails if the entity does not exist, or has another version than `key` holds.
    ///
    /// Writes by key see the key alone: they change whatever row has it, by the handle of a
    /// [`variant`](crate::TableClient::variant) too.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn delete(&mut self, key: impl IntoKey<E>) -> Result<&mut Self, RejectedOperation> {
        self.push(TableOperation::delete(key))
    }

    /// Adds a read, which must be the only operation of its batch; the entity is in its
    /// [result](crate::TableResult::entity). A get with [`via_batch`](crate::operation::GetEntity::via_batch) sends the
    /// same.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    #[doc(alias = "retrieve")]
    pub fn get(&mut self, key: impl IntoKey<E>) -> Result<&mut Self, RejectedOperation> {
        self.push(TableOperation::get(key))
    }

    /// Adds any operation, of any entity type. The operation is sent as it was encoded: a tag that it lacks is not
    /// added by the handle of a [`variant`](crate::TableClient::variant).
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    #[doc(alias = "add")]
    pub fn push(&mut self, operation: TableOperation) -> Result<&mut Self, RejectedOperation> {
        self.change_set.add(operation)?;
        Ok(self)
    }

    /// How many operations it has.
    pub fn len(&self) -> usize {
        self.change_set.len()
    }

    /// Whether it has no operations.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many more operations fit by number.
    pub fn remaining(&self) -> usize {
        if self.is_full() {
            0
        } else {
            MAX_BATCH_OPERATIONS - self.len()
        }
    }

    /// Whether it has as many operations as there can be: 100, or one retrieve. One that is not full may still have no
    /// bytes left for an operation.
    pub fn is_full(&self) -> bool {
        self.change_set.is_full()
    }

    /// How many bytes the body of its request has so far.
    pub fn bytes(&self) -> usize {
        self.change_set.bytes()
    }

    /// How many more bytes it may have: of 4 MiB, on Cosmos DB of 2 MB. An operation takes those of its entity as JSON,
    /// of its address, and about 250 more.
    ///
    /// Source: REST "Performing entity group transactions"; "Azure Cosmos DB for Table FAQ".
    pub fn remaining_bytes(&self) -> usize {
        self.change_set.most_bytes() - self.bytes()
    }

    /// Applies all operations, or none. Gives their results in order.
    ///
    /// # Errors
    /// The error of the operation that failed, with its [`batch_index`](crate::Error::batch_index) where the service
    /// names it, and its keys: `AlreadyExists` — an insert's entity exists; `NotFound` — a replace's, merge's or
    /// delete's entity does not, or the table does not; `ConditionNotMet` — an entity has another version;
    /// `InvalidInput` — the batch is empty. Nothing is applied, unless
    /// [`may_have_applied`](crate::Error::may_have_applied) says that this is not known.
    #[doc(alias("commit", "submit_transaction"))]
    pub fn submit(self) -> SubmitBatch {
        SubmitBatch::new(&self.pipeline, self.change_set)
    }
}

impl<E> fmt::Debug for TableBatch<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableBatch")
            .field("table", &self.change_set.table())
            .field("operations", &Operations(&self.change_set))
            .finish()
    }
}

/// Each operation with its keys.
struct Operations<'a>(&'a ChangeSet);

impl fmt::Debug for Operations<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |(kind, partition_key, row_key): (OperationKind, &str, &str)| {
            format!("{} ({partition_key:?}, {row_key:?})", kind.name())
        };
        f.debug_list().entries(self.0.operations().map(named)).finish()
    }
}
