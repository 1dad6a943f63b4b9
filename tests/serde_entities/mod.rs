//! serde structs as entities: the members they send, the rows they read, and values that are no entity.

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

/// An empty table of a service of its own.
async fn table<T>() -> TableClient<SerdeEntity<T>> {
    let service = TableServiceClient::on(Emulator::new());
    let table = service.table::<SerdeEntity<T>>("Things").unwrap();
    table.create_table().await.unwrap();
    table
}
