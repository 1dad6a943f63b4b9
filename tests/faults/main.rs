//! Faults and the retry loop: which requests are retried, and what the error says.
//!
//! A separate program, so that a long run of the matrix and the histories builds only this.

#![expect(clippy::unwrap_used, reason = "a test says what failed by panicking")]

/// Rows of values and a call, whose async body becomes a function that returns a boxed future.
///
/// ```ignore
/// calls! {
///     "insert", false => |rows| rows.insert(&row()).await;
/// }
/// ```
///
/// is `[("insert", false, |rows| Box::pin(async move { rows.insert(&row()).await }))]`.
macro_rules! calls {
    ($($($value:expr),+ => |$($argument:ident),+| $body:expr;)*) => {
        [$(($($value),+, |$($argument),+| Box::pin(async move { $body }))),*]
    };
}

mod history;
mod kit;
mod matrix;

use std::time::Duration;

use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::transport::{Delivery, Transport};
use azure_table::{CallOptions, DynamicEntity, Emulator, ErrorKind, NoRetry, TableClient, TableServiceClient};
use azure_table_tests::canned::{Canned, Step};
use azure_table_tests::errors::kind_in_doubt;
use azure_table_tests::scenario::rejection;

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
mod lost_writes;
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

/// Returns a client of the table `Table`, as the parameter `table` of a test is.
fn table_of<E>(transport: impl Transport) -> TableClient<E> {
    TableServiceClient::from_transport(transport).table("Table").unwrap()
}

/// Creates the table `Table`. Returns faults, the table behind them, and the same table without them.
async fn faulty<E>(emulator: Emulator) -> (Faults, TableClient<E>, TableClient<E>) {
    let truth = table_of(emulator.clone());
    truth.create_table().await.unwrap();
    let faults = Faults::new(emulator);
    (faults.clone(), table_of(faults), truth)
}

/// The options of a call that is sent once.
fn once() -> CallOptions {
    CallOptions::new().retry(NoRetry)
}

fn row() -> DynamicEntity {
    DynamicEntity::new("p", "r")
}

/// A row of the partition `p` with the column `V`.
fn row_of(key: &str, value: impl Into<azure_table::EdmValue>) -> DynamicEntity {
    let mut row = DynamicEntity::new("p", key);
    row.insert("V", value);
    row
}

fn entity() -> Step {
    Step::response(200, &[("etag", "e")], r#"{"PartitionKey":"p","RowKey":"r"}"#)
}

/// The response of a service that is throttling.
fn busy() -> ResponseTemplate {
    ResponseTemplate::new(503).code("ServerBusy").message("Busy.")
}

/// A response to a batch with these parts: status line with headers, and body.
fn batch_response(parts: &[(&str, &str)]) -> Step {
    let mut text = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n".to_owned();
    for (head, body) in parts {
        text += "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n";
        text += &format!("HTTP/1.1 {head}\r\n\r\n{body}\r\n");
    }
    text += "--c--\r\n--b--\r\n";
    Step::response(202, &[("content-type", "multipart/mixed; boundary=b")], &text)
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
    let written = Step::response(204, &[("etag", "e")], "");
    let canned = Canned::new([Step::Fail(Delivery::NothingSent), written]);
    table(&canned).insert(&row()).await.unwrap();
    let sent = canned.sent();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].body(), sent[1].body());
    assert!(!sent[1].body().is_empty(), "a repeated body must not be empty");
    for request in &sent {
        assert!(request.headers().contains_key("authorization") && request.headers().contains_key("x-ms-date"));
        assert!(request.headers()["authorization"].is_sensitive());
    }
}

/// Without retries, the error of a write whose response is lost says that it may have been applied.
#[tokio::test(start_paused = true)]
async fn lost_write_without_retries_is_in_doubt() {
    let fail = async |step| {
        let table = table(&Canned::new([step]));
        let error = table.insert(&row()).with(&once()).await.unwrap_err();
        assert_eq!(error.attempts(), 1);
        error
    };
    for reached in [Delivery::MaybeSent, Delivery::ResponseCut] {
        let error = fail(Step::Fail(reached)).await;
        assert_eq!(kind_in_doubt(&error), Some(ErrorKind::Connection));
    }
    let in_doubt = [500, 502, 504, 408].map(|status| (status, true));
    let rejected = [400, 409, 501].map(|status| (status, false));
    for (status, in_doubt) in in_doubt.into_iter().chain(rejected) {
        let error = fail(Step::status(status)).await;
        assert_eq!(error.may_have_applied(), in_doubt, "{status}");
        assert_eq!(error.kind() == ErrorKind::InDoubt, in_doubt, "{status}");
        let last = error.last_failure().unwrap_or(error);
        assert_eq!(last.status(), Some(status));
    }
    let error = fail(Step::Received(rejection(503, "ServerBusy"))).await;
    assert_eq!((error.kind(), error.may_have_applied()), (ErrorKind::Throttled, false));
}

#[tokio::test(start_paused = true)]
async fn unsent_write_is_retried() {
    let unsent = || Step::Fail(Delivery::NothingSent);
    let canned = Canned::new([unsent(), unsent(), Step::status(204)]);
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
    let waited = started.elapsed();
    assert!(waited >= Duration::from_millis(7_500), "{waited:?}");
}

/// The service asks for one wait, not for those after later failures.
#[tokio::test(start_paused = true)]
async fn retry_after_concerns_the_next_attempt_alone() {
    let started = tokio::time::Instant::now();
    let canned = Canned::new([
        Step::response(503, &[("retry-after", "10")], ""),
        Step::Fail(Delivery::NothingSent),
        entity(),
    ]);
    table(&canned).get(("p", "r")).await.unwrap();
    assert!(
        (10..15).contains(&started.elapsed().as_secs()),
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
        "get in table Things: entity (\"p\", \"r\"): the server answered 503: it requests a wait of 86400s"
    );
}

/// A timeout limits attempts and waits together.
#[tokio::test(start_paused = true)]
async fn timeout_covers_the_whole_call() {
    let limit = Duration::from_secs(2);
    let started = tokio::time::Instant::now();
    let table = |steps: &[Step]| table(&Canned::new(steps.to_vec())).with(&CallOptions::new().timeout(limit));
    let error = table(&[Step::Hang]).get(("p", "r")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let ended = "no response within the `timeout` of 2s";
    assert!(error.to_string().contains(ended), "{error}");
    assert_eq!(started.elapsed().as_secs(), 2);

    // The last attempt has the rest, and the text has the whole. So has the write of `modify`.
    let busy = |seconds| Step::response(503, &[("retry-after", seconds)], "");
    let body = r#"{"PartitionKey":"p","RowKey":"r","Timestamp":"2026-01-01T00:00:00Z"}"#;
    let stored = Step::response(200, &[("etag", "W/\"1\"")], body);
    let read = table(&[busy("1"), Step::Hang]).get(("p", "r")).await.unwrap_err();
    let written = table(&[busy("1"), stored, Step::Hang]).modify(("p", "r"), |_| ());
    for (error, attempts) in [(read, 2), (written.await.unwrap_err(), 1)] {
        assert_eq!(error.attempts(), attempts, "{error}");
        assert!(error.to_string().contains(ended), "{error}");
    }
    let read = table(&[Step::Hang]).with(&once()).get(("p", "r"));
    let read = read
        .timeout(Duration::from_secs(9))
        .with(&CallOptions::new().attempt_timeout(limit));
    let text = read.await.unwrap_err().to_string();
    assert!(
        text.contains("no response within the `attempt_timeout` of 2s"),
        "{text}"
    );

    let error = table(&[busy("6")]).get(("p", "r")).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::ServerFault, 1));
    let error = table(&[Step::Hang]).insert(&row()).await.unwrap_err();
    let last = kind_in_doubt(&error);
    assert_eq!(last, Some(ErrorKind::Timeout), "the write may be in flight");
}

/// The batch of an atomic write has the rest of its timeout.
#[tokio::test(start_paused = true)]
async fn limit_of_an_atomic_write_is_named_whole() {
    let busy = Step::response(503, &[("retry-after", "1")], "");
    let page =
        r#"{"value":[{"odata.etag":"W/\"1\"","PartitionKey":"p","RowKey":"r","Timestamp":"2026-01-01T00:00:00Z"}]}"#;
    let table = table(&Canned::new([busy, Step::response(200, &[], page), Step::Hang]));
    let delete = table.delete_where(table.query().partition("p"));
    let delete = delete.total_timeout(Duration::from_secs(2)).atomic();
    let error = delete.await.unwrap_err();
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
        let table = table_of(faults.clone());
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
    let (faults, table, _) = faulty(Emulator::new().page_size(1)).await;
    faults.add(FaultRule::new(Fault::LoseResponse).on(OperationKind::Batch));
    faults.add(FaultRule::new(Fault::DelayResponse(Duration::from_secs(6))).on_reads());
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
    let table = table(&Canned::new([Step::Hang]));
    let error = table.insert(&row()).with(&once()).await.unwrap_err();
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::Timeout));
    assert!(started.elapsed() > Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn stream_continues_after_a_retried_page() {
    let page = |key: &str, more: &[(&str, &str)]| {
        let row = format!(r#"{{"value":[{{"PartitionKey":"p","RowKey":"{key}"}}]}}"#);
        Step::response(200, more, &row)
    };
    let canned = Canned::new([
        page("1", &[("x-ms-continuation-nextpartitionkey", "x")]),
        Step::status(503),
        Step::Fail(Delivery::ResponseCut),
        page("2", &[]),
    ]);
    let rows = table(&canned).query().all().await.unwrap();
    assert!(rows.iter().map(|row| row.row_key.as_str()).eq(["1", "2"]), "{rows:?}");
    let sent = canned.sent();
    assert_eq!(sent[1].uri(), sent[3].uri());
}
