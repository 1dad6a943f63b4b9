//! The places of streams: virtual partitions, the rows of the original, shards.

use azure_table::{DynamicEntity, KeyPrefix, TableOperation};
use azure_table_tests::promises::Place;
use futures::future::join;

use super::{Text, behind, event, events, is_fault, is_fault_of_race, of, read, rows, with_id};
use crate::systems::event_streams::{Partition, WriteError, shard};

/// `Virtual_partitions.cs`, all; `Partition_row_key_parsing.cs`; `S10_Stream_directory.cs`,
/// `MultipleStreamsPerPartitionUsingProjection`.
pub(super) async fn virtual_partitions(place: Place) {
    let write = async |caller, name: &str| {
        let partition = Partition::new(&place.table::<DynamicEntity>(caller), &format!("s|{name}"));
        let entry = TableOperation::insert(&DynamicEntity::new("s", format!("STREAM|{name}")));
        let mut stream = partition.new_stream();
        match stream.write([with_id("e1").include(entry), with_id("e2")]).await {
            Ok(_) => true,
            Err(WriteError::Other(e)) if is_fault(&place, &e) => e.may_have_applied(),
            Err(e) => panic!("{name}: {e:?}"),
        }
    };
    // The second name begins with the first.
    let (a, b) = join(write("a", "1"), write("b", "1x")).await;
    let mut count = 0;
    for (name, may_exist) in [("1", a), ("1x", b)] {
        let events = events(&place, &format!("s|{name}")).await;
        assert!(events.is_empty() || (may_exist && events == ["e1", "e2"]), "{events:?}");
        count += events.len() / 2;
    }
    assert_eq!(rows(&place, "s").await.len(), count * 6);
    let table = place.table_behind::<DynamicEntity>();
    let directory = table.query().key_prefix(KeyPrefix::from_text("s", "STREAM|").unwrap());
    assert_eq!(directory.count().await.unwrap() as usize, count);
    for absent in ["s", "s|", "s|x", "s|1|"] {
        let partition = Partition::new(&table, absent);
        assert!(partition.open().await.unwrap().is_none(), "{absent}");
        assert!(partition.read::<Text>(1, 10).await.unwrap().is_none(), "{absent}");
    }
}

/// `StreamEntity.cs`, `EventEntity.cs`, `EventIdEntity.cs`, `Partition.cs`: the names of rows and properties.
pub(super) async fn rows_of_the_original(place: Place) {
    let table = place.table_behind::<DynamicEntity>();
    let stored = async |row: &str, version: i32, data: &[&str]| {
        let mut row = DynamicEntity::new("s", row);
        row.insert("Version", version);
        data.iter().for_each(|data| drop(row.insert("Data", *data)));
        table.insert(&row).await.unwrap();
    };
    stored("SS-HEAD", 1, &["metadata"]).await;
    stored("SS-SE-0000000001", 1, &["e1"]).await;
    stored("SS-UID-e1", 1, &[]).await;

    let partition = of(&place, "a");
    let Some(Some(mut stream)) = read(&place, partition.open().await) else {
        return;
    };
    assert_eq!(stream.version(), 1);
    assert_eq!(
        stream.metadata().unwrap()["Data"].to_string(),
        behind(&place).open().await.unwrap().unwrap().metadata().unwrap()["Data"].to_string()
    );
    for (events, id) in [
        ([with_id("e2"), with_id("e1")], "e1"),
        ([with_id("e2"), event("e3")], ""),
    ] {
        match stream.write(events).await {
            Ok(versions) => assert_eq!((versions, id), (2..4, "")),
            Err(WriteError::Duplicate(duplicate)) => assert_eq!(duplicate, id),
            Err(WriteError::Other(e)) if is_fault_of_race(&place, &e) => return,
            Err(e) => panic!("{e:?}"),
        }
    }
    assert_eq!(events(&place, "s").await, ["e1", "e2", "e3"]);
    let read = async |row: &str| table.get(("s", row)).await.unwrap().unwrap();
    for (row, version) in [("SS-SE-0000000003", 3), ("SS-UID-e2", 2), ("SS-HEAD", 3)] {
        assert_eq!(read(row).await.property::<i32>("Version").unwrap(), version, "{row}");
    }
    assert_eq!(read("SS-HEAD").await.property::<String>("Data").unwrap(), "metadata");
}

/// `Sharding_function.cs`; README, "jump consistent hashing".
pub(super) async fn shards(_: Place) {
    const KEYS: usize = 100_000;
    let resolve = |shards| {
        (1..=KEYS)
            .map(move |key| shard(&key.to_string(), shards))
            .collect::<Vec<_>>()
    };
    let (ten, eleven) = (resolve(10), resolve(11));
    for shard in 0..10 {
        let count = ten.iter().filter(|key| **key == shard).count();
        assert!(count.abs_diff(KEYS / 10) < KEYS / 10 / 33, "{shard}: {count}");
    }
    let moved: Vec<_> = ten.iter().zip(&eleven).filter(|(ten, eleven)| ten != eleven).collect();
    assert!(
        moved.iter().all(|(_, eleven)| **eleven == 10),
        "a key moved between old shards"
    );
    assert!(
        moved.len().abs_diff(KEYS / 11) < KEYS / 11 / 33,
        "{} moved",
        moved.len()
    );
    assert_eq!(["a", "order-7", ""].map(|key| shard(key, 1)), [0; 3]);
}
