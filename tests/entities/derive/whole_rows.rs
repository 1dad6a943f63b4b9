//! Attributes of a whole row: the id of each write, and derived code in strict surroundings.

use azure_table::{DynamicEntity, EdmValue, Guid, Result, TableClient, TableEntity, TableOperation};

use super::stored;

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(partition_key = "p", row_key = "r")]
struct Tracked {
    #[table(write_id, rename = "WriteId")]
    id: Option<Guid>,
    value: i32,
}

#[azure_table::test]
async fn every_write_has_a_new_id(table: TableClient<Tracked>) -> Result<()> {
    let tracked = Tracked { id: None, value: 1 };
    table.insert(&tracked).await?;
    let first = table.get(()).await?.unwrap();
    assert!(first.id.is_some());
    // The id that was read is not written again.
    table.replace(&first).await?;
    let second = table.get(()).await?.unwrap();
    assert!(second.id.is_some() && second.id != first.id);

    let operation = TableOperation::merge(&second);
    let id = operation.write_id();
    assert!(id.is_some() && id != second.id);
    table.execute(operation).await?;
    assert_eq!(stored(&table).await.get("WriteId"), id.map(EdmValue::Guid).as_ref());
    let found = table.query().filter(Tracked::ID.eq(id.unwrap())).all().await?;
    assert_eq!(found, [Tracked { id, value: 1 }]);
    assert_eq!(TableOperation::merge(&DynamicEntity::new("p", "r")).write_id(), None);
    Ok(())
}
