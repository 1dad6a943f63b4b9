//! Declared indexes beside other writers: reads that lag on Cosmos DB, and two builds.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use azure_table::transport::{Delivery, TransportError};
use azure_table::{DynamicEntity, Emulator, ErrorKind, Guid, Result, TableClient, TableEntity, TableServiceClient};
use azure_table_patterns::Indexed;
use azure_table_tests::entities::Person;
use azure_table_tests::intercept::Intercept;
use bytes::Bytes;
use http::{Method, Response};

fn person(id: u32, mail: &str) -> Person {
    let [tenant, mail, name] = ["t", mail, "Ada"].map(str::to_owned);
    Person { tenant, id, mail, name }
}

async fn created(emulator: &Emulator) -> Result<TableClient<Person>> {
    let table = TableServiceClient::from_transport(emulator.clone()).table::<Person>("People")?;
    table.create_table().await?;
    Ok(table)
}

/// Returns a client of a replica: its first read of the entity with RowKey 1 is the response to all later ones.
fn late(emulator: Emulator) -> Result<TableClient<Person>> {
    let first = Arc::new(Mutex::new(None::<Response<Bytes>>));
    let late = Intercept::new(emulator, move |service, request| {
        let first = Arc::clone(&first);
        async move {
            let is_read = request.method() == Method::GET && request.uri().to_string().contains("RowKey='0000000001'");
            let before = first.lock().unwrap().clone().filter(|_| is_read);
            if let Some(before) = before {
                return Ok(before);
            }
            let response = service.send(request).await?;
            if is_read {
                *first.lock().unwrap() = Some(response.clone());
            }
            Ok(response)
        }
    });
    TableServiceClient::from_transport(late).table("People")
}

/// Another client changes the entity before the build writes its index row, and so many later reads miss the entity.
async fn build_beside_a_writer(
    misses: usize,
) -> Result<(TableClient<Person>, Result<azure_table_patterns::IndexBuild>)> {
    let emulator = Emulator::cosmos();
    let table = created(&emulator).await?;
    Indexed::<Person>::open(&table).await?;
    table.insert(&person(1, "a@x")).await?;
    let (others, reads, writes) = (table.clone(), Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
    let lagging = Intercept::new(emulator, move |service, request| {
        let is_write = request.uri().path().ends_with("$batch") && writes.fetch_add(1, Ordering::Relaxed) == 0;
        let is_read = request.method() == Method::GET && request.uri().to_string().contains("RowKey='0000000001'");
        let (others, reads) = (others.clone(), Arc::clone(&reads));
        async move {
            if is_write {
                others
                    .modify(("t", 1), |person| person.name = "Grace".into())
                    .await
                    .unwrap();
            }
            if is_read && reads.fetch_add(1, Ordering::Relaxed) < misses {
                return Ok(azure_table_tests::scenario::rejection(404, "ResourceNotFound"));
            }
            service.send(request).await
        }
    });
    let people = Indexed::open(&TableServiceClient::from_transport(lagging).table("People")?).await?;
    Ok((table, people.build(Person::BY_MAIL).await))
}

#[tokio::test(start_paused = true)]
async fn build_whose_read_misses_a_changed_entity_indexes_it() -> Result<()> {
    for misses in [0, 1, 3] {
        let (table, built) = build_beside_a_writer(misses).await?;
        assert_eq!(built?.indexed, 1, "{misses}");
        let people = Indexed::open(&table).await?;
        assert!(people.by(Person::BY_MAIL, ("t", "a@x"))?.first().await?.is_some());
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn build_whose_reads_always_miss_an_entity_leaves_the_index_unready() -> Result<()> {
    let (table, built) = build_beside_a_writer(usize::MAX).await?;
    assert_eq!(built.unwrap_err().kind(), ErrorKind::Contention);
    let people = Indexed::open(&table).await?;
    assert_eq!(people.build(Person::BY_MAIL).await?.indexed, 1);
    Ok(())
}

/// A writer that does not know the index changes the value, and back.
#[tokio::test]
async fn repair_with_a_late_read_leaves_the_row_of_an_entity() -> Result<()> {
    let emulator = Emulator::cosmos();
    let table = created(&emulator).await?;
    let people = Indexed::open(&table).await?;
    people.build(Person::BY_MAIL).await?.ensure_none_taken()?;
    people.insert(&person(1, "a@x")).await?;
    table.modify(("t", 1), |person| person.mail = "b@x".into()).await?;
    let late = Indexed::open(&late(emulator)?).await?;
    let mut found = late.verify().await?;
    assert_eq!(found.faults.len(), 2, "{found:?}");
    table.modify(("t", 1), |person| person.mail = "a@x".into()).await?;

    found.faults.retain(|fault| fault.to_string().contains("has no entity"));
    assert_eq!(late.repair(&found).await?, 0);
    people.verify().await?.ensure_none()?;
    // Read in time, a row without an entity is deleted.
    table.modify(("t", 1), |person| person.mail = "b@x".into()).await?;
    assert_eq!(people.repair(&found).await?, 1);
    Ok(())
}

#[tokio::test]
async fn build_with_late_reads_leaves_the_row_of_an_entity() -> Result<()> {
    let emulator = Emulator::cosmos();
    let table = created(&emulator).await?;
    let people = Indexed::open(&table).await?;
    let late = late(emulator)?;
    assert_eq!(late.get(("t", 1)).await?, None);
    people.insert(&person(1, "a@x")).await?;
    Indexed::open(&late)
        .await?
        .build(Person::BY_MAIL)
        .await?
        .ensure_none_taken()?;
    people.verify().await?.ensure_none()?;
    Ok(())
}

/// A writer that does not know the index has removed a row. While `verify` reads again, another one changes the value
/// and so writes its row.
#[tokio::test]
async fn verify_reports_no_row_of_a_value_that_changes_meanwhile() -> Result<()> {
    let emulator = Emulator::new();
    let table = created(&emulator).await?;
    let people = Indexed::open(&table).await?;
    people.build(Person::BY_MAIL).await?.ensure_none_taken()?;
    people.insert(&person(1, "a@x")).await?;
    let rows = table.typed::<DynamicEntity>();
    rows.delete(("t", "$ix;by_mail a@x")).await?;
    let (writer, reads) = (people.clone(), Arc::new(AtomicUsize::new(0)));
    let beside = Intercept::new(emulator, move |service, request| {
        let (writer, reads) = (writer.clone(), Arc::clone(&reads));
        let is_read = request.method() == Method::GET && request.uri().to_string().contains("RowKey='0000000001'");
        async move {
            let response = service.send(request).await?;
            if is_read && reads.fetch_add(1, Ordering::Relaxed) == 0 {
                let modified = writer.modify(("t", 1), |person| person.mail = "b@x".into()).await;
                modified.unwrap();
            }
            Ok(response)
        }
    });
    let beside = TableServiceClient::from_transport(beside).table("People")?;
    Indexed::<Person>::open(&beside).await?.verify().await?.ensure_none()?;
    people.verify().await?.ensure_none()?;
    Ok(())
}

/// A writer that does not know the index has given the value to another entity too.
#[tokio::test]
async fn unique_row_of_another_entity_is_left_alone_on_cosmos_db() -> Result<()> {
    let table = created(&Emulator::cosmos()).await?;
    let people = Indexed::open(&table).await?;
    people.build(Person::BY_MAIL).await?.ensure_none_taken()?;
    people.insert(&person(5, "a@x")).await?;
    table.insert(&person(1, "a@x")).await?;
    people.modify(("t", 1), |person| person.mail = "other@x".into()).await?;
    let found = people.by(Person::BY_MAIL, ("t", "a@x"))?.first().await?;
    assert_eq!(found, Some(person(5, "a@x")));
    Ok(())
}

/// The other one stores its position before this one stores its second, and then its process dies.
#[tokio::test]
async fn build_beside_one_that_died_makes_the_index_ready() -> Result<()> {
    let emulator = Emulator::new();
    let table = created(&emulator).await?;
    let people = (0..1_010).map(|id| person(id, &format!("{id}@x")));
    assert!(table.bulk().insert(people).await?.leftovers().is_empty());
    let (states, others) = (Arc::new(AtomicUsize::new(0)), table.typed::<DynamicEntity>());
    let second = Intercept::new(emulator, move |service, request| {
        let is_state = request.method() == Method::PUT && request.uri().to_string().contains("indexes");
        let is_second = is_state && states.fetch_add(1, Ordering::Relaxed) == 1;
        let others = others.clone();
        async move {
            if is_second {
                let key = ("$indexes", "$ix;by_mail");
                others.modify(key, |_| azure_table::Change::Save).await.unwrap();
            }
            service.send(request).await
        }
    });
    let people = Indexed::open(&TableServiceClient::from_transport(second).table::<Person>("People")?).await?;
    let built = people.concurrency(16).build(Person::BY_MAIL).await?;
    assert_eq!((built.indexed, built.taken.len()), (1_010, 0));
    let people = Indexed::open(&table).await?;
    assert_eq!(
        people.by(Person::BY_MAIL, ("t", "7@x"))?.all().await?,
        [person(7, "7@x")]
    );
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(index(by_mail = (mail), unique))]
struct Member {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u32,
    mail: String,
    note: String,
    #[table(write_id, rename = "Write")]
    write: Option<Guid>,
}

#[tokio::test(start_paused = true)]
async fn insert_that_another_writer_overtakes_has_the_etag_of_no_row() -> Result<()> {
    let emulator = Emulator::new();
    let behind = TableServiceClient::from_transport(emulator.clone()).table::<Member>("Members")?;
    let batches = Arc::new(AtomicUsize::new(0));
    // The first response to a batch is lost, after another writer has changed the entity.
    let overtaken = Intercept::new(emulator, move |service, request| {
        let (batches, behind) = (Arc::clone(&batches), behind.clone());
        async move {
            let is_batch = request.uri().path().ends_with("/$batch");
            let response = service.send(request).await?;
            if is_batch && batches.fetch_add(1, Ordering::Relaxed) == 0 {
                behind.patch(("t", 1), Member::NOTE.set("changed")).await.unwrap();
                return Err(TransportError::new(Delivery::MaybeSent, "the response was lost"));
            }
            Ok(response)
        }
    });
    let table = TableServiceClient::from_transport(overtaken).table::<Member>("Members")?;
    table.create_table().await?;
    let members = Indexed::open(&table).await?;
    members.build(Member::BY_MAIL).await?.ensure_none_taken()?;
    let [tenant, mail, note] = ["t", "a@x", ""].map(str::to_owned);
    let entity = Member {
        tenant,
        id: 1,
        mail,
        note,
        write: None,
    };

    let etag = members.insert(&entity).await?;
    let mut stored = table.get(("t", 1)).versioned().await?.unwrap();
    assert_eq!(stored.note, "changed");
    stored.etag = etag;
    let error = members.replace(&stored).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConditionNotMet, "{error}");
    members.verify().await?.ensure_none()?;
    Ok(())
}
