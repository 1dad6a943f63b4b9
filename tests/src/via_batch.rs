//! Operations on one entity that are sent in a batch because of their keys: the results are the same as for single
//! requests.

use azure_table::{CallOptions, Deletion, DynamicEntity, ErrorKind, TableOperation};

use crate::Backend;
use crate::keys::AWKWARD;

/// Every kind of operation, for every awkward key, and for keys whose URL has more than 18,000 characters.
pub async fn awkward_keys_work_through_a_batch(backend: &Backend) {
    let table = backend.fresh_table::<DynamicEntity>().await;
    // Services differ in their limits for URLs: Azurite has 512 units for a key.
    let long = "漢".repeat(if backend.name() == "Azurite" { 512 } else { 1_024 });
    // Nor does it read a row with an empty key in a batch.
    let are_read = |key: &&str| !key.is_empty() || backend.name() != "Azurite";
    for key in AWKWARD.iter().copied().chain([&*long]).filter(are_read) {
        let mut entity = DynamicEntity::new(key, key);
        entity.insert("Key", key);
        let etag = table
            .insert(&entity)
            .with(&CallOptions::new().via_batch())
            .await
            .unwrap();
        let read = table
            .get((key, key))
            .with(&CallOptions::new().via_batch())
            .versioned()
            .await
            .unwrap()
            .unwrap();
        assert_eq!((read.entity.get("Key"), &read.etag), (Some(&key.into()), &etag));
        assert!(
            table
                .exists((key, key))
                .with(&CallOptions::new().via_batch())
                .await
                .unwrap(),
            "{key:?}"
        );
        entity.insert("More", 1);
        let etag = table
            .merge(&entity)
            .if_match(etag)
            .with(&CallOptions::new().via_batch())
            .await
            .unwrap();
        let etag = table
            .replace(&entity)
            .if_match(etag)
            .with(&CallOptions::new().via_batch())
            .await
            .unwrap();
        let counted = |row: &mut DynamicEntity| drop(row.insert("More", 2));
        let modified = table
            .modify((key, key), counted)
            .with(&CallOptions::new().via_batch())
            .await
            .unwrap();
        assert_ne!(modified.etag, etag);
        table
            .insert_or_replace(&entity)
            .with(&CallOptions::new().via_batch())
            .await
            .unwrap();
        table
            .insert_or_merge(&entity)
            .with(&CallOptions::new().via_batch())
            .await
            .unwrap();
        let retrieve = TableOperation::get::<DynamicEntity>((key, key));
        let retrieved = table
            .execute(retrieve)
            .with(&CallOptions::new().via_batch())
            .await
            .unwrap();
        let retrieved = retrieved.entity::<DynamicEntity>().unwrap().unwrap();
        assert_eq!(retrieved.properties, entity.properties, "{key:?}");
        let many = table
            .get_many([(key, key)])
            .with(&CallOptions::new().via_batch())
            .all()
            .await
            .unwrap();
        assert!(many[0].1.is_some(), "{key:?}");
        let deletion = table
            .delete_if_exists((key, key))
            .with(&CallOptions::new().via_batch())
            .await
            .unwrap();
        assert_eq!(deletion, Deletion::Deleted, "{key:?}");
        // Nor does it echo in a batch.
        if backend.name() == "Azurite" {
            table
                .insert(&entity)
                .with(&CallOptions::new().via_batch())
                .await
                .unwrap();
        } else {
            let echoed = table
                .insert_returning(&entity)
                .with(&CallOptions::new().via_batch())
                .await
                .unwrap();
            assert_eq!(echoed.entity.properties, entity.properties);
        }
        table
            .delete((key, key))
            .with(&CallOptions::new().via_batch())
            .await
            .unwrap();
    }
    assert_eq!(table.query().count().await.unwrap(), 0);
    backend.drop_table(&table).await;
}

/// Missing rows, existing rows and other versions are reported as without a batch.
pub async fn rejections_equal_those_of_single_operations(backend: &Backend) {
    let table = backend.fresh_table::<DynamicEntity>().await;
    let via_batch = table.with(&CallOptions::new().via_batch());
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

    let elsewhere_via_batch = elsewhere.with(&CallOptions::new().via_batch());
    let pairs = [
        (table.insert(&there).await.err(), via_batch.insert(&there).await.err()),
        (table.merge(&missing).await.err(), via_batch.merge(&missing).await.err()),
        (
            table.replace(&missing).await.err(),
            via_batch.replace(&missing).await.err(),
        ),
        (
            table.delete(("p", "missing")).await.err(),
            via_batch.delete(("p", "missing")).await.err(),
        ),
        (
            table.replace(&there).if_match(stale.clone()).await.err(),
            via_batch.replace(&there).if_match(stale.clone()).await.err(),
        ),
        (
            table.delete(("p", "there")).if_match(stale.clone()).await.err(),
            via_batch.delete(("p", "there")).if_match(stale).await.err(),
        ),
    ];
    for (direct, through) in &pairs {
        let (direct, through) = (direct.as_ref().unwrap(), through.as_ref().unwrap());
        assert_eq!(through.kind(), direct.kind(), "{through}");
        assert_eq!(
            (through.status(), through.code()),
            (direct.status(), direct.code()),
            "{through}"
        );
        assert_eq!(
            (through.operation(), through.table()),
            (direct.operation(), direct.table())
        );
        assert_eq!((through.entity(), through.batch_index()), (direct.entity(), None));
        assert_eq!(through.may_have_applied(), direct.may_have_applied(), "{through}");
        assert!(through.request_id().is_some() && through.attempts() == 1, "{through}");
    }
    let no_table = [
        elsewhere_via_batch.get(("p", "r")).await.unwrap_err(),
        elsewhere_via_batch.insert(&there).await.unwrap_err(),
    ];
    for error in no_table {
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::TableNotFound, Some("TableNotFound")),
            "{error}"
        );
    }
    backend.drop_table(&table).await;
}
