//! Retry policies of this crate and of its users.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::auth::AuthorizationContext;
use azure_table::retry::{Decision, FailedAttempt, RetryBudget};
use azure_table::transport::{BoxFuture, Delivery};
use azure_table::{
    CallOptions, Credential, DynamicEntity, ErrorKind, ExponentialRetry, LinearRetry, RetryPolicy, TableServiceClient,
};
use azure_table_tests::canned::{Canned, Step};
use tokio::time::Instant;

use super::{batch_response, row, table};
use azure_table_tests::closures::Decide;

const BUSY: &str = r#"{"odata.error":{"code":"ServerBusy","message":{"lang":"en-US","value":"Busy."}}}"#;
const SECOND: Duration = Duration::from_secs(1);

/// Submits a batch of one delete.
async fn delete(table: &azure_table::TableClient) -> azure_table::Result<usize> {
    let mut batch = table.batch();
    batch.delete(("p", "r")).unwrap();
    batch.submit().await.map(|results| results.len())
}

#[tokio::test(start_paused = true)]
async fn policy_is_called_for_every_failure() {
    let canned = Canned::new([
        Step::Fail(Delivery::ResponseCut),
        Step::status(404),
        Step::response(503, &[], BUSY),
        batch_response(&[("429 Too Many Requests", "")]),
        batch_response(&[("204 No Content", "")]),
    ]);
    let reported = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&reported);
    // Called for every failure, and always stops.
    let policy = Decide(move |failed: &FailedAttempt<'_>| {
        let (operation, code) = (failed.operation(), failed.code().unwrap_or("-"));
        let line = format!("{operation} {:?} {:?} {code}", failed.status(), failed.delivery());
        seen.lock().unwrap().push(line);
        Decision::Stop
    });
    let table = canned.service().retry(policy).dynamic_table("Things").unwrap();
    for _ in 0..3 {
        let _ = table.get(("p", "r")).await;
    }
    for _ in 0..2 {
        let _ = delete(&table).await;
    }
    assert_eq!(
        *reported.lock().unwrap(),
        [
            "get None Some(ResponseCut) -",
            "get Some(404) None -",
            "get Some(503) None ServerBusy",
            "batch Some(429) None -",
        ]
    );
}

/// A rejection inside a batch is retried like any other.
#[tokio::test(start_paused = true)]
async fn a_throttled_batch_is_sent_again() {
    let done = || batch_response(&[("204 No Content", "")]);
    for inner in ["429 Too Many Requests", "503 Service Unavailable"] {
        let canned = Canned::new([batch_response(&[(inner, BUSY)]), done()]);
        assert_eq!(delete(&table(&canned)).await.unwrap(), 1);
        assert_eq!(canned.sent().len(), 2);
    }
    // No wait is shorter than the part asks for.
    let part = || batch_response(&[("429 Too Many Requests\r\nRetry-After: 5", BUSY)]);
    let patient = table(&Canned::new([part(), done(), part(), done()]));
    let started = Instant::now();
    delete(&patient).await.unwrap();
    assert!(started.elapsed() >= 5 * SECOND, "{:?}", started.elapsed());
    let alone = patient.delete(("p", "r")).with(&CallOptions::new().via_batch());
    alone.await.unwrap();
    assert!(started.elapsed() >= 10 * SECOND, "{:?}", started.elapsed());
    // An error of the request is not retried.
    let canned = Canned::new([batch_response(&[("409 Conflict", "")])]);
    let mut batch = table(&canned).batch();
    batch.insert(&row()).unwrap();
    assert_eq!(batch.submit().await.unwrap_err().status(), Some(409));
}

#[tokio::test(start_paused = true)]
async fn policy_of_a_call_overrides_those_of_table_and_client() {
    let canned = Canned::new((0..10).map(|_| Step::status(500)));
    let retries = |retries| CallOptions::new().retry(LinearRetry::new(SECOND, retries));
    let service = canned.service().retry(LinearRetry::new(SECOND, 1));
    let of_client = service.dynamic_table("Things").unwrap();
    let of_table = of_client.with(&retries(2));
    let of_call = of_table.get(("p", "r")).with(&retries(3));
    for (get, attempts) in [
        (of_client.get(("p", "r")), 2),
        (of_table.get(("p", "r")), 3),
        (of_call, 4),
    ] {
        assert_eq!(get.await.unwrap_err().attempts(), attempts);
    }
}

#[tokio::test(start_paused = true)]
async fn policy_of_2010_has_the_documented_waits() {
    let started = Instant::now();
    let canned = Canned::new((0..4).map(|_| Step::status(500)));
    let service = canned.service().retry(ExponentialRetry::storage_client_2010());
    service.ping().await.unwrap_err();
    let waited = started.elapsed().as_secs();
    assert!((3 + 27 + 75..=3 + 39 + 90).contains(&waited), "{waited}");
}

/// If every response is 503, the budget ends the retries of a hundred attempts.
#[tokio::test(start_paused = true)]
async fn shared_budget_ends_the_retries_of_all_clients() {
    let canned = Canned::new((0..1_000).map(|_| Step::status(503)));
    let budget = RetryBudget::new(0.2, 1);
    let policy = || LinearRetry::new(Duration::ZERO, 100).budget(budget.clone());
    let (one, other) = (canned.service().retry(policy()), canned.service().retry(policy()));
    for _ in 0..50 {
        one.ping().await.unwrap_err();
        other.ping().await.unwrap_err();
    }
    assert_eq!(budget.available(), 0);
    assert_eq!(canned.sent().len(), 100 + 10, "first attempts are never kept back");
}

/// Authorizes the first attempt of each call, and fails at the second.
#[derive(Debug, Default)]
struct Once(AtomicU32);

impl Credential for Once {
    fn authorize<'a>(
        &'a self,
        _: &'a mut http::Request<bytes::Bytes>,
        _: &'a AuthorizationContext<'a>,
    ) -> BoxFuture<'a, azure_table::Result<()>> {
        let is_first = self.0.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        let failed = || azure_table::TableName::new("").map(drop);
        Box::pin(std::future::ready(if is_first { Ok(()) } else { failed() }))
    }
}

/// A retry that is decided, paid and never sent.
#[tokio::test(start_paused = true)]
async fn retry_that_is_never_sent_is_refunded() {
    let budget = RetryBudget::default();
    let policy = || LinearRetry::new(5 * SECOND, 100).budget(budget.clone());
    let busy = || Canned::new((0..10).map(|_| Step::status(503)));

    let service = TableServiceClient::new("https://contoso.table.core.windows.net", Once::default()).unwrap();
    let unauthorized = service.transport(busy()).retry(policy());
    let error = unauthorized.ping().await.unwrap_err();
    assert_eq!(error.attempts(), 1, "the second attempt was not sent");
    assert_eq!(budget.available(), 100, "no credential for the second attempt");

    let waiting = busy().service().retry(policy());
    let dropped = tokio::time::timeout(SECOND, waiting.ping()).await;
    assert!(dropped.is_err());
    assert_eq!(budget.available(), 100, "dropped while it waited");

    // One permit: the hanging call holds it while the other waits for its second attempt.
    let canned = Canned::new([Step::status(503), Step::Hang]);
    let one = canned.service().retry(policy()).max_in_flight(1);
    let (first, hanging) = (one.clone(), one.clone());
    let first = tokio::spawn(async move { first.ping().timeout(60 * SECOND).await });
    tokio::time::sleep(SECOND).await;
    assert_eq!(budget.available(), 99, "paid while it waits");
    let hanging = tokio::spawn(async move { hanging.ping().await });
    let error = first.await.unwrap().unwrap_err();
    hanging.abort();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert_eq!(budget.available(), 100, "no permit for the second attempt");
}

#[tokio::test(start_paused = true)]
async fn policy_sees_whether_an_operation_is_idempotent() {
    let idempotent = Decide(|failed: &FailedAttempt<'_>| match failed.is_idempotent() {
        true => Decision::after(Duration::ZERO),
        false => Decision::Stop,
    });
    let canned = Canned::new((0..100).map(|_| Step::status(503)));
    let service = canned.service().retry(idempotent.limit_attempts(2));
    let table = service.dynamic_table("Things").unwrap();
    let (row, other) = (row(), DynamicEntity::new("p", "s"));
    let etag = || azure_table::ETag::new("W/\"1\"");
    let (mut upserts, mut inserts) = (table.batch(), table.batch());
    upserts
        .insert_or_replace(&row)
        .unwrap()
        .insert_or_merge(&other)
        .unwrap();
    inserts.insert_or_replace(&row).unwrap().insert(&other).unwrap();
    for (name, error, attempts) in [
        ("get", table.get(("p", "r")).await.unwrap_err(), 2),
        ("insert", table.insert(&row).await.unwrap_err(), 1),
        ("upsert", table.insert_or_replace(&row).await.unwrap_err(), 2),
        ("replace", table.replace(&row).await.unwrap_err(), 2),
        (
            "replace under an ETag",
            table.replace(&row).if_match(etag()).await.unwrap_err(),
            1,
        ),
        ("delete", table.delete(("p", "r")).await.unwrap_err(), 2),
        (
            "delete under an ETag",
            table.delete(("p", "r")).if_match(etag()).await.unwrap_err(),
            1,
        ),
        ("create table", table.create_table().await.unwrap_err(), 1),
        ("delete table", table.delete_table().await.unwrap_err(), 2),
        ("batch of upserts", upserts.submit().await.unwrap_err(), 2),
        ("batch with an insert", inserts.submit().await.unwrap_err(), 1),
    ] {
        assert_eq!(error.attempts(), attempts, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_may_keep_state_of_a_call() {
    /// Two retries per call.
    #[derive(Debug, Default)]
    struct Two(AtomicU32);
    impl RetryPolicy for Two {
        fn decide(&self, _: &FailedAttempt<'_>) -> Decision {
            match self.0.fetch_add(1, Ordering::Relaxed) {
                0 | 1 => Decision::after(Duration::ZERO),
                _ => Decision::Stop,
            }
        }

        fn for_call(&self) -> Option<Arc<dyn RetryPolicy>> {
            Some(Arc::new(Self::default()))
        }
    }
    let canned = Canned::new((0..6).map(|_| Step::status(500)));
    let service = canned.service().retry(Two::default());
    for _ in 0..2 {
        assert_eq!(service.ping().await.unwrap_err().attempts(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn timeout_is_sent_to_the_service() {
    let canned = Canned::new([Step::response(503, &[], BUSY), Step::status(204)]);
    let retry = CallOptions::new().retry(LinearRetry::new(5 * SECOND, 1));
    let delete = table(&canned).delete(("p", "r")).timeout(20 * SECOND);
    delete.with(&retry).await.unwrap();
    let sent = canned.sent();
    let requested: Vec<_> = sent.iter().map(|sent| sent.uri().query().unwrap()).collect();
    assert_eq!(requested, ["timeout=20", "timeout=15"], "less each time");
}

#[tokio::test(start_paused = true)]
async fn error_contains_every_attempt() {
    let canned = Canned::new([
        Step::Fail(Delivery::NothingSent),
        Step::response(503, &[("x-ms-request-id", "r-2")], BUSY),
        Step::response(400, &[], ""),
    ]);
    let error = canned.service().ping().await.unwrap_err();
    let story = error.diagnostics();
    let reported = story.attempts().iter();
    let reported = reported.map(|a| (a.number(), a.status(), a.code(), a.failure().is_some()));
    let expected = [
        (1, None, None, true),
        (2, Some(503), Some("ServerBusy"), false),
        (3, Some(400), None, false),
    ];
    assert!(reported.eq(expected), "{story}");
    assert_eq!(story.attempts()[1].request_id(), Some("r-2"));
    assert_eq!(story.to_string().lines().count(), 3);
    assert_eq!(error.kind(), ErrorKind::Rejected);
}

/// A service that asks for an hour does not get it, and the error says so.
#[tokio::test(start_paused = true)]
async fn excessive_retry_after_is_not_waited_for() {
    for (seconds, waits, between) in [("90", true, SECOND), ("91", false, SECOND), ("91", true, 120 * SECOND)] {
        let asks = Step::response(503, &[("retry-after", seconds)], BUSY);
        let canned = Canned::new([asks, Step::response(204, &[("etag", "e")], "")]);
        let policy = CallOptions::new().retry(LinearRetry::new(between, 3));
        let inserted = table(&canned).insert(&row()).with(&policy).await;
        assert_eq!(inserted.is_ok(), waits, "{seconds}");
        assert_eq!(canned.sent().len(), 1 + usize::from(waits), "{seconds}");
        if let Err(error) = inserted {
            assert!(error.to_string().contains("it requests a wait of 91s"), "{error}");
        }
    }
}

/// A failed read, too.
#[tokio::test(start_paused = true)]
async fn diagnostics_contain_the_reads_back() {
    let canned = Canned::new([
        Step::Fail(Delivery::MaybeSent),
        Step::status(404),
        Step::Fail(Delivery::MaybeSent),
        Step::status(403),
    ]);
    let policy = CallOptions::new().retry(LinearRetry::new(Duration::ZERO, 1));
    let error = table(&canned).insert(&row()).with(&policy).await.unwrap_err();
    let story = error.diagnostics();
    let reported = story.attempts().iter().map(|a| (a.operation(), a.status()));
    let sent = [("insert", Some(404)), ("insert", Some(403))];
    let expected = sent
        .into_iter()
        .flat_map(|(write, status)| [(write, None), ("query", status)]);
    assert!(reported.eq(expected), "{story}");
    assert!(error.may_have_applied() && error.attempts() == 2, "{error}");
}
