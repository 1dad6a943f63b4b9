//! Rows of a bulk that fail: each fails alone, whatever the service names, and without unneeded requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use azure_table::bulk::LeftoverReason;
use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{
    CallOptions, DynamicEntity, Emulator, ErrorKind, ExponentialRetry, TableClient, TableOperation, TableServiceClient,
};
use bytes::Bytes;
use http::{Request, Response};

/// Rejects each request with a bad row, and does not name the row of a batch.
#[derive(Clone, Debug)]
struct Unnamed {
    emulator: Emulator,
    requests: Arc<AtomicU64>,
}

impl Transport for Unnamed {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            self.requests.fetch_add(1, Ordering::Relaxed);
            if !String::from_utf8_lossy(request.body()).contains("spoiled") {
                return self.emulator.send(request).await;
            }
            let json = r#"{"odata.error":{"code":"InvalidInput","message":{"lang":"en-US","value":"Bad."}}}"#;
            let rejection = if request.uri().path().ends_with("$batch") {
                let parts = format!(
                    "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n\
                     Content-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 400 Bad Request\r\n\r\n{json}\r\n--c--\r\n--b--\r\n"
                );
                let response = Response::builder().status(202);
                response
                    .header("content-type", "multipart/mixed; boundary=b")
                    .body(Bytes::from(parts))
            } else {
                Response::builder()
                    .status(400)
                    .body(Bytes::from_static(json.as_bytes()))
            };
            Ok(rejection.unwrap())
        })
    }
}

fn row(key: &str, value: &str) -> DynamicEntity {
    let mut entity = DynamicEntity::new("p", key);
    entity.insert("V", value);
    entity
}

async fn table(service: &TableServiceClient) -> TableClient {
    let table = service.dynamic_table("Things").unwrap();
    table.create_table().await.unwrap();
    table
}

#[tokio::test(start_paused = true)]
async fn unnamed_failing_row_is_found_by_halving() {
    for rows in 1..=9 {
        for bad in 0..rows {
            let requests = Arc::new(AtomicU64::new(0));
            let emulator = Emulator::new();
            let truth = table(&TableServiceClient::from_transport(emulator.clone())).await;
            let service = TableServiceClient::from_transport(Unnamed {
                emulator,
                requests: Arc::clone(&requests),
            });
            let table = service.dynamic_table("Things").unwrap();
            let value = |at| if at == bad { "spoiled" } else { "good" };
            let entities = (0..rows).map(|at| row(&at.to_string(), value(at)));
            let report = table.bulk().insert(entities).await.unwrap();
            assert_eq!((report.applied(), report.rejected()), (rows - 1, 1));
            assert_eq!(report.leftovers()[0].index(), bad);
            assert_eq!(truth.query().count().await.unwrap() as u64, rows - 1);
            // The whole batch, and two halves for each split.
            let halvings = u64::from(rows.next_power_of_two().ilog2());
            let sent = requests.load(Ordering::Relaxed);
            assert!(sent <= 1 + 2 * halvings, "{bad} of {rows}: {sent} requests");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn row_that_the_client_rejects_does_not_end_the_bulk() {
    let long = "k".repeat(1_025);
    // Cosmos DB rejects an empty key.
    for (emulator, key) in [(Emulator::new(), &*long), (Emulator::cosmos(), "")] {
        let table = table(&TableServiceClient::from_transport(emulator)).await;
        let rows = [row("1", "x"), row(key, "x"), row("2", "x")];
        let report = table.bulk().insert(rows).await.unwrap();
        assert_eq!((report.applied(), report.rejected()), (2, 1));
        let left = &report.leftovers()[0];
        let LeftoverReason::Rejected(error) = left.reason() else {
            panic!("{left}");
        };
        assert_eq!((left.index(), error.kind()), (1, ErrorKind::InvalidInput));
        assert_eq!(
            error.batch_index(),
            None,
            "no place in a batch that the caller did not make"
        );
        assert_eq!(table.query().count().await.unwrap(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn bulk_without_valid_operations_sends_nothing() {
    let faults = Faults::new(Emulator::new());
    let table = table(&TableServiceClient::from_transport(faults.clone())).await;
    let before = faults.requests();
    let report = table.bulk().insert([row("a/b", "x"), row("c/d", "x")]).await.unwrap();
    assert_eq!((report.rejected(), faults.requests() - before), (2, 0));
}

/// The retry of a delete finds no row: this bulk or another client deleted it. No further request can tell.
#[tokio::test(start_paused = true)]
async fn lost_delete_is_repeated_once() {
    for rows in [1, 2] {
        let faults = Faults::new(Emulator::new());
        let table = table(&TableServiceClient::from_transport(faults.clone())).await;
        let entities: Vec<_> = (0..rows).map(|at| row(&at.to_string(), "x")).collect();
        assert_eq!(table.bulk().insert(&entities).await.unwrap().applied(), rows);
        faults.add(FaultRule::new(Fault::LoseResponse).on_writes().first(1));
        let before = faults.log().len();
        let bulk = table
            .bulk()
            .with(&CallOptions::new().retry(ExponentialRetry::default()))
            .delete(&entities);
        let report = bulk.await.unwrap();
        assert_eq!((report.applied(), report.rejected(), report.in_doubt()), (rows, 0, 0));
        let log = faults.log();
        let kinds: Vec<_> = log[before..].iter().filter_map(|record| record.kind()).collect();
        use OperationKind::{Batch, Delete, Query};
        match rows {
            1 => assert_eq!(kinds, [Delete, Query, Delete]),
            _ => assert_eq!(kinds, [Batch, Query, Batch, Delete, Delete]),
        }
        assert_eq!(table.query().count().await.unwrap(), 0);
    }
}

/// A batch ends at its limit of bytes. A row that exceeds every batch is written alone.
#[tokio::test(start_paused = true)]
async fn every_row_is_written_once_however_short_batches_are() {
    for (bytes, fewest, most) in [(1, 9, 9), (3_000, 2, 8), (usize::MAX, 1, 1)] {
        let faults = Faults::new(Emulator::new());
        let table = table(&TableServiceClient::from_transport(faults.clone())).await;
        let before = faults.requests();
        let entities = (0..9).map(|at| row(&at.to_string(), "x"));
        let report = table.bulk().batch_bytes(bytes).insert(entities).await.unwrap();
        assert_eq!((report.applied(), report.rejected()), (9, 0), "{bytes}");
        let requests = faults.requests() - before;
        assert!((fewest..=most).contains(&requests), "{bytes}: {requests} requests");
        assert_eq!(table.query().count().await.unwrap(), 9);
    }
}

#[tokio::test(start_paused = true)]
async fn lost_delete_that_is_rejected_for_its_etag_is_not_applied() {
    let faults = Faults::new(Emulator::new());
    let table = table(&TableServiceClient::from_transport(faults.clone())).await;
    table.insert(&row("1", "old")).await.unwrap();
    let stale = table.get(("p", "1")).await.unwrap().unwrap();
    table.replace(&row("1", "new")).await.unwrap();
    faults.add(
        FaultRule::new(ResponseTemplate::new(500))
            .on(OperationKind::Delete)
            .first(1),
    );
    let delete = TableOperation::delete::<DynamicEntity>(("p", "1")).if_match(stale.etag.unwrap());
    let report = table.bulk().write([delete]).await.unwrap();
    assert_eq!(
        (report.applied(), report.rejected(), report.in_doubt()),
        (0, 0, 1),
        "{report}"
    );
    assert!(table.exists(("p", "1")).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn delete_of_a_missing_row_is_rejected_if_no_attempt_was_lost() {
    let table = table(&TableServiceClient::from_transport(Emulator::new())).await;
    let report = table.bulk().delete(&[row("1", "x")]).await.unwrap();
    assert_eq!(
        (report.applied(), report.rejected(), report.in_doubt()),
        (0, 1, 0),
        "{report}"
    );
}

#[tokio::test(start_paused = true)]
async fn row_that_the_service_names_costs_one_more_batch() {
    let faults = Faults::new(Emulator::new());
    let table = table(&TableServiceClient::from_transport(faults.clone())).await;
    table.insert(&row("5", "theirs")).await.unwrap();
    let entities: Vec<_> = (0..8).map(|at| row(&at.to_string(), "ours")).collect();
    let before = faults.log().len();
    let report = table.bulk().insert(&entities).await.unwrap();
    assert_eq!((report.applied(), report.rejected()), (7, 1), "{report}");
    let kinds: Vec<_> = faults.log()[before..]
        .iter()
        .filter_map(|record| record.kind())
        .collect();
    assert_eq!(kinds, [OperationKind::Batch; 2]);
}
