//! A state that takes part in distributed transactions: the layout of Orleans' transactional state.
//!
//! A transaction prepares a new version of the state, and later confirms or cancels it. The versions have dense
//! sequence numbers. A process that starts again finds the committed state and the prepared ones, and asks the
//! manager of each transaction for its fate.
//!
//! **Promise.**
//!
//! - [`store`](StoredState::store) is based on the state that was loaded: one of two concurrent stores is rejected.
//! - A store may need several batches. They are applied in an order in which every prefix is a state to recover from:
//!   cancelled versions go, prepared versions come, then the commit, then obsolete versions go.
//! - [`load`](StateStorage::load) returns the rows of any number of pages as they were at one moment.
//! - A failed store may have applied some of its batches. It consumes the [`StoredState`], so that the next store
//!   follows a new load.
//!
//! # Rows
//!
//! | PartitionKey | RowKey | properties |
//! |---|---|---|
//! | state | `!` | `SnapshotVersion` |
//! | state | `k` | `CommittedSequenceId`, `Metadata`, `Write` |
//! | state | `s_`sequence | `TransactionId`, `TransactionTimestamp`, `TransactionManager`, `State` |
//! | state | `~` | as `!` |
//!
//! The row `k` is the header of a [`Fence`], and the ETag of the state. Each batch also writes the boundary rows. Their
//! version is the ETag of the row `k` that the batch replaces: each is replaced once, so no two batches write the same.
//!
//! # Cost
//!
//! | call | requests | entities |
//! |---|---|--:|
//! | [`load`](StateStorage::load) | a Query per page, for up to five reads; on Cosmos DB two Gets more | all |
//! | [`store`](StoredState::store) | a Batch per 97 versions, at least one | versions, and 3 per batch |
//!
//! State and metadata are text, such as JSON. The versions of one batch share its limit of 4 MiB.
//!
//! Source: dotnet/orleans at `e558829b`, `src/Azure/Orleans.Transactions.AzureStorage/TransactionalState`:
//! `AzureTableTransactionalStateStorage.cs`, `KeyEntity.cs`, `StateEntity.cs`.

mod row;

use std::collections::BTreeMap;

use azure_table::{
    CallOptions, ETag, Error, LocationMode, Profile, Result, TableClient, TableEntity, TableOperation, Versioned,
};
use azure_table_patterns::Fence;

pub use self::row::Prepared;
use self::row::{End, KeyRow, Row, Start, StateRow, bounds};

/// The reads of a load that stores may interrupt, before it fails.
pub const MAX_READS: usize = 5;
/// The versions that a batch writes or deletes, besides the row `k` and the boundary rows.
const MAX_OPERATIONS: usize = 97;

/// The partition of a state.
#[derive(Clone, Debug)]
pub struct StateStorage {
    table: TableClient,
    partition: String,
    page_size: usize,
}

impl StateStorage {
    /// Creates a handle to the partition of a state. It sends nothing.
    pub fn new<E: TableEntity>(table: &TableClient<E>, partition: impl Into<String>) -> Self {
        Self {
            table: table.typed(),
            partition: partition.into(),
            page_size: 1_000,
        }
    }

    /// Sets the number of rows per page: 1,000 by default.
    #[must_use]
    pub fn page_size(mut self, rows: usize) -> Self {
        self.page_size = rows;
        self
    }

    /// Reads the state as it was at one moment. One that was never stored is empty.
    ///
    /// # Errors
    /// - [`Contention`](azure_table::ErrorKind::Contention): a store interrupted each of [`MAX_READS`]
    ///   reads. The error has the version before and after the last of them.
    /// - [`InvalidInput`](azure_table::ErrorKind::InvalidInput): the committed version has no row.
    /// - The errors of a query.
    pub async fn load(&self) -> Result<StoredState> {
        let partition = self.partition.as_str();
        let query = self
            .table
            .typed::<Row>()
            .query()
            .partition(partition)
            .page_size(self.page_size)
            .with(&CallOptions::new().location_mode(LocationMode::PrimaryOnly))
            .versioned();
        let mut bounds = (None, None);
        for _ in 0..MAX_READS {
            let before = self.guard().await?;
            type Rows = (
                Option<Versioned<Start>>,
                Option<Versioned<KeyRow>>,
                Vec<Versioned<StateRow>>,
                Option<Versioned<End>>,
            );
            let (start, key, states, end): Rows = query.clone().gather().await?;
            bounds = (start.map(|row| row.entity.version), end.map(|row| row.entity.version));
            // Without boundary rows, the writers are of an older layout: their stores are not noticed.
            if bounds.0 == bounds.1 && before == self.guard().await? {
                return self.stored(key, states);
            }
        }
        Err(self.interrupted(bounds))
    }

    /// Returns the ETag of the row `k` on Cosmos DB. There rows are in the order of insertion, and the first page may
    /// have both boundary rows.
    async fn guard(&self) -> Result<Option<ETag>> {
        if self.table.settings().profile() != Profile::Cosmos {
            return Ok(None);
        }
        let key = self.table.typed::<KeyRow>().get((&self.partition,));
        let key = key
            .with(&CallOptions::new().location_mode(LocationMode::PrimaryOnly))
            .versioned();
        Ok(key.await?.map(|row| row.etag))
    }

    fn stored(&self, key: Option<Versioned<KeyRow>>, states: Vec<Versioned<StateRow>>) -> Result<StoredState> {
        let keys = self.table.typed();
        let fence = match key {
            Some(key) => Fence::with_header(&keys, key),
            None => Fence::with_new_header(&keys, KeyRow::new(&self.partition)),
        };
        let states = states.into_iter().map(|row| Prepared::from(row.entity));
        let state = StoredState {
            fence: fence.max_conflicts(0),
            partition: self.partition.clone(),
            states: states.map(|state| (state.sequence_id, state)).collect(),
        };
        state.check_committed(state.committed_sequence_id())?;
        Ok(state)
    }

    fn interrupted(&self, (before, after): (Option<String>, Option<String>)) -> Error {
        let shown = |version: Option<String>| version.unwrap_or_else(|| "absent".to_owned());
        Error::contention(format!(
            "the state {:?} was not loaded: stores interrupted each of {MAX_READS} reads, the last from version {} \
             to {}; load it again later",
            self.partition,
            shown(before),
            shown(after)
        ))
    }
}

/// The changes of one store. The default only moves the ETag.
#[derive(Clone, Debug, Default)]
pub struct Update {
    /// Replaces the metadata.
    pub metadata: Option<String>,
    /// The versions to prepare. Each replaces a prepared version of its sequence number.
    pub prepare: Vec<Prepared>,
    /// Commits this version, and makes all earlier ones obsolete.
    pub commit_up_to: Option<u64>,
    /// Cancels all versions after this one.
    pub abort_after: Option<u64>,
}

/// A state as it was loaded or stored.
#[derive(Debug)]
pub struct StoredState {
    fence: Fence<KeyRow>,
    partition: String,
    /// The committed version and the prepared ones.
    states: BTreeMap<u64, Prepared>,
}

impl StoredState {
    /// Returns the ETag, or `None` if the state was never stored.
    pub fn etag(&self) -> Option<&ETag> {
        self.fence.etag()
    }

    /// Returns the metadata of the last store.
    pub fn metadata(&self) -> &str {
        &self.fence.header().metadata
    }

    /// Returns the sequence number of the committed version, or 0.
    pub fn committed_sequence_id(&self) -> u64 {
        self.fence.header().committed_sequence_id
    }

    /// Returns the committed state, or `None` if no version was committed.
    pub fn committed_state(&self) -> Option<&str> {
        let committed = self.states.get(&self.committed_sequence_id())?;
        Some(&committed.state)
    }

    /// Returns the prepared versions to recover, in the order of their sequence numbers.
    ///
    /// They end at the first one without a manager: a transaction that this state manages itself, and did not commit,
    /// is cancelled.
    pub fn pending(&self) -> impl Iterator<Item = &Prepared> {
        let later = self.states.range(self.committed_sequence_id() + 1..);
        later
            .map(|(_, state)| state)
            .take_while(|state| state.manager.is_some())
    }

    /// Stores an update.
    ///
    /// # Errors
    /// - [`ConditionNotMet`](azure_table::ErrorKind::ConditionNotMet), for the first store
    ///   [`AlreadyExists`](azure_table::ErrorKind::AlreadyExists): another store came first.
    /// - [`InvalidInput`](azure_table::ErrorKind::InvalidInput): the version to commit was not prepared.
    /// - The errors of a batch.
    ///
    /// Earlier batches of this update may have been applied: load the state again.
    pub async fn store(mut self, update: Update) -> Result<Self> {
        let committed = update
            .commit_up_to
            .unwrap_or_default()
            .max(self.committed_sequence_id());
        let partition = self.partition.clone();

        // Each prefix of these operations leaves a state to recover from.
        let mut operations = Vec::new();
        if let Some(last) = update.abort_after {
            let last = last.max(self.committed_sequence_id());
            let mut aborted = self.states.split_off(&last.saturating_add(1));
            for prepared in &update.prepare {
                aborted.remove(&prepared.sequence_id); // is replaced
            }
            // From the last on: those that a failure leaves follow each other.
            operations.extend(aborted.into_keys().rev().map(|id| deletion(&partition, id)));
        }
        for prepared in update
            .prepare
            .into_iter()
            .filter(|state| state.sequence_id >= committed)
        {
            operations.push(TableOperation::insert_or_replace(&StateRow::new(&partition, &prepared)));
            self.states.insert(prepared.sequence_id, prepared);
        }
        self.check_committed(committed)?;
        // The commit is in the batch of the last preparation.
        let commit = operations.len().saturating_sub(1) / MAX_OPERATIONS;
        let current = self.states.split_off(&committed);
        let obsolete = std::mem::replace(&mut self.states, current);
        operations.extend(obsolete.into_keys().map(|id| deletion(&partition, id)));

        let batches = operations.len().div_ceil(MAX_OPERATIONS).max(1);
        let mut operations = operations.into_iter();
        for batch in 0..batches {
            let version = self.fence.etag().map_or("none", ETag::as_str).to_owned();
            let change = |key: &mut KeyRow| {
                if batch == commit {
                    key.committed_sequence_id = committed;
                    if let Some(metadata) = &update.metadata {
                        key.metadata.clone_from(metadata);
                    }
                }
                let mut written = Vec::from(bounds(&partition, &version));
                written.extend(operations.by_ref().take(MAX_OPERATIONS));
                Ok(written)
            };
            self.fence.transact(change).await?;
        }
        Ok(self)
    }

    fn check_committed(&self, committed: u64) -> Result<()> {
        if committed == 0 || self.states.contains_key(&committed) {
            return Ok(());
        }
        Err(Error::invalid_input(format!(
            "the state {:?} has no version {committed} to commit: prepare it first",
            self.partition
        )))
    }
}

fn deletion(partition: &str, sequence_id: u64) -> TableOperation {
    TableOperation::delete::<StateRow>((partition, sequence_id))
}
