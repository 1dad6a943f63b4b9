//! The states of indexes: absent, building, ready, being removed.
//!
//! Defines [`States`] and the rows of the states.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use azure_table::index::{INDEX_PREFIX, IndexSchema};
use azure_table::{DynamicEntity, Error, Key, KeyPrefix, Result, TableClient, TableEntity, Versioned};

/// The partition of the states.
pub(super) const PARTITION: &str = "$indexes";

/// The stored state of an index.
#[derive(TableEntity, Clone, Debug)]
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
    /// The continuation at which an interrupted build goes on.
    #[table(rename = "Position")]
    pub(super) position: Option<String>,
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
        // Writers that do not know the indexes may have put other rows there.
        let rows = table.typed::<DynamicEntity>().query().key_prefix(prefix).all().await?;
        let mut states = BTreeMap::new();
        for index in indexes {
            let name = state_key(index.name);
            if let Some(row) = rows.iter().find(|row| row.row_key == name) {
                let row = row.to_entity::<StateRow>()?;
                check_declaration(index, &row)?;
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
            Some(false) if index.is_unique => "is being built, or the last build found a value of two entities",
            Some(false) => "is being built",
            None => "was never built",
        };
        let name = index.name;
        Err(Error::invalid_input(format!(
            "the index `{name}` {state}: call `build` once all writers know it, and `open` again"
        )))
    }

    pub(super) fn set(&self, index: &IndexSchema, is_ready: bool) {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        states.insert(index.name, is_ready);
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
            is_ready: false,
            is_removed: false,
            position: None,
        }
    }

    /// Returns the state of an index whose rows are being deleted.
    pub(super) fn removed(name: &str) -> Self {
        Self {
            partition: PARTITION.to_owned(),
            name: state_key(name),
            declaration: String::new(),
            is_ready: false,
            is_removed: true,
            position: None,
        }
    }

    /// Returns the stored state of the index, or inserts this one.
    pub(super) async fn stored(&self, states: &TableClient<Self>) -> Result<Versioned<Self>> {
        let key = Key::of(self)?;
        loop {
            if let Some(stored) = states.get(key.clone()).versioned().await? {
                return Ok(stored);
            }
            states.insert_if_not_exists(self).await?;
        }
    }
}
