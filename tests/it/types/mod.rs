//! Every type of a field of an entity: as a property, as a key, and as an operand of a filter.
//!
//! Feature `full` of this crate: the types of other crates as well.

mod borrowed;
#[cfg(feature = "full")]
mod dotnet;
mod dotnet_members;
mod flags;
#[cfg(feature = "full")]
mod foreign;
#[cfg(feature = "full")]
mod foreign_values;
mod keys;
mod mismatches;
mod operands;
mod property;
mod values;

use azure_table::{Emulator, TableClient, TableServiceClient};

/// A new, empty table in a separate service.
async fn fresh_table<E>() -> TableClient<E> {
    let table = TableServiceClient::from_transport(Emulator::new())
        .table::<E>("Things")
        .unwrap();
    table.create_table().await.unwrap();
    table
}
