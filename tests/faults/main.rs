//! Faults and the retry loop: which requests are retried, and what the error says.
//!
//! A separate program, so that a long run of the matrix and the histories builds only this.

#![expect(clippy::unwrap_used, reason = "a test says what failed by panicking")]

mod history;
mod kit;
mod matrix;

use std::time::Duration;

use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults};
use azure_table::transport::Delivery;
use azure_table::{CallOptions, DynamicEntity, Emulator, ErrorKind, NoRetry, TableClient, TableServiceClient};
use azure_table_tests::canned::{Canned, Step};
use azure_table_tests::errors::kind_in_doubt;

mod adverse;
mod attempts;
mod batch_responses;
mod bulk;
mod bulk_rows;
mod clock;
mod doubts;
mod dropped;
mod existing_rows;
mod explorations;
mod explored_programs;
mod in_doubt;
mod late_writes;
mod longest_polls;
mod modify;
mod outages;
mod page_schedules;
mod patterns;
mod policies;
mod prefetch;
mod primary;
mod procedures;
mod secondary;
mod tail;
mod total_timeout;
mod via_batch;
mod writes;

fn table(canned: &Canned) -> TableClient<DynamicEntity> {
    canned.service().dynamic_table("Things").unwrap()
}

fn row() -> DynamicEntity {
    DynamicEntity::new("p", "r")
}

fn entity() -> Step {
    Step::response(200, &[("etag", "e")], r#"{"PartitionKey":"p","RowKey":"r"}"#)
}

#[tokio::test(start_paused = true)]
async fn read_is_retried_until_it_is_answered() {
    let canned = Canned::new([
        Step::Fail(Delivery::MaybeSent),
        Step::status(503),
        Step::Fail(Delivery::ResponseCut),
        entity(),
    ]);
    assert!(table(&canned).get(("p", "r")).await.unwrap().is_some());
    assert_eq!(canned.sent().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn read_fails_after_four_attempts() {
    let canned = Canned::new([503, 500, 503, 503].map(Step::status));
    let error = table(&canned).get(("p", "r")).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::ServerFault, 4));
    assert!(!error.may_have_applied());
}

#[tokio::test(start_paused = true)]
async fn every_attempt_has_a_new_signature_and_the_same_body() {
    let canned = Canned::new([
        Step::Fail(Delivery::NothingSent),
        Step::response(204, &[("etag", "e")], ""),
    ]);
    table(&canned).insert(&row()).await.unwrap();
    let sent = canned.sent();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].body(), sent[1].body());
    assert!(
        !sent[1].body().is_empty(),
        "pains 61: a repeated body must not be empty"
    );
    for request in &sent {
        assert!(request.headers().contains_key("authorization") && request.headers().contains_key("x-ms-date"));
        assert!(request.headers()["authorization"].is_sensitive());
    }
}

/// Without retries, the error of a write whose response is lost says that it may have been applied.
#[tokio::test(start_paused = true)]
async fn lost_write_without_retries_is_in_doubt() {
    for reached in [Delivery::MaybeSent, Delivery::ResponseCut] {
        let canned = Canned::new([Step::Fail(reached)]);
        let error = table(&canned)
            .insert(&row())
            .with(&CallOptions::new().retry(NoRetry))
            .await
            .unwrap_err();
        assert_eq!(
            (kind_in_doubt(&error), error.attempts()),
            (Some(ErrorKind::Connection), 1)
        );
    }
    for (status, in_doubt) in [
        (500, true),
        (502, true),
        (504, true),
        (408, true),
        (400, false),
        (409, false),
        (501, false),
    ] {
        let canned = Canned::new([Step::status(status)]);
        let error = table(&canned)
            .insert(&row())
            .with(&CallOptions::new().retry(NoRetry))
            .await
            .unwrap_err();
        assert_eq!((error.may_have_applied(), error.attempts()), (in_doubt, 1), "{status}");
        assert_eq!(error.kind() == ErrorKind::InDoubt, in_doubt, "{status}");
        let last = error.last_failure().unwrap_or(error);
        assert_eq!(last.status(), Some(status));
    }
    let busy = r#"{"odata.error":{"code":"ServerBusy","message":{"lang":"en-US","value":"Busy."}}}"#;
    let canned = Canned::new([Step::response(503, &[], busy)]);
    let error = table(&canned)
        .insert(&row())
        .with(&CallOptions::new().retry(NoRetry))
        .await
        .unwrap_err();
    assert_eq!((error.kind(), error.may_have_applied()), (ErrorKind::Throttled, false));
}

#[tokio::test(start_paused = true)]
async fn unsent_write_is_retried() {
    let canned = Canned::new([
        Step::Fail(Delivery::NothingSent),
        Step::Fail(Delivery::NothingSent),
        Step::status(204),
    ]);
    table(&canned).delete(("p", "r")).await.unwrap();
    assert_eq!(canned.sent().len(), 3);
}

/// No wait is shorter than the service asks for.
#[tokio::test(start_paused = true)]
async fn retry_after_is_honoured() {
    let started = tokio::time::Instant::now();
    let canned = Canned::new([
        Step::response(503, &[("retry-after", "5")], ""),
        Step::response(429, &[("x-ms-retry-after-ms", "2500")], ""),
        entity(),
    ]);
    table(&canned).get(("p", "r")).await.unwrap();
    assert!(
        started.elapsed() >= Duration::from_millis(7_500),
        "{:?}",
        started.elapsed()
    );
}

/// An excessive wait ends the call, and the error names it.
#[tokio::test(start_paused = true)]
async fn excessive_wait_ends_the_call() {
    let started = tokio::time::Instant::now();
    let canned = Canned::new([Step::response(503, &[("retry-after", "86400")], "")]);
    let error = table(&canned).get(("p", "r")).await.unwrap_err();
    assert_eq!((error.attempts(), started.elapsed()), (1, Duration::ZERO));
    assert_eq!(
        error.to_string(),
        "get in table Things: entity (\"p\", \"r\"): the service answered 503: it requests a wait of 86400s"
    );
}

/// A timeout limits attempts and waits together.
#[tokio::test(start_paused = true)]
async fn timeout_covers_the_whole_call() {
    let started = tokio::time::Instant::now();
    let canned = Canned::new([Step::Hang]);
    let error = table(&canned)
        .get(("p", "r"))
        .timeout(Duration::from_secs(2))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let ended = "no response within the `timeout` of 2s";
    assert!(error.to_string().contains(ended), "{error}");
    assert_eq!(started.elapsed().as_secs(), 2);

    // The last attempt has the rest, and the text has the whole. So has the write of `modify`.
    let busy = Step::response(503, &[("retry-after", "1")], "");
    let body = r#"{"PartitionKey":"p","RowKey":"r","Timestamp":"2026-01-01T00:00:00Z"}"#;
    let stored = Step::response(200, &[("etag", "W/\"1\"")], body);
    let (reads, writes) = ([busy.clone(), Step::Hang], [busy, stored, Step::Hang]);
    for (steps, attempts) in [(&reads[..], 2), (&writes[..], 1)] {
        let table = table(&Canned::new(steps.to_vec())).with(&CallOptions::new().timeout(Duration::from_secs(2)));
        let error = match attempts {
            2 => table.get(("p", "r")).await.unwrap_err(),
            _ => table.modify(("p", "r"), |_| ()).await.unwrap_err(),
        };
        assert_eq!(error.attempts(), attempts, "{error}");
        assert!(error.to_string().contains(ended), "{error}");
    }
    let canned = Canned::new([Step::Hang]);
    let read = table(&canned)
        .get(("p", "r"))
        .with(&CallOptions::new().attempt_timeout(Duration::from_secs(2)));
    let error = read.with(&CallOptions::new().retry(NoRetry)).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("no response within the `attempt_timeout` of 2s"),
        "{error}"
    );

    let canned = Canned::new([Step::response(503, &[("retry-after", "6")], "")]);
    let error = table(&canned)
        .get(("p", "r"))
        .timeout(Duration::from_secs(2))
        .await
        .unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::ServerFault, 1));

    let canned = Canned::new([Step::Hang]);
    let error = table(&canned)
        .insert(&row())
        .timeout(Duration::from_secs(1))
        .await
        .unwrap_err();
    assert_eq!(
        kind_in_doubt(&error),
        Some(ErrorKind::Timeout),
        "the write may be in flight"
    );
}

/// The batch of an atomic write has the rest of its timeout.
#[tokio::test(start_paused = true)]
async fn limit_of_an_atomic_write_is_named_whole() {
    let (limit, busy) = (Duration::from_secs(2), Step::response(503, &[("retry-after", "1")], ""));
    let table = |steps: &[Step]| table(&Canned::new(steps.to_vec()));
    let page =
        r#"{"value":[{"odata.etag":"W/\"1\"","PartitionKey":"p","RowKey":"r","Timestamp":"2026-01-01T00:00:00Z"}]}"#;
    let steps = [busy, Step::response(200, &[], page), Step::Hang];
    let table = table(&steps);
    let error = table
        .delete_where(table.query().partition("p"))
        .total_timeout(limit)
        .atomic()
        .await
        .unwrap_err();
    assert!(error.to_string().contains("`total_timeout` of 2s"), "{error}");
}

/// The guide `pitfalls` states the first number.
#[tokio::test(start_paused = true)]
async fn service_that_never_answers_costs_one_read_back_per_attempt() {
    let row = |n: u32| DynamicEntity::new("p", n.to_string());
    // A bulk retries each batch once more.
    for (operations, is_bulk, attempts) in [(1, false, 4), (2, false, 4), (2, true, 5)] {
        let faults = Faults::new(Emulator::new());
        faults.add(Fault::HangResponse);
        let table = TableServiceClient::from_transport(faults.clone())
            .dynamic_table("Things")
            .unwrap();
        let started = tokio::time::Instant::now();
        let is_in_doubt = match (operations, is_bulk) {
            (1, _) => table.insert(&row(1)).await.is_err_and(|e| e.may_have_applied()),
            (_, false) => {
                let mut batch = table.batch();
                batch.insert(&row(1)).unwrap().insert(&row(2)).unwrap();
                batch.submit().await.is_err_and(|e| e.may_have_applied())
            }
            (_, true) => {
                let interrupted = table.bulk().insert([row(1), row(2)]).await.unwrap_err();
                interrupted.report().in_doubt() == 2
            }
        };
        assert!(is_in_doubt, "{operations} {is_bulk}");
        let minutes = (started.elapsed().as_secs_f64() / 60.0).round() as u64;
        assert_eq!((faults.requests(), minutes), (2 * attempts, 2 * attempts));
    }
}

/// Each page of the read-back of a batch has the remaining time of the call.
#[tokio::test(start_paused = true)]
async fn timeout_covers_the_reads_back() {
    let emulator = Emulator::new().page_size(1);
    let faults = Faults::new(emulator.clone());
    let truth = TableServiceClient::from_transport(emulator)
        .dynamic_table("Things")
        .unwrap();
    truth.create_table().await.unwrap();
    faults.add(FaultRule::new(Fault::LoseResponse).on(OperationKind::Batch));
    faults.add(FaultRule::new(Fault::DelayResponse(Duration::from_secs(6))).on_reads());
    let table = TableServiceClient::from_transport(faults)
        .dynamic_table("Things")
        .unwrap();
    let mut batch = table.batch();
    for row in ["1", "2", "3"] {
        batch.insert(&DynamicEntity::new("p", row)).unwrap();
    }
    let started = tokio::time::Instant::now();
    let error = batch.submit().timeout(Duration::from_secs(10)).await.unwrap_err();
    assert!(error.may_have_applied());
    let story = error.diagnostics().to_string();
    assert!(story.contains("no response within the `timeout` of 10s"), "{story}");
    assert_eq!(started.elapsed().as_secs(), 10);
}

/// The service may work on a write for 30 s: an attempt does not end earlier.
#[tokio::test(start_paused = true)]
async fn attempt_timeout_exceeds_the_time_of_the_service() {
    let started = tokio::time::Instant::now();
    let canned = Canned::new([Step::Hang]);
    let error = table(&canned)
        .insert(&row())
        .with(&CallOptions::new().retry(NoRetry))
        .await
        .unwrap_err();
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::Timeout));
    assert!(started.elapsed() > Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn stream_continues_after_a_retried_page() {
    let page = |rk: &str, more: &[(&str, &str)]| {
        Step::response(
            200,
            more,
            &format!(r#"{{"value":[{{"PartitionKey":"p","RowKey":"{rk}"}}]}}"#),
        )
    };
    let canned = Canned::new([
        page("1", &[("x-ms-continuation-nextpartitionkey", "x")]),
        Step::status(503),
        Step::Fail(Delivery::ResponseCut),
        page("2", &[]),
    ]);
    let rows = table(&canned).query().all().await.unwrap();
    assert_eq!(
        rows.iter().map(|row| row.row_key.as_str()).collect::<Vec<_>>(),
        ["1", "2"]
    );
    let sent = canned.sent();
    assert_eq!(sent[1].uri(), sent[3].uri());
}
