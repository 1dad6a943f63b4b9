//! Declared indexes of several releases: an index added to entities that it cannot hold, keys of the states, and the
//! removal of the last index.

use azure_table::testing::Spy;
use azure_table::{ErrorKind, Result, TableClient, TableEntity, TableServiceClient};
use azure_table_patterns::{IndexFault, Indexed, remove_index};

use super::Generation as _;

people! {
    First: [by_mail = (mail), unique] [by_team = (team), covers];
    Second: [by_mail = (mail), unique] [by_team = (team), covers] [by_name = (name)];
}

/// The names are too long for the RowKeys of the new index.
#[azure_table::test]
async fn index_added_later_leaves_the_rows_of_older_ones(service: TableServiceClient) -> Result<()> {
    service.table::<First>("People")?.create_table().await?;
    let first = Indexed::open(&service.table::<First>("People")?).await?;
    first.build(First::BY_MAIL).await?.ensure_none_taken()?;
    first.build(First::BY_TEAM).await?.ensure_none_taken()?;
    let long = "n".repeat(1_020);
    for id in [1, 3] {
        first.insert(&First::new(id, &format!("{id}@x"), "law", &long)).await?;
    }
    let second = Indexed::open(&service.table::<Second>("People")?).await?;
    let taken = second.insert(&Second::new(2, "1@x", "law", "Ada")).await.unwrap_err();
    assert_eq!(Indexed::<Second>::taken(&taken), Some("by_mail"));
    assert!(second.delete(("t", 3)).await?);
    let left = first.by(First::BY_TEAM, ("t", "law"))?.all().await?;
    assert_eq!(left.iter().map(|person| person.id).collect::<Vec<_>>(), [1]);

    let unstorable = second.build(Second::BY_NAME).await.unwrap_err();
    assert_eq!(unstorable.kind(), ErrorKind::InvalidInput);
    let found = second.verify().await?;
    assert!(
        matches!(&found.faults[..], [IndexFault::Unindexable { row_key, .. }] if row_key == "0000000001"),
        "{found:?}"
    );
    assert_eq!(second.repair(&found).await?, 0);
    first.verify().await?.ensure_none()?;

    second.modify(("t", 1), |person| person.name = "Ada".into()).await?;
    second.build(Second::BY_NAME).await?.ensure_none_taken()?;
    second.verify().await?.ensure_none()?;
    Ok(())
}

#[azure_table::test]
async fn entity_cannot_be_among_the_states(spy: Spy, table: TableClient<First>) -> Result<()> {
    let people = Indexed::open(&table).await?;
    let among = First {
        tenant: "$indexes".into(),
        ..First::new(1, "1@x", "law", "Ada")
    };
    spy.clear();
    let error = people.insert(&among).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("that of the states of indexes"), "{error}");
    assert!(spy.exchanges().is_empty());
    // A writer that does not know the index, and the row that a build writes for it.
    table.insert(&among).await?;
    people.build(First::BY_MAIL).await?.ensure_none_taken()?;
    Indexed::open(&table).await?;
    Ok(())
}

/// An older release without the name, and a later one with another name of the field and a grade.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(index(by_team = (team), covers))]
struct Older {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u32,
    team: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(index(by_team = (group), covers))]
struct Later {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u32,
    #[table(rename = "team")]
    group: String,
    name: String,
    #[table(default)]
    grade: i32,
}

#[azure_table::test]
async fn releases_with_fewer_and_more_fields_agree_about_covering_rows(service: TableServiceClient) -> Result<()> {
    let table = service.table::<First>("People")?;
    table.create_table().await?;
    let older = Indexed::open(&service.table::<Older>("People")?).await?;
    table.insert(&First::new(1, "1@x", "law", "Ada")).await?;
    older.build(Older::BY_TEAM).await?.ensure_none_taken()?;
    let people = Indexed::open(&table).await?;
    let built = people.by(First::BY_TEAM, ("t", "law"))?.all().await?;
    assert_eq!(
        built,
        [First::new(1, "1@x", "law", "Ada")],
        "built by the older release"
    );
    people.build(First::BY_MAIL).await?.ensure_none_taken()?;
    people.insert(&First::new(2, "2@x", "law", "Eve")).await?;

    let later = Indexed::open(&service.table::<Later>("People")?).await?;
    older.verify().await?.ensure_none()?;
    later.verify().await?.ensure_none()?;
    table.modify(("t", 1), |person| person.name = "Ava".into()).await?;
    let found = older.verify().await?;
    assert!(matches!(found.faults[..], [IndexFault::Stale { .. }]), "{found:?}");
    assert_eq!(older.repair(&found).await?, 1);
    let repaired = people.by(First::BY_TEAM, ("t", "law"))?.first().await?;
    assert_eq!(repaired, Some(First::new(1, "1@x", "law", "Ava")));
    people.verify().await?.ensure_none()?;
    Ok(())
}

#[azure_table::test]
async fn last_index_of_a_type_is_removed_without_it(service: TableServiceClient) -> Result<()> {
    let table = service.table::<Older>("People")?;
    table.create_table().await?;
    let older = Indexed::open(&table).await?;
    older.build(Older::BY_TEAM).await?.ensure_none_taken()?;
    let [tenant, team] = ["t", "law"].map(str::to_owned);
    older.insert(&Older { tenant, id: 1, team }).await?;
    let dynamic = service.dynamic_table("People")?;
    assert_eq!(
        remove_index(&dynamic, "by team").await.unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    assert_eq!(remove_index(&dynamic, "by_team").await?, 1);
    assert_eq!(dynamic.query().allow_table_scan().all().await?.len(), 1);
    Ok(())
}

#[azure_table::test]
async fn taken_value_is_an_error_of_the_build(table: TableClient<First>) -> Result<()> {
    for id in 1..=2 {
        table.insert(&First::new(id, "a@x", "law", "Ada")).await?;
    }
    let people = Indexed::open(&table).await?;
    let error = people.build(First::BY_MAIL).await?.ensure_none_taken().unwrap_err();
    assert!(error.to_string().contains("0000000002"), "{error}");
    let unready = people.by(First::BY_MAIL, ("t", "a@x")).unwrap_err();
    assert!(
        unready.to_string().contains("found a value of two entities"),
        "{unready}"
    );
    Ok(())
}
