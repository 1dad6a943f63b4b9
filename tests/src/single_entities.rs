//! Single entities: written, read, changed, under their ETags.

use azure_table::{DynamicEntity, EdmValue, ErrorKind, TableOperation, Versioned};

use crate::Backend;
use crate::entities::{AllTypes, Tracked};
use crate::errors::Rejected as _;

/// An entity is read as it was written, bit by bit, at both metadata levels.
pub async fn every_type_is_read_as_written(backend: &Backend) {
    let table = backend.fresh_table::<AllTypes>().await;
    let sample = AllTypes::sample("p", "r");
    let cached = Some("not stored".into());
    let written = AllTypes {
        cached,
        ..sample.clone()
    };
    let etag = table.insert(&written).await.unwrap();
    assert_eq!(table.get(("p", "r")).await.unwrap().unwrap(), sample);
    let versioned = table.get(&sample).versioned().await.unwrap().unwrap();
    assert_eq!(versioned.entity, sample);
    assert_eq!(versioned.etag, etag);

    let dynamic = table.typed::<DynamicEntity>().get(("p", "r")).await.unwrap().unwrap();
    assert_eq!(dynamic.get("Large"), Some(&EdmValue::Int64(i64::MAX)));
    assert_eq!(dynamic.get("Ratio"), Some(&EdmValue::Double(5.0)));
    assert_eq!(dynamic.get("Moment"), Some(&EdmValue::DateTime(sample.moment)));
    assert_eq!(dynamic.get("Id"), Some(&EdmValue::Guid(sample.id)));
    assert_eq!(dynamic.get("Bytes"), Some(&EdmValue::from(sample.bytes.clone())));
    assert_eq!(dynamic.get("opt"), Some(&EdmValue::Int64(1 << 40)));
    assert_eq!(dynamic.get("Cached"), None);
    assert_eq!(dynamic.etag.as_ref(), Some(&etag));
    assert_eq!(dynamic.timestamp, Some(versioned.timestamp));
    backend.drop_table(&table).await;
}

/// Doubles keep their bits, including the special ones.
pub async fn special_doubles_are_read_as_written(backend: &Backend) {
    let table = backend.fresh_table::<AllTypes>().await;
    for (n, ratio) in [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN_POSITIVE,
        0.1,
        1e300,
        123.0,
    ]
    .into_iter()
    .enumerate()
    {
        let entity = AllTypes {
            ratio,
            ..AllTypes::sample("p", &n.to_string())
        };
        table.insert(&entity).await.unwrap();
        let read = table.get(&entity).await.unwrap().unwrap();
        let is_same = read.ratio.to_bits() == ratio.to_bits();
        assert!(is_same || (read.ratio.is_nan() && ratio.is_nan()), "{ratio}");
    }
    backend.drop_table(&table).await;
}

/// `None` is the absence of a property: a replace removes it, a merge keeps it.
pub async fn none_is_an_absent_property(backend: &Backend) {
    let table = backend.fresh_table::<AllTypes>().await;
    let full = AllTypes::sample("p", "r");
    let without = AllTypes {
        maybe: None,
        small: 1,
        ..full.clone()
    };
    table.insert(&full).await.unwrap();
    table.merge(&without).await.unwrap();
    let merged = table.get(&full).await.unwrap().unwrap();
    assert_eq!((merged.maybe, merged.small), (full.maybe, 1));
    table.replace(&without).await.unwrap();
    assert_eq!(table.get(&full).await.unwrap().unwrap(), without);
    backend.drop_table(&table).await;
}

/// A missing row is `None`, not an error; its update and deletion are errors.
pub async fn a_missing_entity_is_none(backend: &Backend) {
    let table = backend.fresh_table::<AllTypes>().await;
    let entity = AllTypes::sample("p", "r");
    assert_eq!(table.get(("p", "r")).await.unwrap(), None);
    for error in [
        table.replace(&entity).await.rejected(),
        table.merge(&entity).await.rejected(),
        table.delete(("p", "r")).await.rejected(),
    ] {
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(error.code(), Some("ResourceNotFound"));
    }
    let row = table.get(("p", "r")).await.unwrap();
    assert_eq!(row, None, "an update must not become an insert");
    backend.drop_table(&table).await;
}

/// An insert never overwrites.
pub async fn an_insert_does_not_overwrite(backend: &Backend) {
    let table = backend.fresh_table::<AllTypes>().await;
    let entity = AllTypes::sample("p", "r");
    table.insert(&entity).await.unwrap();
    let mut other = entity.clone();
    other.small = 0;
    let error = table.insert(&other).await.rejected();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(error.code(), Some("EntityAlreadyExists"));
    let message = error.service_message().unwrap();
    assert!(message.starts_with("The specified entity already exists"), "{error}");
    assert!(!message.contains("RequestId"), "{error}");
    assert!(error.request_id().is_some());
    assert_eq!(table.get(&entity).await.unwrap().unwrap(), entity);
    backend.drop_table(&table).await;
}

/// The upserts insert, then replace or merge.
pub async fn upserts_insert_and_change(backend: &Backend) {
    let table = backend.fresh_table::<DynamicEntity>().await;
    let entity = |name: &str, value: i32| {
        let mut entity = DynamicEntity::new("p", "r");
        entity.insert(name, value);
        entity
    };
    let names = async || {
        let entity = table.get(("p", "r")).await.unwrap().unwrap();
        entity.properties.into_keys().collect::<Vec<_>>()
    };
    let first = table.insert_or_merge(&entity("A", 1)).await.unwrap();
    let second = table.insert_or_merge(&entity("B", 2)).await.unwrap();
    assert_ne!(first, second);
    assert_eq!(names().await, ["A", "B"]);
    table.insert_or_replace(&entity("C", 3)).await.unwrap();
    assert_eq!(names().await, ["C"]);
    backend.drop_table(&table).await;
}

/// A versioned entity is written only over the version that was read.
pub async fn stale_etag_is_rejected(backend: &Backend) {
    let table = backend.fresh_table::<AllTypes>().await;
    let entity = AllTypes::sample("p", "r");
    table.insert(&entity).await.unwrap();
    let mut mine: Versioned<AllTypes> = table.get(&entity).versioned().await.unwrap().unwrap();
    let theirs = mine.clone();

    mine.small += 1;
    mine.etag = table.replace(&mine).await.unwrap();
    mine.small += 1;
    mine.etag = table.merge(&mine).await.unwrap();

    for error in [
        table.replace(&theirs).await.rejected(),
        table.merge(&theirs).await.rejected(),
        table.delete(&theirs).await.rejected(),
        table.execute(TableOperation::replace(&theirs)).await.rejected(),
    ] {
        assert_eq!((error.kind(), error.status()), (ErrorKind::ConditionNotMet, Some(412)));
        assert_eq!(error.code(), Some("UpdateConditionNotSatisfied"));
    }
    assert_eq!(table.get(&entity).await.unwrap().unwrap(), mine.entity);
    table.replace(&theirs).if_match(mine.etag.clone()).await.unwrap();
    table.delete(&theirs).unconditionally().await.unwrap();
    backend.drop_table(&table).await;
}

/// An entity with an empty ETag field is rejected before anything is sent.
pub async fn etag_field_is_the_condition(backend: &Backend) {
    let table = backend.fresh_table::<Tracked>().await;
    let unread = Tracked::new("g", 7, "a");
    table.insert(&unread).await.unwrap();
    for error in [
        table.replace(&unread).await.rejected(),
        table.delete(&unread).await.rejected(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("unconditionally"), "{error}");
    }
    let mut read = table.get(("g", 7)).await.unwrap().unwrap();
    assert!(read.version.is_some() && read.written.is_some());
    read.value = "b".into();
    table.replace(&read).await.unwrap();
    let stale = table.replace(&read).await.rejected();
    assert_eq!(stale.kind(), ErrorKind::ConditionNotMet);
    table.replace(&unread).unconditionally().await.unwrap();
    let from_query = table.query().partition("g").all().await.unwrap();
    assert_eq!(from_query[0].value, "a");
    table.delete(&from_query[0]).await.unwrap();
    backend.drop_table(&table).await;
}

/// Operations as values have the same effect as the methods.
pub async fn operations_as_values_equal_the_methods(backend: &Backend) {
    let table = backend.fresh_table::<AllTypes>().await;
    let entity = AllTypes::sample("p", "r");
    let result = table.execute(TableOperation::insert(&entity)).await.unwrap();
    assert_eq!(result.status(), 204);
    let etag = result.etag().unwrap().clone();
    assert_eq!(table.get(&entity).versioned().await.unwrap().unwrap().etag, etag);
    table.execute(TableOperation::insert_or_merge(&entity)).await.unwrap();
    let delete = TableOperation::delete::<AllTypes>(("p", "r")).if_match(etag);
    let stale = table.execute(delete).await.rejected();
    assert_eq!(stale.kind(), ErrorKind::ConditionNotMet);
    let deleted = table.execute(TableOperation::delete(&entity)).await.unwrap();
    assert_eq!(deleted.etag(), None);
    backend.drop_table(&table).await;
}
