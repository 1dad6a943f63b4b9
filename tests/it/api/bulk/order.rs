//! The order of the writes of one row in a bulk, and in its leftovers.

use std::time::Duration;

use azure_table::bulk::LeftoverReason;
use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::{BulkOutcome, DynamicEntity, EdmValue, Emulator, TableClient, TableOperation};
use azure_table_tests::intercept::Intercept;
use azure_table_tests::scenario::of_all;
use bytes::Bytes;
use futures::{StreamExt, stream};
use http::Response;
use proptest::prelude::*;

use crate::api::{create, create_with_faults};

fn version(row: &str, version: i32) -> DynamicEntity {
    let mut entity = DynamicEntity::new("p", row);
    entity.insert("Version", version);
    entity
}

/// A table, and the faults of its client.
async fn table() -> (Faults, TableClient) {
    let (faults, table, _) = create_with_faults(Emulator::new(), "Things").await;
    (faults, table)
}

async fn stored(table: &TableClient, row: &str) -> Option<EdmValue> {
    let entity = table.get(("p", row)).await.unwrap()?;
    entity.properties.get("Version").cloned()
}

/// The leftovers of a cancelled bulk are sent again: the last write of a row wins.
#[tokio::test(start_paused = true)]
async fn leftovers_of_one_row_are_sent_again_in_order() {
    let (faults, table) = table().await;
    let slow = faults.add(Fault::DelayRequest(Duration::from_secs(5)));
    let versions = (0..4).map(|n| version("r", n));
    let mut outcomes = table.bulk().insert_or_replace(versions).outcomes();
    let first = tokio::time::timeout(Duration::from_millis(10), outcomes.next()).await;
    assert!(first.is_err());
    let report = outcomes.finish().unwrap();
    assert_eq!((report.in_doubt(), report.not_attempted()), (1, 3));
    let left = report.into_leftovers();
    assert_eq!(left.iter().map(|left| left.index()).collect::<Vec<_>>(), [0, 1, 2, 3]);
    slow.disable();
    let again = left.into_iter().filter_map(|left| left.into_operation());
    assert_eq!(table.bulk().write(again).await.unwrap().applied(), 4);
    assert_eq!(stored(&table, "r").await, Some(EdmValue::Int32(3)));
}

/// An error ends the bulk while a row's first write is in flight: the second write follows it in the report.
#[tokio::test(start_paused = true)]
async fn waiting_write_follows_the_one_in_flight_in_the_report() {
    let (faults, table) = table().await;
    faults.add(FaultRule::new(Fault::DelayResponse(Duration::from_secs(5))).nth(1));
    faults.add(FaultRule::new(ResponseTemplate::new(403).code("AuthorizationFailure")).nth(1));
    let mut other = DynamicEntity::new("q", "r");
    other.insert("Version", 0);
    let writes = [version("r", 0), version("r", 1), other];
    let mut outcomes = table.bulk().batch_size(1).insert_or_replace(writes).outcomes();
    let mut reported = Vec::new();
    while let Some(outcome) = outcomes.next().await {
        reported.push(match outcome {
            BulkOutcome::Applied(applied) => (applied.index(), "applied"),
            BulkOutcome::Leftover(left) => match left.reason() {
                LeftoverReason::NotAttempted => (left.index(), "not attempted"),
                _ => (left.index(), "refused"),
            },
            _ => unreachable!(),
        });
    }
    assert_eq!(reported, [(2, "not attempted"), (0, "applied"), (1, "not attempted")]);
    assert!(outcomes.finish().is_err());
}

/// A slow batch does not delay other partitions while the stream is pending.
#[tokio::test(start_paused = true)]
async fn slow_batch_does_not_delay_other_partitions() {
    let (faults, table) = table().await;
    let slow = FaultRule::new(Fault::DelayResponse(Duration::from_secs(50)));
    faults.add(slow.on(OperationKind::Insert).nth(1));
    let source = stream::iter(0..5).then(|n| async move {
        tokio::time::sleep(Duration::from_millis(500)).await;
        TableOperation::insert(&DynamicEntity::new(format!("p{n}"), "r"))
    });
    let started = tokio::time::Instant::now();
    let mut outcomes = table.bulk().write_stream(source).outcomes();
    for _ in 0..4 {
        outcomes.next().await.unwrap();
    }
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    outcomes.next().await.unwrap();
    assert!(started.elapsed() > Duration::from_secs(50));
}

/// An operation that was in a batch can also be written alone.
#[tokio::test]
async fn long_keys_are_written_alone_too() {
    // Rejects long URLs, as HTTP.sys does.
    let narrow = Intercept::new(Emulator::new(), |behind, request| async move {
        if request.uri().to_string().len() <= 300 {
            return behind.send(request).await;
        }
        let html = "<HTML><BODY><h2>Bad Request - Invalid URL</h2></BODY></HTML>";
        Ok(Response::builder().status(400).body(Bytes::from(html)).unwrap())
    });
    let table = create::<DynamicEntity>(narrow, "Things").await;
    let long = |n: i32| version(&format!("{}{n}", "漢".repeat(200)), n);
    let report = table.bulk().insert_or_replace([long(1)]).await.unwrap();
    assert_eq!((report.applied(), report.rejected()), (1, 0));
    // The search for the existing row ends with single operations.
    let writes = [
        TableOperation::insert(&long(1)),
        TableOperation::insert_or_replace(&long(2)),
    ];
    let report = table.bulk().write(writes).await.unwrap();
    assert_eq!((report.applied(), report.rejected()), (1, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(of_all(ProptestConfig::default().cases)))]

    /// Writes of one row never overtake each other, no matter how long a batch takes.
    #[test]
    fn writes_of_a_row_stay_in_order(
        rows in proptest::collection::vec(0..4_u8, 1..40),
        batch_size in 1..6_usize,
        partition_concurrency in 1..5_usize,
        seed in any::<u64>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let faults = Faults::with_seed(Emulator::new(), seed);
            let table = create::<DynamicEntity>(faults.clone(), "Things").await;
            for millis in [3, 10, 40] {
                let wait = Duration::from_millis(millis);
                faults.add(FaultRule::new(Fault::DelayRequest(wait)).probability(0.3));
                faults.add(FaultRule::new(Fault::DelayResponse(wait)).probability(0.3));
            }
            let writes = rows.iter().enumerate();
            let writes = writes.map(|(n, row)| version(&row.to_string(), i32::try_from(n).unwrap()));
            let bulk = table.bulk().batch_size(batch_size).partition_concurrency(partition_concurrency);
            let report = bulk.insert_or_replace(writes).await.unwrap();
            prop_assert_eq!(report.applied() as usize, rows.len());
            for row in 0..4_u8 {
                let last = rows.iter().rposition(|other| *other == row);
                let last = last.map(|n| EdmValue::Int32(i32::try_from(n).unwrap()));
                prop_assert_eq!(stored(&table, &row.to_string()).await, last);
            }
            Ok(())
        })?;
    }
}
