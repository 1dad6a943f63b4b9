//! Tables that are being deleted, and operations that wait for them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table_tests::canned::{Canned, Step};

use azure_table::emulator::EmulatorClock;
use azure_table::service::RecreateProgress;
use azure_table::{DynamicEntity, Emulator, ErrorKind, TableClient, TableServiceClient};
use azure_table_tests::errors::assert_error;

use crate::api::create;

const DELETION: Duration = Duration::from_secs(42);

async fn table() -> (TableClient<DynamicEntity>, EmulatorClock) {
    let clock = EmulatorClock::system();
    let emulator = Emulator::new().shared_clock(clock.clone()).deletion_time(DELETION);
    let table = create::<DynamicEntity>(emulator, "Orders").await;
    table.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    (table, clock)
}

#[tokio::test]
async fn a_table_that_is_being_deleted_does_not_exist() {
    let (table, clock) = table().await;
    table.delete_table().await.unwrap();
    let insert = table.create_missing_table().insert(&DynamicEntity::new("p", "r"));
    for error in [
        table.create_table().await.unwrap_err(),
        table.create_table_if_not_exists().await.unwrap_err(),
        insert.await.unwrap_err(),
    ] {
        let code = Some("TableBeingDeleted");
        assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, code), "{error}");
    }
    assert!(!table.table_exists().await.unwrap());
    clock.advance(DELETION);
    table.create_table().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn table_is_recreated_as_soon_as_possible() {
    let (table, clock) = table().await;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    table
        .recreate_table(Duration::from_secs(120))
        .on_progress(move |progress| {
            if let RecreateProgress::BeingDeleted { pause, .. } = progress {
                clock.advance(pause);
            }
            log.lock().unwrap().push(progress);
        })
        .await
        .unwrap();
    assert_eq!(table.query().all().await.unwrap(), []);
    let heard = heard.lock().unwrap();
    assert_eq!(heard.first(), Some(&RecreateProgress::Deleted));
    assert_eq!(heard.last(), Some(&RecreateProgress::Created));
    assert_eq!(heard.len(), 2 + 9, "every 5 s for 42 s: {heard:?}");
}

#[tokio::test(start_paused = true)]
async fn deadline_ends_the_wait_with_a_conflict() {
    let (table, _) = table().await;
    let started = tokio::time::Instant::now();
    let error = table.recreate_table(Duration::from_secs(12)).await.unwrap_err();
    let why = "still being deleted after the total timeout of 12s";
    assert_error(&error, ErrorKind::Conflict, why);
    let elapsed = started.elapsed();
    assert!((11..=12).contains(&elapsed.as_secs()), "{elapsed:?}");
}

#[tokio::test(start_paused = true)]
async fn missing_table_is_created_immediately() {
    let service = TableServiceClient::from_transport(Emulator::new().deletion_time(DELETION));
    let table = service.dynamic_table("Orders").unwrap();
    table.recreate_table(Duration::from_secs(1)).await.unwrap();
    assert!(table.table_exists().await.unwrap());

    let error = table.recreate_table(Duration::ZERO).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "no time, no delete");
    assert!(table.table_exists().await.unwrap());
}

/// Another process deleted the table, or this one before it restarted.
#[tokio::test(start_paused = true)]
async fn table_deleted_by_another_client_is_recreated() {
    let deleting = r#"{"odata.error":{"code":"TableBeingDeleted","message":{"lang":"en-US","value":"Wait."}}}"#;
    let exists = r#"{"odata.error":{"code":"TableAlreadyExists","message":{"lang":"en-US","value":"There."}}}"#;
    let canned = Canned::new([
        Step::response(409, &[], deleting),
        Step::response(409, &[], deleting),
        // The response is lost, and the next attempt finds the table.
        Step::Fail(azure_table::transport::Delivery::MaybeSent),
        Step::response(409, &[], exists),
    ]);
    let table = canned.service().dynamic_table("Orders").unwrap();
    // Or another client did.
    let error = table.recreate_table(Duration::from_secs(60)).await.unwrap_err();
    assert_eq!((error.kind(), canned.sent().len()), (ErrorKind::InDoubt, 4));
}

/// A service that maps kinds to statuses of its own must not take a missing table for a missing row.
#[tokio::test]
async fn missing_table_and_missing_row_have_different_kinds() {
    for (emulator, of_row) in [
        (Emulator::new(), ErrorKind::TableNotFound),
        (Emulator::cosmos(), ErrorKind::NotFound),
    ] {
        let service = TableServiceClient::from_transport(emulator);
        let [table, missing] = ["Things", "Missing"].map(|name| service.dynamic_table(name).unwrap());
        table.create_table().await.unwrap();
        let entity = DynamicEntity::new("p", "r");
        let kind = |result: azure_table::Result<()>| result.unwrap_err().kind();
        assert_eq!(kind(table.replace(&entity).await.map(drop)), ErrorKind::NotFound);
        assert_eq!(kind(table.delete(("p", "r")).await.map(drop)), ErrorKind::NotFound);

        assert_eq!(kind(missing.replace(&entity).await.map(drop)), of_row);
        assert_eq!(kind(missing.delete(("p", "r")).await.map(drop)), of_row);
        let read = missing.get(("p", "r")).await;
        assert_eq!(matches!(read, Ok(None)), of_row == ErrorKind::NotFound, "{read:?}");
        let deletion = missing.delete_table().await.unwrap_err().to_string();
        assert!(!deletion.contains("create_table"), "{deletion}");

        let expected = ErrorKind::TableNotFound;
        assert_eq!(kind(missing.insert(&entity).await.map(drop)), expected);
        assert_eq!(kind(missing.insert_or_merge(&entity).await.map(drop)), expected);
        assert_eq!(kind(missing.query().allow_table_scan().all().await.map(drop)), expected);
        assert_eq!(kind(missing.delete_table().await.map(drop)), expected);
        for entities in [&[entity.clone()][..], &[entity.clone(), DynamicEntity::new("p", "s")]] {
            let mut batch = missing.batch();
            for entity in entities {
                batch.insert(entity).unwrap();
            }
            assert_eq!(kind(batch.submit().await.map(drop)), expected);
        }
        let bulk = missing.bulk().insert([entity.clone(), DynamicEntity::new("q", "s")]);
        assert_eq!(bulk.await.unwrap_err().into_error().kind(), expected);
    }
}

#[tokio::test]
async fn feature_that_the_service_lacks_is_unsupported() {
    let service = Canned::new([Step::status(501)]).service();
    let query = service.dynamic_table("Things").unwrap().query();
    let error = query.allow_table_scan().all().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Unsupported, 1), "{error}");
}
