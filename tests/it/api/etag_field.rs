//! The etag field of an entity contains the stored ETag after a write.

use azure_table::{DynamicEntity, ETag, ErrorKind, TableClient, TableEntity, Versioned};

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

#[azure_table::test]
async fn modify_returns_the_new_etag_in_the_etag_field(jobs: TableClient<Job>) {
    let inserted = jobs.modify(("q", 1), |_| ()).or_insert(job).await.unwrap();
    assert_eq!(inserted.entity.etag.as_ref(), Some(&inserted.etag));

    let replaced = jobs.modify(("q", 1), |job| job.done = true).await.unwrap();
    assert_ne!(replaced.etag, inserted.etag);
    assert_eq!(replaced.entity.etag.as_ref(), Some(&replaced.etag));
    // The entity itself can be written again.
    jobs.replace(&replaced.entity).await.unwrap();
}

#[azure_table::test]
async fn modify_of_an_enum_returns_the_new_etag_in_its_variant(items: TableClient<Item>) {
    items.insert(&Item::Job(job())).await.unwrap();
    let key = azure_table::Key::of(&Item::Job(job())).unwrap();
    let modified = items.modify(key, |_| ()).await.unwrap();
    let Item::Job(job) = &modified.entity else {
        panic!("{modified:?}")
    };
    assert_eq!(job.etag.as_ref(), Some(&modified.etag));
}

#[azure_table::test]
async fn modify_of_a_dynamic_entity_returns_the_new_etag_in_its_field(rows: TableClient) {
    let modify = rows.modify(("p", "r"), |row| drop(row.insert("n", 1)));
    let made = modify.or_insert(|| DynamicEntity::new("p", "r")).await.unwrap();
    assert_eq!(made.entity.etag.as_ref(), Some(&made.etag));
    let modified = rows.modify(("p", "r"), |row| drop(row.insert("n", 2))).await.unwrap();
    assert_eq!(modified.entity.etag.as_ref(), Some(&modified.etag));
}

#[azure_table::test]
async fn refreshed_and_echoed_entities_hold_the_stored_etag(jobs: TableClient<Job>) {
    let echoed = jobs.insert_returning(&job()).await.unwrap();
    assert_eq!(echoed.entity.etag.as_ref(), Some(&echoed.etag));

    let mut held: Versioned<Job> = echoed.clone();
    let stored = jobs.replace(&echoed).await.unwrap();
    jobs.refresh(&mut held).await.unwrap();
    assert_eq!((&held.etag, held.entity.etag.as_ref()), (&stored, Some(&stored)));
}

/// As the guides for users of other SDKs say.
#[azure_table::test]
async fn upserts_overwrite_a_newer_version_and_other_writes_do_not(jobs: TableClient<Job>) {
    jobs.insert(&job()).await.unwrap();
    let read = jobs.get(("q", 1)).versioned().await.unwrap().unwrap();
    let changed = jobs.modify(("q", 1), |job| job.done = true).await.unwrap();

    // Once with the ETag of `Versioned`, once with the field.
    let field = &read.entity;
    for (update, merge, delete) in [
        (jobs.replace(&read), jobs.merge(&read), jobs.delete(&read)),
        (jobs.replace(field), jobs.merge(field), jobs.delete(field)),
    ] {
        for outcome in [update.await.map(drop), merge.await.map(drop), delete.await] {
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::ConditionNotMet);
        }
    }
    let mut batch = jobs.batch();
    batch.replace(&read).unwrap();
    assert_eq!(batch.submit().await.unwrap_err().kind(), ErrorKind::ConditionNotMet);
    assert_eq!(jobs.get(("q", 1)).await.unwrap(), Some(changed.entity.clone()));

    for upsert in [
        jobs.insert_or_replace(&read),
        jobs.insert_or_merge(&read),
        jobs.insert_or_replace(&read.entity),
    ] {
        jobs.replace(&changed).unconditionally().await.unwrap();
        upsert.await.unwrap();
        assert!(!jobs.get(("q", 1)).await.unwrap().unwrap().done);
    }
    jobs.replace(&changed).unconditionally().await.unwrap();
    let mut batch = jobs.batch();
    batch.insert_or_replace(&read).unwrap();
    batch.submit().await.unwrap();
    assert!(!jobs.get(("q", 1)).await.unwrap().unwrap().done);
}
