//! The rows of a state's partition.

use azure_table::{DateTime, DynamicEntity, Guid, TableEntity, TableOperation};

/// A version of the state that a transaction prepared.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// The sequence number: 1, 2, 3 and so on.
    pub sequence_id: u64,
    /// The transaction.
    pub transaction_id: String,
    /// The logical time of the transaction.
    pub timestamp: DateTime,
    /// The participant that knows the fate of the transaction; `None` if it is this state.
    pub manager: Option<String>,
    /// The state after the transaction.
    pub state: String,
}

/// All rows of a partition.
#[derive(TableEntity, Debug)]
pub(super) enum Row {
    Start(Start),
    Key(KeyRow),
    State(StateRow),
    End(End),
    /// A row of a later layout. A load ignores it.
    #[table(other)]
    Unknown(DynamicEntity),
}

/// The row that every batch replaces.
#[derive(TableEntity, Clone, Debug)]
#[table(row_key = "k", rename_all = "PascalCase")]
pub(super) struct KeyRow {
    #[table(partition_key)]
    partition: String,
    pub(super) committed_sequence_id: u64,
    #[table(chunked)]
    pub(super) metadata: String,
    #[table(write_id)]
    write: Option<Guid>,
}

impl KeyRow {
    pub(super) fn new(partition: &str) -> Self {
        Self {
            partition: partition.to_owned(),
            committed_sequence_id: 0,
            metadata: String::new(),
            write: None,
        }
    }
}

#[derive(TableEntity, Debug)]
#[table(row_key = "s_{sequence_id}", rename_all = "PascalCase")]
pub(super) struct StateRow {
    #[table(partition_key)]
    partition: String,
    sequence_id: u64,
    transaction_id: String,
    transaction_timestamp: DateTime,
    transaction_manager: Option<String>,
    #[table(chunked)]
    state: String,
}

impl StateRow {
    pub(super) fn new(partition: &str, prepared: &Prepared) -> Self {
        let prepared = prepared.clone();
        Self {
            partition: partition.to_owned(),
            sequence_id: prepared.sequence_id,
            transaction_id: prepared.transaction_id,
            transaction_timestamp: prepared.timestamp,
            transaction_manager: prepared.manager,
            state: prepared.state,
        }
    }
}

impl From<StateRow> for Prepared {
    fn from(row: StateRow) -> Self {
        Self {
            sequence_id: row.sequence_id,
            transaction_id: row.transaction_id,
            timestamp: row.transaction_timestamp,
            manager: row.transaction_manager,
            state: row.state,
        }
    }
}

#[derive(TableEntity, Debug)]
#[table(row_key = "!")]
pub(super) struct Start {
    #[table(partition_key)]
    partition: String,
    #[table(rename = "SnapshotVersion")]
    pub(super) version: String,
}

#[derive(TableEntity, Debug)]
#[table(row_key = "~")]
pub(super) struct End {
    #[table(partition_key)]
    partition: String,
    #[table(rename = "SnapshotVersion")]
    pub(super) version: String,
}

/// Returns the writes of both boundary rows.
pub(super) fn bounds(partition: &str, version: &str) -> [TableOperation; 2] {
    let (partition, version) = (partition.to_owned(), version.to_owned());
    let start = Start {
        partition: partition.clone(),
        version: version.clone(),
    };
    [
        TableOperation::insert_or_replace(&start),
        TableOperation::insert_or_replace(&End { partition, version }),
    ]
}
