//! Operations on one entity that are sent in a batch because of their keys: the results are the same as for single
//! requests.

use azure_table::{CallOptions, Deletion, DynamicEntity, ErrorKind, TableClient, TableOperation};

use crate::Backend;
use crate::errors::Rejected as _;
use crate::keys::AWKWARD;

/// Every kind of operation, for every awkward key, and for keys whose URL has more than 18,000 characters.
pub async fn awkward_keys_work_through_a_batch(backend: &Backend) {
    let table = backend.fresh_table::<DynamicEntity>().await;
    let via = &CallOptions::new().via_batch();
    // Services differ in their limits for URLs: Azurite has 512 units for a key.
    let long = "漢".repeat(if backend.name() == "Azurite" { 512 } else { 1_024 });
    // Nor does it read a row with an empty key in a batch.
    let are_read = |key: &&str| !key.is_empty() || backend.name() != "Azurite";
    for key in AWKWARD.iter().copied().chain([&*long]).filter(are_read) {
        let mut entity = DynamicEntity::new(key, key);
        entity.insert("Key", key);
        let etag = table.insert(&entity).with(via).await.unwrap();
        let read = table.get((key, key)).with(via).versioned().await.unwrap().unwrap();
        assert_eq!((read.entity.get("Key"), &read.etag), (Some(&key.into()), &etag));
        assert!(table.exists((key, key)).with(via).await.unwrap(), "{key:?}");
        entity.insert("More", 1);
        let etag = table.merge(&entity).if_match(etag).with(via).await.unwrap();
        let etag = table.replace(&entity).if_match(etag).with(via).await.unwrap();
        let counted = |row: &mut DynamicEntity| drop(row.insert("More", 2));
        let modified = table.modify((key, key), counted).with(via).await.unwrap();
        assert_ne!(modified.etag, etag);
        table.insert_or_replace(&entity).with(via).await.unwrap();
        table.insert_or_merge(&entity).with(via).await.unwrap();
        let retrieve = TableOperation::get::<DynamicEntity>((key, key));
        let retrieved = table.execute(retrieve).with(via).await.unwrap();
        let retrieved = retrieved.entity::<DynamicEntity>().unwrap().unwrap();
        assert_eq!(retrieved.properties, entity.properties, "{key:?}");
        let many = table.get_many([(key, key)]).with(via).all().await.unwrap();
        assert!(many[0].1.is_some(), "{key:?}");
        let deletion = table.delete_if_exists((key, key)).with(via).await.unwrap();
        assert_eq!(deletion, Deletion::Deleted, "{key:?}");
        // Nor does it echo in a batch.
        if backend.name() == "Azurite" {
            table.insert(&entity).with(via).await.unwrap();
        } else {
            let echoed = table.insert_returning(&entity).with(via).await.unwrap();
            assert_eq!(echoed.entity.properties, entity.properties);
        }
        table.delete((key, key)).with(via).await.unwrap();
    }
    assert_eq!(table.query().count().await.unwrap(), 0);
    backend.drop_table(&table).await;
}

/// Missing rows, existing rows and other versions are reported as without a batch.
pub async fn rejections_equal_those_of_single_operations(backend: &Backend) {
    let table = backend.fresh_table::<DynamicEntity>().await;
    let via = &CallOptions::new().via_batch();
    let via_batch = table.with(via);
    let (there, missing) = (DynamicEntity::new("p", "there"), DynamicEntity::new("p", "missing"));
    let stale = table.insert(&there).await.unwrap();
    table.replace(&there).await.unwrap();
    let elsewhere = backend.service().dynamic_table(backend.fresh_name()).unwrap();

    assert_eq!(via_batch.get(("p", "missing")).await.unwrap(), None);
    assert!(!via_batch.exists(("p", "missing")).await.unwrap());
    assert_eq!(via_batch.insert_if_not_exists(&there).await.unwrap(), None);
    let deletion = via_batch.delete_if_exists(("p", "missing")).await.unwrap();
    assert_eq!(deletion, Deletion::WasMissing);
    let retrieve = TableOperation::get::<DynamicEntity>(("p", "missing"));
    assert_eq!(via_batch.execute(retrieve).await.unwrap().status(), 404);

    let elsewhere_via_batch = elsewhere.with(via);
    let rejections = async |table: &TableClient| {
        [
            table.insert(&there).await.rejected(),
            table.merge(&missing).await.rejected(),
            table.replace(&missing).await.rejected(),
            table.delete(("p", "missing")).await.rejected(),
            table.replace(&there).if_match(stale.clone()).await.rejected(),
            table.delete(("p", "there")).if_match(stale.clone()).await.rejected(),
        ]
    };
    let pairs = rejections(&table).await.into_iter().zip(rejections(&via_batch).await);
    for (direct, through) in pairs {
        assert_eq!(through.kind(), direct.kind(), "{through}");
        assert_eq!(through.status(), direct.status(), "{through}");
        assert_eq!(through.code(), direct.code(), "{through}");
        assert_eq!(through.operation(), direct.operation());
        assert_eq!(through.table(), direct.table());
        assert_eq!((through.entity(), through.batch_index()), (direct.entity(), None));
        assert_eq!(through.may_have_applied(), direct.may_have_applied(), "{through}");
        assert!(through.request_id().is_some() && through.attempts() == 1, "{through}");
    }
    for error in [
        elsewhere_via_batch.get(("p", "r")).await.rejected(),
        elsewhere_via_batch.insert(&there).await.rejected(),
    ] {
        assert_eq!(error.kind(), ErrorKind::TableNotFound, "{error}");
        assert_eq!(error.code(), Some("TableNotFound"), "{error}");
    }
    backend.drop_table(&table).await;
}
