//! Builds an index: writes index rows for entities that were stored without it.

use azure_table::index::{INDEX_PREFIX, Index, IndexRow, IndexSchema, IndexWrite, IndexedEntity};
use azure_table::{
    Continuation, DynamicEntity, Error, ErrorKind, Key, ReadEntity, Result, TableBatch, TableOperation, Versioned,
};

use super::conflict::{CONFLICTS, Rounds, await_each, is_conflict, stored_or_inserted};
use super::index_removal::IndexRowKey;
use super::index_state::{StateRow, check_declaration};
use super::indexed::{Holder, Indexed};

/// The result of [`Indexed::build`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "the index is not ready if values are taken: call `ensure_none_taken`"]
pub struct IndexBuild {
    /// The number of index rows that this call wrote or found; 0 if the index was ready.
    pub indexed: u64,
    /// The keys of entities whose `unique` value another entity of their partition already has.
    pub taken: Vec<(String, String)>,
}

impl IndexBuild {
    /// Returns an error that names the first entity in `taken`, if any.
    ///
    /// # Errors
    /// - [`Other`](ErrorKind::Other): two entities have one value, and the index is not ready.
    pub fn ensure_none_taken(self) -> Result<()> {
        let Some((partition_key, row_key)) = self.taken.first() else {
            return Ok(());
        };
        let why = format!(
            "{} entities have a value of another one, and the unique index is not ready; the first: ({partition_key:?}, \
             {row_key:?}): change it, and build again",
            self.taken.len()
        );
        Err(Error::other(why))
    }
}

impl<E: IndexedEntity + ReadEntity> Indexed<E> {
    /// Builds an index: writes the index rows of all entities, so that queries can use it.
    ///
    /// Deploy all writers with the declaration first. They can keep writing meanwhile. Each entity is merged unchanged
    /// in the transaction with its index row, so its ETag changes. After an interruption, call this again: it continues
    /// at the page it had reached. An index that is ready is not built again.
    ///
    /// First, the build deletes index rows without an entity, which writers without the index may have left during the
    /// deployment. It finds the rows by a query, then gets each row and its entity. On Cosmos DB, where a read may miss
    /// the entity, such rows stay until [`repair`](Self::repair).
    ///
    /// [`concurrency`](Self::concurrency) limits the entities that are written, and the rows that are checked, at a
    /// time; 1 leaves the most room for other clients.
    ///
    /// Any release that declares the index can build it. It changes no property of an entity, and covering rows get the
    /// properties as they are stored.
    ///
    /// A unique index is not ready while two entities have one value. Change one of them and call this again.
    ///
    /// # Errors
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the index was built with another declaration, or is being removed.
    ///   Or an entity's index row cannot be stored: [`verify`](Self::verify) names these entities. Change them.
    /// - [`Contention`](ErrorKind::Contention): 16 other writes came first.
    /// - The errors of [`query`](azure_table::TableClient::query) and of batches.
    /// - [`InDoubt`](ErrorKind::InDoubt): instead of any of these, if an index row or the state of the index was written.
    pub async fn build<R: IndexRow<Entity = E>>(&self, index: Index<R>) -> Result<IndexBuild> {
        let (_, mut has_written) = (index, false);
        let built = self.build_rows::<R>(&mut has_written).await;
        built.map_err(|e| e.after_writes(has_written))
    }

    async fn build_rows<R: IndexRow<Entity = E>>(&self, has_written: &mut bool) -> Result<IndexBuild> {
        let mut built = IndexBuild::default();
        let states = self.table.typed::<StateRow>();
        let mut state = stored_or_inserted(&states, &StateRow::new(&R::INDEX), has_written).await?;
        check_declaration(&R::INDEX, &state)?;
        self.states.set(&R::INDEX, state.is_ready);
        if state.is_ready {
            return Ok(built);
        }
        if state.position.is_none() && !self.reads_may_lag() {
            self.drop_left_over(R::INDEX.name, has_written).await?;
        }
        let position = state
            .position
            .as_deref()
            .map_or(Ok(Continuation::default()), str::parse)?;
        let rows = self.table.typed::<DynamicEntity>().query();
        let rows = rows.without_row_keys(INDEX_PREFIX).allow_table_scan().versioned();
        let mut pages = rows.resume_from(position).pages();
        while let Some(page) = pages.try_next().await? {
            let (next, has_more) = (page.continuation().to_string(), page.has_more());
            let writes = page.into_items().into_iter().map(async |entity| {
                let (key, mut is_written) = ((entity.partition_key.clone(), entity.row_key.clone()), false);
                let written = self.write_row(entity, IndexWrite::of::<R>, &mut is_written).await;
                (key, written, is_written)
            });
            let all = await_each(writes, self.concurrency, |(key, written, is_written)| {
                *has_written |= is_written;
                match written? {
                    RowWrite::Stored => built.indexed += 1,
                    RowWrite::Taken => built.taken.push(key),
                    RowWrite::Unwanted => {}
                }
                Ok(())
            });
            all.await?;
            // In the order of the table, not that in which the writes ended.
            built.taken.sort_unstable();
            // After a value that two entities have, the next build begins at the first page.
            let position = Some(next).filter(|_| has_more && built.taken.is_empty());
            let is_ready = !has_more && built.taken.is_empty();
            state = self.set_state(&R::INDEX, state, position, is_ready).await?;
            *has_written = true;
            if state.is_ready {
                break;
            }
        }
        self.states.set(&R::INDEX, state.is_ready);
        Ok(built)
    }

    /// Stores the progress of a build. Returns the stored state, which another build may have written when it ended.
    async fn set_state(
        &self,
        index: &IndexSchema,
        mut state: Versioned<StateRow>,
        position: Option<String>,
        is_ready: bool,
    ) -> Result<Versioned<StateRow>> {
        let (states, key) = (self.table.typed::<StateRow>(), Key::of(&state.entity)?);
        let mut rounds = Rounds::new(CONFLICTS);
        loop {
            rounds.next(&key).await?;
            (state.position, state.is_ready) = (position.clone(), is_ready);
            let error = match states.replace(&state).await {
                Ok(etag) => {
                    state.etag = etag;
                    return Ok(state);
                }
                Err(error) if is_conflict(&error) => error,
                Err(error) => return Err(error),
            };
            // Another build goes on, and perhaps has ended.
            state = states.get(key.clone()).versioned().await?.ok_or(error)?;
            check_declaration(index, &state)?;
            if state.is_ready {
                return Ok(state);
            }
        }
    }

    /// Deletes index rows without an entity. During a deployment, writers without the index change entities that others
    /// have indexed.
    async fn drop_left_over(&self, name: &str, has_deleted: &mut bool) -> Result<()> {
        let rows = self.table.typed::<IndexRowKey>();
        let query = rows.query().filter(IndexRowKey::for_index(name));
        let mut pages = query.allow_table_scan().pages();
        while let Some(page) = pages.try_next().await? {
            let checks = page.into_items().into_iter().map(async |row| {
                match self.holder(&row.partition, &row.index_row).await? {
                    Holder::Nobody(row) => self.drop_row(&row).await,
                    _ => Ok(false),
                }
            });
            await_each(checks, self.concurrency, |deleted| deleted.map(|is| *has_deleted |= is)).await?;
        }
        Ok(())
    }

    /// Writes an entity's index row in a transaction with the entity, which stays as it is. Sets `has_written` if it
    /// wrote the row, or deleted one without an entity.
    pub(super) async fn write_row(
        &self,
        entity: Versioned<DynamicEntity>,
        row_of: impl Fn(&E) -> Result<Option<IndexWrite>>,
        has_written: &mut bool,
    ) -> Result<RowWrite> {
        let key = Key::<E>::from_text(&*entity.partition_key, &*entity.row_key)?;
        let (mut read, mut rounds) = (Some(entity), Rounds::new(CONFLICTS));
        // An entity that was deleted or changed meanwhile may have no such row.
        while let Some(stored) = read {
            rounds.next(&key).await?;
            let Some(row) = row_of(&stored.to_entity()?)? else {
                break;
            };
            let (row, mut is_gone) = (from_stored(row, &stored), false);
            match self.with_entity(&stored, row.write)?.submit().await {
                Ok(_) => {
                    *has_written = true;
                    return Ok(RowWrite::Stored);
                }
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                    match self.holder(key.partition_key(), &row.row_key).await? {
                        Holder::Entity(owner) if owner == key => return Ok(RowWrite::Stored),
                        Holder::Nobody(row) if !self.reads_may_lag() => *has_written |= self.drop_row(&row).await?,
                        // The read of the entity was late.
                        Holder::Nobody(row) if self.owner_key(&row).as_ref() == Some(&key) => {
                            return Ok(RowWrite::Stored);
                        }
                        Holder::Absent => {}
                        _ => return Ok(RowWrite::Taken),
                    }
                }
                Err(e) if is_conflict(&e) => is_gone = e.kind() == ErrorKind::NotFound,
                Err(e) => return Err(e),
            }
            let latest = self.stored_row(key.partition_key(), key.row_key()).await?;
            // A late read may miss the entity. A transaction does not.
            read = latest.or_else(|| (self.reads_may_lag() && !is_gone).then_some(stored));
        }
        Ok(RowWrite::Unwanted)
    }

    /// Returns a transaction that writes an index row and merges its entity as it was read, under its ETag. Properties
    /// that this release does not know stay.
    pub(super) fn with_entity(&self, stored: &DynamicEntity, write: TableOperation) -> Result<TableBatch<E>> {
        let mut batch = self.table.batch();
        batch.push(TableOperation::merge(stored))?;
        batch.push(write)?;
        Ok(batch)
    }
}

/// Returns the write of a stored entity's index row. A covering row has the stored properties, without the fields in
/// its key.
pub(super) fn from_stored(mut row: IndexWrite, stored: &DynamicEntity) -> IndexWrite {
    if row.index.covers {
        let row_key = row.row_key.clone();
        let mut covering = DynamicEntity {
            row_key,
            ..stored.clone()
        };
        covering
            .properties
            .retain(|name, _| row.index.fields.iter().all(|(field, _)| field != name));
        row.write = TableOperation::insert_or_replace(&covering);
    }
    row
}

/// The outcome of writing an index row.
pub(super) enum RowWrite {
    /// It was written, by this call or by another writer of the entity.
    Stored,
    /// Another entity has the value of a unique index.
    Taken,
    /// The entity should have no such row.
    Unwanted,
}
