//! Entities with declared indexes: each write of an entity writes its index rows in the same transaction.
//!
//! Defines [`Indexed`] and its writes of one entity. Queries by an index are in `index_query.rs`, writes by query in
//! `index_where.rs`, the states of indexes in `index_state.rs`, their building in `index_build.rs`, their removal in
//! `index_removal.rs`, the check of stored rows in `index_check.rs`.

use std::collections::BTreeSet;
use std::fmt;

use azure_table::entity::Condition;
use azure_table::index::{INDEX_PREFIX, IndexSchema, IndexWrite, IndexedEntity};
use azure_table::key::IntoKey;
use azure_table::operation::ModifyOutcome;
use azure_table::{
    Change, DynamicEntity, ETag, Error, ErrorKind, Key, ReadEntity, Result, TableClient, TableEntity, TableOperation,
    TableQuery, Versioned,
};

use super::conflict::{CONFLICTS, Rounds, is_conflict, on_primary, was_unchanged};
use super::index_state::{PARTITION, States};

/// The default number of entities that are written at a time.
const CONCURRENCY: usize = 4;
/// An ETag of a time before the service had tables.
const OF_NO_ROW: &str = "W/\"datetime'2000-01-01T00%3A00%3A00.0000000Z'\"";

/// The entities of a table, with the indexes that their type declares.
///
/// ```
/// use azure_table::{DateTime, Emulator, TableEntity, TableServiceClient};
/// use azure_table_patterns::Indexed;
///
/// #[derive(TableEntity, Clone, Debug, PartialEq)]
/// #[table(index(by_mail = (mail), unique))]
/// #[table(index(by_joined = (department, joined)))]
/// struct Person {
///     #[table(partition_key)]
///     tenant: String,
///     #[table(row_key)]
///     id: u32,
///     mail: String,
///     department: String,
///     joined: DateTime,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let service = TableServiceClient::from_transport(Emulator::new());
/// let table = service.table::<Person>("People")?;
/// table.create_table().await?;
/// let people = Indexed::open(&table).await?;
/// people.build(Person::BY_MAIL).await?.ensure_none_taken()?;
/// people.build(Person::BY_JOINED).await?.ensure_none_taken()?;
///
/// let joined = DateTime::from_unix_seconds(1_600_000_000);
/// let (mail, department) = ("ada@example.com".into(), "sales".into());
/// let ada = Person { tenant: "contoso".into(), id: 7, mail, department, joined };
/// people.insert(&ada).await?; // the row and its index rows: one transaction
///
/// let sales = people.by(Person::BY_JOINED, ("contoso", "sales"))?.all().await?;
/// let found = people.by(Person::BY_MAIL, ("contoso", "ada@example.com"))?.first().await?;
/// assert_eq!((sales, found), (vec![ada.clone()], Some(ada)));
/// people.verify().await?.ensure_none()?;
/// # Ok(())
/// # }
/// ```
///
/// **Promise.** Stored rows and the rows of a built index agree at every instant, if every write goes through this type
/// with the same declarations. At most one entity of a partition has a value of a `unique` index.
///
/// An index row is in the partition of its entity. Its RowKey begins with [`INDEX_PREFIX`], which no entity's may. It
/// has the fields of the index as key texts, [escaped](azure_table::key::Escaped), so the rows sort as the fields do.
/// An entity whose field is `None` has no row in that index. [`query`](Self::query) leaves out the index rows. Other
/// queries of the table read them too.
///
/// A write that may change the fields of an index reads the stored entity first, writes under its ETag, and begins
/// again after a conflict, with waits of up to a second. There is no `merge`, `patch`, bulk or grouped write: it would
/// not know the stored fields. [`update_where`](Self::update_where) and [`delete_where`](Self::delete_where) write all
/// entities of a query. [`remove_index`](Self::remove_index) deletes the rows of an index that is no longer declared.
///
/// **Cost.** With *n* indexes:
///
/// | call | requests | entities |
/// |---|---|--:|
/// | `open` | Query, Insert for each new index | *n* |
/// | `insert` | Batch | 1 + *n* |
/// | `replace`, `modify`, `insert_or_replace` | Get, Batch | 2, 2 for each changed index, 1 for each that covers |
/// | `delete` | Get, Batch | 2 + *n* |
/// | each old value of a `unique` index | Get, before the Batch | 1 |
/// | each conflict, each missing or left over index row | the same again | |
/// | `by` with all fields of a `unique` index, `first` | Query, Get | 2 |
/// | `update_where`, `delete_where` | Query for each page, and as above without the Get | |
/// | `build` | Query for each page, Batch for each entity; first two Gets for each stored row | 2 for each Batch |
/// | `build`, each index row that is there | Get, Get, after the Batch | 1 |
///
/// On Cosmos DB, a read may miss an earlier write. There, a `unique` row that a writer without the index left behind
/// stays taken until [`repair`](Self::repair).
///
/// **Crash.** Entity and index rows are written in one transaction, so nothing needs repair. Writers that do not know
/// an index leave holes and duplicate values, which [`verify`](Self::verify) lists.
pub struct Indexed<E> {
    pub(super) table: TableClient<E>,
    pub(super) states: States,
    pub(super) concurrency: usize,
}

impl<E> fmt::Debug for Indexed<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Indexed")
            .field("table", &self.table)
            .field("states", &self.states)
            .field("concurrency", &self.concurrency)
            .finish()
    }
}

impl<E> Clone for Indexed<E> {
    fn clone(&self) -> Self {
        Self {
            table: self.table.clone(),
            states: self.states.clone(),
            concurrency: self.concurrency,
        }
    }
}

impl<E: IndexedEntity + ReadEntity> Indexed<E> {
    /// Opens the indexes of a table: reads their states.
    ///
    /// It stores a state for each new index, so that no other declaration gets its name. A program without the
    /// permission to write can open the table too.
    ///
    /// Requests: 1, and 1 for each index without a state. Lost response: [harmless](azure_table::guide::operations).
    ///
    /// # Errors
    /// - [`InvalidInput`](ErrorKind::InvalidInput): an index is stored with another declaration, or is being removed.
    ///   Give the changed index a new name.
    /// - The errors of [`TableQuery`] and [`insert`](TableClient::insert).
    /// - [`InDoubt`](ErrorKind::InDoubt): instead of any of these, if the state of another index was stored.
    pub async fn open(table: &TableClient<E>) -> Result<Self> {
        let table = on_primary(table);
        Ok(Self {
            states: States::open(&table, E::INDEXES).await?,
            table,
            concurrency: CONCURRENCY,
        })
    }

    /// Sets the number of entities that `build`, `delete_where` and `update_where` write at a time: 4 by default, at
    /// least 1.
    #[must_use]
    pub fn concurrency(mut self, entities: usize) -> Self {
        self.concurrency = entities.max(1);
        self
    }

    /// Returns a query for the entities, without the index rows. It reads the primary location.
    pub fn query(&self) -> TableQuery<E> {
        self.table.query().without_row_keys(INDEX_PREFIX)
    }

    /// Inserts an entity and its index rows.
    ///
    /// Requests: 1. Lost response: [reconciled](azure_table::guide::operations).
    ///
    /// # Errors
    /// - [`AlreadyExists`](ErrorKind::AlreadyExists): the entity exists, or another one has the value of a unique
    ///   index: see [`taken`](Self::taken).
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the RowKey begins with [`INDEX_PREFIX`], the PartitionKey is
    ///   `$indexes`, or the RowKey of an index row would be too long.
    pub async fn insert(&self, entity: &E) -> Result<ETag> {
        self.submit(entity, || TableOperation::insert(entity), &[]).await
    }

    /// Replaces an entity that was read, and its index rows, under its ETag.
    ///
    /// # Errors
    /// - [`ConditionNotMet`](ErrorKind::ConditionNotMet): the entity has changed since it was read.
    /// - [`NotFound`](ErrorKind::NotFound): it was deleted.
    /// - [`AlreadyExists`](ErrorKind::AlreadyExists): another entity has the value of a unique index.
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the ETag is `*`.
    pub async fn replace(&self, entity: &Versioned<E>) -> Result<ETag> {
        check_version(&entity.etag)?;
        let stored = self.table.get(Key::<E>::of(entity)?).versioned().await?;
        // If the stored one is another version, the service rejects the transaction.
        let old = stored.map_or_else(Vec::new, |stored| rows_of(&stored.entity));
        self.submit(&entity.entity, || TableOperation::replace(entity), &old)
            .await
    }

    /// Inserts an entity, or replaces the stored one, and its index rows.
    ///
    /// # Errors
    /// - [`AlreadyExists`](ErrorKind::AlreadyExists): another entity has the value of a unique index.
    /// - [`Contention`](ErrorKind::Contention): 16 other writes came first.
    pub async fn insert_or_replace(&self, entity: &E) -> Result<ETag> {
        let (key, mut rounds) = (Key::of(entity)?, Rounds::new(CONFLICTS));
        loop {
            rounds.next(&key).await?;
            let stored = self.table.get(key.clone()).versioned().await?;
            let written = match &stored {
                None => self.insert(entity).await,
                Some(stored) => {
                    let replace = || TableOperation::replace(entity).if_match(stored.etag.clone());
                    self.submit(entity, replace, &rows_of(&stored.entity)).await
                }
            };
            match written {
                Err(e) if is_conflict(&e) || self.is_own(&e, &key) => {}
                written => return written,
            }
        }
    }

    /// Reads an entity, changes it with the closure, and writes it and its index rows under its ETag.
    ///
    /// The closure returns the same as with [`modify`](TableClient::modify) of a table. If another write came first,
    /// the client reads, changes and writes again, so the closure may run several times.
    ///
    /// # Errors
    /// - [`NotFound`](ErrorKind::NotFound): no entity has this key.
    /// - [`AlreadyExists`](ErrorKind::AlreadyExists): another entity has the value of a unique index.
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the closure changed the key.
    /// - [`Contention`](ErrorKind::Contention): 16 other writes came first.
    /// - The error that the closure returns.
    pub async fn modify<R: ModifyOutcome>(
        &self,
        key: impl IntoKey<E>,
        mut change: impl FnMut(&mut E) -> R,
    ) -> Result<Versioned<E>, R::Error> {
        let (key, mut rounds) = (key.into_key()?, Rounds::new(CONFLICTS));
        loop {
            rounds.next(&key).await?;
            let Some(mut stored) = self.table.get(key.clone()).versioned().await? else {
                // Reads again, and reports the absent entity as the table does.
                self.table.modify(key.clone(), |_| Change::Keep).await?;
                continue;
            };
            let old = rows_of(&stored.entity);
            if change(&mut stored.entity).into_change()? == Change::Keep {
                return Ok(stored);
            }
            if let Some(etag) = was_unchanged(self.replace_read(&key, &stored, &old).await)? {
                stored.set_etag(&etag);
                return Ok(stored);
            }
        }
    }

    /// Deletes an entity and its index rows. Returns `false` if it does not exist.
    ///
    /// A [`Versioned`] entity is deleted only in that version.
    ///
    /// # Errors
    /// - [`ConditionNotMet`](ErrorKind::ConditionNotMet): the entity has changed since it was read.
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the ETag is `*`. Pass the key instead.
    /// - [`Contention`](ErrorKind::Contention): 16 other writes came first.
    pub async fn delete(&self, key: impl IntoKey<E>) -> Result<bool> {
        let (condition, key, mut rounds) = (key.condition(), key.into_key()?, Rounds::new(CONFLICTS));
        loop {
            rounds.next(&key).await?;
            let Some(mut stored) = self.table.get(key.clone()).versioned().await? else {
                return Ok(false);
            };
            let is_conditional = match &condition {
                Condition::Exists => false,
                Condition::Matches(etag) => {
                    check_version(etag)?;
                    stored.etag.clone_from(etag);
                    true
                }
                _ => {
                    let why = "the ETag field of the entity is empty: delete an entity that was read, or its key";
                    return Err(Error::invalid_input(why));
                }
            };
            match self.delete_read(&key, &stored).await {
                Ok(()) => return Ok(true),
                Err(e) if is_conflict(&e) && !(is_conditional && e.kind() == ErrorKind::ConditionNotMet) => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Returns the name of the unique index that rejected a write, because another entity has its value.
    ///
    /// Returns `None` for every other error, if the entity itself exists, and if the service did not report the row.
    pub fn taken(error: &Error) -> Option<&'static str> {
        let (_, row_key) = error.entity().filter(|_| error.kind() == ErrorKind::AlreadyExists)?;
        index_of(row_key, E::INDEXES).map(|index| index.name)
    }

    /// Returns `true` if an insert failed because the entity itself exists: another writer was first.
    fn is_own(&self, error: &Error, key: &Key<E>) -> bool {
        error.kind() == ErrorKind::AlreadyExists && error.entity().is_some_and(|(_, row_key)| row_key == key.row_key())
    }

    /// Replaces an entity that was read with this key and had these index rows.
    pub(super) async fn replace_read(&self, key: &Key<E>, entity: &Versioned<E>, old: &[IndexWrite]) -> Result<ETag> {
        if Key::of(&entity.entity)? != *key {
            return Err(Error::invalid_input(format!(
                "the closure changed the key {key}: delete and insert instead"
            )));
        }
        self.submit(&entity.entity, || TableOperation::replace(entity), old)
            .await
    }

    /// Deletes an entity that was read, under its ETag.
    pub(super) async fn delete_read(&self, key: &Key<E>, entity: &Versioned<E>) -> Result<()> {
        let delete = || TableOperation::delete::<E>(key.clone()).if_match(entity.etag.clone());
        let old = rows_of(&entity.entity);
        self.transact(key, delete, &old, || Ok(Vec::new())).await.map(drop)
    }

    /// Writes an entity and its index rows. `old` has the rows of the stored entity. If the response was lost, and
    /// another writer has changed the entity since, the ETag matches no row, as with the table's own writes.
    async fn submit(&self, entity: &E, write: impl Fn() -> TableOperation, old: &[IndexWrite]) -> Result<ETag> {
        let key = Key::of(entity)?;
        let etag = self
            .transact(&key, write, old, || entity.index_rows().into_iter().collect())
            .await?;
        Ok(etag.unwrap_or_else(|| ETag::new(OF_NO_ROW)))
    }

    /// Submits a write with the changes of the index rows. Returns the new ETag of the entity.
    ///
    /// `key` is the entity's. A row of a unique index may belong to another entity with the value, if a writer that
    /// does not know the index has written one of them. Such a row is left alone.
    async fn transact(
        &self,
        key: &Key<E>,
        write: impl Fn() -> TableOperation,
        old: &[IndexWrite],
        new: impl Fn() -> Result<Vec<IndexWrite>>,
    ) -> Result<Option<ETag>> {
        if key.row_key().starts_with(INDEX_PREFIX) {
            let why = format!("the RowKey of {key} begins with {INDEX_PREFIX:?}, as index rows do");
            return Err(Error::invalid_input(why));
        }
        if key.partition_key() == PARTITION {
            let why = format!("the PartitionKey {PARTITION:?} is that of the states of indexes: choose another");
            return Err(Error::invalid_input(why));
        }
        // Rows that should be stored and are not: writers that do not know the index leave such holes.
        let (mut missing, mut rounds) = (BTreeSet::new(), Rounds::new(CONFLICTS));
        loop {
            rounds.next(key).await?;
            let new = new()?;
            let mut batch = self.table.batch();
            batch.push(write())?;
            for row in old {
                let is_kept = new.iter().any(|new| new.row_key == row.row_key);
                if is_kept || missing.contains(&row.row_key) {
                    continue;
                }
                let delete = TableOperation::delete::<DynamicEntity>((key.partition_key(), &row.row_key));
                if !row.index.is_unique {
                    batch.push(delete)?;
                    continue;
                }
                match self.stored_row(key.partition_key(), &row.row_key).await? {
                    Some(stored) if self.owner_key(&stored).as_ref() == Some(key) => {
                        batch.push(delete.if_match(stored.etag))?;
                    }
                    None if self.reads_may_lag() => drop(batch.push(delete)?),
                    _ => {}
                }
            }
            for row in new {
                let is_stored = old.iter().any(|old| old.row_key == row.row_key) && !missing.contains(&row.row_key);
                if !is_stored || row.index.covers {
                    batch.push(row.write)?;
                }
            }
            let error = match batch.submit().await {
                Ok(results) => return Ok(results.into_iter().next().and_then(|result| result.etag().cloned())),
                Err(error) => error,
            };
            let of_index = error
                .entity()
                .map(|(_, row)| row)
                .filter(|row| row.starts_with(INDEX_PREFIX));
            match (error.kind(), of_index.map(str::to_owned)) {
                // No conflict: each old row is missing once at most.
                (ErrorKind::NotFound, Some(row)) if missing.insert(row.clone()) => rounds = Rounds::new(CONFLICTS),
                (ErrorKind::ConditionNotMet, Some(_)) => {}
                (ErrorKind::AlreadyExists, Some(row)) => match self.holder(key.partition_key(), &row).await? {
                    // Its entity was deleted by such a writer.
                    Holder::Nobody(row) if !self.reads_may_lag() => drop(self.drop_row(&row).await?),
                    Holder::Absent => {}
                    _ => return Err(error),
                },
                _ => return Err(error),
            }
        }
    }

    /// Returns `true` if a read may miss an earlier write: then no read shows that an index row has no entity.
    pub(super) fn reads_may_lag(&self) -> bool {
        self.table.settings().profile().reads_may_lag()
    }

    /// Finds the entity to which an index row belongs.
    pub(super) async fn holder(&self, partition_key: &str, index_row: &str) -> Result<Holder<E>> {
        // A row of an index that is not declared here is another program's.
        if index_of(index_row, E::INDEXES).is_none() {
            return Ok(Holder::Undeclared);
        }
        let (mut before, mut rounds) = (self.stored_row(partition_key, index_row).await?, Rounds::new(CONFLICTS));
        loop {
            rounds.next(&index_row).await?;
            let Some(row) = before else { return Ok(Holder::Absent) };
            if let Some(key) = self.owner_key(&row) {
                let entity = self.table.get(key.clone()).await?;
                let rows = entity.as_ref().map_or_else(Vec::new, rows_of);
                if rows.iter().any(|write| write.row_key == index_row) {
                    return Ok(Holder::Entity(key));
                }
            }
            // A writer of the entity writes the row too, so an unchanged row has no entity yet.
            let after = self.stored_row(partition_key, index_row).await?;
            if after.as_ref().map(|after| &after.etag) == Some(&row.etag) {
                return Ok(Holder::Nobody(row));
            }
            before = after;
        }
    }

    /// Returns the key of the entity that an index row names. `None` if the row is of no declared index, or if an
    /// earlier declaration has left it.
    pub(super) fn owner_key(&self, row: &DynamicEntity) -> Option<Key<E>> {
        let index = index_of(&row.row_key, E::INDEXES)?;
        let owner = match index.is_unique {
            true => row.property("IndexedRow").ok()?,
            false => index.entity_row_key(&row.row_key).to_owned(),
        };
        Key::from_text(&*row.partition_key, owner).ok()
    }

    /// Deletes an index row that no entity should have.
    pub(super) async fn drop_row(&self, row: &Versioned<DynamicEntity>) -> Result<bool> {
        let deleted = self.table.typed::<DynamicEntity>().delete(row).await;
        Ok(was_unchanged(deleted)?.is_some())
    }

    pub(super) async fn stored_row(
        &self,
        partition_key: &str,
        row_key: &str,
    ) -> Result<Option<Versioned<DynamicEntity>>> {
        self.table
            .typed::<DynamicEntity>()
            .get((partition_key, row_key))
            .versioned()
            .await
    }
}

/// The entity to which an index row belongs.
pub(super) enum Holder<E> {
    /// No such row is stored.
    Absent,
    /// Its index is not declared here.
    Undeclared,
    /// No entity should have this row.
    Nobody(Versioned<DynamicEntity>),
    /// The key of the entity.
    Entity(Key<E>),
}

/// Returns the declared index of a row. `None` if the row is of no index, or of one that is not declared.
pub(super) fn index_of(row_key: &str, indexes: &'static [IndexSchema]) -> Option<&'static IndexSchema> {
    let (name, _) = row_key.strip_prefix(INDEX_PREFIX)?.split_once(' ')?;
    indexes.iter().find(|index| index.name == name)
}

/// Returns the index rows of a stored entity, without those that cannot be stored.
pub(super) fn rows_of<E: IndexedEntity>(entity: &E) -> Vec<IndexWrite> {
    entity.index_rows().into_iter().flatten().collect()
}

/// Checks that an ETag names one version. Under `*`, a write would not know the fields that it replaces.
fn check_version(etag: &ETag) -> Result<()> {
    if etag.as_str() == "*" {
        let why =
            "the ETag `*` is that of any version, whose index rows are unknown: pass that of an entity that was read";
        return Err(Error::invalid_input(why));
    }
    Ok(())
}
