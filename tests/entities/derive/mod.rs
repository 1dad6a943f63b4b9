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

use azure_table::{DynamicEntity, EdmValue, ErrorKind, Key, ReadEntity, Result, TableClient, TableEntity};

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

/// A row with these properties.
fn row<const N: usize>(keys: (&str, &str), properties: [(&str, EdmValue); N]) -> DynamicEntity {
    let mut row = DynamicEntity::new(keys.0, keys.1);
    for (name, value) in properties {
        row.insert(name, value);
    }
    row
}

/// Stores a row, whatever is there.
async fn store<E: TableEntity>(table: &TableClient<E>, row: &DynamicEntity) -> Result<()> {
    table.typed().insert_or_replace(row).await.map(drop)
}

/// Stores a row that cannot be read, and checks that the error of its read says so.
async fn assert_unreadable<E: TableEntity + ReadEntity>(table: &TableClient<E>, row: &DynamicEntity, why: &str) {
    store(table, row).await.unwrap();
    let key = Key::from_text(&row.partition_key, &row.row_key);
    let error = table.get(key).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    assert!(error.to_string().contains(why), "{error}");
}
