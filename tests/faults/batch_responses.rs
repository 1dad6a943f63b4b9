//! Responses to batches: the operation that failed, and responses that the client cannot trust.

use azure_table::{DynamicEntity, Emulator, ErrorKind, TableClient, TableServiceClient};
use azure_table_tests::canned::{Canned, Step};
use azure_table_tests::errors::kind_in_doubt;

use super::{batch_response as parts, table, table_of};

fn failure(message: &str) -> String {
    format!(r#"{{"odata.error":{{"code":"InvalidInput","message":{{"lang":"en-US","value":"{message}"}}}}}}"#)
}

async fn insert_two(step: Step) -> azure_table::Result<usize> {
    let mut batch = table(&Canned::new([step])).batch();
    batch.insert(&DynamicEntity::new("p", "0")).unwrap();
    batch.insert(&DynamicEntity::new("p", "1")).unwrap();
    batch.submit().await.map(|results| results.len())
}

#[tokio::test(start_paused = true)]
async fn failing_operation_is_named_only_if_the_batch_has_it() {
    for (message, index) in [
        ("0:Bad.", Some(0)),
        ("1:Bad.", Some(1)),
        ("2:Bad.", None),
        ("Bad.", None),
    ] {
        let rejected = parts(&[("400 Bad Request", &failure(message))]);
        let error = insert_two(rejected).await.unwrap_err();
        let row_key = error.entity().map(|(_, row_key)| row_key.to_owned());
        assert_eq!(error.batch_index(), index, "{message}");
        assert_eq!(row_key, index.map(|index| index.to_string()), "{message}");
        assert!(!error.may_have_applied());
    }
}

#[tokio::test(start_paused = true)]
async fn write_without_an_etag_in_its_response_is_in_doubt() {
    let written = ("204 No Content\r\nETag: e", "");
    assert_eq!(insert_two(parts(&[written, written])).await.unwrap(), 2);
    for step in [
        parts(&[written, ("204 No Content", "")]),
        parts(&[written]),
        parts(&[written, written, written]),
        parts(&[written, ("302 Found", "")]),
    ] {
        let error = insert_two(step).await.unwrap_err();
        assert_eq!(kind_in_doubt(&error), Some(ErrorKind::InvalidResponse), "{error}");
    }
}

#[azure_table::test(start_paused)]
async fn retrieve_in_a_batch_returns_an_entity_or_none(table: TableClient) {
    table.insert(&DynamicEntity::new("p", "0")).await.unwrap();
    for (row_key, is_stored) in [("0", true), ("1", false)] {
        let mut batch = table.batch();
        batch.get(("p", row_key)).unwrap();
        let results = batch.submit().await.unwrap();
        let entity = results[0].entity::<DynamicEntity>().unwrap();
        assert_eq!(entity.is_some(), is_stored);
        assert_eq!(results[0].status(), if is_stored { 200 } else { 404 });
    }
}

#[tokio::test(start_paused = true)]
async fn retrieve_from_a_missing_table_is_an_error() {
    let mut batch = table_of::<DynamicEntity>(Emulator::new()).batch();
    batch.get(("p", "r")).unwrap();
    let error = batch.submit().await.unwrap_err();
    let expected = (ErrorKind::TableNotFound, Some("TableNotFound"));
    assert_eq!((error.kind(), error.code()), expected);
}

#[azure_table::test(start_paused)]
async fn batch_creates_its_missing_table_if_the_handle_has_the_option(service: TableServiceClient) {
    let table = service.dynamic_table("Things").unwrap();
    let mut batch = table.create_missing_table().batch();
    batch.insert(&DynamicEntity::new("p", "0")).unwrap();
    batch.submit().await.unwrap();
    assert!(table.get(("p", "0")).await.unwrap().is_some());

    let single = service.dynamic_table("Others").unwrap().create_missing_table();
    single.insert(&DynamicEntity::new("p", "0")).await.unwrap();
    assert!(single.get(("p", "0")).await.unwrap().is_some());
}

/// Storage omits the index only if the batch has one operation.
#[tokio::test(start_paused = true)]
async fn failure_of_several_operations_is_at_its_index_or_at_none() {
    for (index, expected) in [("0:", Some(0)), ("", None)] {
        let failure = failure(&format!("{index}The specified entity already exists."));
        let failure = failure.replace("InvalidInput", "EntityAlreadyExists");
        let error = insert_two(parts(&[("409 Conflict", &failure)])).await.unwrap_err();
        let row = expected.map(|_| ("p", "0"));
        assert_eq!((error.batch_index(), error.entity()), (expected, row));
    }
}
