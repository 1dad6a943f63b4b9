//! Entity group transactions: all or nothing.

use azure_table::batch::BatchRule;
use azure_table::operation::OperationKind;
use azure_table::{DynamicEntity, ErrorKind, TableOperation, Versioned};

use crate::Backend;
use crate::entities::{AllTypes, Tracked};
use crate::errors::Rejected as _;

/// All kinds of writes in one batch, each with its result.
pub async fn a_batch_mixes_operations_and_types(backend: &Backend) {
    let table = backend.fresh_table::<Tracked>().await;
    for number in 0..3 {
        table.insert(&Tracked::new("g", number, "old")).await.unwrap();
    }
    let before = table.get(("g", 0)).versioned().await.unwrap().unwrap();
    let mut batch = table.batch();
    let mut second = Tracked::new("g", 1, "merged");
    second.version = Some(table.get(("g", 1)).versioned().await.unwrap().unwrap().etag);
    batch
        .replace(&before)
        .unwrap()
        .merge(&second)
        .unwrap()
        .delete(("g", 2))
        .unwrap();
    batch.insert(&Tracked::new("g", 3, "new")).unwrap();
    batch.insert_or_replace(&Tracked::new("g", 4, "new")).unwrap();
    batch.insert_or_merge(&Tracked::new("g", 5, "new")).unwrap();
    batch.push(TableOperation::insert(&AllTypes::sample("g", "x"))).unwrap();
    assert_eq!((batch.len(), batch.remaining(), batch.is_full()), (7, 93, false));
    let results = batch.submit().await.unwrap();
    assert_eq!(results.len(), 7);
    assert_eq!(results[2].kind(), OperationKind::Delete);
    for (n, result) in results.iter().enumerate() {
        assert_eq!(result.etag().is_some(), n != 2, "{n}");
        assert!((200..300).contains(&result.status()));
    }
    let after = table.get(("g", 0)).versioned().await.unwrap().unwrap();
    let of_first = results.iter().find(|result| result.row_key() == Some("0000000000"));
    assert_eq!(Some(Some(&after.etag)), of_first.map(|result| result.etag()));
    assert_eq!(results[6].row_key(), Some("x"));
    assert_eq!(table.get(("g", 1)).await.unwrap().unwrap().value, "merged");
    assert_eq!(table.get(("g", 2)).await.unwrap(), None);
    let other = table.typed::<AllTypes>().get(("g", "x")).await.unwrap();
    assert_eq!(other, Some(AllTypes::sample("g", "x")));
    backend.drop_table(&table).await;
}

/// If one operation fails, nothing is applied, and the error names the operation.
pub async fn failed_batch_applies_nothing(backend: &Backend) {
    let table = backend.fresh_table::<Tracked>().await;
    table.insert(&Tracked::new("g", 2, "there")).await.unwrap();
    let mut batch = table.batch();
    for number in 0..4 {
        batch.insert(&Tracked::new("g", number, "new")).unwrap();
    }
    let error = batch.submit().await.rejected();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(error.code(), Some("EntityAlreadyExists"));
    assert_eq!((error.status(), error.batch_index()), (Some(409), Some(2)));
    assert_eq!(error.entity(), Some(("g", "0000000002")));
    assert!(!error.may_have_applied());
    let rows = table.query().all().await.unwrap();
    assert_eq!(rows.iter().map(|row| row.value.as_str()).collect::<Vec<_>>(), ["there"]);
    backend.drop_table(&table).await;
}

/// A failing first operation is named too.
pub async fn failing_first_operation_is_named(backend: &Backend) {
    let table = backend.fresh_table::<Tracked>().await;
    let mut batch = table.batch();
    batch.delete(("g", 1)).unwrap();
    batch.insert(&Tracked::new("g", 2, "new")).unwrap();
    let error = batch.submit().await.rejected();
    assert_eq!((error.kind(), error.batch_index()), (ErrorKind::NotFound, Some(0)));

    table.insert(&Tracked::new("g", 1, "v")).await.unwrap();
    let stale = table.get(("g", 1)).versioned().await.unwrap().unwrap();
    table.replace(&stale).await.unwrap();
    let mut batch = table.batch();
    batch.insert(&Tracked::new("g", 3, "new")).unwrap();
    batch.replace(&stale).unwrap();
    let error = batch.submit().await.rejected();
    assert_eq!(error.kind(), ErrorKind::ConditionNotMet);
    assert_eq!(error.batch_index(), Some(1));
    assert_eq!(table.get(("g", 3)).await.unwrap(), None);
    backend.drop_table(&table).await;
}

/// A hundred operations are accepted; the hundred-and-first, another partition and the same row again are returned.
pub async fn rules_of_batches_are_checked_before_a_request(backend: &Backend) {
    let table = backend.fresh_table::<Tracked>().await;
    let mut batch = table.batch();
    for number in 0..99 {
        batch.insert(&Tracked::new("g", number, "v")).unwrap();
    }
    let other = batch.insert(&Tracked::new("h", 99, "v")).unwrap_err();
    assert_eq!((other.rule(), other.index()), (BatchRule::OnePartition, 99));
    let twice = batch.delete(("g", 5)).unwrap_err();
    assert_eq!(twice.rule(), BatchRule::EachRowOnce);
    batch.insert(&Tracked::new("g", 99, "v")).unwrap();
    assert!(batch.is_full());
    let full = batch.insert(&Tracked::new("g", 100, "v")).unwrap_err();
    assert_eq!(full.rule(), BatchRule::Operations);
    assert!(full.to_string().contains("it can have 100 operations"), "{full}");
    let mut next = table.batch();
    next.push(full.into_operation().unwrap()).unwrap();
    assert_eq!(batch.submit().await.unwrap().len(), 100);
    assert_eq!(next.submit().await.unwrap().len(), 1);
    assert_eq!(table.query().all().await.unwrap().len(), 101);

    // A rejected operation is returned, and can be corrected.
    let unread = table.batch().replace(&Tracked::new("g", 7, "v")).unwrap_err();
    assert_eq!(unread.rule(), BatchRule::Valid);
    let why = format!("replace in table {}: operation 0", table.name());
    assert!(unread.to_string().starts_with(&why), "{unread}");
    let mut again = table.batch();
    again.push(unread.into_operation().unwrap().unconditionally()).unwrap();
    again.submit().await.unwrap();

    let empty = table.batch().submit().await.rejected();
    assert_eq!(empty.kind(), ErrorKind::InvalidInput);
    backend.drop_table(&table).await;
}

/// A batch over 4 MiB is rejected before it is sent; one just below is sent.
pub async fn large_batches_are_measured_exactly(backend: &Backend) {
    let table = backend.fresh_table::<DynamicEntity>().await;
    let mut batch = table.batch();
    let row = |n: u32| {
        let mut entity = DynamicEntity::new("p", n.to_string());
        for part in 0..10 {
            entity.insert(format!("P{part}"), "x".repeat(30_000).as_str());
        }
        entity
    };
    let rejected = (0..100).find_map(|n| batch.insert(&row(n)).err()).unwrap();
    assert_eq!(rejected.rule(), BatchRule::Bytes);
    assert_eq!(rejected.index(), 13);
    assert!(rejected.to_string().contains("the limit of 4194304"), "{rejected}");
    assert_eq!(batch.submit().await.unwrap().len(), 13);
    backend.drop_table(&table).await;
}

/// An insert that requests it has the entity in its response, alone and in a batch; other operations of the batch do
/// not.
pub async fn inserts_are_echoed_on_request(backend: &Backend) {
    let table = backend.fresh_table::<AllTypes>().await;
    let sample = |row: &str| AllTypes::sample("g", row);
    let stored = table.insert_returning(&sample("1")).await.unwrap();
    assert_eq!(stored.entity, sample("1"));
    let read = table.get(("g", "1")).versioned().await.unwrap().unwrap();
    assert_eq!(read, stored);
    let again = table.insert_returning(&sample("1")).await.rejected();
    assert_eq!(again.kind(), ErrorKind::AlreadyExists);

    let plain = table.execute(TableOperation::insert(&sample("2"))).await.unwrap();
    assert_eq!((plain.status(), plain.entity::<AllTypes>().unwrap()), (204, None));

    let mut batch = table.batch();
    batch
        .insert(&sample("3"))
        .unwrap()
        .insert_returning(&sample("4"))
        .unwrap();
    batch
        .insert_or_replace(&sample("1"))
        .unwrap()
        .delete(("g", "2"))
        .unwrap();
    let results = batch.submit().await.unwrap();
    let statuses: Vec<_> = results.iter().map(|it| it.status()).collect();
    assert_eq!(statuses, [204, 201, 204, 204]);
    for (index, result) in results.iter().enumerate() {
        let echoed = result.entity::<Versioned<AllTypes>>().unwrap();
        // Azurite's batches have responses without bodies.
        let is_echoed = index == 1 && backend.name() != "Azurite";
        assert_eq!(echoed.is_some(), is_echoed, "{index}");
        if let Some(echoed) = echoed {
            assert_eq!((&echoed.entity, Some(&echoed.etag)), (&sample("4"), result.etag()));
        }
    }
    backend.drop_table(&table).await;
}

/// A single read is an ordinary operation; in a batch it must be the only one.
pub async fn a_retrieve_is_alone_in_its_batch(backend: &Backend) {
    let table = backend.fresh_table::<Tracked>().await;
    table.insert(&Tracked::new("g", 1, "there")).await.unwrap();
    let stored = table.get(("g", 1)).versioned().await.unwrap().unwrap();

    let retrieve = |number: u32| TableOperation::get::<Tracked>(("g", number));
    let alone = table.execute(retrieve(1)).await.unwrap();
    let mut batch = table.batch();
    batch.get(("g", 1)).unwrap();
    let results = batch.submit().await.unwrap();
    assert_eq!(results.len(), 1);
    for found in [&alone, &results[0]] {
        assert_eq!((found.kind(), found.status()), (OperationKind::Get, 200));
        assert_eq!(found.etag(), Some(&stored.etag));
        assert_eq!(found.entity::<Versioned<Tracked>>().unwrap().as_ref(), Some(&stored));
    }

    let alone = table.execute(retrieve(2)).await.unwrap();
    let mut batch = table.batch();
    batch.get(("g", 2)).unwrap();
    for missing in [&alone, &batch.submit().await.unwrap()[0]] {
        assert_eq!((missing.status(), missing.etag()), (404, None));
        assert_eq!(missing.entity::<Tracked>().unwrap(), None);
    }

    let mut batch = table.batch();
    batch.insert(&Tracked::new("g", 3, "new")).unwrap();
    let rejected = batch.get(("g", 1)).unwrap_err();
    assert_eq!((rejected.rule(), rejected.index()), (BatchRule::GetAlone, 1));
    let mut batch = table.batch();
    batch.push(rejected.into_operation().unwrap()).unwrap();
    assert_eq!((batch.is_full(), batch.remaining()), (true, 0));
    let rejected = batch.insert(&Tracked::new("g", 3, "new")).unwrap_err();
    assert_eq!((rejected.rule(), rejected.index()), (BatchRule::GetAlone, 1));
    assert_eq!(batch.submit().await.unwrap()[0].status(), 200);
    assert_eq!(table.query().count().await.unwrap(), 1);
    backend.drop_table(&table).await;
}
