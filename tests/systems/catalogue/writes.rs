//! Conflicts and transactions after a lost response.
//!
//! Source: `test/Logic.Test/StorageNoOpRetry/StorageNoOpRetryPolicyTest.cs`.

use azure_table::{ETag, ErrorKind, Result, TableClient, Versioned};
use azure_table_tests::promises::Place;
use futures::future::join;

use super::{catalogue, leaf, seed, stored};
use crate::systems::catalogue::{Edit, Leaf};

/// `SwallowsConflictForAdd`, `DoesNotSwallowConflictWhenAnotherThreadAdded`.
pub(super) async fn insert(place: Place) {
    let insert = async |name| catalogue(&place, name).commit(&[Edit::Insert(leaf("1", name))]).await;
    let (a, b) = join(insert("a"), insert("b")).await;
    check_one_writer(&place, [("a", a), ("b", b)], ErrorKind::AlreadyExists).await;
}

/// `SwallowsConflictForUpdate`, `DoesNotSwallowConflictWhenAnotherThreadUpdated`.
pub(super) async fn update(place: Place) {
    seed(&place, [leaf("1", "seed")]).await;
    let read = stored(&place, "1").await.unwrap();
    let update = async |name| {
        let edit = replaced(&read, name);
        catalogue(&place, name).commit(&[edit]).await
    };
    let (a, b) = join(update("a"), update("b")).await;
    check_one_writer(&place, [("a", a), ("b", b)], ErrorKind::ConditionNotMet).await;
}

fn replaced(read: &Versioned<Leaf>, url: &str) -> Edit {
    let mut replaced = read.clone();
    replaced.url = url.into();
    Edit::Replace(replaced)
}

/// Checks writers of the same row, of which one can succeed.
async fn check_one_writer(place: &Place, written: [(&str, Result<Vec<Option<ETag>>>); 2], conflict: ErrorKind) {
    let row = stored(place, "1").await;
    for (url, written) in written {
        let own = row.as_ref().filter(|row| row.url == url);
        match written {
            Ok(etags) => assert_eq!(etags, [own.map(|row| row.etag.clone())], "{url}: {row:?}"),
            Err(e) if e.may_have_applied() => {}
            Err(e) => {
                assert!(own.is_none(), "{url}: {e}");
                assert!(!place.is_explored() || e.kind() == conflict, "{url}: {e}");
            }
        }
    }
}

/// Runs a transaction over the entries `1` and `2`, beside another caller.
async fn transaction<T>(
    place: &Place,
    other: impl AsyncFnOnce(TableClient<Leaf>) -> T,
) -> (Result<Vec<Option<ETag>>>, T) {
    seed(place, [leaf("1", "seed"), leaf("2", "seed")]).await;
    let mut edits = Vec::new();
    for version in ["1", "2"] {
        edits.push(replaced(&stored(place, version).await.unwrap(), "a"));
    }
    let a = catalogue(place, "a");
    join(a.commit(&edits), other(place.table("b"))).await
}

/// `SwallowsConflictForSmallBatchUpdate`, `SwallowsConflictWhenAnotherThreadUpdatedSomeEntities`.
pub(super) async fn one_updated(place: Place) {
    let update = async |table: TableClient<Leaf>| table.insert_or_replace(&leaf("1", "b")).await.map(drop);
    let (committed, _) = transaction(&place, update).await;
    check_one_left(&place, committed).await;
}

/// `SwallowsConflictWhenAnotherThreadDeletedSomeEntities`.
pub(super) async fn one_deleted(place: Place) {
    let delete = async |table: TableClient<Leaf>| table.delete_if_exists(("p", "1")).await.map(drop);
    let (committed, _) = transaction(&place, delete).await;
    check_one_left(&place, committed).await;
}

/// Checks a transaction of which others wrote only the first row.
async fn check_one_left(place: &Place, committed: Result<Vec<Option<ETag>>>) {
    let first = stored(place, "1").await;
    let second = stored(place, "2").await.unwrap();
    match committed {
        Ok(etags) => {
            assert_eq!(second.url, "a");
            assert_eq!(etags[1].as_ref(), Some(&second.etag));
            let is_current = etags[0].is_some() && etags[0] == first.as_ref().map(|row| row.etag.clone());
            assert_eq!(is_current, first.is_some_and(|row| row.url == "a"), "{etags:?}");
        }
        Err(e) if e.may_have_applied() => assert!(!place.is_explored(), "the second row decides: {e}"),
        Err(e) => assert_eq!(second.url, "seed", "{e}"),
    }
}

/// `DoesNotSwallowConflictWhenAnotherThreadUpdatedAllEntities`.
pub(super) async fn all_updated(place: Place) {
    let update = async |table: TableClient<Leaf>| {
        let mut seen = Vec::new();
        for version in ["1", "2"] {
            // A failed call may have seen the row in any attempt.
            _ = table
                .modify(("p", version), |row| {
                    seen.push(row.url.clone());
                    row.url = "b".into();
                })
                .await;
        }
        seen
    };
    let (committed, seen) = transaction(&place, update).await;
    check_all_gone(&place, committed, &seen).await;
}

/// `DoesNotSwallowConflictWhenAnotherThreadDeletedAllEntities`.
pub(super) async fn all_deleted(place: Place) {
    let delete = async |table: TableClient<Leaf>| {
        let mut seen = Vec::new();
        for version in ["1", "2"] {
            if let Ok(Some(row)) = table.get(("p", version)).versioned().await {
                seen.push(row.url.clone());
                _ = table.delete(&row).await;
            }
        }
        seen
    };
    let (committed, seen) = transaction(&place, delete).await;
    check_all_gone(&place, committed, &seen).await;
}

/// Checks a transaction of which others wrote all rows, after they saw these.
async fn check_all_gone(place: &Place, committed: Result<Vec<Option<ETag>>>, seen: &[String]) {
    let mut seen = seen.to_vec();
    for version in ["1", "2"] {
        seen.extend(stored(place, version).await.map(|row| row.entity.url));
    }
    let was_applied = seen.iter().any(|url| url == "a");
    match committed {
        Ok(_) => assert!(was_applied || seen.is_empty(), "{seen:?}"),
        Err(e) => assert!(e.may_have_applied() || !was_applied, "{e}: {seen:?}"),
    }
}

/// The rows of the partition, and those that the transaction replaces.
const ROWS: usize = 1_100;
const REPLACED: usize = 22;

/// `SwallowsConflictForLargeBatchUpdate`, `SwallowsConflictForLargeBatchUpdateWhenAnotherThreadDeletedSomeEntities`.
pub(super) async fn large(place: Place) {
    let version = |n: usize| format!("{n:04}");
    seed(&place, (0..ROWS).map(|n| leaf(&version(n), "seed"))).await;
    let numbers: Vec<usize> = (0..REPLACED).map(|n| n * (ROWS - 1) / (REPLACED - 1)).collect();
    let mut edits = Vec::new();
    for n in &numbers {
        edits.push(replaced(&stored(&place, &version(*n)).await.unwrap(), "a"));
    }
    let deleted = version(numbers[3]);
    let (a, b) = (catalogue(&place, "a"), place.table::<Leaf>("b"));
    let (committed, gone) = join(a.commit(&edits), b.delete_if_exists(("p", deleted.as_str()))).await;
    let mut is_left = Vec::new();
    for (index, n) in numbers.iter().enumerate() {
        let Some(row) = stored(&place, &version(*n)).await else {
            continue;
        };
        match &committed {
            // A read-back that another row ended did not see this one.
            Ok(etags) => match &etags[index] {
                Some(etag) => assert_eq!(*etag, row.etag),
                None => assert!(!place.is_faultless),
            },
            // Its rows are on several pages, which are not of one moment.
            Err(e) if e.may_have_applied() => {}
            Err(e) => assert_eq!(row.url, "seed", "{e}"),
        }
        is_left.push(row.url == "a");
    }
    assert!(is_left.iter().all(|left| *left == is_left[0]), "half of a transaction");
    assert!(gone.is_err() || is_left.len() < REPLACED, "it was deleted");
    assert!(gone.is_ok() || !place.is_explored(), "{gone:?}");
}
