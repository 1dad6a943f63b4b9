//! serde structs as entities: the members that they send, the rows that they read, and values that are not entities.

mod attributes;
mod azure_data_tables;
mod calls;
mod stored_types;

use serde::{Deserialize, Serialize};

/// Keys and one value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct One<V> {
    #[serde(rename = "PartitionKey")]
    pk: String,
    #[serde(rename = "RowKey")]
    rk: String,
    value: V,
}

fn one<V>(value: V) -> One<V> {
    let [pk, rk] = ["pk", "rk"].map(String::from);
    One { pk, rk, value }
}
