//! The attempts of one call: what a policy and the caller observe, and the limits on their number.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::auth::{Anonymous, AuthorizationContext, AuthorizationFailure};
use azure_table::emulator::EmulatorClock;
use azure_table::retry::{Decision, FailedAttempt, RetryBudget};
use azure_table::transport::{BoxFuture, Delivery, TransportError};
use azure_table::{
    CallOptions, Credential, Emulator, ErrorKind, LinearRetry, Profile, RetryPolicy, TableServiceClient,
};
use azure_table_tests::canned::{BearerToken, Canned, Step};
use azure_table_tests::errors::kind_in_doubt;
use azure_table_tests::intercept::Intercept;
use bytes::Bytes;
use http::{Method, Request};

use super::{faulty, row, row_of, table, table_of};
use azure_table_tests::closures::Decide;

#[tokio::test(start_paused = true)]
async fn policy_sees_the_elapsed_and_the_remaining_time_of_the_call() {
    // Seconds since the start of the call, and remaining seconds.
    let log = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&log);
    let policy = Decide(move |failed: &FailedAttempt<'_>| {
        let remaining = failed.remaining().map(|left| left.as_secs());
        seen.lock().unwrap().push((failed.elapsed().as_secs(), remaining));
        Decision::after(Duration::from_secs(5))
    });
    let canned = Canned::new((0..9).map(|_| Step::status(503)));
    let service = canned.service().retry(policy.limit_attempts(3));
    service.ping().timeout(Duration::from_secs(20)).await.unwrap_err();
    service.ping().timeout(Duration::from_secs(12)).await.unwrap_err();
    service.ping().await.unwrap_err();
    let limited = [(0, Some(20)), (5, Some(15)), (0, Some(12)), (5, Some(7))];
    assert_eq!(*log.lock().unwrap(), [&limited[..], &[(0, None), (5, None)]].concat());
}

/// Retries at once, up to this many times, and notes the attempts that succeeded.
#[derive(Debug)]
struct Succeeded(u32, Arc<Mutex<Vec<u32>>>);

impl RetryPolicy for Succeeded {
    fn decide(&self, failed: &FailedAttempt<'_>) -> Decision {
        match failed.attempt() > self.0 {
            true => Decision::Stop,
            false => Decision::after(Duration::ZERO),
        }
    }

    fn succeeded(&self, attempt: u32) {
        self.1.lock().unwrap().push(attempt);
    }
}

#[tokio::test(start_paused = true)]
async fn policy_is_notified_of_success_after_any_attempt() {
    let log = Arc::default();
    let page = || Step::response(200, &[], r#"{"value":[]}"#);
    let canned = Canned::new([Step::status(503), page(), page()]);
    let service = canned.service().retry(Succeeded(1, Arc::clone(&log)));
    service.ping().await.unwrap();
    service.ping().await.unwrap();
    assert_eq!(*log.lock().unwrap(), [2, 1]);
}

#[tokio::test(start_paused = true)]
async fn permanent_failure_counts_as_success_for_the_policy() {
    for (status, healthy) in [(404, 1), (400, 1), (503, 0), (500, 0)] {
        let log = Arc::default();
        let canned = Canned::new([Step::status(status)]);
        let service = canned.service().retry(Succeeded(0, Arc::clone(&log)));
        service.ping().await.unwrap_err();
        assert_eq!(log.lock().unwrap().len(), healthy, "{status}");
    }

    let budget = RetryBudget::new(1.0, 10);
    let retry = LinearRetry::new(Duration::ZERO, 1).budget(budget.clone());
    let canned = Canned::new([503, 503, 404].map(Step::status));
    let service = canned.service().retry(retry);
    service.ping().await.unwrap_err();
    assert_eq!(budget.available(), 99);
    service.ping().await.unwrap_err();
    assert_eq!(budget.available(), 100);
}

/// A credential that fetches another token after each rejection.
#[derive(Debug, Default)]
pub(super) struct Renewed {
    generation: AtomicU64,
    /// The time that a request waits for the new token.
    time: Duration,
}

impl Renewed {
    pub(super) fn within(time: Duration) -> Self {
        Self {
            time,
            ..Self::default()
        }
    }
}

impl Credential for Renewed {
    fn authorize<'a>(
        &'a self,
        request: &'a mut Request<Bytes>,
        context: &'a AuthorizationContext<'a>,
    ) -> BoxFuture<'a, azure_table::Result<()>> {
        Box::pin(async move {
            if self.generation() > 0 {
                tokio::time::sleep(self.time).await;
            }
            BearerToken("token").authorize(request, context).await
        })
    }

    fn version(&self) -> &'static str {
        BearerToken("token").version()
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    fn rejected(&self, _: &AuthorizationFailure<'_>) -> Option<String> {
        self.generation.fetch_add(1, Ordering::Relaxed);
        None
    }
}

#[tokio::test(start_paused = true)]
async fn credential_is_renewed_at_most_twice_in_a_call() {
    let service = TableServiceClient::new("https://contoso.table.core.windows.net", Renewed::default()).unwrap();
    let canned = Canned::new((0..9).map(|_| Step::status(401)));
    let error = service.transport(canned.clone()).ping().await.unwrap_err();
    assert_eq!((error.status(), error.attempts()), (Some(401), 3), "{error}");
    assert_eq!(canned.sent().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn read_only_client_sends_only_reads() {
    let canned = Canned::new([Step::status(404)]);
    let table = canned.service().read_only().dynamic_table("Things").unwrap();
    let error = table.insert(&row()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    assert!(canned.sent().is_empty());
    let error = table.get(("p", "r")).await.err();
    assert!(error.is_none_or(|error| error.status() == Some(404)));
    assert_eq!(canned.sent().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn error_keeps_the_headers_of_the_last_response() {
    let headers = [("x-ms-activity-id", "a-7"), ("etag", "e")];
    let canned = Canned::new([Step::response(400, &headers, "")]);
    let error = canned.service().ping().await.unwrap_err();
    assert_eq!(error.header("x-ms-activity-id"), Some("a-7"));
    assert_eq!(error.header("etag"), None, "not known to be harmless");
}

/// Storage stops an operation after its `timeout`; Cosmos DB has no such parameter.
#[tokio::test(start_paused = true)]
async fn request_names_the_timeout_of_its_call_to_a_service_that_knows_it() {
    let canned = Canned::new([204; 3].map(Step::status));
    let storage = table(&canned);
    let cosmos = canned.service().with_profile(Profile::Cosmos);
    let cosmos = cosmos.dynamic_table("Things").unwrap();
    let limit = Duration::from_secs(20);
    storage.delete(("p", "r")).await.unwrap();
    storage.delete(("p", "r")).timeout(limit).await.unwrap();
    cosmos.delete(("p", "r")).timeout(limit).await.unwrap();
    let sent = canned.sent();
    let queries: Vec<_> = sent.iter().map(|sent| sent.uri().query()).collect();
    assert_eq!(queries, [None, Some("timeout=20"), None]);
}

#[tokio::test(start_paused = true)]
async fn charges_of_all_attempts_are_summed() {
    let charged = |status, charge| Step::response(status, &[("x-ms-request-charge", charge)], "");
    let canned = Canned::new([charged(503, "1.5"), Step::status(503), charged(400, "2.5")]);
    let error = canned.service().ping().await.unwrap_err();
    let story = error.diagnostics();
    let charges = story.attempts().iter().map(|attempt| attempt.request_charge());
    assert!(charges.eq([Some(1.5), None, Some(2.5)]), "{story}");
    assert_eq!(story.request_charge(), Some(4.0));
}

/// The read-back finds the old entity, and the first attempt is applied after it. The second attempt finds the ETag of
/// the first.
#[tokio::test(start_paused = true)]
async fn write_that_is_applied_after_its_read_back_stays_in_doubt() {
    let clock = EmulatorClock::system();
    let (service, _, truth) = faulty(Emulator::new().shared_clock(clock.clone())).await;
    let etag = truth.insert(&row_of("r", 1)).await.unwrap();
    // So that the read-back shows an entity older than the first attempt.
    clock.advance(Duration::from_secs(60));
    // Holds back the first replace, and applies it when the next one arrives.
    let sent = Arc::new(Mutex::new(Vec::new()));
    let puts = Arc::clone(&sent);
    let table = table_of(Intercept::new(service, move |service, request| {
        let mut puts = puts.lock().unwrap();
        let is_put = request.method() == Method::PUT;
        puts.extend(is_put.then(|| request.clone()));
        let puts = if is_put { puts.clone() } else { Vec::new() };
        async move {
            match &puts[..] {
                [_] => return Err(TransportError::new(Delivery::MaybeSent, "delayed")),
                [first, _] => drop(service.send(first.clone()).await?),
                _ => {}
            }
            service.send(request).await
        }
    }));
    let entity = row_of("r", 2);
    let error = table.replace(&entity).if_match(etag).await.unwrap_err();
    assert_eq!(sent.lock().unwrap().len(), 2);
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::ConditionNotMet), "{error}");
    let stored = truth.get(("p", "r")).await.unwrap().unwrap();
    assert_eq!(stored.properties, entity.properties);
}

#[tokio::test(start_paused = true)]
async fn rejected_address_is_explained_where_the_keys_make_it_long() {
    let table = |status| table(&Canned::new([Step::status(status)]));
    let rejected = || table(414);
    let entity = row();
    let mut batch = rejected().batch();
    batch.merge(&entity).unwrap();
    let via_batch = CallOptions::new().via_batch();
    for (error, is_advised) in [
        (rejected().get(("p", "r")).await.unwrap_err(), true),
        (rejected().merge(&entity).await.unwrap_err(), true),
        (rejected().delete(("p", "r")).await.unwrap_err(), true),
        (rejected().insert(&entity).await.unwrap_err(), false),
        (rejected().merge(&entity).with(&via_batch).await.unwrap_err(), false),
        (rejected().query().all().await.unwrap_err(), false),
        (rejected().delete_table().await.unwrap_err(), false),
        (batch.submit().await.unwrap_err(), false),
        (table(404).delete(("p", "r")).await.unwrap_err(), false),
    ] {
        let text = error.to_string();
        assert_eq!(text.contains("CallOptions::via_batch"), is_advised, "{text}");
    }
}

/// The only information about a shared account is its response: neither the clock nor the credential explains the
/// rejection.
#[tokio::test(start_paused = true)]
async fn rejected_credential_that_stays_the_same_is_not_sent_again() {
    let canned = Canned::new((0..9).map(|_| Step::status(403)));
    let service = TableServiceClient::new("https://contoso.table.core.windows.net", Anonymous).unwrap();
    let error = service.transport(canned.clone()).ping().await.unwrap_err();
    assert_eq!((error.status(), error.attempts()), (Some(403), 1), "{error}");
}
