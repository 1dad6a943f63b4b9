//! Operations on the service of an account, and on tables as a whole.

use std::time::Duration;

use azure_table::service::{CorsRule, Creation, Logging, Metrics, ServiceProperties, StoredAccessPolicy};
use azure_table::{DateTime, Deletion, DynamicEntity, ErrorKind, TablePermissions, TableSas};
use futures::TryStreamExt;

use crate::Backend;
use crate::errors::Rejected as _;

/// Each operation on a table finds, deletes and recreates it.
pub async fn table_is_created_found_and_deleted(backend: &Backend) {
    let table = backend.service().dynamic_table(backend.fresh_name()).unwrap();
    assert!(!table.table_exists().await.unwrap());
    assert_eq!(table.delete_table_if_exists().await.unwrap(), Deletion::WasMissing);
    table.create_table().await.unwrap();
    assert!(table.table_exists().await.unwrap());
    assert_eq!(table.delete_table_if_exists().await.unwrap(), Deletion::Deleted);
    assert!(!table.table_exists().await.unwrap());
}

/// One of many concurrent creations creates the table, and the others find it.
pub async fn concurrent_creations_create_a_table_once(backend: &Backend) {
    let table = backend.service().dynamic_table(backend.fresh_name()).unwrap();
    let made = futures::future::join_all((0..16).map(|_| table.create_table_if_not_exists())).await;
    let created = made.iter().filter(|made| matches!(made, Ok(Creation::Created))).count();
    let existed = made.iter().filter(|made| matches!(made, Ok(Creation::Existed))).count();
    assert_eq!((created, existed), (1, 15), "{made:?}");
    table.delete_table().await.unwrap();
}

/// Missing tables are created, and the others found; a prefix separates them.
pub async fn tables_are_ensured_below_a_prefix(backend: &Backend) {
    let name = backend.fresh_name();
    let service = backend.service().prefixed(&name).unwrap();
    service.dynamic_table("B").unwrap().create_table().await.unwrap();
    let ensured = service.ensure_tables(["A", "b", "C"]).await.unwrap();
    let ensured: Vec<_> = ensured.iter().map(|(table, made)| (table.as_str(), *made)).collect();
    let (created, existed) = (Creation::Created, Creation::Existed);
    assert_eq!(ensured, [("A", created), ("b", existed), ("C", created)]);
    assert_eq!(service.list_tables().await.unwrap(), ["A", "B", "C"]);
    assert_eq!(service.list_tables().starting_with("C").await.unwrap(), ["C"]);
    let names: Vec<_> = service.list_tables().stream().try_collect().await.unwrap();
    assert_eq!(names, ["A", "B", "C"]);
    assert_eq!(service.list_tables().limit(2).await.unwrap(), ["A", "B"]);
    let all = backend.service().list_tables().starting_with(&name).await.unwrap();
    assert_eq!(all.len(), 3);
    for table in ["A", "B", "C"] {
        service.dynamic_table(table).unwrap().delete_table().await.unwrap();
    }
}

/// A write to a missing table creates it, alone or in a batch; a read does not.
pub async fn write_creates_its_table_on_request(backend: &Backend) {
    let table = backend.service().dynamic_table(backend.fresh_name()).unwrap();
    let eager = table.create_missing_table();
    let error = eager.get(("p", "r")).await.rejected();
    assert_eq!(error.kind(), ErrorKind::TableNotFound, "{error}");
    eager.insert(&DynamicEntity::new("p", "1")).await.unwrap();
    table.delete_table().await.unwrap();

    let other = backend.service().dynamic_table(backend.fresh_name()).unwrap();
    let mut batch = other.create_missing_table().batch();
    batch.insert(&DynamicEntity::new("p", "1")).unwrap();
    batch.insert(&DynamicEntity::new("p", "2")).unwrap();
    batch.submit().await.unwrap();
    assert_eq!(other.query().all().await.unwrap().len(), 2);
    other.delete_table().await.unwrap();
}

/// Policies are added, changed and removed one by one; the others stay.
pub async fn access_policies_are_changed_one_by_one(backend: &Backend) {
    let table = backend.fresh_table::<DynamicEntity>().await;
    assert_eq!(table.access_policies().await.unwrap(), []);
    let start: DateTime = "2030-01-01T00:00:00Z".parse().unwrap();
    let first = StoredAccessPolicy {
        start: Some(start),
        expiry: Some(start + Duration::from_secs(60)),
        permissions: Some(TablePermissions::READ | TablePermissions::DELETE),
        ..StoredAccessPolicy::new("first")
    };
    table.add_access_policy(first.clone()).await.unwrap();
    let second = StoredAccessPolicy::new("second & <last>");
    // Azurite rejects policies without all members.
    let second = match backend.name() {
        "Azurite" => StoredAccessPolicy {
            id: second.id,
            ..first.clone()
        },
        _ => second,
    };
    let policies = table.add_access_policy(second.clone()).await.unwrap();
    assert_eq!(policies, [first.clone(), second.clone()]);
    assert_eq!(table.access_policies().await.unwrap(), policies);

    let mut changed = first;
    changed.permissions = Some(TablePermissions::READ);
    table.replace_access_policy(changed.clone()).await.unwrap();
    assert_eq!(table.access_policies().await.unwrap(), [changed, second.clone()]);
    table.revoke_access_policy("first").await.unwrap();
    assert_eq!(table.access_policies().await.unwrap(), [second]);
    table.revoke_all_access_policies().await.unwrap();
    assert_eq!(table.access_policies().await.unwrap(), []);
    table.delete_table().await.unwrap();
    let error = table.access_policies().await.rejected();
    assert_eq!(error.kind(), ErrorKind::TableNotFound, "{error}");
}

/// A signature without members of its own is valid as long as its policy exists.
pub async fn policy_grants_and_revokes_permissions(backend: &Backend) {
    let table = backend.fresh_table::<DynamicEntity>().await;
    let policy = StoredAccessPolicy {
        start: Some(DateTime::now() - Duration::from_secs(60)),
        expiry: Some(DateTime::now() + Duration::from_secs(3_600)),
        permissions: Some(TablePermissions::READ),
        ..StoredAccessPolicy::new("readers")
    };
    table.add_access_policy(policy).await.unwrap();
    let key = backend.service().account_key().unwrap();
    let token = TableSas::new(table.name()).policy("readers").sign(key).unwrap();
    let reader = backend.with_sas(&token).dynamic_table(table.name()).unwrap();
    assert_eq!(reader.query().all().await.unwrap(), []);
    let error = reader.insert(&DynamicEntity::new("p", "r")).await.rejected();
    assert_eq!(error.status(), Some(403), "{error}");
    table.revoke_access_policy("readers").await.unwrap();
    let error = reader.query().all().await.rejected();
    assert_eq!(error.status(), Some(403), "{error}");
    table.delete_table().await.unwrap();
}

/// Properties are read as they were set, and properties that a call does not name stay.
pub async fn properties_are_set_and_read(backend: &Backend) {
    let service = backend.service();
    let before = service.properties().await.unwrap();
    let logging = Logging {
        read: true,
        retention_days: Some(3),
        ..Logging::default()
    };
    let metrics = Metrics {
        enabled: true,
        include_apis: true,
        retention_days: Some(7),
        ..Metrics::default()
    };
    let mut cors = [CorsRule::new(["https://contoso.com"], ["GET", "PUT"])];
    // Azurite rejects rules without them.
    cors[0].allowed_headers = vec!["x-ms-*".into()];
    cors[0].exposed_headers = vec!["etag".into()];
    let wanted = ServiceProperties::default()
        .logging(logging.clone())
        .hour_metrics(metrics.clone())
        .cors(cors.clone());
    service.set_properties(wanted).await.unwrap();
    let read = service.properties().await.unwrap();
    assert_eq!(read.logging, Some(logging));
    assert_eq!(read.hour_metrics, Some(metrics));
    assert_eq!(read.minute_metrics, before.minute_metrics);
    assert_eq!(read.cors, Some(cors.to_vec()));
    service.set_properties(before).await.unwrap();
}

/// The secondary reports its replication state.
pub async fn statistics_are_those_of_the_secondary(backend: &Backend) {
    let statistics = backend.service().statistics().await.unwrap();
    assert_eq!(statistics.status, azure_table::service::GeoReplicationStatus::Live);
    assert!(statistics.last_sync_time.is_some());
    backend.service().ping().await.unwrap();
}
