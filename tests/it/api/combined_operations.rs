//! `TableOperation::then`: two operations on one entity as one.

use azure_table::operation::OperationKind::{
    self, Delete, Get, Insert, InsertOrMerge, InsertOrReplace, Merge, Replace,
};
use azure_table::testing::{Fault, FaultRule, Faults};
use azure_table::{DynamicEntity, ETag, Emulator, ErrorKind, Guid, TableEntity, TableOperation, TableServiceClient};

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

#[derive(TableEntity, Clone)]
#[table(row_key = "row")]
struct Known {
    #[table(partition_key)]
    partition: String,
    text: String,
    #[table(write_id)]
    write: Option<Guid>,
}

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

#[tokio::test]
async fn combined_operation_has_the_effect_of_both() {
    let table = TableServiceClient::from_transport(Emulator::new())
        .dynamic_table("Rows")
        .unwrap();
    table.create_table().await.unwrap();
    for (first, next) in COMBINED {
        for (partition, is_combined) in [("two", false), ("one", true)] {
            if first != Insert {
                let old = operation(InsertOrReplace, partition, "Old");
                table.execute(old).await.unwrap();
            }
            let pair = [operation(first, partition, "A"), operation(next, partition, "B")];
            let [a, b] = pair;
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
            let error = operation(first, "p", "A").then(operation(next, "p", "B")).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            let expected = format!(
                "{} cannot be followed by {}: send them in two batches",
                operation(first, "p", "A"),
                operation(next, "p", "B")
            );
            assert!(error.to_string().contains(&expected), "{error}");
        }
    }
    let error = operation(Insert, "p", "A")
        .then(operation(Replace, "q", "B"))
        .unwrap_err();
    assert!(error.to_string().contains("the keys differ"), "{error}");
    let error = operation(Insert, "p/q", "A")
        .then(operation(Replace, "p/q", "B"))
        .unwrap_err();
    assert!(
        !error.to_string().contains("cannot be followed"),
        "the error of the first: {error}"
    );
}

#[test]
fn etag_of_the_first_counts() {
    let etag = |text: &str| ETag::new(format!("W/\"{text}\""));
    let conditional = |kind, text| operation(kind, "p", "A").if_match(etag(text));
    for (first, next) in [(Replace, Replace), (Delete, Insert)] {
        let both = conditional(first, "1")
            .then(operation(next, "p", "B"))
            .unwrap()
            .unwrap();
        let entity = both.entity().unwrap();
        assert_eq!((both.kind(), entity.etag), (Replace, Some(etag("1"))));
        assert_eq!(entity.properties["Last"].to_string(), "B");
    }
    let same = conditional(Replace, "1")
        .then(conditional(Delete, "1"))
        .unwrap()
        .unwrap();
    assert_eq!(same.kind(), Delete);
    for (first, next) in [
        (conditional(Replace, "1"), conditional(Replace, "2")),
        (operation(Replace, "p", "A"), conditional(Delete, "2")),
        (operation(Insert, "p", "A"), conditional(Replace, "2")),
    ] {
        let error = first.then(next).unwrap_err();
        assert!(error.to_string().contains("another ETag"), "{error}");
    }
}

#[tokio::test]
async fn lost_response_to_a_combined_insert_is_found_by_its_write_id() {
    let faults = Faults::new(Emulator::new());
    let table = TableServiceClient::from_transport(faults.clone())
        .table::<Known>("Rows")
        .unwrap();
    table.create_table().await.unwrap();
    let known = |text: &str| Known {
        partition: "p".into(),
        text: text.into(),
        write: None,
    };
    let insert = TableOperation::insert(&known("first"));
    let both = insert.then(TableOperation::replace(&known("next"))).unwrap().unwrap();
    faults.add(FaultRule::new(Fault::LoseResponse).first(1));
    table.execute(both).await.unwrap();
    let stored = table.get(("p",)).await.unwrap().unwrap();
    assert_eq!(stored.text, "next");
    assert_eq!(stored.partition, "p");
}
