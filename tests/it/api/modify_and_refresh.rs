//! Operations of several requests: modify, refresh, exists, insert-if-absent, delete-if-exists.

use azure_table::{
    Change, Deletion, DynamicEntity, Emulator, Error, ErrorKind, TableClient, TableEntity, TableServiceClient,
    Versioned,
};

#[derive(TableEntity, Debug, Clone, PartialEq)]
struct Counter {
    #[table(partition_key)]
    name: String,
    #[table(row_key)]
    of: String,
    value: i64,
}

fn counter(value: i64) -> Counter {
    Counter {
        name: "visits".into(),
        of: "home".into(),
        value,
    }
}

const KEY: (&str, &str) = ("visits", "home");

async fn counters() -> TableClient<Counter> {
    let counters = TableServiceClient::from_transport(Emulator::new())
        .table::<Counter>("Counters")
        .unwrap();
    counters.create_table().await.unwrap();
    counters
}

#[tokio::test(start_paused = true)]
async fn modify_of_64_writers_loses_no_change() {
    let counters = counters().await;
    counters.insert(&counter(0)).await.unwrap();
    let writers = (0..64).map(|_| {
        let counters = counters.clone();
        tokio::spawn(async move {
            for _ in 0..5 {
                counters
                    .modify(KEY, |counter| counter.value += 1)
                    .max_conflicts(1_000)
                    .await
                    .unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    assert_eq!(counters.get(KEY).await.unwrap().unwrap().value, 64 * 5);
}

#[tokio::test(start_paused = true)]
async fn modify_that_always_conflicts_is_an_error() {
    let counters = counters().await;
    counters.insert(&counter(0)).await.unwrap();
    let emulated = counters.clone();
    let mut runs = 0;
    let modify = counters.modify(KEY, |counter| {
        runs += 1;
        counter.value += 1;
        // Another writer is faster, each time.
        let other = emulated.clone();
        futures::executor::block_on(async { other.replace(&self::counter(runs)).await }).unwrap();
    });
    let error = modify.max_conflicts(3).await.unwrap_err();
    assert_eq!((error.kind(), runs), (ErrorKind::Contention, 4));
    assert!(
        error
            .to_string()
            .contains("4 conflicting writes, more than the limit of 3"),
        "{error}"
    );
}

#[tokio::test]
async fn closure_of_modify_may_keep_or_abort() {
    #[derive(Debug)]
    enum Mine {
        Full(i64),
        Table(Error),
    }
    impl From<Error> for Mine {
        fn from(error: Error) -> Self {
            Self::Table(error)
        }
    }
    let counters = counters().await;
    let etag = counters.insert(&counter(7)).await.unwrap();
    let kept = counters.modify(KEY, |_| Change::Keep).await.unwrap();
    assert_eq!((kept.value, &kept.etag), (7, &etag), "nothing is written");

    let full = |counter: &mut Counter| {
        counter.value += 1;
        if counter.value > 8 {
            Err(Mine::Full(counter.value))
        } else {
            Ok(())
        }
    };
    assert_eq!(counters.modify(KEY, full).await.unwrap().value, 8);
    assert!(matches!(counters.modify(KEY, full).await.unwrap_err(), Mine::Full(9)));
    assert_eq!(counters.get(KEY).await.unwrap().unwrap().value, 8);
    let error = counters.modify(("no", "such"), full).await.unwrap_err();
    assert!(matches!(error, Mine::Table(e) if e.kind() == ErrorKind::NotFound));
}

#[tokio::test]
async fn closure_of_modify_cannot_change_the_key() {
    let counters = counters().await;
    counters.insert(&counter(1)).await.unwrap();
    let error = counters
        .modify(KEY, |counter| counter.of = "away".into())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let text = error.to_string();
    assert!(
        text.contains(r#"from ("visits", "home") to ("visits", "away")"#),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn missing_entity_is_inserted_once() {
    let counters = counters().await;
    let adders = (0..8).map(|_| {
        counters
            .modify(KEY, |counter| counter.value += 1)
            .or_insert(|| counter(0))
    });
    for added in futures::future::join_all(adders).await {
        added.unwrap();
    }
    assert_eq!(counters.get(KEY).await.unwrap().unwrap().value, 8);
}

#[tokio::test]
async fn modify_of_a_missing_entity_names_its_keys() {
    let counters = counters().await;
    let error = counters.modify(KEY, |counter| counter.value += 1).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.entity(), Some(KEY));
    assert_eq!(
        error.to_string(),
        r#"modify in table Counters: entity ("visits", "home"): no entity has this key; `.or_insert(..)` would insert one"#
    );
    let kept = counters.modify(KEY, |_| Change::Keep).or_insert(|| counter(0));
    let error = kept.await.unwrap_err();
    assert_eq!((error.operation(), error.entity()), (Some("modify"), Some(KEY)));
    let error = counters.modify(("a/b", "c"), |_| ()).await.unwrap_err();
    assert_eq!(error.table(), Some("Counters"));
}

#[tokio::test]
async fn entity_of_or_insert_must_have_the_key_of_the_call() {
    let counters = counters().await;
    let first = 5;
    let made = counters
        .modify(KEY, |counter| counter.value += 1)
        .or_insert(|| counter(first));
    assert_eq!(made.await.unwrap().value, 6, "made of what the caller holds");
    let made = counters.modify(("no", "such"), |_| ()).or_insert(|| counter(0));
    let error = made.await.unwrap_err();
    let text = error.to_string();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(
        text.contains(r#"("visits", "home")"#) && text.contains(r#"("no", "such")"#),
        "{text}"
    );
}

/// The timeout covers the whole call, however often another writer is faster.
#[tokio::test(start_paused = true)]
async fn timeout_of_modify_covers_all_its_reads_and_writes() {
    let counters = counters().await;
    counters.insert(&counter(0)).await.unwrap();
    let limit = std::time::Duration::from_secs(3);
    let started = tokio::time::Instant::now();
    let emulated = counters.clone();
    let always_late = |counter: &mut Counter| {
        counter.value += 1;
        let other = emulated.clone();
        futures::executor::block_on(async { other.replace(&self::counter(0)).await }).unwrap();
    };
    let modify = counters.modify(KEY, always_late).max_conflicts(u32::MAX).timeout(limit);
    let error = modify.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.to_string().contains("the call timed out"), "{error}");
    let tick = std::time::Duration::from_millis(1);
    assert!(started.elapsed() <= limit + tick, "{:?}", started.elapsed());
}

#[tokio::test]
async fn refresh_takes_the_stored_row() {
    let counters = counters().await;
    counters.insert(&counter(1)).await.unwrap();
    let mut held: Versioned<Counter> = counters.get(KEY).versioned().await.unwrap().unwrap();
    counters.replace(&counter(2)).await.unwrap();
    held.value = 3;
    counters.refresh(&mut held).await.unwrap();
    assert_eq!(held.value, 2);

    counters.replace(&held).await.unwrap();

    counters.delete(KEY).await.unwrap();
    let error = counters.refresh(&mut held).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(
        error.to_string(),
        r#"refresh in table Counters: entity ("visits", "home"): the entity no longer exists"#
    );
    assert_eq!(held.value, 2, "it stays as it is");
}

#[tokio::test]
async fn presence_and_absence_are_results_not_errors() {
    let counters = counters().await;
    assert!(!counters.exists(KEY).await.unwrap());
    let etag = counters.insert_if_not_exists(&counter(1)).await.unwrap();
    assert!(etag.is_some());
    assert_eq!(counters.insert_if_not_exists(&counter(2)).await.unwrap(), None);
    assert!(counters.exists(KEY).await.unwrap());
    assert_eq!(counters.delete_if_exists(KEY).await.unwrap(), Deletion::Deleted);
    assert_eq!(counters.delete_if_exists(KEY).await.unwrap(), Deletion::WasMissing);
    // A missing table is an error.
    let nowhere = TableServiceClient::from_transport(Emulator::new())
        .dynamic_table("Nowhere")
        .unwrap();
    assert!(nowhere.exists(("p", "r")).await.is_err());
    assert!(nowhere.delete_if_exists(("p", "r")).await.is_err());
    assert!(
        nowhere
            .insert_if_not_exists(&DynamicEntity::new("p", "r"))
            .await
            .is_err()
    );
}
