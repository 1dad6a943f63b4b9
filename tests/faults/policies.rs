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

const BUSY: &str = r#"{"odata.error":{"code":"ServerBusy","message":{"lang":"en-US","value":"Busy."}}}"#;

fn batch_response(inner: &str, body: &str) -> Step {
    let response = format!(
        "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n\
         Content-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 {inner}\r\n\r\n{body}\r\n--c--\r\n--b--\r\n"
    );
    Step::response(202, &[("content-type", "multipart/mixed; boundary=b")], &response)
}

/// A policy that is called for every failure, and always stops.
#[derive(Debug)]
struct Requested(Arc<Mutex<Vec<String>>>);

impl RetryPolicy for Requested {
    fn decide(&self, failed: &FailedAttempt<'_>) -> Decision {
        let code = failed.code().unwrap_or("-");
        let reported = format!(
            "{} {:?} {:?} {code}",
            failed.operation(),
            failed.status(),
            failed.delivery()
        );
        self.0.lock().unwrap().push(reported);
        Decision::Stop
    }
}

#[tokio::test(start_paused = true)]
async fn policy_is_called_for_every_failure() {
    let canned = Canned::new([
        Step::Fail(Delivery::ResponseCut),
        Step::status(404),
        Step::response(503, &[], BUSY),
        batch_response("429 Too Many Requests", ""),
        batch_response("204 No Content", ""),
    ]);
    let reported = Arc::new(Mutex::new(Vec::new()));
    let service = canned.service().retry(Requested(Arc::clone(&reported)));
    let table = service.dynamic_table("Things").unwrap();
    for _ in 0..3 {
        let _ = table.get(("p", "r")).await;
    }
    for _ in 0..2 {
        let mut batch = table.batch();
        batch.delete(("p", "r")).unwrap();
        let _ = batch.submit().await;
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
    for inner in ["429 Too Many Requests", "503 Service Unavailable"] {
        let canned = Canned::new([batch_response(inner, BUSY), batch_response("204 No Content", "")]);
        let table = canned.service().dynamic_table("Things").unwrap();
        let mut batch = table.batch();
        batch.delete(("p", "r")).unwrap();
        assert_eq!(batch.submit().await.unwrap().len(), 1);
        assert_eq!(canned.sent().len(), 2);
    }
    // No wait is shorter than the part asks for.
    let part = batch_response("429 Too Many Requests\r\nRetry-After: 5", BUSY);
    let canned = Canned::new([
        part.clone(),
        batch_response("204 No Content", ""),
        part,
        batch_response("204 No Content", ""),
    ]);
    let table = canned.service().dynamic_table("Things").unwrap();
    let started = tokio::time::Instant::now();
    let mut batch = table.batch();
    batch.delete(("p", "r")).unwrap();
    batch.submit().await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(5), "{:?}", started.elapsed());
    table
        .delete(("p", "r"))
        .with(&CallOptions::new().via_batch())
        .await
        .unwrap();
    assert!(started.elapsed() >= Duration::from_secs(10), "{:?}", started.elapsed());
    // An error of the request is not retried.
    let canned = Canned::new([batch_response("409 Conflict", "")]);
    let table = canned.service().dynamic_table("Things").unwrap();
    let mut batch = table.batch();
    batch.insert(&DynamicEntity::new("p", "r")).unwrap();
    assert_eq!(batch.submit().await.unwrap_err().status(), Some(409));
}

#[tokio::test(start_paused = true)]
async fn policy_of_a_call_overrides_those_of_table_and_client() {
    let canned = Canned::new((0..10).map(|_| Step::status(500)));
    let retries = |retries| LinearRetry::new(Duration::from_secs(1), retries);
    let service = canned.service().retry(retries(1));
    let table = service.dynamic_table("Things").unwrap();
    assert_eq!(table.get(("p", "r")).await.unwrap_err().attempts(), 2);
    let table = table.with(&CallOptions::new().retry(retries(2)));
    assert_eq!(table.get(("p", "r")).await.unwrap_err().attempts(), 3);
    assert_eq!(
        table
            .get(("p", "r"))
            .with(&CallOptions::new().retry(retries(3)))
            .await
            .unwrap_err()
            .attempts(),
        4
    );
}

#[tokio::test(start_paused = true)]
async fn policy_of_2010_has_the_documented_waits() {
    let started = tokio::time::Instant::now();
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
    let policy = || LinearRetry::new(Duration::from_secs(5), 100).budget(budget.clone());
    let busy = || Canned::new((0..10).map(|_| Step::status(503)));

    let service = TableServiceClient::new("https://contoso.table.core.windows.net", Once::default()).unwrap();
    let unauthorized = service.transport(busy()).retry(policy());
    let error = unauthorized.ping().await.unwrap_err();
    assert_eq!(error.attempts(), 1, "the second attempt was not sent");
    assert_eq!(budget.available(), 100, "no credential for the second attempt");

    let waiting = busy().service().retry(policy());
    let dropped = tokio::time::timeout(Duration::from_secs(1), waiting.ping()).await;
    assert!(dropped.is_err());
    assert_eq!(budget.available(), 100, "dropped while it waited");

    // One permit: the hanging call holds it while the other waits for its second attempt.
    let canned = Canned::new([Step::status(503), Step::Hang]);
    let one = canned.service().retry(policy()).max_in_flight(1);
    let (first, hanging) = (one.clone(), one.clone());
    let first = tokio::spawn(async move { first.ping().timeout(Duration::from_secs(60)).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(budget.available(), 99, "paid while it waits");
    let hanging = tokio::spawn(async move { hanging.ping().await });
    let error = first.await.unwrap().unwrap_err();
    hanging.abort();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert_eq!(budget.available(), 100, "no permit for the second attempt");
}

#[tokio::test(start_paused = true)]
async fn policy_sees_whether_an_operation_is_idempotent() {
    /// Retries idempotent operations.
    #[derive(Debug)]
    struct Idempotent;
    impl RetryPolicy for Idempotent {
        fn decide(&self, failed: &FailedAttempt<'_>) -> Decision {
            if failed.is_idempotent() {
                Decision::after(Duration::ZERO)
            } else {
                Decision::Stop
            }
        }
    }
    let canned = Canned::new((0..100).map(|_| Step::status(503)));
    let service = canned.service().retry(Idempotent.limit_attempts(2));
    let table = service.dynamic_table("Things").unwrap();
    let row = DynamicEntity::new("p", "r");
    let etag = || azure_table::ETag::new("W/\"1\"");
    let attempts = |error: azure_table::Error| error.attempts();
    assert_eq!(attempts(table.get(("p", "r")).await.unwrap_err()), 2);
    assert_eq!(attempts(table.insert(&row).await.unwrap_err()), 1);
    assert_eq!(attempts(table.insert_or_replace(&row).await.unwrap_err()), 2);
    assert_eq!(attempts(table.replace(&row).await.unwrap_err()), 2);
    assert_eq!(attempts(table.replace(&row).if_match(etag()).await.unwrap_err()), 1);
    assert_eq!(attempts(table.delete(("p", "r")).await.unwrap_err()), 2);
    assert_eq!(
        attempts(table.delete(("p", "r")).if_match(etag()).await.unwrap_err()),
        1
    );
    assert_eq!(attempts(table.create_table().await.unwrap_err()), 1);
    assert_eq!(attempts(table.delete_table().await.unwrap_err()), 2);
    let mut batch = table.batch();
    batch.insert_or_replace(&row).unwrap();
    batch.insert_or_merge(&DynamicEntity::new("p", "s")).unwrap();
    assert_eq!(attempts(batch.submit().await.unwrap_err()), 2);
    let mut batch = table.batch();
    batch.insert_or_replace(&row).unwrap();
    batch.insert(&DynamicEntity::new("p", "s")).unwrap();
    assert_eq!(attempts(batch.submit().await.unwrap_err()), 1);
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
    let table = canned.service().dynamic_table("Things").unwrap();
    table
        .delete(("p", "r"))
        .timeout(Duration::from_secs(20))
        .with(&CallOptions::new().retry(LinearRetry::new(Duration::from_secs(5), 1)))
        .await
        .unwrap();
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
    let reported: Vec<_> = story
        .attempts()
        .iter()
        .map(|a| (a.number(), a.status(), a.code()))
        .collect();
    assert_eq!(
        reported,
        [
            (1, None, None),
            (2, Some(503), Some("ServerBusy")),
            (3, Some(400), None)
        ]
    );
    assert_eq!(story.attempts()[1].request_id(), Some("r-2"));
    let failures: Vec<_> = story.attempts().iter().map(|a| a.failure().is_some()).collect();
    assert_eq!(failures, [true, false, false]);
    assert_eq!(story.to_string().lines().count(), 3);
    assert_eq!(error.kind(), ErrorKind::Rejected);
}

/// A service that asks for an hour does not get it, and the error says so.
#[tokio::test(start_paused = true)]
async fn excessive_retry_after_is_not_waited_for() {
    let asks = |seconds: &str| {
        Canned::new([
            Step::response(503, &[("retry-after", seconds)], BUSY),
            Step::response(204, &[("etag", "e")], ""),
        ])
    };
    for (seconds, waits, policy) in [
        ("90", true, LinearRetry::new(Duration::from_secs(1), 3)),
        ("91", false, LinearRetry::new(Duration::from_secs(1), 3)),
        ("91", true, LinearRetry::new(Duration::from_secs(120), 3)),
    ] {
        let canned = asks(seconds);
        let table = canned.service().retry(policy).dynamic_table("Things").unwrap();
        let inserted = table.insert(&DynamicEntity::new("p", "r")).await;
        assert_eq!(
            (inserted.is_ok(), canned.sent().len()),
            (waits, 1 + usize::from(waits)),
            "{seconds}"
        );
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
    let policy = LinearRetry::new(Duration::ZERO, 1);
    let table = canned.service().retry(policy).dynamic_table("Things").unwrap();
    let error = table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
    let reported = error.diagnostics().attempts().iter();
    let reported: Vec<_> = reported
        .map(|attempt| (attempt.operation(), attempt.status()))
        .collect();
    let expected = [
        ("insert", None),
        ("query", Some(404)),
        ("insert", None),
        ("query", Some(403)),
    ];
    assert_eq!(reported, expected);
    assert!(error.may_have_applied() && error.attempts() == 2, "{error}");
}
