//! Queries by an index.

use azure_table::{DynamicEntity, Result};
use futures::StreamExt as _;

use super::{Person, emulated, with};

/// Neither hides the entities beside it.
#[tokio::test]
async fn entity_that_cannot_be_read_is_one_item_of_a_query() -> Result<()> {
    let (table, people) = with(&emulated(), 4).await?;
    let mut row = table.typed::<DynamicEntity>().get(("t", "0000000002")).await?.unwrap();
    row.insert("mail", 7);
    table.typed::<DynamicEntity>().replace(&row).await?;
    let row = DynamicEntity::new("t", "$ix;by_name Ada x");
    table.typed::<DynamicEntity>().insert(&row).await?;

    let read = people.by(Person::BY_NAME, ("t", "Ada"))?.stream();
    let read: Vec<_> = read.map(|entity| entity.ok().map(|person| person.id)).collect().await;
    assert_eq!(read, [Some(1), None, Some(3), Some(4), None]);
    Ok(())
}
