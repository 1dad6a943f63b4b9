//! Declared indexes beside other writers: reads that lag on Cosmos DB, and two builds.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use azure_table::transport::{BoxFuture, Delivery, Transport, TransportError};
use azure_table::{Emulator, ErrorKind, Guid, Profile, Result, TableClient, TableEntity, TableServiceClient};
use azure_table_patterns::Indexed;
use bytes::Bytes;
use http::{Method, Request, Response};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(index(by_mail = (mail), unique))]
struct Person {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u32,
    mail: String,
}

fn person(id: u32, mail: &str) -> Person {
    let [tenant, mail] = ["t", mail].map(str::to_owned);
    Person { tenant, id, mail }
}

async fn created(emulator: &Emulator) -> Result<TableClient<Person>> {
    let table = TableServiceClient::from_transport(emulator.clone()).table::<Person>("People")?;
    table.create_table().await?;
    Ok(table)
}

/// A replica of Cosmos DB: its first read of the entity with RowKey 1 is the response to all later ones.
#[derive(Debug)]
struct Late {
    emulator: Emulator,
    first: Mutex<Option<Response<Bytes>>>,
}

impl Transport for Late {
    fn profile(&self) -> Option<Profile> {
        self.emulator.profile()
    }

    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, std::result::Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let is_read = request.method() == Method::GET && request.uri().to_string().contains("RowKey='0000000001'");
            let first = self.first.lock().unwrap().clone().filter(|_| is_read);
            if let Some(first) = first {
                return Ok(first);
            }
            let response = self.emulator.send(request).await?;
            if is_read {
                *self.first.lock().unwrap() = Some(response.clone());
            }
            Ok(response)
        })
    }
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
    let late = Late {
        emulator,
        first: Mutex::default(),
    };
    let late = TableServiceClient::from_transport(late).table::<Person>("People")?;
    let late = Indexed::open(&late).await?;
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
    let late = Late {
        emulator,
        first: Mutex::default(),
    };
    let late = TableServiceClient::from_transport(late).table::<Person>("People")?;
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

/// Another build stores its position before this one stores its second, and then its process dies.
#[derive(Debug)]
struct SecondBuild {
    emulator: Emulator,
    states: AtomicUsize,
}

impl Transport for SecondBuild {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, std::result::Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let is_state = request.method() == Method::PUT && request.uri().to_string().contains("indexes");
            if is_state && self.states.fetch_add(1, Ordering::Relaxed) == 1 {
                let table = TableServiceClient::from_transport(self.emulator.clone()).dynamic_table("People");
                let key = ("$indexes", "$ix;by_mail");
                table.unwrap().modify(key, |_| azure_table::Change::Save).await.unwrap();
            }
            self.emulator.send(request).await
        })
    }
}

#[tokio::test]
async fn build_beside_one_that_died_makes_the_index_ready() -> Result<()> {
    let emulator = Emulator::new();
    let table = created(&emulator).await?;
    let people = (0..1_010).map(|id| person(id, &format!("{id}@x")));
    assert!(table.bulk().insert(people).await?.leftovers().is_empty());
    let states = AtomicUsize::new(0);
    let service = TableServiceClient::from_transport(SecondBuild { emulator, states });
    let people = Indexed::open(&service.table::<Person>("People")?).await?;
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

/// A service whose first response to a batch is lost, after another writer has changed the entity.
#[derive(Debug)]
struct Overtaken {
    emulator: Emulator,
    batches: AtomicUsize,
}

impl Overtaken {
    async fn write(&self) -> Result<()> {
        let table = TableServiceClient::from_transport(self.emulator.clone()).table::<Member>("Members")?;
        table.patch(("t", 1), Member::NOTE.set("changed")).await?;
        Ok(())
    }
}

impl Transport for Overtaken {
    fn profile(&self) -> Option<Profile> {
        self.emulator.profile()
    }

    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, std::result::Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let is_batch = request.uri().path().ends_with("/$batch");
            let response = self.emulator.send(request).await?;
            if is_batch && self.batches.fetch_add(1, Ordering::Relaxed) == 0 {
                let lost = |why| TransportError::new(Delivery::MaybeSent, why);
                self.write().await.map_err(|e| lost(e.to_string()))?;
                return Err(lost("the response was lost".to_owned()));
            }
            Ok(response)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn insert_that_another_writer_overtakes_has_the_etag_of_no_row() -> Result<()> {
    let emulator = Emulator::new();
    let batches = AtomicUsize::new(0);
    let table = TableServiceClient::from_transport(Overtaken { emulator, batches }).table::<Member>("Members")?;
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
