//! The states of indexes: absent, building, ready.
//!
//! Defines [`States`], the rows of the states, and `build`. Reads every entity and writes its index row.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use azure_table::index::{INDEX_PREFIX, Index, IndexRow, IndexSchema, IndexedEntity};
use azure_table::{
    Continuation, Error, ErrorKind, Key, KeyPrefix, ReadEntity, Result, TableClient, TableEntity, TableOperation,
    Versioned,
};

use super::conflict::is_conflict;
use super::indexed::Indexed;

/// The partition of the states.
const PARTITION: &str = "$indexes";

/// The stored state of an index.
#[derive(TableEntity, Clone, Debug)]
struct StateRow {
    #[table(partition_key)]
    partition: String,
    /// [`INDEX_PREFIX`] and the name, so that queries of entities leave the row out.
    #[table(row_key)]
    name: String,
    /// The text of the declaration.
    #[table(rename = "Declaration")]
    declaration: String,
    #[table(rename = "IsReady")]
    is_ready: bool,
    /// The continuation at which an interrupted build goes on.
    #[table(rename = "Position")]
    position: Option<String>,
}

/// The states of the indexes of a table, as read and as changed since by this handle.
#[derive(Clone, Debug, Default)]
pub(super) struct States(Arc<Mutex<BTreeMap<&'static str, bool>>>);

impl States {
    /// Reads the states.
    ///
    /// # Errors
    /// - `InvalidInput`: an index was built with another declaration.
    pub(super) async fn read<E: TableEntity>(table: &TableClient<E>, indexes: &[IndexSchema]) -> Result<Self> {
        let prefix = KeyPrefix::from_text(PARTITION, INDEX_PREFIX)?;
        let rows = table.typed::<StateRow>().query().key_prefix(prefix).all().await?;
        let mut states = BTreeMap::new();
        for index in indexes {
            let name = state_key(index);
            if let Some(row) = rows.iter().find(|row| row.name == name) {
                check_declaration(index, row)?;
                states.insert(index.name, row.is_ready);
            }
        }
        Ok(Self(Arc::new(Mutex::new(states))))
    }

    /// Checks that an index can be queried.
    ///
    /// # Errors
    /// - `InvalidInput`: it is not ready.
    pub(super) fn check_ready(&self, index: &IndexSchema) -> Result<()> {
        let states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let state = match states.get(index.name) {
            Some(true) => return Ok(()),
            Some(false) => "is being built",
            None => "was never built",
        };
        let name = index.name;
        Err(Error::invalid_input(format!(
            "the index `{name}` {state}: call `build` once all writers know it, and `open` again"
        )))
    }

    fn set(&self, index: &IndexSchema, is_ready: bool) {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        states.insert(index.name, is_ready);
    }
}

fn state_key(index: &IndexSchema) -> String {
    format!("{INDEX_PREFIX}{}", index.name)
}

fn check_declaration(index: &IndexSchema, row: &StateRow) -> Result<()> {
    let (name, now, then) = (index.name, index.to_string(), &row.declaration);
    if now == *then {
        return Ok(());
    }
    Err(Error::invalid_input(format!(
        "the index `{name}` is stored as `{then}` and declared as `{now}`: give the changed index a new name"
    )))
}

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
    /// A unique index is not ready while two entities have one value. Change them and call this again.
    ///
    /// # Errors
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the index was built with another declaration.
    /// - The errors of [`query`](TableClient::query) and of batches.
    pub async fn build<R: IndexRow<Entity = E>>(&self, index: Index<R>) -> Result<IndexBuild> {
        let _ = index;
        let mut built = IndexBuild::default();
        let states = self.table.typed::<StateRow>();
        let new = StateRow {
            partition: PARTITION.to_owned(),
            name: state_key(&R::INDEX),
            declaration: R::INDEX.to_string(),
            is_ready: false,
            position: None,
        };
        states.insert_if_not_exists(&new).await?;
        let Some(mut state) = states.get(Key::of(&new)?).versioned().await? else {
            return Err(Error::contention("the state of the index was deleted"));
        };
        check_declaration(&R::INDEX, &state)?;
        self.states.set(&R::INDEX, state.is_ready);
        if state.is_ready {
            return Ok(built);
        }
        let start = Continuation::default();
        let position = state.position.as_deref().map_or(Ok(start), str::parse)?;
        let query = self.query().allow_table_scan().resume_from(position).versioned();
        let mut pages = query.pages();
        while let Some(page) = pages.try_next().await? {
            let (next, has_more) = (page.continuation().to_string(), page.has_more());
            for entity in page.into_items() {
                self.build_row::<R>(entity, &mut built).await?;
            }
            // After a value that two entities have, the next build begins at the first page.
            state.position = Some(next).filter(|_| has_more && built.taken.is_empty());
            state.is_ready = !has_more && built.taken.is_empty();
            match states.replace(&state).await {
                Ok(etag) => state.etag = etag,
                // Another build goes on, and perhaps has ended.
                Err(e) if is_conflict(&e) => match states.get(Key::of(&new)?).versioned().await? {
                    Some(other) if other.is_ready => {
                        state = other;
                        break;
                    }
                    Some(other) => state = other,
                    None => return Err(e),
                },
                Err(e) => return Err(e),
            }
        }
        self.states.set(&R::INDEX, state.is_ready);
        Ok(built)
    }

    /// Writes the index row of an entity in a transaction with the entity.
    async fn build_row<R: IndexRow<Entity = E>>(&self, entity: Versioned<E>, built: &mut IndexBuild) -> Result<()> {
        let key = Key::<E>::of(&entity)?;
        let mut entity = Some(entity);
        // An entity that is deleted meanwhile, or whose field is `None`, has no index row.
        while let Some((current, row)) = entity.and_then(|entity| R::of(&entity.entity).map(|row| (entity, row))) {
            let mut batch = self.table.batch();
            batch.push(TableOperation::merge(&current))?;
            batch.push(if R::INDEX.is_unique {
                TableOperation::insert(&row)
            } else {
                TableOperation::insert_or_replace(&row)
            })?;
            match batch.submit().await {
                Ok(_) => {
                    built.indexed += 1;
                    return Ok(());
                }
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                    let stored = self.table.typed::<R>().get(Key::<R>::of(&row)?).await?;
                    if let Some(stored) = stored {
                        if stored.entity_row_key()? == key.row_key() {
                            built.indexed += 1;
                        } else {
                            let [partition_key, row_key] = [key.partition_key(), key.row_key()].map(str::to_owned);
                            built.taken.push((partition_key, row_key));
                        }
                        return Ok(());
                    }
                }
                Err(e) if is_conflict(&e) => {}
                Err(e) => return Err(e),
            }
            entity = self.table.get(key.clone()).versioned().await?;
        }
        Ok(())
    }
}
