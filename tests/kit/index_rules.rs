//! Rules of declared indexes: reserved keys, builds that are interrupted or meet one value twice, and writers beside a
//! build.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use azure_table::operation::OperationKind;
use azure_table::testing::{FaultRule, Faults, ResponseTemplate};
use azure_table::{DynamicEntity, Emulator, ErrorKind, Result, TableClient, TableServiceClient};
use azure_table_patterns::Indexed;
use azure_table_tests::entities::User;
use azure_table_tests::explorations::patterns;
use azure_table_tests::intercept::Intercept;

fn person(id: &str, mail: &str) -> User {
    let [group, id, mail] = ["t", id, mail].map(str::to_owned);
    let write = None;
    User { group, id, mail, write }
}

/// Stores more entities than a page of 100 has, without index rows.
async fn two_pages(mail: impl Fn(u32) -> String) -> Result<(TableClient<User>, Faults)> {
    let faults = Faults::new(Emulator::new().page_size(100));
    let table = TableServiceClient::from_transport(faults.clone()).table::<User>("People")?;
    table.create_table().await?;
    let people: Vec<_> = (0..110).map(|id| person(&format!("{id:04}"), &mail(id))).collect();
    assert!(table.bulk().insert(people).await?.leftovers().is_empty());
    Ok((table, faults))
}

#[azure_table::test]
async fn entity_cannot_have_the_key_of_an_index_row(table: TableClient<User>) -> Result<()> {
    let people = Indexed::open(&table).await?;
    let reserved = person("$ix;by_mail ada@x", "ada@x");
    for error in [
        people.insert(&reserved).await.unwrap_err(),
        people.insert_or_replace(&reserved).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains("begins with \"$ix;\""), "{error}");
    }
    people.insert(&person("ix;1", "ada@x")).await?;
    Ok(())
}

/// The first page fails after some of its rows.
#[tokio::test]
async fn interrupted_build_goes_on_at_the_page_that_failed() -> Result<()> {
    let (table, faults) = two_pages(|id| format!("{id}@x")).await?;
    let people = Indexed::open(&table).await?;
    let rejected = ResponseTemplate::new(403).code("AuthorizationFailure");
    faults.add(FaultRule::new(rejected).on(OperationKind::Batch).nth(20));
    people.build(User::BY_MAIL).await.unwrap_err();
    faults.clear();
    people.build(User::BY_MAIL).await?.ensure_none_taken()?;
    assert_eq!(people.by(User::BY_MAIL, ("t",))?.all().await?.len(), 110);
    people.verify().await?.ensure_none()?;
    Ok(())
}

/// Both entities with one value are in the first of two pages, and the second page fails. Then the one with the index
/// row is deleted.
#[tokio::test]
async fn build_after_a_value_of_two_begins_at_the_first_page() -> Result<()> {
    let (table, faults) = two_pages(|id| format!("{}@x", id.max(1))).await?;
    let people = Indexed::open(&table).await?;
    let rejected = ResponseTemplate::new(403).code("AuthorizationFailure");
    faults.add(FaultRule::new(rejected).on(OperationKind::Batch).nth(105));
    people.build(User::BY_MAIL).await.unwrap_err();
    let row = table
        .typed::<DynamicEntity>()
        .get(("t", "$ix;by_mail 1@x"))
        .await?
        .unwrap();
    let owner: String = row.property("IndexedRow")?;
    let left = if owner == "0000" { "0001" } else { "0000" };
    assert!(people.delete(("t", owner)).await?);
    people.build(User::BY_MAIL).await?.ensure_none_taken()?;
    assert_eq!(people.by(User::BY_MAIL, ("t", "1@x"))?.all().await?[0].id, left);
    people.verify().await?.ensure_none()?;
    Ok(())
}

/// Another writer inserts an entity after a scan, and moves it before the reader of its index row reads it.
#[tokio::test]
async fn row_of_an_entity_that_moves_is_not_reported_as_dangling() -> Result<()> {
    let emulator = Emulator::new();
    let table = TableServiceClient::from_transport(emulator.clone()).table::<User>("People")?;
    table.create_table().await?;
    let people = Indexed::open(&table).await?;
    people.insert(&person("1", "ada@x")).await?;
    table.delete(("t", "1")).await?;
    let reads = Arc::new(AtomicUsize::new(0));
    let between = Intercept::new(emulator, move |service, request| {
        let (read, other) = (reads.fetch_add(1, Ordering::Relaxed), people.clone());
        async move {
            match read {
                2 => drop(other.insert(&person("1", "ada@x")).await.unwrap()),
                3 => {
                    let change = |person: &mut User| person.mail = "eve@x".into();
                    drop(other.modify(("t", "1"), change).await.unwrap());
                }
                _ => {}
            }
            service.send(request).await
        }
    });
    let between = TableServiceClient::from_transport(between).table::<User>("People")?;
    // Opening is a read too, so the writer begins with the scan.
    let reader = Indexed::open(&between).await?;
    let found = reader.verify().await?;
    assert!(found.faults.is_empty(), "{:?}", found.faults);
    Ok(())
}

/// Those that see all orders within a second or two.
#[test]
fn build_and_repair_agree_with_a_writer_in_every_order() {
    let names = [
        "`Indexed`: a changed index, `build` and a writer",
        "`Indexed`: `repair`, and an insert over a dangling row",
    ];
    for case in patterns::all().filter(|case| names.contains(&case.name)) {
        let found = case.explore(0);
        assert!(found.is_proof(), "{}: {found}", case.name);
    }
}
