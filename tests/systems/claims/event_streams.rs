//! The claims of event streams.

mod history;
mod including;
mod places;
mod reading;
mod writing;

use azure_table::{DynamicEntity, EdmValue, Error, ErrorKind, PropertyGroup, TableEntity};
use azure_table_systems::event_streams::{Event, Metadata, Partition, Stream, WriteError};
use azure_table_tests::promises::Place;

use crate::kit::{Claim, check};

check!(CLAIMS);

const CLAIMS: [Claim; 20] = [
    Claim::new("Reading a stream that does not exist writes nothing", |place| {
        Box::pin(reading::absent(place))
    }),
    Claim::new("Of two that create a stream, one gets a conflict", |place| {
        Box::pin(writing::provision(place))
    }),
    Claim::new(
        "Of two first writes, one creates the stream with all of its events",
        |place| Box::pin(writing::first_write(place)),
    ),
    Claim::new("Of two appends to one version, one gets a conflict", |place| {
        Box::pin(writing::append(place))
    }),
    Claim::new("Of two appends at an expected version, one gets a conflict", |place| {
        Box::pin(writing::append_at(place))
    }),
    Claim {
        callers: 1,
        ..Claim::new(
            "A changed header, an existing event and an existing id are three errors",
            |place| Box::pin(writing::conflicts(place)),
        )
    },
    Claim::new(
        "An event with an id is written once, however often it is sent",
        |place| Box::pin(writing::duplicates(place)),
    ),
    Claim {
        callers: 1,
        lost: 0,
        is_faulted: false,
        ..Claim::new(
            "99 operations are one transaction; an event over it is rejected before I/O",
            |place| Box::pin(writing::limits(place)),
        )
    },
    Claim::new(
        "Metadata is replaced under the ETag, and kept by writes that did not read it",
        |place| Box::pin(writing::metadata(place)),
    ),
    Claim {
        callers: 3,
        lost: 0,
        ..Claim::new("The version of a stream is linearizable", |place| {
            Box::pin(writing::linearizable(place))
        })
    },
    Claim {
        callers: 1,
        ..Claim::new(
            "The operations on an included row become one, by the table of the original",
            |place| Box::pin(including::combined(place)),
        )
    },
    Claim {
        callers: 1,
        ..Claim::new(
            "The conflict of an included row names it, after conflicts of header and ids",
            |place| Box::pin(including::conflicts(place)),
        )
    },
    Claim::new("A projection has counted exactly the events of its stream", |place| {
        Box::pin(including::projection(place))
    }),
    Claim {
        callers: 1,
        ..Claim::new(
            "An included row keeps its ETag across the transactions of a write",
            |place| Box::pin(including::across_transactions(place)),
        )
    },
    Claim::new("A slice that is the end has every event of its header", |place| {
        Box::pin(reading::beside_appends(place))
    }),
    Claim {
        callers: 1,
        ..Claim::new("Slices begin and end where the caller says", |place| {
            Box::pin(reading::slices(place))
        })
    },
    Claim {
        callers: 1,
        lost: 0,
        is_faulted: false,
        ..Claim::new("A slice spans pages of the service", |place| {
            Box::pin(reading::pages(place))
        })
    },
    Claim::new("Virtual partitions do not see each other", |place| {
        Box::pin(places::virtual_partitions(place))
    }),
    Claim {
        callers: 1,
        ..Claim::new("A stream that the original wrote is read and continued", |place| {
            Box::pin(places::rows_of_the_original(place))
        })
    },
    Claim {
        callers: 1,
        lost: 0,
        is_faulted: false,
        ..Claim::new("Streams are spread evenly, and few move to a new shard", |_| {
            Box::pin(async { places::shards() })
        })
    },
];

#[derive(PropertyGroup, Clone, Debug, PartialEq)]
#[table(rename_all = "PascalCase")]
struct Text {
    data: String,
}

/// The key of any row. A check that reads no Timestamp leaves the order of writes to different rows open.
#[derive(TableEntity, Debug)]
struct RowId {
    #[table(partition_key)]
    _partition: String,
    #[table(row_key)]
    row: String,
}

fn event(data: &str) -> Event<Text> {
    Event::new(Text { data: data.to_owned() })
}

/// An event whose id is its data.
fn with_id(data: &str) -> Event<Text> {
    event(data).id(data)
}

fn named(by: &str) -> Metadata {
    Metadata::from([("By".to_owned(), EdmValue::from(by))])
}

/// The stream `s` of a caller.
fn of(place: &Place, caller: &str) -> Partition {
    Partition::new(&place.table::<DynamicEntity>(caller), "s")
}

/// The stream `s` without gate and faults.
fn behind(place: &Place) -> Partition {
    Partition::new(&place.table_behind::<DynamicEntity>(), "s")
}

/// Returns the stored stream.
async fn stored(place: &Place) -> Stream {
    behind(place).open().await.unwrap().unwrap()
}

/// Returns the RowKeys of a partition.
async fn rows(place: &Place, partition: &str) -> Vec<String> {
    let rows = place.table_behind::<RowId>().query().partition(partition).all().await;
    rows.unwrap().into_iter().map(|row| row.row).collect()
}

/// Returns the events of a stream. Checks that the header and the ids match them.
async fn events(place: &Place, key: &str) -> Vec<String> {
    let partition = Partition::new(&place.table_behind::<DynamicEntity>(), key);
    let slice = partition.read::<Text>(1, 2_000).await.unwrap();
    let prefix = key
        .split_once('|')
        .map_or(String::new(), |(_, name)| format!("{name}|"));
    let rows = rows(place, key.split('|').next().unwrap()).await;
    let count = |form: &str| {
        let start = format!("{prefix}{form}");
        rows.iter().filter(|row| row.starts_with(&start)).count()
    };
    let Some(slice) = slice else {
        assert_eq!(count("SS-"), 0, "rows without a header: {rows:?}");
        return Vec::new();
    };
    assert!(slice.is_end, "the header counts more events: {slice:?}");
    assert_eq!(
        count("SS-SE-"),
        slice.events.len(),
        "the header counts fewer events: {rows:?}"
    );
    let versions: Vec<_> = slice.events.iter().map(|(version, _)| *version).collect();
    assert_eq!(versions, (1..=slice.stream.version()).collect::<Vec<_>>());
    slice.events.into_iter().map(|(_, event)| event.data).collect()
}

/// Returns `true` if the network or the service failed, not the call.
fn is_fault(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Connection
            | ErrorKind::InDoubt
            | ErrorKind::InvalidResponse
            | ErrorKind::ServerFault
            | ErrorKind::Throttled
            | ErrorKind::Timeout
    )
}

/// Returns the result of a read, or `None` after a fault.
fn read<T>(result: azure_table::Result<T>) -> Option<T> {
    result.map_err(|e| assert!(is_fault(&e), "{e}")).ok()
}

/// Checks that each of two writes, of which one may win, reports what it did.
fn judge<T>(results: &[Result<T, WriteError>; 2], applied: [bool; 2]) {
    for (own, other) in [(0, 1), (1, 0)] {
        match &results[own] {
            Ok(_) => assert!(applied[own], "an acknowledged write is lost"),
            Err(WriteError::Conflict) => assert!(!applied[own] && applied[other], "a conflict with nobody"),
            Err(WriteError::Other(e)) if is_fault(e) => assert!(e.may_have_applied() || !applied[own], "{e}"),
            Err(e) => panic!("{e:?}"),
        }
    }
}
