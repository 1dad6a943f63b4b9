//! A changed index: the rows that writers of the first generation leave behind while others know the new index.

use azure_table::{Emulator, Result, TableEntity, TableServiceClient};
use azure_table_patterns::Indexed;

macro_rules! person {
    ($name:ident $(, $($index:tt)+)?) => {
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        $(#[table(index($($index)+))])?
        struct $name {
            #[table(partition_key)]
            tenant: String,
            #[table(row_key)]
            id: u32,
            mail: String,
            team: String,
        }
    };
}

person!(Old, by_mail = (mail), unique);
person!(New, by_team = (team), covers);

/// The old writer moves an entity whose index row the new one has written.
#[tokio::test]
async fn build_deletes_rows_that_old_writers_left() -> Result<()> {
    let service = TableServiceClient::from_transport(Emulator::new());
    service.table::<Old>("People")?.create_table().await?;
    let old = Indexed::open(&service.table::<Old>("People")?).await?;
    let new = Indexed::open(&service.table::<New>("People")?).await?;
    let (tenant, mail, team) = ("t".to_owned(), "ada@x".to_owned(), "law".to_owned());
    new.insert(&New {
        tenant,
        id: 1,
        mail,
        team,
    })
    .await?;
    old.modify(("t", 1), |person| person.team = "sales".into()).await?;

    assert_eq!(new.build(New::BY_TEAM).await?.indexed, 1);
    let in_law = new.by(New::BY_TEAM, ("t", "law"))?.all().await?;
    let in_sales = new.by(New::BY_TEAM, ("t", "sales"))?.all().await?;
    assert_eq!((in_law.len(), in_sales.len()), (0, 1), "{in_law:?}");
    new.verify().await?.ensure_none()?;
    Ok(())
}
