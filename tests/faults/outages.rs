//! Short and long outages: the calls that survive, and the number of requests that a failing service receives.

use std::time::Duration;

use azure_table::retry::RetryBudget;
use azure_table::testing::{AddedRule, Fault, Faults, ResponseTemplate};
use azure_table::{
    DynamicEntity, Emulator, ErrorKind, ExponentialRetry, NoRetry, RetryPolicy, TableClient, TableServiceClient,
};
use azure_table_tests::canned::{CONTOSO, Canned};
use azure_table_tests::intercept::Intercept;
use http::Response;
use tokio::time::{Instant, sleep};

use super::{faulty, row};

const PARTITIONS: u64 = 64;
const ROWS: u64 = 512;

fn rows() -> impl Iterator<Item = DynamicEntity> {
    (0..ROWS).map(|n| DynamicEntity::new(format!("p{}", n % PARTITIONS), n.to_string()))
}

/// A table whose requests take 10 ms, and the faults in front of it.
async fn slow_table(change: impl Fn(TableServiceClient) -> TableServiceClient) -> (Faults, TableClient) {
    let (slow, ..) = faulty::<DynamicEntity>(Emulator::new()).await;
    slow.add(Fault::DelayResponse(Duration::from_millis(10)));
    let faults = Faults::new(slow);
    let service = change(TableServiceClient::from_transport(faults.clone()));
    (faults, service.dynamic_table("Table").unwrap())
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
    let down = |begin| outage(&faults, Fault::NoConnection, begin, length);
    let ((), call) = tokio::join!(down(Duration::ZERO), table.insert(&row()));
    assert_eq!(call.unwrap_err().attempts(), 1);
    let write = table.bulk().insert(rows());
    let ((), report) = tokio::join!(down(Duration::ZERO), write);
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
    let elapsed = started.elapsed();
    assert!(elapsed < Duration::from_millis(100), "{elapsed:?}");
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

/// A service that answers 200 after 50 ms, or 500 while the rule is enabled.
fn service() -> (Faults, AddedRule, TableServiceClient) {
    let sound = Intercept::new(Canned::default(), |_, _| async {
        Ok(Response::new(r#"{"value":[]}"#.into()))
    });
    let failing = Faults::new(sound);
    let down = failing.add(ResponseTemplate::new(500));
    down.disable();
    let slow = Faults::new(failing);
    slow.add(Fault::DelayResponse(Duration::from_millis(50)));
    let client = TableServiceClient::from_connection_string(CONTOSO).unwrap();
    (slow.clone(), down, client.transport(slow))
}

#[tokio::test(start_paused = true)]
async fn callers_that_succeeded_before_survive_a_blip_however_many_they_are() {
    for callers in [300, 1_000_u64] {
        let (service, down, client) = service();
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
        down.enable();
        sleep(Duration::from_millis(100)).await;
        down.disable();
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
    let (service, down, client) = service();
    // 200 a second
    let calls = async |seconds: u64| {
        let mut calls = Vec::new();
        for _ in 0..seconds * 200 {
            let client = client.clone();
            calls.push(tokio::spawn(async move { client.ping().await.is_ok() }));
            sleep(Duration::from_millis(5)).await;
        }
        for call in calls {
            call.await.unwrap();
        }
    };
    calls(10).await;
    assert_eq!(service.requests(), 2_000);
    down.enable();
    calls(20).await;
    let requests = service.requests() - 2_000;
    // The budget earned in ten seconds: a tenth of the calls that succeeded, 100 from before, and 10 per second.
    assert!((4_400..=4_600).contains(&requests), "{requests} for 4,000 calls");
    calls(20).await;
    let requests = service.requests() - 2_000 - requests;
    assert!((4_200..=4_300).contains(&requests), "{requests} for 4,000 calls");
}
