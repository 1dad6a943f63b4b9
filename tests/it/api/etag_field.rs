//! The etag field of an entity contains the stored ETag after a write.

use azure_table::{DynamicEntity, ETag, Emulator, TableClient, TableEntity, TableServiceClient, Versioned};

#[derive(TableEntity, Debug, Clone, PartialEq)]
#[table(row_key = "job_{id}")]
struct Job {
    #[table(partition_key)]
    queue: String,
    id: u32,
    done: bool,
    #[table(etag)]
    etag: Option<ETag>,
}

#[derive(TableEntity, Debug, Clone, PartialEq)]
#[table(row_key = "note")]
struct Note {
    #[table(partition_key)]
    queue: String,
}

#[derive(TableEntity, Debug, Clone, PartialEq)]
#[table(tag = "Kind")]
enum Item {
    Job(Job),
    Note(Note),
}

fn job() -> Job {
    Job {
        queue: "q".into(),
        id: 1,
        done: false,
        etag: None,
    }
}

async fn table<E>() -> TableClient<E> {
    let table = TableServiceClient::from_transport(Emulator::new())
        .table::<E>("Jobs")
        .unwrap();
    table.create_table().await.unwrap();
    table
}

#[tokio::test]
async fn modify_returns_the_new_etag_in_the_etag_field() {
    let jobs = table::<Job>().await;
    let inserted = jobs.modify(("q", 1), |_| ()).or_insert(job).await.unwrap();
    assert_eq!(inserted.entity.etag.as_ref(), Some(&inserted.etag));

    let replaced = jobs.modify(("q", 1), |job| job.done = true).await.unwrap();
    assert_ne!(replaced.etag, inserted.etag);
    assert_eq!(replaced.entity.etag.as_ref(), Some(&replaced.etag));
    // The entity itself can be written again.
    jobs.replace(&replaced.entity).await.unwrap();
}

#[tokio::test]
async fn modify_of_an_enum_returns_the_new_etag_in_its_variant() {
    let items = table::<Item>().await;
    items.insert(&Item::Job(job())).await.unwrap();
    let key = azure_table::Key::of(&Item::Job(job())).unwrap();
    let modified = items.modify(key, |_| ()).await.unwrap();
    let Item::Job(job) = &modified.entity else {
        panic!("{modified:?}")
    };
    assert_eq!(job.etag.as_ref(), Some(&modified.etag));
}

#[tokio::test]
async fn modify_of_a_dynamic_entity_returns_the_new_etag_in_its_field() {
    let rows = table::<DynamicEntity>().await;
    let made = rows
        .modify(("p", "r"), |row| drop(row.insert("n", 1)))
        .or_insert(|| DynamicEntity::new("p", "r"))
        .await
        .unwrap();
    assert_eq!(made.entity.etag.as_ref(), Some(&made.etag));
    let modified = rows.modify(("p", "r"), |row| drop(row.insert("n", 2))).await.unwrap();
    assert_eq!(modified.entity.etag.as_ref(), Some(&modified.etag));
}

#[tokio::test]
async fn refreshed_and_echoed_entities_hold_the_stored_etag() {
    let jobs = table::<Job>().await;
    let echoed = jobs.insert_echo(&job()).await.unwrap();
    assert_eq!(echoed.entity.etag.as_ref(), Some(&echoed.etag));

    let mut held: Versioned<Job> = echoed.clone();
    let stored = jobs.replace(&echoed).await.unwrap();
    jobs.refresh_etag(&mut held).await.unwrap();
    assert_eq!((&held.etag, held.entity.etag.as_ref()), (&stored, Some(&stored)));

    let mut held = echoed;
    jobs.refresh(&mut held).await.unwrap();
    assert_eq!((&held.etag, held.entity.etag.as_ref()), (&stored, Some(&stored)));
}
