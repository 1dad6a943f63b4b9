//! Keys of all kinds, in requests and results.

use azure_table::filter::InKey;
use azure_table::{Column, DynamicEntity, ErrorKind, Key};

use crate::Backend;
use crate::errors::Rejected as _;

/// Keys that cause trouble in other clients.
pub const AWKWARD: &[&str] = &[
    "",
    " ",
    " leading and trailing ",
    "O'Brien",
    "''",
    "a''''b",
    "100%",
    "%27",
    "%2F",
    "a+b",
    "a&b=c",
    "@:;,!$*()[]~^`|<>{}\"",
    "äöü",
    "漢字",
    "😀",
    "e\u{301}",
    "..",
    "null",
    "PartitionKey='x'",
];

/// Every awkward key is written, found by point and by query, changed and removed.
pub async fn awkward_keys_are_addressed_correctly(backend: &Backend) {
    let table = backend.fresh_table::<DynamicEntity>().await;
    for key in AWKWARD {
        // Both keys are the same, because both are in the URL.
        let mut entity = DynamicEntity::new(*key, *key);
        entity.insert("Key", *key);
        table.insert(&entity).await.unwrap_or_else(|e| panic!("{key:?}: {e}"));
        let read = table.get((*key, *key)).await.unwrap();
        let read = read.unwrap_or_else(|| panic!("{key:?} was not found"));
        assert_eq!((&*read.partition_key, &*read.row_key), (*key, *key));
        let row_key = Column::<DynamicEntity, String, InKey>::row_key();
        let query = table.query().partition(*key).filter(row_key.eq(*key));
        let found = query.all().await.unwrap();
        assert_eq!(found.len(), 1, "{key:?}");
        assert_eq!(found[0].properties, entity.properties);
        entity.insert("More", 1);
        table.merge(&entity).await.unwrap_or_else(|e| panic!("{key:?}: {e}"));
        let mut batch = table.batch();
        batch.replace(&entity).unwrap();
        batch.submit().await.unwrap_or_else(|e| panic!("{key:?}: {e}"));
        let deleted = table.delete((*key, *key)).await;
        deleted.unwrap_or_else(|e| panic!("{key:?}: {e}"));
    }
    assert_eq!(table.query().all().await.unwrap(), []);
    backend.drop_table(&table).await;
}

/// Forbidden keys are rejected before anything is sent.
pub async fn forbidden_keys_are_rejected_before_a_request(backend: &Backend) {
    let table = backend.service().dynamic_table(backend.fresh_name()).unwrap();
    for bad in ["a/b", "a\\b", "a#b", "a?b", "a\tb", "a\u{7f}b", "a\u{9f}b"] {
        for error in [
            table.insert(&DynamicEntity::new(bad, "r")).await.rejected(),
            table.get(("p", bad)).await.rejected(),
            table.delete(("p", bad)).await.rejected(),
            Key::<DynamicEntity>::from_text(bad, "r").rejected(),
        ] {
            assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0));
            let error = error.to_string();
            assert!(error.contains("position 1") && error.contains("`Escaped`"), "{error}");
        }
    }
    let long = table.get(("p".repeat(1_025), "r")).await.rejected().to_string();
    let why = "1025 UTF-16 units, more than the limit of 1024";
    assert!(long.contains(why), "{long}");
}
