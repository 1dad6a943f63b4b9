//! The guarantees that the guide to indexes states: queries beside moves, writers without the declaration, interrupted
//! builds, and a changed index.

use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults, Spy};
use azure_table::{
    CallOptions, DynamicEntity, Emulator, ErrorKind, NoRetry, Result, TableClient, TableEntity, TableServiceClient,
};
use azure_table_patterns::{IndexFault, Indexed};
use futures::TryStreamExt as _;

use super::Generation as _;

people! {
    Person: [by_name = (name)] [by_team = (team), covers];
    /// A changed index is about to replace an old one: both are declared.
    Both: [by_name = (name)] [by_team = (team), covers] [by_team_and_name = (team, name), covers];
    /// After that.
    Changed: [by_name = (name)] [by_team_and_name = (team, name), covers];
}

fn person(id: u32, name: &str) -> Person {
    Person::new(id, "", name, name)
}

async fn open(service: &TableServiceClient) -> Result<(TableClient<Person>, Indexed<Person>)> {
    let table = service.table::<Person>("People")?;
    table.create_table().await?;
    let people = Indexed::open(&table).await?;
    people.build(Person::BY_NAME).await?.ensure_none_taken()?;
    people.build(Person::BY_TEAM).await?.ensure_none_taken()?;
    Ok((table, people))
}

fn ids(people: &[Person]) -> Vec<u32> {
    people.iter().map(|person| person.id).collect()
}

/// A page has 100 index rows.
#[tokio::test]
async fn entity_that_moves_between_pages_comes_twice_or_not_at_all() -> Result<()> {
    let (_, people) = open(&TableServiceClient::from_transport(Emulator::new().page_size(100))).await?;
    for id in 0..102 {
        people.insert(&person(id, &format!("n{id:04}"))).await?;
    }
    let mut of_team = Box::pin(people.by(Person::BY_TEAM, ("t",))?.stream());
    let mut of_name = Box::pin(people.by(Person::BY_NAME, ("t",))?.stream());
    let (mut teams, mut names) = (Vec::new(), Vec::new());
    teams.extend(of_team.try_next().await?);
    names.extend(of_name.try_next().await?);
    for (id, to) in [(0, "z"), (101, "a")] {
        people
            .modify(("t", id), |person| (person.name, person.team) = (to.into(), to.into()))
            .await?;
    }
    while let Some(person) = of_team.try_next().await? {
        teams.push(person);
    }
    while let Some(person) = of_name.try_next().await? {
        names.push(person);
    }
    for found in [&teams, &names] {
        let count = |id| found.iter().filter(|person| person.id == id).count();
        assert_eq!((count(0), count(101)), (2, 0), "to a later page, to an earlier one");
        assert!((1..101).all(|id| count(id) == 1), "those that did not move come once");
    }
    Ok(())
}

#[azure_table::test]
async fn writer_without_the_indexes_shows_in_covering_queries_until_the_repair(
    service: TableServiceClient,
) -> Result<()> {
    let (table, people) = open(&service).await?;
    for id in 1..=3 {
        people.insert(&person(id, "Ada")).await?;
    }
    table.delete(("t", 1)).await?;
    table.modify(("t", 2), |person| person.name = "Bob".into()).await?;
    table.insert(&person(4, "Ada")).await?;

    let plain = people.by(Person::BY_NAME, ("t", "Ada"))?.all().await?;
    assert_eq!(ids(&plain), [3], "no deleted one, no old value; 4 is missing");
    let covering = people.by(Person::BY_TEAM, ("t", "Ada"))?.all().await?;
    assert_eq!(ids(&covering), [1, 2, 3], "1 is deleted; 4 is missing");
    assert_eq!(covering[1].name, "Ada", "an old value");

    let found = people.verify().await?;
    people.repair(&found).await?;
    people.verify().await?.ensure_none()?;
    assert_eq!(ids(&people.by(Person::BY_NAME, ("t", "Ada"))?.all().await?), [3, 4]);
    let covering = people.by(Person::BY_TEAM, ("t", "Ada"))?.all().await?;
    assert_eq!((ids(&covering), covering[0].name.as_str()), (vec![2, 3, 4], "Bob"));
    Ok(())
}

#[azure_table::test]
async fn next_write_of_an_entity_fills_its_holes(service: TableServiceClient) -> Result<()> {
    let (table, people) = open(&service).await?;
    table.insert(&person(1, "Ada")).await?;
    people.modify(("t", 1), |person| person.team = "law".into()).await?;
    let found = people.verify().await?.faults;
    let missing =
        |fault: &IndexFault| matches!(fault, IndexFault::Missing { index_row, .. } if index_row.contains("by_name"));
    assert!(
        found.len() == 1 && missing(&found[0]),
        "the index whose field did not change: {found:?}"
    );
    people.modify(("t", 1), |person| person.name = "Eve".into()).await?;
    people.verify().await?.ensure_none()?;
    Ok(())
}

#[tokio::test]
async fn interrupted_build_continues_at_its_page() -> Result<()> {
    let spy = Spy::new(Emulator::new().page_size(100));
    let faults = Faults::new(spy.clone());
    let service = TableServiceClient::from_transport(faults.clone());
    let table = service
        .table::<Person>("People")?
        .with(&CallOptions::new().retry(NoRetry));
    table.create_table().await?;
    assert!(
        table
            .bulk()
            .insert((0..150).map(|id| person(id, "Ada")))
            .await?
            .leftovers()
            .is_empty()
    );
    let people = Indexed::open(&table).await?;

    faults.add(FaultRule::new(Fault::NoConnection).on(OperationKind::Batch).nth(120));
    let error = people.build(Person::BY_NAME).await.unwrap_err();
    assert_eq!(error.last_failure().unwrap().kind(), ErrorKind::Connection, "{error}");
    let unready = Indexed::open(&table)
        .await?
        .by(Person::BY_NAME, ("t", "Ada"))
        .unwrap_err();
    assert!(
        unready.to_string().contains("the index `by_name` is not ready"),
        "{unready}"
    );
    spy.clear();
    let built = Indexed::open(&table).await?.build(Person::BY_NAME).await?;
    assert_eq!(built.indexed, 50, "the entities of the second page");
    let people = Indexed::open(&table).await?;
    assert_eq!(people.by(Person::BY_NAME, ("t", "Ada"))?.all().await?.len(), 150);
    Ok(())
}

#[azure_table::test]
async fn changed_index_replaces_the_old_one_in_four_steps(service: TableServiceClient) -> Result<()> {
    let (table, old) = open(&service).await?;
    for (id, name) in [(1, "Eve"), (2, "Bob")] {
        old.insert(&Person::new(id, "", "law", name)).await?;
    }
    // 1 and 2: during the deployment, writers of both versions keep the old index.
    let both = Indexed::open(&table.typed::<Both>()).await?;
    let early = both.by(Both::BY_TEAM_AND_NAME, ("t", "law")).unwrap_err();
    assert!(early.to_string().contains("is not ready"), "{early}");
    both.modify(("t", 2), |person| person.name = "Dan".into()).await?;
    old.modify(("t", 2), |person| person.name = "Fay".into()).await?;
    old.insert(&Person::new(3, "", "law", "Ada")).await?;
    assert_eq!(ids(&old.by(Person::BY_TEAM, ("t", "law"))?.all().await?), [1, 2, 3]);
    old.verify().await?.ensure_none()?;
    // 3: the old writer of 2 left a row in the new index.
    both.build(Both::BY_TEAM_AND_NAME).await?.ensure_none_taken()?;
    let found = both.verify().await?;
    both.repair(&found).await?;
    let found = both.by(Both::BY_TEAM_AND_NAME, ("t", "law"))?.all().await?;
    let names: Vec<_> = found.iter().map(|person| person.name.as_str()).collect();
    assert_eq!(names, ["Ada", "Eve", "Fay"]);
    // 4: during the deployment, writers of both versions keep the new index.
    let new = Indexed::open(&table.typed::<Changed>()).await?;
    new.modify(("t", 1), |person| person.team = "ops".into()).await?;
    both.modify(("t", 1), |person| person.team = "law".into()).await?;
    new.modify(("t", 3), |person| person.name = "Bea".into()).await?;
    new.verify().await?.ensure_none()?;
    assert_eq!(new.remove_index("by_team").await?, 3);
    assert_eq!(new.by(Changed::BY_TEAM_AND_NAME, ("t", "law"))?.all().await?.len(), 3);
    let rows = table.typed::<DynamicEntity>().query().partition("t").all().await?;
    assert!(
        !rows.iter().any(|row| row.row_key.starts_with("$ix;by_team ")),
        "{rows:#?}"
    );
    Ok(())
}

#[azure_table::test]
async fn limits_are_reported_before_any_request(spy: Spy, service: TableServiceClient) -> Result<()> {
    let (_, people) = open(&service).await?;
    spy.clear();
    let long = people.insert(&person(1, &"n".repeat(1_020))).await.unwrap_err();
    assert_eq!(long.kind(), ErrorKind::InvalidInput, "{long}");
    #[derive(TableEntity, Clone, Debug)]
    #[table(index(by_name = (name)))]
    struct Named {
        #[table(partition_key)]
        tenant: String,
        #[table(row_key)]
        id: String,
        name: String,
    }
    assert!(spy.exchanges().is_empty());
    let other = TableServiceClient::from_transport(Emulator::new()).table::<Named>("Named")?;
    other.create_table().await?;
    let [tenant, id, name] = ["t", "$ix;1", "n"].map(str::to_owned);
    let reserved = Indexed::open(&other)
        .await?
        .insert(&Named { tenant, id, name })
        .await
        .unwrap_err();
    assert!(
        reserved.to_string().contains("begins with \"$ix;\", as index rows do"),
        "{reserved}"
    );
    Ok(())
}
