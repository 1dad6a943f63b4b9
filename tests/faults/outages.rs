//! Short and long outages: the calls that survive, and the number of requests that a failing service receives.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use azure_table::retry::RetryBudget;
use azure_table::testing::{Fault, Faults, ResponseTemplate};
use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{
    DynamicEntity, Emulator, ErrorKind, ExponentialRetry, NoRetry, RetryPolicy, TableClient, TableServiceClient,
};
use azure_table_tests::canned::CONTOSO;
use bytes::Bytes;
use http::{Request, Response};
use tokio::time::{Instant, sleep};

const PARTITIONS: u64 = 64;
const ROWS: u64 = 512;

fn rows() -> impl Iterator<Item = DynamicEntity> {
    (0..ROWS).map(|n| DynamicEntity::new(format!("p{}", n % PARTITIONS), n.to_string()))
}

/// A table whose requests take 10 ms, and the faults in front of it.
async fn slow_table(change: impl Fn(TableServiceClient) -> TableServiceClient) -> (Faults, TableClient) {
    let emulator = Emulator::new();
    let truth = TableServiceClient::from_transport(emulator.clone())
        .dynamic_table("Things")
        .unwrap();
    truth.create_table().await.unwrap();
    let slow = Faults::new(emulator);
    slow.add(Fault::DelayResponse(Duration::from_millis(10)));
    let faults = Faults::new(slow);
    let service = change(TableServiceClient::from_transport(faults.clone()));
    (faults, service.dynamic_table("Things").unwrap())
}

/// Adds a fault to all requests for a time.
async fn outage(faults: &Faults, fault: Fault, begin: Duration, length: Duration) {
    if !begin.is_zero() {
        sleep(begin).await;
    }
    let rule = faults.add(fault);
    sleep(length).await;
    rule.disable();
}

fn down() -> [Fault; 2] {
    [Fault::NoConnection, Fault::Respond(ResponseTemplate::new(500))]
}

/// A call survives up to 3.3 s with the default policy.
#[tokio::test(start_paused = true)]
async fn bulk_survives_what_a_call_survives() {
    survive(&[600, 3_300], &[1, 128], &[5]).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "takes long: `tests/faults/run` runs it"]
async fn bulk_survives_at_any_concurrency_what_a_call_survives() {
    survive(&[600, 2_500, 3_300], &[1, 8, 32, 128], &[0, 5]).await;
}

/// Runs bulks of each concurrency through outages of these lengths, which begin after these times, in milliseconds.
async fn survive(lengths: &[u64], concurrencies: &[usize], begins: &[u64]) {
    for fault in down() {
        for length in lengths.iter().copied().map(Duration::from_millis) {
            for &concurrency in concurrencies {
                for begin in begins.iter().copied().map(Duration::from_millis) {
                    let (faults, table) = slow_table(|service| service).await;
                    let write = table.bulk().concurrency(concurrency).batch_size(2).insert(rows());
                    let ((), report) = tokio::join!(outage(&faults, fault.clone(), begin, length), write);
                    let case = format!("{fault:?} for {length:?} at {concurrency} from {begin:?}");
                    let applied = report.map(|report| report.applied()).map_err(|e| e.to_string());
                    assert_eq!(applied, Ok(ROWS), "{case}");
                }
            }
        }
    }
}

/// The budget is empty from the start.
#[tokio::test(start_paused = true)]
async fn batches_of_a_bulk_spend_no_budget_and_keep_the_policy() {
    let policy = || ExponentialRetry::default().budget(RetryBudget::new(0.0, 0));
    let length = Duration::from_millis(600);
    let (faults, table) = slow_table(|service| service.retry(policy())).await;
    let call = table.insert(&DynamicEntity::new("p", "r"));
    let ((), call) = tokio::join!(outage(&faults, Fault::NoConnection, Duration::ZERO, length), call);
    assert_eq!(call.unwrap_err().attempts(), 1);
    let write = table.bulk().insert(rows());
    let ((), report) = tokio::join!(outage(&faults, Fault::NoConnection, Duration::ZERO, length), write);
    assert_eq!(report.unwrap().applied(), ROWS);

    let (faults, table) = slow_table(|service| service.retry(policy())).await;
    let seed = table.bulk().insert(rows()).await.unwrap();
    assert_eq!(seed.applied(), ROWS);
    let delete = table.delete_where(table.query()).concurrency(32);
    let begin = Duration::from_millis(15);
    let ((), report) = tokio::join!(outage(&faults, Fault::NoConnection, begin, length), delete);
    assert_eq!(report.unwrap().applied(), ROWS, "so do writes by query");

    let (faults, table) = slow_table(|service| service.retry(NoRetry)).await;
    let started = Instant::now();
    faults.add(Fault::NoConnection);
    let error = table.bulk().insert(rows()).await.unwrap_err();
    assert_eq!(error.error().kind(), ErrorKind::Connection);
    assert!(
        started.elapsed() < Duration::from_millis(100),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn bulk_to_an_unreachable_service_ends_within_eight_seconds() {
    let (faults, table) = slow_table(|service| service).await;
    let down = faults.add(Fault::NoConnection);
    let started = Instant::now();
    let error = table.bulk().insert(rows()).await.unwrap_err();
    assert_eq!(error.error().kind(), ErrorKind::Connection);
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    // 32 batches by default, of five attempts each.
    assert_eq!(down.hits(), 5 * 32);
}

/// Answers after 50 ms: 200, or 500 during the outage.
#[derive(Clone, Debug, Default)]
struct Service {
    is_down: Arc<AtomicBool>,
    requests: Arc<AtomicU64>,
}

impl Service {
    fn client(&self) -> TableServiceClient {
        let client = TableServiceClient::from_connection_string(CONTOSO).unwrap();
        client.transport(self.clone())
    }

    fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    fn set_down(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::Relaxed);
    }
}

impl Transport for Service {
    fn send(&self, _: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            self.requests.fetch_add(1, Ordering::Relaxed);
            let status = if self.is_down.load(Ordering::Relaxed) { 500 } else { 200 };
            sleep(Duration::from_millis(50)).await;
            Ok(Response::builder().status(status).body(Bytes::new()).unwrap())
        })
    }
}

#[tokio::test(start_paused = true)]
async fn callers_that_succeeded_before_survive_a_blip_however_many_they_are() {
    for callers in [1_000, 3_000_u64] {
        let service = Service::default();
        let client = service.client();
        let calls = (0..callers).map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                for _ in 0..8 {
                    client.ping().await.unwrap();
                }
                client.ping().await.is_ok()
            })
        });
        let calls: Vec<_> = calls.collect();
        sleep(Duration::from_millis(390)).await;
        service.set_down(true);
        sleep(Duration::from_millis(100)).await;
        service.set_down(false);
        let mut survivors = 0;
        for call in calls {
            survivors += u64::from(call.await.unwrap());
        }
        assert!(service.requests() > 9 * callers + callers / 2, "the blip hit nobody");
        assert!(survivors * 100 >= callers * 99, "{survivors} of {callers}");
    }
}

#[tokio::test(start_paused = true)]
async fn service_that_is_down_receives_few_retries() {
    let service = Service::default();
    let client = service.client();
    let calls = async |seconds: u64| {
        let mut calls = Vec::new();
        for _ in 0..seconds * 1_000 {
            let client = client.clone();
            calls.push(tokio::spawn(async move { client.ping().await.is_ok() }));
            sleep(Duration::from_millis(1)).await;
        }
        for call in calls {
            call.await.unwrap();
        }
    };
    calls(10).await;
    assert_eq!(service.requests(), 10_000);
    service.set_down(true);
    calls(20).await;
    let requests = service.requests() - 10_000;
    // The budget earned in ten seconds: 100 from before, and 10 per second.
    assert!((21_000..=22_500).contains(&requests), "{requests} for 20,000 calls");
    calls(20).await;
    let requests = service.requests() - 10_000 - requests;
    assert!((20_200..=20_300).contains(&requests), "{requests} for 20,000 calls");
}
