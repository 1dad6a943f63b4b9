//! Operations built from others: exists, delete if it exists, insert if it does not, modify, refresh.

use std::convert::Infallible;
use std::future::{Ready, ready};

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::value::etag::{Condition, ETag};

use crate::client::ops::call::{Call, Conditional};
use crate::client::ops::get_entity;
use crate::client::ops::modify_entity::{ModifyEntity, ModifyOutcome};
use crate::client::ops::write_spec::{etag, existed, was_missing};
use crate::client::query::get_many::GetMany;
use crate::client::table_handle::TableClient;
use crate::entity::table_entity::{AsEntity, ReadEntity, TableEntity};
use crate::entity::versioned::Versioned;
use crate::key::entity_key::{IntoKey, Key};
use crate::pipeline::options::CallOptions;
use crate::request::tables::Deletion;
use crate::write::operation::TableOperation;

/// Bounds the argument of `update`, a method that users look for. No type with values implements it.
#[diagnostic::on_unimplemented(
    message = "a table has no `update`: choose between `replace`, `merge` and `modify`",
    label = "write `.replace(..)`, `.merge(..)` or `.modify(..)`",
    note = "`replace` removes the stored properties that the entity lacks, and `merge` keeps them",
    note = "`modify(key, |entity| ..)` reads an entity, changes it and writes it; `update_where` does so for the rows of a query"
)]
pub trait Updated {}

#[diagnostic::do_not_recommend]
impl Updated for Infallible {}

impl<E> TableClient<E> {
    #[doc(hidden)]
    pub fn update<T: Updated>(&self, _: T) -> Ready<()> {
        ready(())
    }

    /// Returns `true` if an entity has this key.
    ///
    /// Requests: 1. Lost response: [harmless](crate::guide::operations).
    ///
    /// Source: REST "Query Entities".
    pub fn exists(&self, key: impl IntoKey<E>) -> Call<bool> {
        let key = key.into_key();
        let key = key.map(|key| (key.partition_key().to_owned(), key.row_key().to_owned()));
        get_entity::exists(self.pipeline(), self.name(), key)
    }

    /// Reads the entities with these keys concurrently, in the order of the keys.
    ///
    /// See [`GetMany`].
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// # let table = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
    /// # table.create_table().await?;
    /// # table.insert(&DynamicEntity::new("Channel9", "1")).await?;
    /// let mut many = table.get_many([("Channel9", "1"), ("Channel9", "2")]).concurrency(8);
    /// while let Some((key, blog)) = many.try_next().await? {
    ///     println!("{key} is {}", if blog.is_some() { "there" } else { "missing" });
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Requests: 1 per key. Lost response: [harmless](crate::guide::operations).
    ///
    /// Source: REST "Query Entities".
    pub fn get_many<K: IntoKey<E>>(&self, keys: impl IntoIterator<Item = K>) -> GetMany<E>
    where
        E: ReadEntity,
    {
        GetMany::new(self, keys.into_iter().map(IntoKey::into_key).collect())
    }

    /// Deletes the entity if it exists. Returns a [`Deletion`](crate::Deletion).
    ///
    /// The ETag is checked as in [`delete`](Self::delete).
    ///
    /// Requests: 1. Lost response: [`Deletion::InDoubt`](crate::Deletion::InDoubt).
    ///
    /// # Errors
    /// - `ConditionNotMet`: the ETag differs.
    ///
    /// Source: REST "Delete Entity".
    #[doc(alias = "DeleteEntity")]
    pub fn delete_if_exists(&self, key: impl IntoKey<E>) -> Call<Deletion, Conditional> {
        self.write(TableOperation::delete(key), |_| Ok(Deletion::Deleted))
            .or(404, was_missing)
    }

    /// Inserts the entity unless its key exists. Returns the new ETag, or `None` if the key exists.
    ///
    /// Requests: 1. Lost response: [reconciled](crate::guide::operations).
    ///
    /// Source: REST "Insert Entity".
    pub fn insert_if_not_exists(&self, entity: &impl AsEntity<E>) -> Call<Option<ETag>> {
        let insert = TableOperation::insert(entity);
        self.write(insert, |result| etag(result).map(Some)).or(409, existed)
    }

    /// Reads the entity, changes it with the closure and writes it back under its ETag.
    ///
    /// If another write came first, the client reads, changes and writes again, so the closure may run several times.
    ///
    /// Returns the entity as stored, with its new ETag. A field marked with `etag` holds that ETag too. A field marked
    /// with `timestamp` or `write_id` keeps the value that was read.
    ///
    /// A closure that returns nothing saves the entity. It may also return a [`Change`](crate::Change), or a `Result`
    /// of either. An `Err` ends the call without a write. Use your own error type if it implements
    /// `From<azure_table::Error>`, like `NotCounted` below: the call fails with the closure's error or the client's.
    ///
    /// ```
    /// use azure_table::{Change, Emulator, TableEntity, TableServiceClient};
    /// #[derive(TableEntity)]
    /// struct Counter {
    ///     #[table(partition_key)]
    ///     name: String,
    ///     #[table(row_key)]
    ///     of: String,
    ///     value: i64,
    /// }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// let counters = TableServiceClient::from_transport(Emulator::new()).table::<Counter>("Counters")?;
    /// counters.create_table().await?;
    /// counters.insert(&Counter { name: "visits".into(), of: "home".into(), value: 1 }).await?;
    ///
    /// let counter = counters.modify(("visits", "home"), |counter| counter.value += 1).await?;
    /// assert_eq!(counter.value, 2);
    /// counters
    ///     .modify(("visits", "home"), |counter| {
    ///         if counter.value >= 2 {
    ///             return Change::Keep;
    ///         }
    ///         counter.value = 2;
    ///         Change::Save
    ///     })
    ///     .await?;
    ///
    /// #[derive(Debug)]
    /// enum NotCounted {
    ///     Limit(i64),
    ///     Table(azure_table::Error),
    /// }
    /// impl From<azure_table::Error> for NotCounted {
    ///     fn from(error: azure_table::Error) -> Self {
    ///         Self::Table(error)
    ///     }
    /// }
    /// let counted = counters.modify(("visits", "home"), |counter| match counter.value {
    ///     limit @ 2.. => Err(NotCounted::Limit(limit)),
    ///     _ => {
    ///         counter.value += 1;
    ///         Ok(())
    ///     }
    /// });
    /// assert!(matches!(counted.await, Err(NotCounted::Limit(2))));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Requests: 2, and 2 more after each conflict. Lost response: [reconciled](crate::guide::operations).
    ///
    /// # Errors
    /// - `NotFound`: no entity has this key, and [`or_insert`](ModifyEntity::or_insert) is not set.
    /// - `Contention`: more conflicting writes than [`max_conflicts`](ModifyEntity::max_conflicts) allows.
    /// - [`InDoubt`](crate::ErrorKind::InDoubt): the response to the write, or to the insert of `or_insert`, was lost,
    ///   and no `write_id` shows whose change is stored.
    /// - `Timeout`: the effective timeout, which covers all reads, writes and waits, has elapsed. The source of the
    ///   error is the last conflict.
    /// - `InvalidInput`: the closure changed the key, or `or_insert` returned an entity with another key.
    /// - The error that the closure returns.
    ///
    /// Source: REST "Update Entity".
    #[doc(alias = "optimistic_concurrency")]
    pub fn modify<F, R>(&self, key: impl IntoKey<E>, change: F) -> ModifyEntity<E, F, R>
    where
        E: TableEntity + ReadEntity,
        F: FnMut(&mut E) -> R,
        R: ModifyOutcome,
    {
        ModifyEntity::new(self, key.into_key(), change)
    }

    /// Replaces the stored entity, and stores the new ETag in `entity`.
    ///
    /// Saves the entity only if nobody else has written it since you read it. It must therefore hold the ETag from that
    /// read, as a [`Versioned`] entity or in its etag field. [`replace`](Self::replace) accepts any entity.
    ///
    /// If the future is dropped, or the write is [in doubt](crate::ErrorKind::InDoubt), the entity may be stored with
    /// an ETag that `entity` does not hold. The next `save` then fails with `ConditionNotMet`. Read the entity again
    /// with [`refresh`](Self::refresh).
    ///
    /// ```
    /// # use azure_table::{Emulator, TableEntity, TableServiceClient};
    /// # #[derive(TableEntity)]
    /// # struct Blog { #[table(partition_key)] channel: String, #[table(row_key)] id: u32, rating: i32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let blogs = TableServiceClient::from_transport(Emulator::new()).table::<Blog>("Blogs")?;
    /// # blogs.create_table().await?;
    /// # blogs.insert(&Blog { channel: "Channel9".into(), id: 1, rating: 1 }).await?;
    /// let mut blog = blogs.get(("Channel9", 1)).versioned().await?.unwrap();
    /// blog.rating = 4;
    /// blogs.save(&mut blog).await?;
    /// blog.rating = 5;
    /// blogs.save(&mut blog).await?;           // under the ETag of the first save
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Requests: 1. Lost response: [reconciled](crate::guide::operations).
    ///
    /// # Errors
    /// - `InvalidInput`: the entity holds no ETag, or its etag field is empty. Nothing was sent.
    /// - The other errors of [`replace`](Self::replace). On an error `entity` keeps its ETag.
    ///
    /// Source: REST "Update Entity".
    pub async fn save(&self, entity: &mut impl AsEntity<E>) -> Result<()> {
        if entity.condition() == Condition::Exists {
            let key = Key::of(&*entity)?;
            let why = "the entity holds no ETag: read it with `.versioned()`, or overwrite any version with `replace`";
            return Err(Error::invalid_input(why)
                .at_entity(key.partition_key(), key.row_key())
                .in_operation(OperationKind::Replace, Some(self.name().as_str())));
        }
        let etag = self.replace(&*entity).await?;
        entity.set_etag(&etag);
        Ok(())
    }

    /// Reads the entity again, and overwrites `entity` with it. Changes in `entity` that were not written are lost.
    ///
    /// Requests: 1. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// - `NotFound`: the entity no longer exists. `entity` keeps its content.
    pub async fn refresh(&self, entity: &mut Versioned<E>) -> Result<()>
    where
        E: TableEntity + ReadEntity + AsEntity<E>,
    {
        let key = Key::of(&entity.entity)?;
        let read = self.get(&key).versioned().with(&CallOptions::new().for_write()).await?;
        *entity = read.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, "the entity no longer exists")
                .in_operation(OperationKind::Refresh, Some(self.name().as_str()))
                .at_entity(key.partition_key(), key.row_key())
        })?;
        Ok(())
    }
}
