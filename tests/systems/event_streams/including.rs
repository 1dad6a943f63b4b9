//! Operations on other rows in the transaction of an event.

use azure_table::operation::OperationKind;
use azure_table::{DynamicEntity, ETag, ErrorKind, TableClient, TableEntity, TableOperation};
use azure_table_tests::promises::Place;
use futures::future::join;

use super::{Text, behind, event, events, is_fault, is_fault_of_race, named, of, read, rows, with_id};
use crate::systems::event_streams::{Event, Partition, WriteError};

const ROW: &str = "INV-1";

fn entity(key: &str, data: &str) -> DynamicEntity {
    let mut entity = DynamicEntity::new(key, ROW);
    entity.insert("Data", data);
    entity.insert(format!("Of{data}"), true);
    entity
}

/// An operation on the row `ROW` with data of its own.
fn operation(key: &str, kind: OperationKind, data: &str) -> TableOperation {
    let entity = entity(key, data);
    match kind {
        OperationKind::Insert => TableOperation::insert(&entity),
        OperationKind::Replace => TableOperation::replace(&entity).unconditionally(),
        OperationKind::Delete => TableOperation::delete(&entity).unconditionally(),
        OperationKind::InsertOrMerge => TableOperation::insert_or_merge(&entity),
        OperationKind::InsertOrReplace => TableOperation::insert_or_replace(&entity),
        kind => panic!("{kind:?}"),
    }
}

/// An entity that is replaced and deleted under the ETag that it has.
#[derive(TableEntity, Debug)]
#[table(row_key = "INV-1", rename_all = "PascalCase")]
struct Invoice {
    #[table(partition_key)]
    partition: String,
    data: String,
    #[table(etag)]
    etag: Option<ETag>,
}

/// Returns the entity as it is before it is stored.
fn invoice(key: &str, data: &str) -> Invoice {
    Invoice {
        partition: key.to_owned(),
        data: data.to_owned(),
        etag: None,
    }
}

/// Returns the events of one write, each with an operation on the row.
fn session(key: &str, kinds: &[OperationKind]) -> Vec<Event<Text>> {
    let numbered = kinds.iter().enumerate();
    let including = |(n, kind): (usize, &OperationKind)| {
        let number = n.to_string();
        event(&number).include(operation(key, *kind, &number))
    };
    numbered.map(including).collect()
}

/// The first operations on a row, whether it exists before, and its data after each kind of next operation: `None` if
/// the pair is rejected, empty if no row remains.
type Cells = (&'static [OperationKind], bool, [Option<&'static str>; 5]);

/// `Tracking_entity_changes.cs`: the table of its comment, and the tests of each cell.
pub(super) async fn combined(place: Place) {
    use OperationKind::{Delete, Insert, InsertOrMerge, InsertOrReplace, Replace};

    const ALL: [OperationKind; 5] = [Insert, Replace, Delete, InsertOrMerge, InsertOrReplace];
    let table: [Cells; 6] = [
        (&[Insert], false, [None, Some("1"), Some(""), None, None]),
        (&[Replace], true, [None, Some("1"), Some(""), None, None]),
        (&[Delete], true, [Some("1"), None, None, None, None]),
        (&[InsertOrMerge], true, [None, None, None, Some("1"), None]),
        (&[InsertOrReplace], true, [None, None, None, None, Some("1")]),
        (&[Insert, Delete], false, [Some("2"), None, None, Some("2"), Some("2")]),
    ];
    let table_behind = place.table_behind::<DynamicEntity>();
    for (case, (first, exists, cells)) in table.into_iter().enumerate() {
        for (next, data) in ALL.into_iter().zip(cells) {
            let key = format!("{case}-{next:?}");
            if exists {
                table_behind.insert(&entity(&key, "old")).await.unwrap();
            }
            let kinds = [first, &[next]].concat();
            let mut stream = Partition::new(&place.table::<DynamicEntity>("a"), &key).new_stream();
            let result = stream.write(session(&key, &kinds)).await;
            let row = table_behind.get((&*key, ROW)).await.unwrap();
            let stored = row.as_ref().map(|row| row.property::<String>("Data").unwrap());
            match (result, data) {
                (Ok(_), Some(data)) => {
                    assert_eq!(
                        stored.as_deref(),
                        Some(data).filter(|data| !data.is_empty()),
                        "{kinds:?}"
                    );
                    let merges = first == [InsertOrMerge];
                    let has_all = row.is_some_and(|row| row.get("Ofold").is_some() && row.get("Of0").is_some());
                    assert_eq!(has_all, merges, "{kinds:?}");
                }
                (Err(WriteError::Other(e)), None) => {
                    assert_eq!(e.kind(), ErrorKind::InvalidInput, "{kinds:?}: {e}");
                    assert_eq!(stored.as_deref(), Some("old").filter(|_| exists));
                    assert!(
                        rows(&place, &key).await.iter().all(|row| row == ROW),
                        "rejected before I/O"
                    );
                }
                (Err(WriteError::Other(e)), Some(_)) => assert!(is_fault(&place, &e), "{kinds:?}: {e}"),
                (result, _) => panic!("{kinds:?}: {result:?}"),
            }
        }
    }
}

/// `Including_additional_entities.cs`, `When_include_has_..`; `Tracking_entity_changes.cs`, the operations with an
/// unconditional ETag, `When_including_different_entity_instances_for_the_same_entity_row_key`.
pub(super) async fn conflicts(place: Place) {
    use OperationKind::{Delete, Insert, Replace};

    let table = place.table_behind::<DynamicEntity>();
    let mut sound = behind(&place).new_stream();
    sound.write([with_id("e1")]).await.unwrap();
    let etag = table.insert(&entity("s", "old")).await.unwrap();
    table.insert_or_replace(&entity("s", "newer")).await.unwrap();
    let (version, current) = (sound.version(), sound.etag().unwrap().clone());
    let before = rows(&place, "s").await;

    let mut stream = of(&place, "a").stream_at(version, current.clone());
    let elsewhere = DynamicEntity::new("s", "absent");
    for (id, operation, is_of_row) in [
        ("e2", operation("s", Insert, "x"), true),
        ("e2", operation("s", Replace, "x").if_match(etag.clone()), true),
        ("e2", operation("s", Delete, "x").if_match(etag.clone()), true),
        ("e2", TableOperation::replace(&elsewhere).unconditionally(), true),
        ("e2", TableOperation::delete(&elsewhere).unconditionally(), true),
        ("e1", operation("s", Insert, "x"), false),
    ] {
        let row = operation.keys().unwrap().1.to_owned();
        match stream.write([with_id(id).include(operation)]).await {
            Err(WriteError::Included(conflicting, _)) => assert!(is_of_row && conflicting == row),
            Err(WriteError::Duplicate(id)) => assert!(!is_of_row && id == "e1"),
            Err(WriteError::Other(e)) => assert!(is_fault_of_race(&place, &e), "{e}"),
            result => panic!("{result:?}"),
        }
        assert_eq!(rows(&place, "s").await, before);
    }
    // Two operations on one row that do not have the same ETag, and one that needs an ETag and has none.
    let other_etag = operation("s", Replace, "x").if_match(etag.clone());
    for operations in [
        vec![operation("s", Insert, "x"), other_etag],
        vec![TableOperation::replace(&invoice("s", "x"))],
    ] {
        let mistaken = operations.into_iter().fold(event("e2"), Event::include);
        let mistaken = stream.write([mistaken]).await;
        assert!(matches!(&mistaken, Err(WriteError::Other(e)) if e.kind() == ErrorKind::InvalidInput));
    }

    // The header is before the included row.
    sound.set_metadata(named("b")).await.unwrap();
    match stream.write([event("e2").include(operation("s", Insert, "x"))]).await {
        Err(WriteError::Conflict) => {}
        Err(WriteError::Other(e)) => assert!(is_fault_of_race(&place, &e), "{e}"),
        result => panic!("{result:?}"),
    }
    let mut stream = of(&place, "a").stream_at(version, sound.etag().unwrap().clone());
    match stream.write([event("e2").include(operation("s", Replace, "x"))]).await {
        Ok(_) => assert_eq!(events(&place, "s").await, ["e1", "e2"]),
        Err(WriteError::Other(e)) => assert!(is_fault(&place, &e), "{e}"),
        result => panic!("{result:?}"),
    }
}

#[derive(TableEntity, Debug)]
#[table(row_key = "~total")]
struct Total {
    #[table(partition_key)]
    partition: String,
    events: i32,
}

/// README, "Synchronous (inline) projections"; `S06_Include_additional_entities.cs`; `S10_Stream_directory.cs`,
/// `MultipleStreamsPerPartitionUsingProjection`.
pub(super) async fn projection(place: Place) {
    let append = async |name: &str| {
        let totals: TableClient<Total> = place.table(name);
        for _ in 0..3 {
            let partition = of(&place, name);
            let Some(total) = read(&place, totals.get(("s",)).versioned().await) else {
                return;
            };
            let Some(stream) = read(&place, partition.open().await) else {
                return;
            };
            let mut stream = stream.unwrap_or_else(|| partition.new_stream());
            let next = |events| Total {
                partition: "s".into(),
                events,
            };
            let operation = match total {
                None => TableOperation::insert(&next(1)),
                Some(total) => TableOperation::replace(&next(total.events + 1)).if_match(total.etag.clone()),
            };
            match stream.write([event(name).include(operation)]).await {
                Err(WriteError::Conflict) => {}
                // The stream was read after the total.
                Err(WriteError::Included(row, _)) => assert_eq!(row, "~total"),
                Ok(_) => return,
                Err(WriteError::Other(e)) if is_fault_of_race(&place, &e) => return,
                Err(e) => panic!("{e:?}"),
            }
        }
        panic!("two writers have at most two conflicts");
    };
    join(append("a"), append("b")).await;
    let total = place.table_behind::<Total>().get(("s",)).await.unwrap();
    let counted = total.map_or(0, |total| total.events);
    assert_eq!(events(&place, "s").await.len(), counted as usize);
}

/// `Tracking_entity_changes.cs`, `When_including_different_entity_instances_..`: "chunking may split events in separate
/// batches".
pub(super) async fn across_transactions(place: Place) {
    for key in ["replaced", "deleted"] {
        let mut stream = Partition::new(&place.table::<DynamicEntity>("a"), key).new_stream();
        let filling = (0..98).map(|n| event(&n.to_string()));
        let first = event("first").include(TableOperation::insert(&invoice(key, "1")));
        let last = match key {
            "deleted" => TableOperation::delete(&invoice(key, "3")),
            _ => TableOperation::replace(&invoice(key, "3")),
        };
        let second = event("second").include(TableOperation::replace(&invoice(key, "2")));
        let later = [second, event("last").include(last)];
        let result = stream.write([first].into_iter().chain(filling).chain(later)).await;
        let row = place.table_behind::<DynamicEntity>().get((key, ROW)).await.unwrap();
        let data = row.map(|row| row.property::<String>("Data").unwrap());
        match (result, stream.version()) {
            (Ok(versions), 101) => {
                assert_eq!(versions, 1..102);
                assert_eq!(data.as_deref(), Some("3").filter(|_| key == "replaced"));
            }
            (Err(WriteError::Other(e)), version @ (0 | 98)) => {
                // After a lost response, the first transaction has no ETag of the row, which carries no write id.
                let is_without_etag = version == 98 && !place.retries_succeed && e.kind() == ErrorKind::InvalidInput;
                assert!(is_fault(&place, &e) || is_without_etag, "{e}");
                let stored = events(&place, key).await.len() as u32;
                assert!(stored == version || (e.may_have_applied() && stored > version), "{e}");
            }
            (result, version) => panic!("{version}: {result:?}"),
        }
    }
}
