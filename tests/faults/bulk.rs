//! Bulks and writes by query under faults.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use azure_table::bulk::LeftoverReason;
use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, ResponseTemplate};
use azure_table::transport::{Delivery, TransportError};
use azure_table::{BulkReport, DynamicEntity, Emulator, TableClient, TableOperation};
use azure_table_tests::intercept::Intercept;
use http::Method;
use tokio::time::{Instant, sleep};

use super::{busy, faulty, row_of, table_of};

/// The client reads back a write whose response was lost. That read is retried like any other.
#[tokio::test(start_paused = true)]
async fn throttled_read_back_of_a_bulk_does_not_send_the_write_over_a_newer_one() {
    for rows in [&["1"][..], &["1", "2"]] {
        let (faults, table, truth) = faulty(Emulator::new()).await;
        faults.add(FaultRule::new(Fault::LoseResponse).on_writes().at_most(1));
        faults.add(FaultRule::new(busy()).on(OperationKind::Query).at_most(1));
        let second = faults.add(FaultRule::new(Fault::DelayRequest(Duration::from_secs(10))).on_writes());

        let written = rows.iter().map(|name| row_of(name, 1));
        let newer = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            for name in rows {
                truth.insert_or_replace(&row_of(name, 2)).await.unwrap();
            }
        };
        let (report, ()) = tokio::join!(table.bulk().insert_or_replace(written), newer);
        assert_eq!(report.unwrap().applied(), rows.len() as u64);
        for name in rows {
            let stored = truth.get(("p", *name)).await.unwrap().unwrap();
            assert_eq!(stored.get("V"), Some(&2.into()), "the older write came again");
        }
        assert_eq!(second.hits(), 0);
    }
}

/// A table whose first write arrives 20 s after its connection broke, and the same table without faults.
async fn late_first_write() -> (TableClient, TableClient) {
    let emulator = Emulator::new();
    let (_, _, truth) = faulty(emulator.clone()).await;
    let writes = Arc::new(AtomicU32::new(0));
    let late = Intercept::new(emulator, move |service, request| {
        let is_late = request.method() != Method::GET && writes.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            if !is_late {
                return service.send(request).await;
            }
            tokio::spawn(async move {
                sleep(Duration::from_secs(20)).await;
                service.send(request).await
            });
            Err(TransportError::new(Delivery::MaybeSent, "reset"))
        }
    });
    (table_of(late), truth)
}

async fn stored(table: &TableClient, key: &str) -> Option<DynamicEntity> {
    sleep(Duration::from_secs(60)).await;
    table.get(("p", key)).await.unwrap()
}

fn counts(report: &BulkReport) -> (u64, u64, u64) {
    (report.applied(), report.in_doubt(), report.not_attempted())
}

#[tokio::test(start_paused = true)]
async fn last_write_of_a_row_is_sent_once_no_earlier_one_can_arrive() {
    for rows in [&["a"][..], &["a", "b"]] {
        let (table, truth) = late_first_write().await;
        let (first, second) = (rows.iter().map(|key| row_of(key, 1)), [row_of("a", 2), row_of("c", 2)]);
        let report = table.bulk().insert_or_replace(first.chain(second)).await.unwrap();
        assert_eq!(counts(&report), (rows.len() as u64 + 2, 0, 0));
        let last = stored(&truth, "a").await.unwrap();
        assert_eq!(last.get("V"), Some(&2.into()), "the first write arrived last");
    }
}

/// The late write of an insert would undo the delete, the late delete the insert.
#[tokio::test(start_paused = true)]
async fn late_write_of_a_bulk_undoes_no_later_one() {
    let (table, truth) = late_first_write().await;
    let delete = || TableOperation::delete::<DynamicEntity>(("p", "r"));
    let insert = || TableOperation::insert(&row_of("r", 1));
    let report = table.bulk().write([insert(), delete()]).await.unwrap();
    assert_eq!((counts(&report), stored(&truth, "r").await), ((2, 0, 0), None));

    let (table, truth) = late_first_write().await;
    truth.insert(&row_of("r", 0)).await.unwrap();
    let report = table.bulk().write([delete(), insert()]).await.unwrap();
    assert_eq!(
        (counts(&report), stored(&truth, "r").await.is_some()),
        ((2, 0, 0), true)
    );
}

/// Other rows do not wait, and nothing waits for a write that cannot arrive any more.
#[tokio::test(start_paused = true)]
async fn only_later_writes_of_a_row_wait_for_an_earlier_one() {
    let started = Instant::now();
    let (table, _) = late_first_write().await;
    let rows = ["a", "b", "c"].map(|key| row_of(key, 1));
    assert_eq!(counts(&table.bulk().insert_or_replace(rows).await.unwrap()), (3, 0, 0));

    let (table, truth) = late_first_write().await;
    let etag = truth.insert(&row_of("r", 0)).await.unwrap();
    let first = TableOperation::replace(&row_of("r", 1)).if_match(etag);
    let both = [first, TableOperation::insert_or_replace(&row_of("r", 2))];
    assert_eq!(counts(&table.bulk().write(both).await.unwrap()), (2, 0, 0));

    // A write that was read back after its only attempt.
    let (faults, table, _) = faulty(Emulator::new()).await;
    faults.add(FaultRule::new(Fault::LoseResponse).on_writes().first(1));
    let both = [1, 2].map(|value| row_of("r", value));
    assert_eq!(counts(&table.bulk().insert_or_replace(both).await.unwrap()), (2, 0, 0));
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());

    let (table, truth) = late_first_write().await;
    let both = [1, 2].map(|value| row_of("r", value));
    let limited = table.bulk().total_timeout(Duration::from_secs(60));
    let interrupted = limited.insert_or_replace(both).await.unwrap_err();
    assert_eq!(counts(interrupted.report()), (1, 0, 1), "{interrupted}");
    assert_eq!(stored(&truth, "r").await.unwrap().get("V"), Some(&1.into()));
}

/// The recipe of the guide `batches`: what is in doubt or was not attempted is sent again, in its order.
#[tokio::test(start_paused = true)]
async fn row_in_doubt_gets_no_later_write_of_its_bulk() {
    let (faults, table, truth) = faulty(Emulator::new()).await;
    let denied = ResponseTemplate::new(403).code("AuthorizationPermissionMismatch");
    faults.add(FaultRule::new(denied).on_reads());
    faults.add(FaultRule::new(Fault::LoseResponse).on_writes().nth(1));
    faults.add(FaultRule::new(ResponseTemplate::new(400)).on_writes().nth(1));
    let row = |value| row_of("r", value);
    let rows = [row(1), row(2), row(3), DynamicEntity::new("other", "r")];
    let report = table.bulk().concurrency(1).insert_or_replace(rows).await.unwrap();
    assert_eq!(counts(&report), (1, 1, 2), "{report}");
    assert_eq!(report.settled(), 0);
    let left: Vec<_> = report.leftovers().iter().map(|left| left.index()).collect();
    assert_eq!(left, [0, 1, 2]);
    let again = report
        .into_leftovers()
        .into_iter()
        .filter_map(|left| match left.reason() {
            LeftoverReason::Rejected(_) => None,
            _ => left.into_operation(),
        });
    table.bulk().write(again).await.unwrap().ensure_no_leftovers().unwrap();
    assert_eq!(stored(&truth, "r").await.unwrap().get("V"), Some(&3.into()));
}

/// An endless source with a row in doubt ends like one whose writes fail.
#[tokio::test(start_paused = true)]
async fn writes_behind_one_in_doubt_count_as_failures() {
    let (faults, table, _) = faulty(Emulator::new()).await;
    faults.add(FaultRule::new(ResponseTemplate::new(403)).on_reads());
    faults.add(FaultRule::new(Fault::LoseResponse).on_writes().nth(1));
    faults.add(FaultRule::new(ResponseTemplate::new(400)).on_writes().nth(1));
    let endless = std::iter::repeat_with(|| row_of("r", 1));
    let bulk = table.bulk().max_failures(50);
    let interrupted = bulk.insert_or_replace(endless).await.unwrap_err();
    assert!(
        interrupted.error().to_string().contains("`.max_failures(..)`"),
        "{interrupted}"
    );
}
