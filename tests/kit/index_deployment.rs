//! A changed index: the rows that writers of the first generation leave behind while others know the new index.

use azure_table::{Result, TableServiceClient};
use azure_table_patterns::Indexed;

use super::Generation as _;

people! {
    Old: [by_mail = (mail), unique];
    New: [by_team = (team), covers];
}

/// The old writer moves an entity whose index row the new one has written.
#[azure_table::test]
async fn build_deletes_rows_that_old_writers_left(service: TableServiceClient) -> Result<()> {
    service.table::<Old>("People")?.create_table().await?;
    let old = Indexed::open(&service.table::<Old>("People")?).await?;
    let new = Indexed::open(&service.table::<New>("People")?).await?;
    new.insert(&New::new(1, "ada@x", "law", "Ada")).await?;
    old.modify(("t", 1), |person| person.team = "sales".into()).await?;

    assert_eq!(new.build(New::BY_TEAM).await?.indexed, 1);
    let in_law = new.by(New::BY_TEAM, ("t", "law"))?.all().await?;
    let in_sales = new.by(New::BY_TEAM, ("t", "sales"))?.all().await?;
    assert_eq!((in_law.len(), in_sales.len()), (0, 1), "{in_law:?}");
    new.verify().await?.ensure_none()?;
    Ok(())
}
