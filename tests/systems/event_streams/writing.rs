//! Writes, their conflicts and their limits.

use std::future::Future;

use azure_table::testing::Spy;
use azure_table::{DynamicEntity, EdmValue, Emulator, ErrorKind, TableOperation, TableServiceClient};
use azure_table_tests::promises::Place;
use futures::future::{join, join3};

use super::history::{History, Op, Outcome, Ret, Version};
use super::{Text, behind, event, events, is_fault, is_fault_of_race, judge, named, of, read, rows, stored, with_id};
use crate::systems::event_streams::{Event, Metadata, Partition, Stream, WriteError};

/// `Provisioning_stream.cs`, all; `S08_Concurrency_conflicts.cs`, `SimultaneousProvisioning`.
pub(super) async fn provision(place: Place) {
    let create = async |name| {
        let mut stream = of(&place, name).new_stream().with_metadata(named(name));
        stream.provision().await?;
        assert!(stream.etag().is_some() && stream.version() == 0);
        Ok::<_, WriteError>(())
    };
    let (a, b) = join(create("a"), create("b")).await;
    let metadata = behind(&place)
        .open()
        .await
        .unwrap()
        .and_then(|stream| stream.metadata().cloned());
    let is_of = |name| metadata.as_ref() == Some(&named(name));
    assert!(metadata.is_none() || is_of("a") || is_of("b"));
    judge(&place, &[a, b], [is_of("a"), is_of("b")]);
}

/// `Writing_to_stream.cs`, `When_writing_to_nonexisting_stream`, `.._along_with_stream_properties`,
/// `When_writing_together_with_creating_stream_and_stream_already_exists`.
pub(super) async fn first_write(place: Place) {
    let write = async |name| {
        let mut stream = of(&place, name).new_stream().with_metadata(named(name));
        let versions = stream.write(pair(name)).await?;
        assert_eq!((versions, stream.version()), (1..3, 2));
        Ok(())
    };
    race(&place, join(write("a"), write("b")), 0).await;
    if let Some(stream) = behind(&place).open().await.unwrap() {
        let first = &events(&place, "s").await[0];
        assert_eq!(
            stream.metadata(),
            Some(&named(&first[..1])),
            "the metadata of the other"
        );
    }
}

/// `Writing_to_stream.cs`, `When_successfully_written_events_to_an_existing_stream`; `S08_Concurrency_conflicts.cs`,
/// `SimultaneousWriting`.
pub(super) async fn append(place: Place) {
    behind(&place).new_stream().write([event("z")]).await.unwrap();
    let stream = stored(&place).await;
    let append = async |name| {
        let mut stream = of(&place, name).stream_at(stream.version(), stream.etag().unwrap().clone());
        assert_eq!(stream.write(pair(name)).await?, 2..4);
        // The stream has the new ETag.
        match stream.set_metadata(named(name)).await {
            Err(WriteError::Other(e)) if !is_fault(&place, &e) => panic!("{e}"),
            Err(WriteError::Other(_)) | Ok(()) => Ok(()),
            Err(e) => panic!("nobody else wrote: {e:?}"),
        }
    };
    race(&place, join(append("a"), append("b")), 1).await;
}

/// `Writing_to_stream.cs`, `When_writing_using_expected_version`, `.._and_stream_was_changed`.
pub(super) async fn append_at(place: Place) {
    behind(&place).write_at(0, [event("z")]).await.unwrap();
    let append = async |name| of(&place, name).write_at(1, pair(name)).await;
    race(&place, join(append("a"), append("b")), 1).await;
    for version in [0, events(&place, "s").await.len() as u32 + 1] {
        let result = behind(&place).write_at(version, [event("y")]).await;
        assert!(matches!(result, Err(WriteError::Conflict)), "{version}: {result:?}");
    }
}

/// No test of the original: the only writer of a stream, whose header is inserted, replaced and merged.
pub(super) async fn certain(place: Place) {
    let partition = of(&place, "a");
    let mut stream = partition.new_stream();
    assert_eq!(stream.write([with_id("e1")]).await.unwrap(), 1..2);
    assert_eq!(stream.write([with_id("e2")]).await.unwrap(), 2..3);
    stream.set_metadata(named("a")).await.unwrap();
    let mut unread = partition.stream_at(stream.version(), stream.etag().unwrap().clone());
    assert_eq!(unread.write([with_id("e3")]).await.unwrap(), 3..4);
    assert_eq!(unread.etag(), stored(&place).await.etag());
    assert_eq!(events(&place, "s").await, ["e1", "e2", "e3"]);

    let mut provisioned = Partition::new(&place.table::<DynamicEntity>("a"), "provisioned").new_stream();
    provisioned.provision().await.unwrap();
    assert_eq!(provisioned.write([with_id("e1")]).await.unwrap(), 1..2);
}

/// Two events of a caller.
fn pair(name: &str) -> [Event<Text>; 2] {
    [with_id(&format!("{name}1")), with_id(&format!("{name}2"))]
}

/// Checks two writes of a [`pair`] each to a stream with `before` events.
async fn race<T>(
    place: &Place,
    writes: impl Future<Output = (Result<T, WriteError>, Result<T, WriteError>)>,
    before: usize,
) {
    let (a, b) = writes.await;
    let events = events(place, "s").await;
    let has = |name: &str| events.iter().any(|event| event == name);
    let applied = ["a", "b"].map(|name| {
        let [first, second] = [has(&format!("{name}1")), has(&format!("{name}2"))];
        assert_eq!(first, second, "a torn write: {events:?}");
        first
    });
    assert_eq!(events.len(), if applied.contains(&true) { before + 2 } else { before });
    let ids = rows(place, "s")
        .await
        .iter()
        .filter(|row| row.starts_with("SS-UID-"))
        .count();
    assert_eq!(ids, if applied.contains(&true) { 2 } else { 0 });
    judge(place, &[a, b], applied);
}

/// `Writing_to_stream.cs`, `When_write_conflict` with its six cases, `When_writing_duplicate_event`,
/// `When_writing_events_without_id`.
pub(super) async fn three_conflicts(place: Place) {
    let table = place.table_behind::<DynamicEntity>();
    let row = async |key: String, row: &str| {
        let mut row = DynamicEntity::new(key, row);
        row.insert("Version", 1);
        row.insert("Data", "of another");
        table.insert(&row).await.unwrap();
    };
    for (case, (is_changed, has_event, has_id)) in [
        (true, false, false),
        (true, true, false),
        (true, false, true),
        (true, true, true),
        (false, true, false),
        (false, true, true),
        (false, false, true),
    ]
    .into_iter()
    .enumerate()
    {
        let key = format!("s{case}");
        let without_faults = Partition::new(&table, &key);
        without_faults.new_stream().provision().await.unwrap();
        let current = without_faults.open().await.unwrap().unwrap();
        if is_changed {
            current.clone().set_metadata(named("b")).await.unwrap();
        }
        if has_event {
            row(key.clone(), "SS-SE-0000000001").await;
        }
        if has_id {
            row(key.clone(), "SS-UID-e2").await;
        }
        let before = rows(&place, &key).await;
        let partition = Partition::new(&place.table::<DynamicEntity>("a"), &key);
        let mut stream = partition.stream_at(0, current.etag().unwrap().clone());
        match stream.write([with_id("e1"), with_id("e2")]).await {
            Err(WriteError::Conflict) => assert!(is_changed, "{key}: the header is unchanged"),
            Err(WriteError::EventExists(version)) => assert!(!is_changed && has_event && version == 1, "{key}"),
            Err(WriteError::Duplicate(id)) => assert!(!is_changed && !has_event && has_id && id == "e2", "{key}"),
            Err(WriteError::Other(e)) => assert!(is_fault_of_race(&place, &e), "{key}: {e}"),
            result => panic!("{key}: {result:?}"),
        }
        assert_eq!(rows(&place, &key).await, before, "{key}: a failed write has rows");
        // The stream is as it was: without the duplicate the write succeeds, without another read.
        if !is_changed && !has_event {
            match stream.write([with_id("e1"), event("e2")]).await {
                Ok(versions) => assert_eq!(versions, 1..3),
                Err(WriteError::Other(e)) => assert!(is_fault(&place, &e), "{key}: {e}"),
                Err(e) => panic!("{key}: {e}"),
            }
        }
    }
}

/// `Writing_to_stream.cs`, `When_writing_duplicate_event`; `S09_Handling_duplicates.cs`.
pub(super) async fn duplicates(place: Place) {
    let send = async |name| {
        let partition = of(&place, name);
        let mut last = Err(WriteError::Conflict);
        while let Err(WriteError::Conflict) = last {
            let Some(stream) = read(&place, partition.open().await) else {
                return Ok(None);
            };
            let mut stream = stream.unwrap_or_else(|| partition.new_stream());
            last = stream.write([event(name), with_id("once")]).await;
        }
        match last {
            Ok(_) => Ok(Some(true)),
            Err(WriteError::Duplicate(id)) => {
                assert_eq!(id, "once");
                Ok(Some(false))
            }
            Err(WriteError::Other(e)) if is_fault_of_race(&place, &e) => Err(e),
            Err(e) => panic!("{e:?}"),
        }
    };
    let (a, b) = join(send("a"), send("b")).await;
    let events = events(&place, "s").await;
    assert!(matches!(events.len(), 0 | 2), "{events:?}");
    for (result, name) in [(a, "a"), (b, "b")] {
        let is_own = events.first().is_some_and(|first| first == name);
        match result {
            Ok(Some(is_written)) => assert!(is_own == is_written && !events.is_empty(), "{name}: {events:?}"),
            Ok(None) => assert!(!is_own),
            Err(e) => assert!(e.may_have_applied() || !is_own, "{e}"),
        }
    }
}

/// `Writing_to_stream.cs`, `When_writing_over_WATS_max_batch_size_limit`; `Including_additional_entities.cs`,
/// `When_in_total_with_includes_is_over_WATS_max_batch_size_limit`,
/// `When_single_event_along_with_includes_is_over_WATS_max_batch_size_limit`; `limitations.md`.
pub(super) async fn limits(place: Place) {
    let many = |count: usize, form: fn(&str) -> Event<Text>| (0..count).map(move |n| form(&format!("e{n}")));
    let spy = Spy::new(Emulator::new());
    let counted = TableServiceClient::from_transport(spy.clone())
        .dynamic_table("Streams")
        .unwrap();
    counted.create_table().await.unwrap();
    for (key, batches, events) in [
        ("99 events", 1, many(99, event)),
        ("100 events", 2, many(100, event)),
        ("49 with ids", 1, many(49, with_id)),
        ("50 with ids", 2, many(50, with_id)),
    ] {
        spy.clear();
        Partition::new(&counted, key).new_stream().write(events).await.unwrap();
        assert_eq!(spy.requests(), batches, "{key}");
    }

    let row = |n: usize| TableOperation::insert(&DynamicEntity::new("s", format!("row{n:03}")));
    let including = |count: usize| (0..count).fold(with_id("big"), |event, n| event.include(row(n)));
    let mut stream = of(&place, "a").new_stream();
    spy.clear();
    let too_many = Partition::new(&counted, "s")
        .new_stream()
        .write([event("e0"), including(98)])
        .await;
    assert!(
        matches!(&too_many, Err(WriteError::Other(e)) if e.kind() == ErrorKind::InvalidInput),
        "{too_many:?}"
    );
    for events in [
        [
            event("e0"),
            event("e1").include(TableOperation::insert(&DynamicEntity::new("other", "row"))),
        ],
        [event("e0"), event("e1").id("no/key")],
    ] {
        let invalid = Partition::new(&counted, "s").new_stream().write(events).await;
        assert!(
            matches!(&invalid, Err(WriteError::Other(e)) if e.kind() == ErrorKind::InvalidInput),
            "{invalid:?}"
        );
    }
    let unset = Partition::new(&counted, "s")
        .new_stream()
        .set_metadata(named("a"))
        .await;
    assert!(matches!(&unset, Err(WriteError::Other(e)) if e.kind() == ErrorKind::InvalidInput));
    assert_eq!(spy.requests(), 0, "checked before the first request");

    stream.write([event("e0"), including(97)]).await.unwrap();
    stream.write(many(150, with_id)).await.unwrap();
    let events = events(&place, "s").await;
    assert_eq!((events.len(), stream.version()), (152, 152));
    assert_eq!(rows(&place, "s").await.len(), 1 + 152 + 151 + 97);
}

/// `Setting_stream_properties.cs`, all; `Writing_to_stream.cs`,
/// `When_writing_to_existing_stream_null_stream_properties` and `.._non_null_..`;
/// `Custom_stream_properties.cs`, whose reserved names are skipped and ours rejected;
/// `S07_Custom_stream_metadata.cs`.
pub(super) async fn metadata(place: Place) {
    let mut stream = behind(&place).new_stream().with_metadata(named("z"));
    stream.write([event("z")]).await.unwrap();
    let (version, etag) = (stream.version(), stream.etag().unwrap().clone());
    let set = async {
        let mut stream = of(&place, "a").stream_at(version, etag.clone());
        stream.set_metadata(named("a")).await?;
        assert_eq!((stream.metadata(), stream.version()), (Some(&named("a")), 1));
        assert_ne!(stream.etag(), Some(&etag));
        Ok(())
    };
    let write = async {
        let mut stream = of(&place, "b").stream_at(version, etag.clone());
        stream.write([event("b")]).await.map(drop)
    };
    let (set, written) = join(set, write).await;
    let stream = stored(&place).await;
    let events = events(&place, "s").await;
    let metadata = stream.metadata().unwrap();
    assert!(*metadata == named("a") || *metadata == named("z"), "{metadata:?}");
    judge(&place, &[set, written], [*metadata == named("a"), events.len() == 2]);

    let mut replaced = stream.with_metadata(Metadata::from([("Active".to_owned(), EdmValue::from(true))]));
    replaced.write([event("c")]).await.unwrap();
    assert_eq!(stored(&place).await.metadata(), replaced.metadata());
    let reserved = Metadata::from([("Version".to_owned(), EdmValue::from(7))]);
    let rejected = replaced.set_metadata(reserved).await;
    assert!(matches!(&rejected, Err(WriteError::Other(e)) if e.kind() == ErrorKind::InvalidInput));
    replaced.set_metadata(Metadata::new()).await.unwrap();
    assert_eq!(stored(&place).await.metadata(), Some(&Metadata::new()));
}

/// Every write and slice reads or raises the version of the header.
pub(super) async fn linearizable(place: Place) {
    behind(&place).new_stream().provision().await.unwrap();
    let history = History::default();
    let seen = |read: &azure_table::Result<Option<Stream>>| match read {
        Ok(Some(stream)) => Outcome::Returned(Ret::Version(stream.version())),
        Ok(None) => panic!("the stream exists"),
        Err(e) if is_fault(&place, e) => Outcome::Failed,
        Err(e) => panic!("{e:?}"),
    };
    let append = async |name| {
        let opened = history.call(Op::Read, of(&place, name).open(), seen).await;
        let Ok(Some(mut stream)) = opened else { return };
        let version = stream.version();
        let written = |result: &Result<_, WriteError>| match result {
            Ok(_) => Outcome::Returned(Ret::Raised),
            Err(WriteError::Conflict) => Outcome::Returned(Ret::Conflict),
            Err(WriteError::Other(e)) if e.may_have_applied() && !place.is_faultless => Outcome::InDoubt,
            Err(WriteError::Other(e)) if is_fault(&place, e) => Outcome::Failed,
            Err(e) => panic!("{e:?}"),
        };
        let write = stream.write([event(name)]);
        drop(history.call(Op::Raise(version, version + 1), write, written).await);
    };
    let look = async {
        for _ in 0..2 {
            let slice = async {
                let slice = of(&place, "c").read::<Text>(1, 10).await?;
                Ok(slice.map(|slice| slice.stream))
            };
            drop(history.call(Op::Read, slice, seen).await);
        }
    };
    join3(append("a"), append("b"), look).await;
    let last = async { behind(&place).open().await };
    drop(history.call(Op::Read, last, seen).await);
    assert!(history.is_linearizable(Version(0)));
    events(&place, "s").await;
}

/// The requests that the guide `systems` compares.
#[tokio::test]
async fn calls_have_the_documented_cost() {
    let spy = Spy::new(Emulator::new());
    let table = TableServiceClient::from_transport(spy.clone())
        .dynamic_table("Streams")
        .unwrap();
    table.create_table().await.unwrap();
    spy.clear();
    let cost = || {
        let requests = spy.requests();
        spy.clear();
        requests
    };
    let partition = Partition::new(&table, "s");
    partition.new_stream().provision().await.unwrap();
    assert_eq!(cost(), 1, "provision");
    let mut stream = partition.open().await.unwrap().unwrap();
    assert_eq!(cost(), 1, "open");
    stream.set_metadata(named("a")).await.unwrap();
    assert_eq!(cost(), 1, "set_metadata");
    stream.write([event("e1")]).await.unwrap();
    assert_eq!(cost(), 1, "write");
    let mut stream = partition.write_at(1, [event("e2")]).await.unwrap();
    assert_eq!(cost(), 2, "write_at");
    stream
        .write((3..=1_000).map(|n| event(&format!("e{n}"))))
        .await
        .unwrap();
    spy.clear();
    let slice = partition.read::<Text>(1, 1_000).await.unwrap().unwrap();
    assert_eq!((slice.events.len(), slice.is_end), (1_000, true));
    assert_eq!(cost(), 2, "read of 1,000 events");
}
