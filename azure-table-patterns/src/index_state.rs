//! The states of indexes: absent, building, ready, being removed.
//!
//! Defines [`States`] and the rows of the states.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use azure_table::index::{INDEX_PREFIX, IndexSchema};
use azure_table::{DynamicEntity, Error, ErrorKind, KeyPrefix, Result, TableClient, TableEntity};

use super::conflict::stored_or_inserted;

/// The partition of the states.
pub(super) const PARTITION: &str = "$indexes";

/// The stored state of an index.
#[derive(TableEntity, Clone, Debug, Default)]
pub(super) struct StateRow {
    #[table(partition_key)]
    pub(super) partition: String,
    /// [`INDEX_PREFIX`] and the name, so that queries of entities leave the row out.
    #[table(row_key)]
    pub(super) name: String,
    /// The text of the declaration.
    #[table(rename = "Declaration")]
    pub(super) declaration: String,
    #[table(rename = "IsReady")]
    pub(super) is_ready: bool,
    /// The declaration is gone, and the index rows are being deleted.
    #[table(rename = "IsRemoved")]
    pub(super) is_removed: bool,
    /// The continuation at which an interrupted build continues.
    #[table(rename = "Position")]
    pub(super) position: Option<String>,
}

/// The indexes of a table that are ready, as read and as changed since by this handle.
#[derive(Clone, Debug, Default)]
pub(super) struct States(Arc<Mutex<BTreeSet<&'static str>>>);

impl States {
    /// Reads the states, and stores one for each new index, so that no other declaration gets its name.
    ///
    /// # Errors
    /// - `InvalidInput`: an index is stored with another declaration.
    pub(super) async fn open<E: TableEntity>(table: &TableClient<E>, indexes: &[IndexSchema]) -> Result<Self> {
        let prefix = KeyPrefix::from_text(PARTITION, INDEX_PREFIX)?;
        // Writers that do not know the indexes may have put other rows there.
        let rows = table.typed::<DynamicEntity>().query().key_prefix(prefix).all().await?;
        let (states, opened) = (table.typed::<StateRow>(), Self::default());
        let mut new = Vec::from_iter(indexes.iter().map(|index| (index, StateRow::new(index))));
        let stored = |state: &StateRow| rows.iter().find(|row| row.row_key == state.name);
        // The stored ones first: another declaration is found before anything is written.
        new.sort_by_key(|(_, state)| stored(state).is_none());
        let mut has_inserted = false;
        for (index, new) in new {
            let state = match stored(&new) {
                Some(row) => row.to_entity(),
                None => match states.insert_if_not_exists(&new).await {
                    Ok(None) => Ok(stored_or_inserted(&states, &new, &mut has_inserted).await?.entity),
                    // A program that only reads may lack the permission.
                    Err(e) if e.kind() != ErrorKind::Forbidden => Err(e),
                    inserted => {
                        has_inserted |= inserted.is_ok();
                        continue;
                    }
                },
            };
            let checked = state.and_then(|state| check_declaration(index, &state).map(|()| state.is_ready));
            opened.set(index, checked.map_err(|e| e.after_writes(has_inserted))?);
        }
        Ok(opened)
    }

    /// Checks that an index can be queried.
    ///
    /// # Errors
    /// - `InvalidInput`: it is not ready.
    pub(super) fn check_ready(&self, index: &IndexSchema) -> Result<()> {
        let ready = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if ready.contains(index.name) {
            return Ok(());
        }
        let taken = index.is_unique.then_some(", or found a value of two entities");
        Err(Error::invalid_input(format!(
            "the index `{}` is not ready, because no build has ended{}: call `build` once all writers know it, and \
             `open` again",
            index.name,
            taken.unwrap_or_default()
        )))
    }

    pub(super) fn set(&self, index: &IndexSchema, is_ready: bool) {
        let mut ready = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ready.remove(index.name);
        ready.extend(is_ready.then_some(index.name));
    }
}

fn state_key(name: &str) -> String {
    format!("{INDEX_PREFIX}{name}")
}

/// Checks that an index is stored as it is declared.
///
/// # Errors
/// - `InvalidInput`: it was built with another declaration, or it is being removed.
pub(super) fn check_declaration(index: &IndexSchema, row: &StateRow) -> Result<()> {
    let (name, now, then) = (index.name, index.to_string(), &row.declaration);
    if row.is_removed {
        let why = format!(
            "the index `{name}` is being removed: call `remove_index` again, from a program that does not declare it"
        );
        return Err(Error::invalid_input(why));
    }
    if now == *then {
        return Ok(());
    }
    Err(Error::invalid_input(format!(
        "the index `{name}` is stored as `{then}` and declared as `{now}`: give the changed index a new name"
    )))
}

impl StateRow {
    /// Returns the state of an index that was not built.
    pub(super) fn new(index: &IndexSchema) -> Self {
        Self {
            partition: PARTITION.to_owned(),
            name: state_key(index.name),
            declaration: index.to_string(),
            ..Self::default()
        }
    }

    /// Returns the state of an index whose rows are being deleted.
    pub(super) fn removed(name: &str) -> Self {
        Self {
            partition: PARTITION.to_owned(),
            name: state_key(name),
            is_removed: true,
            ..Self::default()
        }
    }
}
