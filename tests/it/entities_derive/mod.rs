//! Each attribute of the derives, on the embedded service.

mod conversions;
mod flattened;
mod keys;
mod optional_groups;
mod projections;
mod properties;
mod schema_changes;
mod shapes;
mod strict;
mod tagged_writes;
mod variants;
mod whole_rows;

use azure_table::{DynamicEntity, Emulator, TableClient, TableEntity, TableServiceClient};

/// An empty table in a separate service.
async fn table<E>() -> TableClient<E> {
    let table = TableServiceClient::from_transport(Emulator::new())
        .table::<E>("Things")
        .unwrap();
    table.create_table().await.unwrap();
    table
}

/// The only row, as it is stored.
async fn stored<E: TableEntity>(table: &TableClient<E>) -> DynamicEntity {
    let mut rows = table.typed::<DynamicEntity>().query().all().await.unwrap();
    assert_eq!(rows.len(), 1, "{rows:#?}");
    rows.remove(0)
}

/// The names of a row's properties.
fn names(row: &DynamicEntity) -> Vec<&str> {
    row.properties.keys().map(String::as_str).collect()
}
