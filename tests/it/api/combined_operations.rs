//! `TableOperation::then`: two operations on one entity as one.

use azure_table::operation::OperationKind::{
    self, Delete, Get, Insert, InsertOrMerge, InsertOrReplace, Merge, Replace,
};
use azure_table::testing::{Fault, FaultRule, Faults};
use azure_table::{DynamicEntity, ETag, ErrorKind, TableClient, TableOperation};
use azure_table_tests::entities::Marked;
use azure_table_tests::errors::{assert_contains, assert_error};

const ALL: [OperationKind; 7] = [Insert, Replace, Delete, InsertOrMerge, InsertOrReplace, Merge, Get];
const COMBINED: [(OperationKind, OperationKind); 7] = [
    (Insert, Replace),
    (Insert, Delete),
    (Replace, Replace),
    (Replace, Delete),
    (Delete, Insert),
    (InsertOrMerge, InsertOrMerge),
    (InsertOrReplace, InsertOrReplace),
];

fn operation(kind: OperationKind, partition: &str, name: &str) -> TableOperation {
    let mut entity = DynamicEntity::new(partition, "row");
    entity.insert("Last", name);
    entity.insert(name, true);
    match kind {
        Insert => TableOperation::insert(&entity),
        Replace => TableOperation::replace(&entity),
        Delete => TableOperation::delete(&entity),
        InsertOrMerge => TableOperation::insert_or_merge(&entity),
        InsertOrReplace => TableOperation::insert_or_replace(&entity),
        Merge => TableOperation::merge(&entity),
        _ => TableOperation::get::<DynamicEntity>((partition, "row")),
    }
}

#[azure_table::test]
async fn combined_operation_has_the_effect_of_both(table: TableClient) {
    for (first, next) in COMBINED {
        for (partition, is_combined) in [("two", false), ("one", true)] {
            if first != Insert {
                let old = operation(InsertOrReplace, partition, "Old");
                table.execute(old).await.unwrap();
            }
            let (a, b) = (operation(first, partition, "A"), operation(next, partition, "B"));
            if is_combined {
                if let Some(both) = a.then(b).unwrap() {
                    table.execute(both).await.unwrap();
                }
            } else {
                table.execute(a).await.unwrap();
                table.execute(b).await.unwrap();
            }
        }
        let row = async |partition| table.get((partition, "row")).await.unwrap().map(|row| row.properties);
        assert_eq!(row("one").await, row("two").await, "{first:?}, {next:?}");
        for partition in ["one", "two"] {
            table.delete_if_exists((partition, "row")).await.unwrap();
        }
    }
}

#[test]
fn other_pairs_are_rejected_by_name() {
    for first in ALL {
        for next in ALL.into_iter().filter(|next| !COMBINED.contains(&(first, *next))) {
            let (first, next) = (operation(first, "p", "A"), operation(next, "p", "B"));
            let expected = format!("{first} cannot be followed by {next}: send them in two batches");
            let error = first.then(next).unwrap_err();
            assert_error(&error, ErrorKind::InvalidInput, &expected);
        }
    }
    let error_of = |first, next| {
        operation(Insert, first, "A")
            .then(operation(Replace, next, "B"))
            .unwrap_err()
    };
    assert_contains(error_of("p", "q"), "the keys differ");
    let of_the_first = error_of("p/q", "p/q").to_string();
    assert!(!of_the_first.contains("cannot be followed"), "{of_the_first}");
}

#[test]
fn etag_of_the_first_counts() {
    let etag = |text: &str| ETag::new(format!("W/\"{text}\""));
    let conditional = |kind, text| operation(kind, "p", "A").if_match(etag(text));
    for (first, next) in [(Replace, Replace), (Delete, Insert)] {
        let both = conditional(first, "1").then(operation(next, "p", "B"));
        let both = both.unwrap().unwrap();
        let entity = both.entity().unwrap();
        assert_eq!((both.kind(), entity.etag), (Replace, Some(etag("1"))));
        assert_eq!(entity.properties["Last"].to_string(), "B");
    }
    let same = conditional(Replace, "1").then(conditional(Delete, "1"));
    assert_eq!(same.unwrap().unwrap().kind(), Delete);
    for (first, next) in [
        (conditional(Replace, "1"), conditional(Replace, "2")),
        (operation(Replace, "p", "A"), conditional(Delete, "2")),
        (operation(Insert, "p", "A"), conditional(Replace, "2")),
    ] {
        let error = first.then(next).unwrap_err();
        assert!(error.to_string().contains("another ETag"), "{error}");
    }
}

#[azure_table::test]
async fn lost_response_to_a_combined_insert_is_found_by_its_write_id(rows: TableClient<Marked>, faults: Faults) {
    let insert = TableOperation::insert(&Marked::new("p", "r", 1));
    let next = TableOperation::replace(&Marked::new("p", "r", 2));
    let both = insert.then(next).unwrap().unwrap();
    faults.add(FaultRule::new(Fault::LoseResponse).first(1));
    rows.execute(both).await.unwrap();
    let stored = rows.get(("p", "r")).await.unwrap().unwrap();
    assert_eq!((stored.count, &*stored.group), (2, "p"));
}
