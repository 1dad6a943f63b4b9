//! The states of indexes: absent, building, ready.
//!
//! Defines [`States`] and the rows of the states.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use azure_table::index::{INDEX_PREFIX, IndexSchema};
use azure_table::{Error, KeyPrefix, Result, TableClient, TableEntity};

/// The partition of the states.
const PARTITION: &str = "$indexes";

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

    pub(super) fn set(&self, index: &IndexSchema, is_ready: bool) {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        states.insert(index.name, is_ready);
    }
}

fn state_key(index: &IndexSchema) -> String {
    format!("{INDEX_PREFIX}{}", index.name)
}

pub(super) fn check_declaration(index: &IndexSchema, row: &StateRow) -> Result<()> {
    let (name, now, then) = (index.name, index.to_string(), &row.declaration);
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
            name: state_key(index),
            declaration: index.to_string(),
            is_ready: false,
            position: None,
        }
    }
}
