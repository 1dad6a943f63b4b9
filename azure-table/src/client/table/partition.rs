//! A handle to one partition of a table.
//!
//! [`PartitionClient`] adds the PartitionKey to the arguments of its methods, and calls the table.

use std::fmt;

use azure_table_wire::error::Result;

use crate::client::batch::TableBatch;
use crate::client::ops::get_entity::{EntityExists, GetEntity};
use crate::client::ops::modify_entity::{ModifyEntity, ModifyOutcome};
use crate::client::ops::write_entity::{DeleteEntity, DeleteEntityIfExists, UpdateEntity};
use crate::client::query::table_query::TableQuery;
use crate::client::table_handle::TableClient;
use crate::entity::dynamic::DynamicEntity;
use crate::entity::table_entity::{ReadEntity, TableEntity};
use crate::filter::assignment::Assignments;
use crate::key::entity_key::Key;
use crate::key::partition::{IntoPartitionKey, partition_key};
use crate::key::prefix;
use crate::key::row_key::{IntoRowKey, key_in_partition};

/// A client for one partition of a table, whose rows are entities of type `E`. Clones are cheap.
///
/// Created by [`TableClient::partition`](crate::TableClient::partition).
///
/// Its methods take the RowKey alone: the value of the RowKey's field, or the tuple of its fields if it has several.
/// For an enum of entities it is the text of the RowKey.
///
/// Each method does the same as the method of the same name on [`TableClient`](crate::TableClient), with the same
/// errors. Entities hold their own keys: insert and replace them through the table or a [`batch`](Self::batch).
///
/// ```
/// use azure_table::{Emulator, TableEntity, TableServiceClient};
/// #[derive(TableEntity)]
/// struct Blog {
///     #[table(partition_key)]
///     channel: String,
///     #[table(row_key)]
///     id: u32,
///     rating: i32,
/// }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let blogs = TableServiceClient::from_transport(Emulator::new()).table::<Blog>("Blogs")?;
/// # blogs.create_table().await?;
/// let channel = blogs.partition("Channel9")?;
/// let mut batch = channel.batch();
/// for id in 1..=3 {
///     batch.insert(&Blog { channel: "Channel9".into(), id, rating: 5 })?;
/// }
/// batch.submit().await?;
///
/// channel.patch(2, [Blog::RATING.set(3)]).await?;
/// channel.delete(3).await?;
/// assert_eq!(channel.get(2).await?.unwrap().rating, 3);
/// assert_eq!(channel.query().filter(Blog::RATING.ge(4)).all().await?.len(), 1);
/// # Ok(())
/// # }
/// ```
pub struct PartitionClient<E = DynamicEntity> {
    table: TableClient<E>,
    partition_key: String,
}

impl<E: TableEntity> TableClient<E> {
    /// Returns a handle to one partition, whose calls take the RowKey alone. Nothing is sent.
    ///
    /// The partition is named as in [`TableQuery::partition`](crate::TableQuery::partition): by the value of the
    /// PartitionKey's field, or by the tuple of its fields if it has several.
    ///
    /// See [`PartitionClient`](crate::query::PartitionClient).
    ///
    /// # Errors
    /// - `InvalidInput`: a field has no key text, or the service would reject it.
    pub fn partition(&self, key: impl IntoPartitionKey<E::PartitionFields>) -> Result<PartitionClient<E>> {
        Ok(PartitionClient {
            table: self.clone(),
            partition_key: partition_key::<E>(key)?,
        })
    }
}

impl<E: TableEntity> PartitionClient<E> {
    /// Returns the PartitionKey.
    pub fn partition_key(&self) -> &str {
        &self.partition_key
    }

    /// Returns the table.
    pub fn table(&self) -> &TableClient<E> {
        &self.table
    }

    /// Returns the key of a row of the partition.
    ///
    /// Use it in a batch or another method of the table: `table.get_many([1, 2].map(|id| partition.key(id)))`.
    ///
    /// # Errors
    /// - `InvalidInput`: a field has no key text, or the service would reject it.
    pub fn key(&self, row_key: impl IntoRowKey<E::PartitionFields, E::KeyFields>) -> Result<Key<E>> {
        key_in_partition(&self.partition_key, row_key)
    }

    /// Reads an entity; `None` if no entity has this key. See [`TableClient::get`].
    ///
    /// Requests: 1. Lost response: [harmless](crate::guide::operations).
    pub fn get(&self, row_key: impl IntoRowKey<E::PartitionFields, E::KeyFields>) -> GetEntity<E>
    where
        E: ReadEntity,
    {
        self.table.get(self.key(row_key))
    }

    /// Returns `true` if an entity has this key. See [`TableClient::exists`].
    ///
    /// Requests: 1. Lost response: [harmless](crate::guide::operations).
    pub fn exists(&self, row_key: impl IntoRowKey<E::PartitionFields, E::KeyFields>) -> EntityExists {
        self.table.exists(self.key(row_key))
    }

    /// Writes the named columns of a stored entity. See [`TableClient::patch`].
    ///
    /// Requests: 1. Lost response: [reconciled](crate::guide::operations).
    pub fn patch(
        &self,
        row_key: impl IntoRowKey<E::PartitionFields, E::KeyFields>,
        columns: impl Assignments<E>,
    ) -> UpdateEntity {
        self.table.patch(self.key(row_key), columns)
    }

    /// Reads an entity, changes it with the closure and writes it back under its ETag. See [`TableClient::modify`].
    ///
    /// Requests: 2, and 2 more after each conflict. Lost response: [reconciled](crate::guide::operations).
    pub fn modify<F, R>(
        &self,
        row_key: impl IntoRowKey<E::PartitionFields, E::KeyFields>,
        change: F,
    ) -> ModifyEntity<E, F, R>
    where
        E: ReadEntity,
        F: FnMut(&mut E) -> R,
        R: ModifyOutcome,
    {
        self.table.modify(self.key(row_key), change)
    }

    /// Deletes an entity. See [`TableClient::delete`].
    ///
    /// Requests: 1. Lost response: [in doubt](crate::guide::operations).
    pub fn delete(&self, row_key: impl IntoRowKey<E::PartitionFields, E::KeyFields>) -> DeleteEntity {
        self.table.delete(self.key(row_key))
    }

    /// Deletes an entity if it exists. See [`TableClient::delete_if_exists`].
    ///
    /// Requests: 1. Lost response: [`Deletion::InDoubt`](crate::Deletion::InDoubt).
    pub fn delete_if_exists(&self, row_key: impl IntoRowKey<E::PartitionFields, E::KeyFields>) -> DeleteEntityIfExists {
        self.table.delete_if_exists(self.key(row_key))
    }

    /// Creates a query for the rows of the partition.
    ///
    /// Add a [`filter`](TableQuery::filter) on the RowKey for a range of them.
    /// [`delete_where`](TableClient::delete_where) and its siblings also accept the query:
    /// `table.delete_where(partition.query())` deletes all rows.
    ///
    /// The methods that select by key, such as [`partition`](TableQuery::partition) and
    /// [`key_prefix`](TableQuery::key_prefix), replace the partition: do not call them on this query.
    pub fn query(&self) -> TableQuery<E>
    where
        E: ReadEntity,
    {
        self.table
            .query()
            .key_prefix(prefix::of_partition(self.partition_key.clone()))
    }

    /// Returns a batch for this partition.
    ///
    /// It rejects operations of any other partition, including the first one. Its methods take entities and whole keys:
    /// `batch.delete(partition.key(3)?)`. See [`TableClient::batch`].
    pub fn batch(&self) -> TableBatch<E> {
        self.table.batch().in_partition(&self.partition_key)
    }
}

impl<E> Clone for PartitionClient<E> {
    fn clone(&self) -> Self {
        Self {
            table: self.table.clone(),
            partition_key: self.partition_key.clone(),
        }
    }
}

impl<E> fmt::Debug for PartitionClient<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionClient")
            .field("table", &self.table)
            .field("partition_key", &self.partition_key)
            .finish()
    }
}
