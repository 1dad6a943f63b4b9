//! serde structs as entities: the members that they send, the rows that they read, and values that are not entities.

mod attributes;
mod azure_data_tables;
mod calls;
mod stored_types;

use azure_table::entity::SerdeEntity;
use azure_table::{Emulator, TableClient, TableServiceClient};
use serde::{Deserialize, Serialize};

/// Keys and one value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct One<V> {
    #[serde(rename = "PartitionKey")]
    partition_key: String,
    #[serde(rename = "RowKey")]
    row_key: String,
    value: V,
}

fn one<V>(value: V) -> One<V> {
    One {
        partition_key: "pk".into(),
        row_key: "rk".into(),
        value,
    }
}

/// An empty table in a separate service.
async fn table<T>() -> TableClient<SerdeEntity<T>> {
    let service = TableServiceClient::from_transport(Emulator::new());
    let table = service.table::<SerdeEntity<T>>("Things").unwrap();
    table.create_table().await.unwrap();
    table
}
