//! Every type that a field of an entity can have: as a property, as a key, and as what a column is compared with.
//!
//! Feature `full` of this crate: the types of other crates as well.

mod borrowed;
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

/// A new, empty table in a service of its own.
async fn fresh_table<E>() -> TableClient<E> {
    let table = TableServiceClient::on(Emulator::new()).table::<E>("Things").unwrap();
    table.create_table().await.unwrap();
    table
}
