//! The claims of event streams.

mod history;
mod including;
mod places;
mod reading;
mod writing;

use azure_table::{DynamicEntity, EdmValue, Error, ErrorKind, PropertyGroup, TableEntity};
use azure_table_tests::promises::Place;

use crate::kit::{Claim, check, claim};
use crate::systems::event_streams::{Event, Metadata, Partition, Stream, WriteError};

check!(CLAIMS);

pub(crate) const CLAIMS: [Claim; 21] = [
    claim!("reading an absent stream writes nothing", reading::absent).explored(4, "6 / 80"),
    claim!("of two that create it, one gets a conflict", writing::provision).explored(2, "2 / 40"),
    claim!("the first write creates it with its events", writing::first_write).explored(2, "2 / 40"),
    claim!("of two appends, one gets a conflict", writing::append).explored(3, "4 / 166"),
    claim!("of two at an expected version, one gets a conflict", writing::append_at).explored(4, "4 / 77"),
    claim!(
        "a single writer whose response was lost learns that it wrote",
        writing::certain
    )
    .callers(1)
    .explored(6, "1 / 40")
    .without_faults(),
    claim!(
        "a changed header, an existing event and an existing id are three errors",
        writing::three_conflicts
    )
    .callers(1)
    .explored(8, "1 / 68"),
    claim!("an id is written once", writing::duplicates).explored(6, "4 / 137"),
    claim!(
        "99 operations fit; an event with more is rejected before I/O",
        writing::limits
    )
    .callers(1)
    .explored(6, "1")
    .without_faults(),
    claim!("metadata is replaced under the ETag", writing::metadata).explored(2, "2 / 43"),
    claim!("the version is linearizable", writing::linearizable)
        .callers(3)
        .explored(8, "1,680")
        .shares_memory(),
    claim!(
        "insert, replace and delete of one row become one operation",
        including::combined
    )
    .callers(1)
    .explored(10, "1 / 86"),
    claim!("an included conflict names its row", including::conflicts)
        .callers(1)
        .explored(8, "1 / 66"),
    claim!("a projection counts exactly the events", including::projection).explored(9, "6 / 264"),
    claim!(
        "included rows keep their ETags between transactions",
        including::across_transactions
    )
    .callers(1)
    .explored(4, "1 / 23"),
    claim!("the last slice lacks no event of its header", reading::beside_appends).explored(7, "54 / 1,728"),
    claim!("slices begin and end as requested", reading::slices)
        .callers(1)
        .explored(10, "32 / 512"),
    claim!("slices span pages", reading::pages)
        .callers(1)
        .explored(6, "9")
        .without_faults(),
    claim!("virtual partitions are separate", places::virtual_partitions).explored(2, "2 / 30"),
    claim!("streams of the original are continued", places::rows_of_the_original)
        .callers(1)
        .explored(3, "1 / 11"),
    claim!("sharding is even and stable", places::shards)
        .callers(1)
        .explored(0, "1")
        .without_faults(),
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

/// Returns `true` if a fault of the run explains the error: the network or the service failed, not the call.
fn is_fault(place: &Place, error: &Error) -> bool {
    let is_of_service = matches!(
        error.kind(),
        ErrorKind::Connection
            | ErrorKind::InDoubt
            | ErrorKind::InvalidResponse
            | ErrorKind::ServerFault
            | ErrorKind::Throttled
            | ErrorKind::Timeout
    );
    is_of_service && !place.retries_succeed
}

/// Returns `true` if a fault explains the error of a write that conflicts. A single lost attempt does too: it may still
/// arrive, or another writer replaced the header that shows who wrote.
fn is_fault_of_race(place: &Place, error: &Error) -> bool {
    let is_doubt = error.kind() == ErrorKind::InDoubt && !place.is_faultless;
    is_doubt || is_fault(place, error)
}

/// Returns the result of a read, or `None` after a fault.
fn read<T>(place: &Place, result: azure_table::Result<T>) -> Option<T> {
    result.map_err(|e| assert!(is_fault(place, &e), "{e}")).ok()
}

/// Checks that each of two writes, of which one may win, reports what it did.
fn judge<T>(place: &Place, results: &[Result<T, WriteError>; 2], applied: [bool; 2]) {
    for (own, other) in [(0, 1), (1, 0)] {
        match &results[own] {
            Ok(_) => assert!(applied[own], "an acknowledged write is lost"),
            Err(WriteError::Conflict) => assert!(!applied[own] && applied[other], "a conflict with nobody"),
            Err(WriteError::Other(e)) if is_fault_of_race(place, e) => {
                assert!(e.may_have_applied() || !applied[own], "{e}");
            }
            Err(e) => panic!("{e:?}"),
        }
    }
}
