//! Streams that are opened and read.

use azure_table::ErrorKind;
use azure_table_tests::promises::Place;
use futures::future::join;

use super::{Text, behind, event, events, of, read, rows, with_id};
use crate::systems::event_streams::WriteError;

/// `Opening_stream.cs` and `Checking_stream_exists.cs`, all; `Reading_from_stream.cs`, `When_stream_doesnt_exist`,
/// `When_stream_is_empty`.
pub(super) async fn absent(place: Place) {
    let look = async {
        let opened = read(&place, of(&place, "a").open().await);
        let slice = read(&place, of(&place, "a").read::<Text>(1, 10).await);
        (opened, slice)
    };
    let provision = async { of(&place, "b").new_stream().provision().await };
    let ((opened, slice), provisioned) = join(look, provision).await;
    let rows = rows(&place, "s").await;
    match provisioned {
        Ok(()) => assert_eq!(rows, ["SS-HEAD"]),
        Err(_) => assert!(!place.retries_succeed && (rows.is_empty() || rows == ["SS-HEAD"])),
    }
    if let Some(Some(stream)) = opened {
        assert!(stream.version() == 0 && stream.etag().is_some());
        assert!(!matches!(slice, Some(None)), "the stream disappeared");
    }
    if let Some(Some(slice)) = slice {
        assert!(slice.is_end && slice.events.is_empty());
    }
    let absent = super::Partition::new(&place.table_behind::<super::DynamicEntity>(), "t");
    assert!(absent.open().await.unwrap().is_none());
    assert!(absent.read::<Text>(1, 10).await.unwrap().is_none());
    assert_eq!(super::rows(&place, "t").await, Vec::<String>::new());
}

/// `Stream.Operations.cs`, `ReadOperation`: events and header are read side by side.
pub(super) async fn beside_appends(place: Place) {
    behind(&place).new_stream().write([event("e1")]).await.unwrap();
    let append = async {
        let mut stream = of(&place, "a").open().await?.unwrap();
        for events in [vec![event("e2")], vec![event("e3"), event("e4")]] {
            stream.write(events).await?;
        }
        Ok::<_, WriteError>(())
    };
    let look = async {
        let mut from = 1;
        for _ in 0..2 {
            let Some(slice) = read(&place, of(&place, "b").read::<Text>(from, 2).await) else {
                return;
            };
            let slice = slice.unwrap();
            let version = slice.stream.version();
            for (n, (event, data)) in (from..).zip(&slice.events) {
                assert!(*event == n && data.data == format!("e{n}"), "{slice:?}");
            }
            let next = from + slice.events.len() as u32;
            assert!(next <= version + 1, "an event of a later version: {slice:?}");
            assert_eq!(slice.is_end, next == version + 1, "{slice:?}");
            assert!(slice.events.len() <= 2);
            from = next;
        }
    };
    let (appended, ()) = join(append, look).await;
    assert!(appended.is_ok() || !place.retries_succeed, "{appended:?}");
    events(&place, "s").await;
}

/// `Reading_from_stream.cs`, the remaining tests but the next.
pub(super) async fn slices(place: Place) {
    let mut stream = behind(&place).new_stream();
    stream.write([with_id("e1"), event("e2"), with_id("e3")]).await.unwrap();
    for (from, count, expected, is_end) in [
        (1, 2, 2, false),
        (1, 3, 3, true),
        (2, 1, 1, false),
        (3, u32::MAX, 1, true),
        (4, 10, 0, true),
    ] {
        check_slice(&place, from, count, expected, is_end).await;
    }
    for (from, count) in [(0, 10), (1, 0)] {
        let result = of(&place, "a").read::<Text>(from, count).await;
        assert_eq!(result.unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}

/// `Reading_from_stream.cs`, `When_slice_size_is_bigger_than_azure_storage_page_limit`.
pub(super) async fn pages(place: Place) {
    let many = (1..=1_100).map(|n| event(&format!("e{n}")));
    behind(&place).new_stream().write(many).await.unwrap();
    check_slice(&place, 1, 1_099, 1_099, false).await;
    check_slice(&place, 1, 1_101, 1_100, true).await;
}

async fn check_slice(place: &Place, from: u32, count: u32, expected: u32, is_end: bool) {
    let slice = read(place, of(place, "a").read::<Text>(from, count).await);
    let Some(slice) = slice else { return };
    let slice = slice.unwrap();
    let versions: Vec<u32> = slice.events.iter().map(|(version, _)| *version).collect();
    assert_eq!(versions, (from..from + expected).collect::<Vec<_>>());
    assert_eq!(slice.is_end, is_end, "{from}, {count}");
    for (version, event) in &slice.events {
        assert_eq!(event.data, format!("e{version}"));
    }
}
