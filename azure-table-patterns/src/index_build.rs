//! The building of an index: the rows of entities that were written without it.

use azure_table::index::{Index, IndexRow, IndexWrite, IndexedEntity};
use azure_table::{Continuation, Error, ErrorKind, Key, ReadEntity, Result, TableOperation, Versioned};

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use super::conflict::is_conflict;
use super::index_removal::IndexRowKey;
use super::index_state::{StateRow, check_declaration};
use super::indexed::{Holder, Indexed};

/// The result of a build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexBuild {
    /// The number of entities that have a row in the index now.
    pub indexed: u64,
    /// The keys of entities whose value another entity of their partition has, in a unique index.
    pub taken: Vec<(String, String)>,
}

impl<E: IndexedEntity + ReadEntity> Indexed<E> {
    /// Builds an index: writes the rows of all entities. Queries can use it then.
    ///
    /// Deploy all writers with the declaration first. They go on to write meanwhile. Each entity is merged unchanged in
    /// the transaction with its index row, so its ETag changes. After an interruption, call it again: it continues at
    /// the page it had reached. An index that is ready is not built again.
    ///
    /// First, rows without an entity are deleted: writers without the index may have left them during the deployment.
    /// That reads the rows of the index, and for each its entity.
    ///
    /// [`concurrency`](Self::concurrency) sets how many entities are written at a time; 1 leaves the most room for
    /// other clients.
    ///
    /// A unique index is not ready while two entities have one value. Change them and call this again.
    ///
    /// # Errors
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the index was built with another declaration, or is being removed.
    /// - The errors of [`query`](azure_table::TableClient::query) and of batches.
    pub async fn build<R: IndexRow<Entity = E>>(&self, index: Index<R>) -> Result<IndexBuild> {
        let _ = index;
        let mut built = IndexBuild::default();
        let states = self.table.typed::<StateRow>();
        let mut state = StateRow::new(&R::INDEX).stored(&states).await?;
        check_declaration(&R::INDEX, &state)?;
        self.states.set(&R::INDEX, state.is_ready);
        if state.is_ready {
            return Ok(built);
        }
        if state.position.is_none() {
            self.drop_left_over(R::INDEX.name).await?;
        }
        let start = Continuation::default();
        let position = state.position.as_deref().map_or(Ok(start), str::parse)?;
        let query = self.query().allow_table_scan().resume_from(position).versioned();
        let mut pages = query.pages();
        while let Some(page) = pages.try_next().await? {
            let (next, has_more) = (page.continuation().to_string(), page.has_more());
            let writes = page.into_items().into_iter().map(async |entity| {
                let key = Key::<E>::of(&entity)?;
                let written = self.write_row(entity, IndexWrite::of::<R>).await?;
                Ok::<_, Error>((key, written))
            });
            let mut written = stream::iter(writes).buffered(self.concurrency);
            while let Some((key, write)) = written.try_next().await? {
                match write {
                    RowWrite::Written | RowWrite::Stored => built.indexed += 1,
                    RowWrite::Taken => {
                        built
                            .taken
                            .push((key.partition_key().to_owned(), key.row_key().to_owned()));
                    }
                    RowWrite::Unwanted => {}
                }
            }
            // After a value that two entities have, the next build begins at the first page.
            state.position = Some(next).filter(|_| has_more && built.taken.is_empty());
            state.is_ready = !has_more && built.taken.is_empty();
            match states.replace(&state).await {
                Ok(etag) => state.etag = etag,
                // Another build goes on, and perhaps has ended.
                Err(e) if is_conflict(&e) => match states.get(Key::of(&state)?).versioned().await? {
                    Some(other) if other.is_ready => {
                        state = other;
                        break;
                    }
                    Some(other) => {
                        check_declaration(&R::INDEX, &other)?;
                        state = other;
                    }
                    None => return Err(e),
                },
                Err(e) => return Err(e),
            }
        }
        self.states.set(&R::INDEX, state.is_ready);
        Ok(built)
    }

    /// Deletes the rows of an index that have no entity. While writers were deployed, those without the index have
    /// changed entities of those with it.
    async fn drop_left_over(&self, name: &str) -> Result<()> {
        let rows = self.table.typed::<IndexRowKey>();
        let query = rows.query().filter(IndexRowKey::of_index(name));
        let mut rows = query.allow_table_scan().stream();
        while let Some(row) = rows.try_next().await? {
            if let Holder::Nobody(row) = self.holder(&row.partition, &row.index_row).await? {
                self.drop_row(&row).await?;
            }
        }
        Ok(())
    }

    /// Writes an index row of an entity in a transaction with the entity, which stays as it is.
    pub(super) async fn write_row(
        &self,
        entity: Versioned<E>,
        row_of: impl Fn(&E) -> Result<Option<IndexWrite>>,
    ) -> Result<RowWrite> {
        let key = Key::<E>::of(&entity)?;
        let mut read = Some(entity);
        // An entity that was deleted or changed meanwhile may have no such row.
        while let Some(entity) = read {
            let Some(row) = row_of(&entity.entity)? else { break };
            let mut batch = self.table.batch();
            batch.push(TableOperation::merge(&entity))?;
            batch.push(row.write)?;
            match batch.submit().await {
                Ok(_) => return Ok(RowWrite::Written),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                    match self.holder(key.partition_key(), &row.row_key).await? {
                        Holder::Entity(owner) if owner == key.row_key() => return Ok(RowWrite::Stored),
                        Holder::Nobody(row) if !self.reads_may_lag() => drop(self.drop_row(&row).await?),
                        Holder::Absent => {}
                        _ => return Ok(RowWrite::Taken),
                    }
                }
                Err(e) if is_conflict(&e) => {}
                Err(e) => return Err(e),
            }
            read = self.table.get(key.clone()).versioned().await?;
        }
        Ok(RowWrite::Unwanted)
    }
}

/// The outcome of the write of an index row.
#[derive(PartialEq)]
pub(super) enum RowWrite {
    Written,
    /// Another writer of the entity was first.
    Stored,
    /// Another entity has the value of a unique index.
    Taken,
    /// The entity should have no such row.
    Unwanted,
}
