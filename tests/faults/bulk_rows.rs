//! Rows of a bulk that fail: each fails alone, whatever the service names, and without unneeded requests.

use azure_table::bulk::LeftoverReason;
use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::transport::Transport as _;
use azure_table::{
    BulkReport, CallOptions, DynamicEntity, Emulator, ErrorKind, ExponentialRetry, TableClient, TableOperation,
};
use azure_table_tests::canned::Canned;
use azure_table_tests::intercept::Intercept;
use azure_table_tests::scenario::rejection;

use super::{batch_response, faulty, row_of, table_of};

fn rows(count: u64) -> Vec<DynamicEntity> {
    (0..count).map(|at| row_of(&at.to_string(), "x")).collect()
}

/// The numbers of applied and rejected rows, and of rows in doubt.
fn counts(report: &BulkReport) -> (u64, u64, u64) {
    (report.applied(), report.rejected(), report.in_doubt())
}

fn kinds(faults: &Faults) -> Vec<OperationKind> {
    faults.log().iter().filter_map(|record| record.kind()).collect()
}

#[tokio::test(start_paused = true)]
async fn unnamed_failing_row_is_found_by_halving() {
    // Rejects each request with a bad row, and does not name the row of a batch.
    let rejecting = |emulator| {
        Faults::new(Intercept::new(emulator, |service, request| async move {
            let rejected = rejection(400, "InvalidInput");
            if !String::from_utf8_lossy(request.body()).contains("spoiled") {
                return service.send(request).await;
            } else if !request.uri().path().ends_with("$batch") {
                return Ok(rejected);
            }
            let body = String::from_utf8_lossy(rejected.body());
            let response = batch_response(&[("400 Bad Request", &body)]);
            Canned::new([response]).send(request).await
        }))
    };
    for rows in 1..=9 {
        for bad in 0..rows {
            let emulator = Emulator::new();
            let (_, _, truth) = faulty::<DynamicEntity>(emulator.clone()).await;
            let sending = rejecting(emulator);
            let table = table_of(sending.clone());
            let value = |at| if at == bad { "spoiled" } else { "good" };
            let entities = (0..rows).map(|at| row_of(&at.to_string(), value(at)));
            let report = table.bulk().insert(entities).await.unwrap();
            assert_eq!(counts(&report), (rows - 1, 1, 0));
            assert_eq!(report.leftovers()[0].index(), bad);
            assert_eq!(truth.query().count().await.unwrap() as u64, rows - 1);
            // The whole batch, and two halves for each split.
            let halvings = u64::from(rows.next_power_of_two().ilog2());
            let sent = sending.requests();
            assert!(sent <= 1 + 2 * halvings, "{bad} of {rows}: {sent} requests");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn row_that_the_client_rejects_does_not_end_the_bulk() {
    let long = "k".repeat(1_025);
    // Cosmos DB rejects an empty key.
    for (emulator, key) in [(Emulator::new(), &*long), (Emulator::cosmos(), "")] {
        let (_, table, _) = faulty::<DynamicEntity>(emulator).await;
        let rows = [row_of("1", "x"), row_of(key, "x"), row_of("2", "x")];
        let report = table.bulk().insert(rows).await.unwrap();
        assert_eq!(counts(&report), (2, 1, 0));
        let left = &report.leftovers()[0];
        let LeftoverReason::Rejected(error) = left.reason() else {
            panic!("{left}");
        };
        assert_eq!((left.index(), error.kind()), (1, ErrorKind::InvalidInput));
        // No place in a batch that the caller did not make.
        assert_eq!(error.batch_index(), None);
        assert_eq!(table.query().count().await.unwrap(), 2);
    }
}

#[azure_table::test(start_paused)]
async fn bulk_without_valid_operations_sends_nothing(table: TableClient, faults: Faults) {
    let rows = [row_of("a/b", "x"), row_of("c/d", "x")];
    let report = table.bulk().insert(rows).await.unwrap();
    assert_eq!((report.rejected(), faults.requests()), (2, 0));
}

/// The retry of a delete finds no row: this bulk or another client deleted it. No further request can tell.
#[tokio::test(start_paused = true)]
async fn lost_delete_is_repeated_once() {
    use OperationKind::{Batch, Delete, Query};
    let one = &[Delete, Query, Delete][..];
    for (count, sent) in [(1, one), (2, &[Batch, Query, Batch, Query, Delete, Delete])] {
        let (faults, table, truth) = faulty(Emulator::new()).await;
        let entities = rows(count);
        assert_eq!(truth.bulk().insert(&entities).await.unwrap().applied(), count);
        faults.add(FaultRule::new(Fault::LoseResponse).on_writes().first(1));
        let retrying = CallOptions::new().retry(ExponentialRetry::default());
        let report = table.bulk().with(&retrying).delete(&entities).await.unwrap();
        assert_eq!(counts(&report), (count, 0, 0));
        assert_eq!(kinds(&faults), sent);
        assert_eq!(truth.query().count().await.unwrap(), 0);
    }
}

/// A batch ends at its limit of bytes. A row that exceeds every batch is written alone.
#[tokio::test(start_paused = true)]
async fn every_row_is_written_once_however_short_batches_are() {
    for (bytes, fewest, most) in [(1, 9, 9), (3_000, 2, 8), (usize::MAX, 1, 1)] {
        let (faults, table, truth) = faulty(Emulator::new()).await;
        let report = table.bulk().batch_bytes(bytes).insert(rows(9)).await.unwrap();
        assert_eq!(counts(&report), (9, 0, 0), "{bytes}");
        let requests = faults.requests();
        assert!((fewest..=most).contains(&requests), "{bytes}: {requests} requests");
        assert_eq!(truth.query().count().await.unwrap(), 9);
    }
}

#[azure_table::test(start_paused)]
async fn lost_delete_that_is_rejected_for_its_etag_is_not_applied(table: TableClient, faults: Faults) {
    table.insert(&row_of("1", "old")).await.unwrap();
    let stale = table.get(("p", "1")).await.unwrap().unwrap();
    table.replace(&row_of("1", "new")).await.unwrap();
    let failure = FaultRule::new(ResponseTemplate::new(500));
    faults.add(failure.on(OperationKind::Delete).first(1));
    let delete = TableOperation::delete::<DynamicEntity>(("p", "1")).if_match(stale.etag.unwrap());
    let report = table.bulk().write([delete]).await.unwrap();
    assert_eq!(counts(&report), (0, 0, 1), "{report}");
    assert!(table.exists(("p", "1")).await.unwrap());
}

#[azure_table::test(start_paused)]
async fn delete_of_a_missing_row_is_rejected_if_no_attempt_was_lost(table: TableClient) {
    let report = table.bulk().delete(&rows(1)).await.unwrap();
    assert_eq!(counts(&report), (0, 1, 0), "{report}");
}

#[tokio::test(start_paused = true)]
async fn row_that_the_service_names_costs_one_more_batch() {
    let (faults, table, truth) = faulty(Emulator::new()).await;
    truth.insert(&row_of("5", "theirs")).await.unwrap();
    let report = table.bulk().insert(rows(8)).await.unwrap();
    assert_eq!(counts(&report), (7, 1, 0), "{report}");
    assert_eq!(kinds(&faults), [OperationKind::Batch; 2]);
}
