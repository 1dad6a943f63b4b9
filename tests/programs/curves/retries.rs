//! Outages: the calls that survive, the requests that the service receives, the contents of an error. Counts, on a
//! paused clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::time::Duration;

use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{LinearRetry, TableServiceClient};
use azure_table_tests::canned::CONTOSO;
use bytes::Bytes;
use http::{Request, Response};
use tokio::runtime::Builder;
use tokio::time::{Instant, sleep, sleep_until};

use crate::Dimension;
use crate::curve::{Bar, Curve, GROWTH};
use crate::measure::Sweep;

pub(crate) const DIMENSIONS: [Dimension; 5] = [
    ("retries: callers", callers),
    ("retries: length of an outage", length),
    ("retries: traffic of a lasting outage", lasting),
    ("retries: text of an error", text),
    ("retries: attempts of an error", attempts),
];

/// The share of calls that succeed.
const SURVIVE: Bar = Bar::AtLeast(0.99);
/// The latency of each request.
const LATENCY: Duration = Duration::from_millis(50);
/// The calls of each caller in the second before the outage, which earn the retries of all.
const BEFORE: usize = 20;

/// A service that fails with a status during an outage.
#[derive(Clone, Debug, Default)]
struct Service {
    /// 0 outside of an outage.
    failure: Arc<AtomicU16>,
    message: Arc<str>,
    failed: Arc<AtomicU64>,
}

impl Service {
    fn client(&self) -> TableServiceClient {
        let client = TableServiceClient::from_connection_string(CONTOSO).unwrap();
        client.transport(self.clone())
    }
}

impl Transport for Service {
    fn send(&self, _: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let failure = self.failure.load(Ordering::Relaxed);
            sleep(LATENCY).await;
            let response = Response::builder().status(if failure == 0 { 200 } else { failure });
            if failure == 0 {
                return Ok(response.body(Bytes::new()).unwrap());
            }
            self.failed.fetch_add(1, Ordering::Relaxed);
            let code = if failure == 503 { "ServerBusy" } else { "InternalError" };
            let body = format!(
                r#"{{"odata.error":{{"code":"{code}","message":{{"lang":"en-US","value":"{}"}}}}}}"#,
                self.message
            );
            let response = response.header("content-type", "application/json");
            Ok(response.body(body.into()).unwrap())
        })
    }
}

fn paused<F: Future>(future: F) -> F::Output {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(future)
}

/// Calls during an outage: how many succeed, and the requests of each.
struct Outage {
    survived: f64,
    failed_requests: f64,
}

/// Callers that succeeded before, each with one call that begins with the outage.
fn outage(status: u16, callers: usize, length: Duration) -> Outage {
    paused(async {
        let service = Service::default();
        let client = service.client();
        let begin = Instant::now() + LATENCY * (BEFORE as u32 + 1);
        let calls = (0..callers).map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                for _ in 0..BEFORE {
                    client.ping().await.unwrap();
                }
                sleep_until(begin + Duration::from_millis(1)).await;
                client.ping().await.is_ok()
            })
        });
        let calls: Vec<_> = calls.collect();
        sleep_until(begin).await;
        service.failure.store(status, Ordering::Relaxed);
        sleep(length).await;
        service.failure.store(0, Ordering::Relaxed);
        let mut survived = 0;
        for call in calls {
            survived += usize::from(call.await.unwrap());
        }
        let failed = service.failed.load(Ordering::Relaxed);
        Outage {
            survived: survived as f64 / callers as f64,
            failed_requests: failed as f64 / callers as f64,
        }
    })
}

/// 100 ms.
fn callers(sweep: &Sweep) -> Vec<Curve> {
    let mut curves = Vec::new();
    for (status, survival, amplification) in [
        (
            500,
            "share that survives 100 ms of 500",
            "failed requests per call, 500",
        ),
        (
            503,
            "share that survives 100 ms of 503",
            "failed requests per call, 503",
        ),
    ] {
        let (mut survived, mut failed) = (Vec::new(), Vec::new());
        for &callers in sweep.sizes(&[10, 100, 1_000, 10_000]) {
            let outage = outage(status, callers, Duration::from_millis(100));
            survived.push((callers as f64, outage.survived));
            failed.push((callers as f64, outage.failed_requests));
        }
        curves.push(Curve::new(survival, "callers", survived, SURVIVE));
        curves.push(Curve::new(amplification, "callers", failed, Bar::Growth(GROWTH)));
    }
    curves
}

/// The last retry begins 2.2 to 3.4 s after the first attempt, so a few calls in an outage of 2.5 s fail.
fn length(_: &Sweep) -> Vec<Curve> {
    let mut curves = Vec::new();
    for (status, survival, amplification) in [
        (
            500,
            "share of 1,000 that survives 500s",
            "failed requests per call, 500",
        ),
        (
            503,
            "share of 1,000 that survives 503s",
            "failed requests per call, 503",
        ),
    ] {
        let (mut survived, mut failed) = (Vec::new(), Vec::new());
        for millis in [100, 300, 1_000, 2_500] {
            let outage = outage(status, 1_000, Duration::from_millis(millis));
            survived.push((millis as f64, outage.survived));
            failed.push((millis as f64, outage.failed_requests));
        }
        curves.push(Curve::new(survival, "ms of outage", survived, Bar::AtLeast(0.95)));
        curves.push(Curve::new(amplification, "ms of outage", failed, Bar::AtMost(4.0)));
    }
    curves
}

/// Calls to a service that is down from the start. The budget of a new client is spent after ten seconds; the ten
/// seconds after that are counted.
fn lasting(sweep: &Sweep) -> Vec<Curve> {
    let mut curve = Vec::new();
    for &rate in sweep.sizes(&[100, 1_000, 10_000]) {
        let ratio = paused(async {
            let service = Service::default();
            service.failure.store(500, Ordering::Relaxed);
            let client = service.client();
            let call = async |seconds: u32| {
                for n in 0..seconds * 1_000 {
                    for _ in 0..(rate * (n as usize + 1) / 1_000 - rate * n as usize / 1_000) {
                        let client = client.clone();
                        tokio::spawn(async move { assert!(client.ping().await.is_err()) });
                    }
                    sleep(Duration::from_millis(1)).await;
                }
                service.failed.load(Ordering::Relaxed)
            };
            let before = call(10).await;
            (call(10).await - before) as f64 / (10 * rate) as f64
        });
        curve.push((rate as f64, ratio));
    }
    // Ten retries per second, and those that end in the other interval.
    vec![Curve::new(
        "requests per call",
        "calls per second",
        curve,
        Bar::AtMost(1.12),
    )]
}

/// Returns the lengths of an error by `Display` and by `Debug`, and the number of its attempts.
fn failure(message: usize, retries: u32) -> (f64, f64, f64) {
    let service = Service {
        failure: Arc::new(AtomicU16::new(500)),
        message: "x".repeat(message).into(),
        ..Service::default()
    };
    let policy = LinearRetry::new(Duration::from_millis(10), retries);
    let error = paused(async { service.client().retry(policy).ping().await.unwrap_err() });
    assert_eq!(error.attempts(), retries + 1);
    let kept = error.diagnostics().attempts().len();
    let [display, debug] = [format!("{error}"), format!("{error:?}")].map(|text| text.len() as f64);
    (display, debug, kept as f64)
}

fn text(_: &Sweep) -> Vec<Curve> {
    let (mut display, mut debug) = (Vec::new(), Vec::new());
    for length in [10, 100, 1_000, 10_000, 100_000] {
        let (short, long, _) = failure(length, 3);
        display.push((length as f64, short));
        debug.push((length as f64, long));
    }
    let axis = "characters of the service's message";
    vec![
        Curve::new("characters of Display", axis, display, Bar::AtMost(4_096.0)),
        Curve::new("characters of Debug", axis, debug, Bar::AtMost(16_384.0)),
    ]
}

fn attempts(_: &Sweep) -> Vec<Curve> {
    let (mut display, mut debug, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for retries in [1, 10, 100, 1_000] {
        let (short, long, attempts) = failure(100, retries);
        display.push((f64::from(retries), short));
        debug.push((f64::from(retries), long));
        kept.push((f64::from(retries), attempts));
    }
    vec![
        Curve::new("characters of Display", "retries", display, Bar::AtMost(4_096.0)),
        Curve::new("characters of Debug", "retries", debug, Bar::AtMost(65_536.0)),
        Curve::new("attempts that are kept", "retries", kept, Bar::AtMost(128.0)),
    ]
}
