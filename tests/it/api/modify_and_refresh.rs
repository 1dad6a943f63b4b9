//! Operations of several requests: modify, refresh, exists, insert-if-absent, delete-if-exists.

use std::time::Duration;

use azure_table::{Change, Deletion, DynamicEntity, Error, ErrorKind, TableClient, TableServiceClient, Versioned};
use azure_table_tests::entities::Counter;
use azure_table_tests::errors::{assert_contains, assert_error};

const KEY: (&str, &str) = ("visits", "home");

fn counter(value: i64) -> Counter {
    Counter::new(KEY.0, KEY.1, value)
}

/// Counts, but another writer is faster each time.
fn increment_too_late(counters: &TableClient<Counter>) -> impl FnMut(&mut Counter) + use<> {
    let other = counters.clone();
    move |counter| {
        counter.value += 1;
        futures::executor::block_on(other.replace(&self::counter(0)).into_future()).unwrap();
    }
}

#[azure_table::test(start_paused)]
async fn modify_of_64_writers_loses_no_change(counters: TableClient<Counter>) {
    counters.insert(&counter(0)).await.unwrap();
    let writers = (0..64).map(|_| {
        let counters = counters.clone();
        tokio::spawn(async move {
            for _ in 0..5 {
                let modify = counters.modify(KEY, |counter| counter.value += 1);
                modify.max_conflicts(1_000).await.unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    assert_eq!(counters.get(KEY).await.unwrap().unwrap().value, 64 * 5);
}

#[azure_table::test(start_paused)]
async fn modify_that_always_conflicts_is_an_error(counters: TableClient<Counter>) {
    counters.insert(&counter(0)).await.unwrap();
    let (mut runs, mut late) = (0, increment_too_late(&counters));
    let modify = counters.modify(KEY, |counter| {
        runs += 1;
        late(counter);
    });
    let error = modify.max_conflicts(3).await.unwrap_err();
    assert_eq!((error.kind(), runs), (ErrorKind::Contention, 4));
    assert_contains(&error, "4 conflicting writes, more than the limit of 3");
}

#[azure_table::test]
async fn closure_of_modify_may_keep_or_abort(counters: TableClient<Counter>) {
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

#[azure_table::test]
async fn closure_of_modify_cannot_change_the_key(counters: TableClient<Counter>) {
    counters.insert(&counter(1)).await.unwrap();
    let moved = counters.modify(KEY, |counter| counter.name = "away".into());
    let why = r#"from ("visits", "home") to ("visits", "away")"#;
    assert_error(&moved.await.unwrap_err(), ErrorKind::InvalidInput, why);
}

#[azure_table::test(start_paused)]
async fn missing_entity_is_inserted_once(counters: TableClient<Counter>) {
    let add = || counters.modify(KEY, |counter| counter.value += 1);
    let adders = (0..8).map(|_| add().or_insert(|| counter(1)));
    for added in futures::future::join_all(adders).await {
        added.unwrap();
    }
    assert_eq!(counters.get(KEY).await.unwrap().unwrap().value, 8);
}

#[azure_table::test]
async fn modify_of_a_missing_entity_names_its_keys(counters: TableClient<Counter>) {
    let error = counters.modify(KEY, |counter| counter.value += 1).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.entity(), Some(KEY));
    assert_eq!(
        error.to_string(),
        r#"modify in table Counters: entity ("visits", "home"): no entity has this key; `.or_insert(..)` would insert one"#
    );
    assert_eq!(error.operation(), Some("modify"));
    let error = counters.modify(("a/b", "c"), |_| ()).await.unwrap_err();
    assert_eq!(error.table(), Some("Counters"));
}

#[azure_table::test]
async fn entity_of_or_insert_must_have_the_key_of_the_call(counters: TableClient<Counter>) {
    let first = 5;
    let made = counters.modify(KEY, |counter| counter.value += 1);
    let made = made.or_insert(|| counter(first)).await.unwrap();
    assert_eq!(
        (made.value, counters.get(KEY).await.unwrap().unwrap().value),
        (5, 5),
        "inserted as it is"
    );
    let made = counters.modify(("no", "such"), |_| ()).or_insert(|| counter(0));
    let error = made.await.unwrap_err();
    assert_error(&error, ErrorKind::InvalidInput, r#"("visits", "home")"#);
    assert_contains(&error, r#"("no", "such")"#);
}

/// The timeout covers the whole call, however often another writer is faster.
#[azure_table::test(start_paused)]
async fn timeout_of_modify_covers_all_its_reads_and_writes(counters: TableClient<Counter>) {
    counters.insert(&counter(0)).await.unwrap();
    let limit = Duration::from_secs(3);
    let started = tokio::time::Instant::now();
    let modify = counters.modify(KEY, increment_too_late(&counters));
    let error = modify.max_conflicts(u32::MAX).timeout(limit).await.unwrap_err();
    assert_error(&error, ErrorKind::Timeout, "the call timed out");
    let tick = Duration::from_millis(1);
    assert!(started.elapsed() <= limit + tick, "{:?}", started.elapsed());
}

#[azure_table::test]
async fn refresh_takes_the_stored_row(counters: TableClient<Counter>) {
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

#[azure_table::test]
async fn presence_and_absence_are_results_not_errors(counters: TableClient<Counter>, service: TableServiceClient) {
    assert!(!counters.exists(KEY).await.unwrap());
    let etag = counters.insert_if_not_exists(&counter(1)).await.unwrap();
    assert!(etag.is_some());
    assert_eq!(counters.insert_if_not_exists(&counter(2)).await.unwrap(), None);
    assert!(counters.exists(KEY).await.unwrap());
    assert_eq!(counters.delete_if_exists(KEY).await.unwrap(), Deletion::Deleted);
    assert_eq!(counters.delete_if_exists(KEY).await.unwrap(), Deletion::WasMissing);
    // A missing table is an error.
    let nowhere = service.dynamic_table("Nowhere").unwrap();
    assert!(nowhere.exists(("p", "r")).await.is_err());
    assert!(nowhere.delete_if_exists(("p", "r")).await.is_err());
    let row = DynamicEntity::new("p", "r");
    assert!(nowhere.insert_if_not_exists(&row).await.is_err());
}
