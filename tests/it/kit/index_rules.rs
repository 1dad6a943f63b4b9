//! Rules of declared indexes: reserved keys, builds that are interrupted or meet one value twice, and writers beside a
//! build.

use std::sync::atomic::{AtomicUsize, Ordering};

use azure_table::operation::OperationKind;
use azure_table::testing::{FaultRule, Faults, ResponseTemplate};
use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{DynamicEntity, Emulator, ErrorKind, Result, TableClient, TableEntity, TableServiceClient};
use azure_table_patterns::Indexed;
use azure_table_tests::explorations::patterns;
use bytes::Bytes;
use http::{Request, Response};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(index(by_mail = (mail), unique))]
struct Person {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: String,
    mail: String,
}

fn person(id: &str, mail: &str) -> Person {
    let [tenant, id, mail] = ["t", id, mail].map(str::to_owned);
    Person { tenant, id, mail }
}

/// Stores more entities than a page has, without index rows.
async fn two_pages(mail: impl Fn(u32) -> String) -> Result<(TableClient<Person>, Faults)> {
    let faults = Faults::new(Emulator::new());
    let table = TableServiceClient::from_transport(faults.clone()).table::<Person>("People")?;
    table.create_table().await?;
    let people: Vec<_> = (0..1_010).map(|id| person(&format!("{id:04}"), &mail(id))).collect();
    assert!(table.bulk().insert(people).await?.leftovers().is_empty());
    Ok((table, faults))
}

#[tokio::test]
async fn entity_cannot_have_the_key_of_an_index_row() -> Result<()> {
    let table = TableServiceClient::from_transport(Emulator::new()).table::<Person>("People")?;
    table.create_table().await?;
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
    people.build(Person::BY_MAIL).await.unwrap_err();
    faults.clear();
    people.build(Person::BY_MAIL).await?.ensure_none_taken()?;
    assert_eq!(people.by(Person::BY_MAIL, ("t",))?.all().await?.len(), 1_010);
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
    faults.add(FaultRule::new(rejected).on(OperationKind::Batch).nth(1_005));
    people.build(Person::BY_MAIL).await.unwrap_err();
    let row = table
        .typed::<DynamicEntity>()
        .get(("t", "$ix;by_mail 1@x"))
        .await?
        .unwrap();
    let owner: String = row.property("IndexedRow")?;
    let left = if owner == "0000" { "0001" } else { "0000" };
    assert!(people.delete(("t", owner)).await?);
    people.build(Person::BY_MAIL).await?.ensure_none_taken()?;
    assert_eq!(people.by(Person::BY_MAIL, ("t", "1@x"))?.all().await?[0].id, left);
    people.verify().await?.ensure_none()?;
    Ok(())
}

/// A service on which another writer writes before some reads: it inserts an entity after a scan, and moves it before
/// the reader of its index row reads it.
#[derive(Debug)]
struct Between {
    emulator: Emulator,
    reads: AtomicUsize,
}

impl Between {
    async fn write(&self, read: usize) -> Result<()> {
        let other = TableServiceClient::from_transport(self.emulator.clone()).table::<Person>("People")?;
        let other = Indexed::open(&other).await?;
        match read {
            2 => other.insert(&person("1", "ada@x")).await.map(drop),
            3 => other
                .modify(("t", "1"), |person| person.mail = "eve@x".into())
                .await
                .map(drop),
            _ => Ok(()),
        }
    }
}

impl Transport for Between {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, std::result::Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let read = self.reads.fetch_add(1, Ordering::Relaxed);
            self.write(read).await.unwrap();
            self.emulator.send(request).await
        })
    }
}

#[tokio::test]
async fn row_of_an_entity_that_moves_is_not_reported_as_dangling() -> Result<()> {
    let emulator = Emulator::new();
    let table = TableServiceClient::from_transport(emulator.clone()).table::<Person>("People")?;
    table.create_table().await?;
    let people = Indexed::open(&table).await?;
    people.insert(&person("1", "ada@x")).await?;
    table.delete(("t", "1")).await?;
    let between = Between {
        emulator,
        reads: AtomicUsize::new(0),
    };
    let between = TableServiceClient::from_transport(between).table::<Person>("People")?;
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
