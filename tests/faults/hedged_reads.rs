//! Hedged reads: when a read is sent twice, which response counts, and how many requests are added.

use std::time::Duration;

use azure_table::emulator::ServiceModel;
use azure_table::retry::Hedge;
use azure_table::telemetry::{CostMeter, Location, OperationContext};
use azure_table::testing::{Fault, FaultRule, Faults};
use azure_table::{
    CallOptions, DynamicEntity, Emulator, ErrorKind, LocationMode, NoRetry, TableClient, TableOperation,
    TableServiceClient,
};
use azure_table_tests::canned::{Canned, Step};
use futures::StreamExt as _;
use tokio::time::Instant;

const MILLI: Duration = Duration::from_millis(1);
const DELAY: Duration = Duration::from_millis(50);

fn entity() -> Step {
    Step::response(200, &[("etag", "e")], r#"{"PartitionKey":"p","RowKey":"r"}"#)
}

fn missing() -> Step {
    let body = r#"{"odata.error":{"code":"ResourceNotFound","message":{"lang":"en-US","value":"No."}}}"#;
    Step::response(404, &[], body)
}

/// A client that may hedge every read after 50 ms, and its scripted service.
struct Scripted {
    service: TableServiceClient,
    canned: Canned,
}

impl Scripted {
    /// Reads once, because a new client has no extra request. Then each request has its step, after its delay.
    async fn new(steps: impl IntoIterator<Item = (Step, u32)>) -> Self {
        let (steps, delays): (Vec<_>, Vec<_>) = steps.into_iter().unzip();
        let canned = Canned::new([entity()].into_iter().chain(steps));
        let faults = Faults::new(canned.clone());
        let service = canned.service().retry(NoRetry).transport(faults.clone());
        let service = service.hedge(Hedge::after(DELAY).share(1.0));
        service.dynamic_table("Things").unwrap().get(("p", "r")).await.unwrap();
        for delay in delays {
            faults.add(FaultRule::new(Fault::DelayResponse(delay * MILLI)).at_most(1));
        }
        Self { service, canned }
    }

    fn table(&self) -> TableClient {
        self.service.dynamic_table("Things").unwrap()
    }

    /// Returns the hosts of the requests after the first read.
    fn hosts(&self) -> Vec<&'static str> {
        let host = |sent: &http::Request<bytes::Bytes>| match sent.uri().host().unwrap() {
            "contoso-secondary.table.core.windows.net" => "secondary",
            _ => "primary",
        };
        self.canned.sent().iter().skip(1).map(host).collect()
    }
}

/// Returns the time of a call, in milliseconds.
async fn timed<F: Future>(call: F) -> (F::Output, u128) {
    let started = Instant::now();
    let output = call.await;
    (output, started.elapsed().as_millis())
}

#[tokio::test(start_paused = true)]
async fn second_request_ends_a_slow_read_and_cancels_the_first() {
    let scripted = Scripted::new([(entity(), 10_000), (entity(), 20)]).await;
    let (meter, context) = (CostMeter::new(), OperationContext::new());
    let table: TableClient = scripted
        .service
        .observer(meter.clone())
        .dynamic_table("Things")
        .unwrap();
    let (read, elapsed) = timed(table.get(("p", "r")).with(&CallOptions::new().context(&context))).await;
    assert!(read.unwrap().is_some());
    assert!((70..75).contains(&elapsed), "{elapsed}");

    let attempts = context.attempts();
    let shown: Vec<_> = attempts
        .iter()
        .map(|attempt| {
            let flags = (attempt.is_hedge(), attempt.is_cancelled());
            (attempt.number(), flags, attempt.status())
        })
        .collect();
    assert_eq!(shown, [(1, (false, true), None), (1, (true, false), Some(200))]);
    assert!(attempts[0].elapsed() >= 70 * MILLI, "{attempts:?}");
    let text = context.diagnostics().to_string();
    assert!(text.contains("get attempt 1 cancelled: the other request"), "{text}");
    assert!(text.contains("get attempt 1 (hedge) 200 after"), "{text}");
    let cost = meter.of("get");
    assert_eq!((cost.requests, cost.hedges, cost.entities), (2, 1, 1));
    assert_eq!(meter.total().hedges, 1);
}

#[tokio::test(start_paused = true)]
async fn first_request_may_still_answer_first() {
    let scripted = Scripted::new([(entity(), 60), (entity(), 10_000)]).await;
    let context = OperationContext::new();
    let (read, elapsed) = timed(
        scripted
            .table()
            .get(("p", "r"))
            .with(&CallOptions::new().context(&context)),
    )
    .await;
    assert!(read.unwrap().is_some());
    assert!((60..65).contains(&elapsed), "{elapsed}");
    let cancelled: Vec<_> = context
        .attempts()
        .iter()
        .map(|attempt| attempt.is_cancelled())
        .collect();
    assert_eq!(cancelled, [true, false]);
    assert!(context.attempts()[0].is_hedge());
}

#[tokio::test(start_paused = true)]
async fn error_of_one_request_does_not_end_the_other() {
    for (first, second, expected) in [(60, 500, 550), (500, 20, 500)] {
        let steps = if first < second {
            [(Step::status(503), first), (entity(), second)]
        } else {
            [(entity(), first), (Step::status(503), second)]
        };
        let scripted = Scripted::new(steps).await;
        let context = OperationContext::new();
        let (read, elapsed) = timed(
            scripted
                .table()
                .get(("p", "r"))
                .with(&CallOptions::new().context(&context)),
        )
        .await;
        assert!(read.unwrap().is_some());
        assert!((expected..expected + 5).contains(&elapsed), "{elapsed}");
        let statuses: Vec<_> = context.attempts().iter().map(|attempt| attempt.status()).collect();
        assert_eq!(statuses, [Some(503), Some(200)]);
        assert!(context.attempts().iter().all(|attempt| !attempt.is_cancelled()));
    }
}

#[tokio::test(start_paused = true)]
async fn attempt_whose_requests_both_fail_ends_with_the_error_of_the_first() {
    for (first, second) in [(60, 500), (500, 60)] {
        let scripted = Scripted::new([(Step::status(500), first), (Step::status(503), second)]).await;
        let error = scripted.table().get(("p", "r")).await.unwrap_err();
        assert_eq!((error.status(), error.attempts()), (Some(500), 1), "{error}");
        assert_eq!(error.diagnostics().attempts().len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn missing_entity_is_a_result_of_the_second_request() {
    let scripted = Scripted::new([(entity(), 10_000), (missing(), 0)]).await;
    let (read, elapsed) = timed(scripted.table().get(("p", "r"))).await;
    assert!(read.unwrap().is_none());
    assert!((50..55).contains(&elapsed), "{elapsed}");
}

#[tokio::test(start_paused = true)]
async fn only_a_get_is_sent_twice() {
    let written = || Step::response(204, &[("etag", "e")], "");
    let scripted = Scripted::new((0..4).map(|_| (written(), 1_000))).await;
    let table = scripted.table();
    table.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    table.delete(("p", "r")).await.unwrap();
    table
        .execute(TableOperation::insert_or_merge(&DynamicEntity::new("p", "r")))
        .await
        .unwrap();
    // A batch is a POST, even if it contains a read.
    table
        .get(("p", "r"))
        .with(&CallOptions::new().via_batch())
        .await
        .unwrap_err();
    assert_eq!(scripted.hosts().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn page_of_a_query_is_sent_twice() {
    let page = || Step::response(200, &[], r#"{"value":[{"PartitionKey":"p","RowKey":"r"}]}"#);
    let scripted = Scripted::new([(page(), 10_000), (page(), 0)]).await;
    let (rows, elapsed) = timed(scripted.table().query().all()).await;
    assert_eq!(rows.unwrap().len(), 1);
    assert!((50..55).contains(&elapsed), "{elapsed}");
}

#[tokio::test(start_paused = true)]
async fn second_request_goes_to_the_secondary_if_the_mode_has_it() {
    use LocationMode::{PrimaryOnly, PrimaryThenSecondary, SecondaryOnly, SecondaryThenPrimary};
    for (mode, expected) in [
        (PrimaryOnly, ["primary", "primary"]),
        (PrimaryThenSecondary, ["primary", "secondary"]),
        (SecondaryOnly, ["secondary", "secondary"]),
        (SecondaryThenPrimary, ["secondary", "primary"]),
    ] {
        let scripted = Scripted::new([(entity(), 10_000), (entity(), 0)]).await;
        let context = OperationContext::new();
        let get = scripted
            .table()
            .get(("p", "r"))
            .with(&CallOptions::new().location_mode(mode).context(&context));
        assert!(get.await.unwrap().is_some());
        assert_eq!(scripted.hosts(), expected, "{mode:?}");
        let locations: Vec<_> = context.attempts().iter().map(|attempt| attempt.location()).collect();
        let is_secondary = |location: &Location| *location == Location::Secondary;
        assert_eq!(
            locations.iter().map(is_secondary).collect::<Vec<_>>(),
            expected.map(|location| location == "secondary"),
            "{mode:?}"
        );
    }
}

/// The secondary lags behind: it may not have the latest writes.
#[tokio::test(start_paused = true)]
async fn entity_that_the_secondary_misses_is_awaited_from_the_primary() {
    let scripted = Scripted::new([(entity(), 300), (missing(), 0)]).await;
    let mode = LocationMode::PrimaryThenSecondary;
    let (read, elapsed) = timed(
        scripted
            .table()
            .get(("p", "r"))
            .with(&CallOptions::new().location_mode(mode)),
    )
    .await;
    assert!(read.unwrap().is_some());
    assert!((300..305).contains(&elapsed), "{elapsed}");

    // If the primary fails, the missing entity is not a result either.
    let scripted = Scripted::new([(Step::status(500), 300), (missing(), 0)]).await;
    let error = scripted
        .table()
        .get(("p", "r"))
        .with(&CallOptions::new().location_mode(mode))
        .await
        .unwrap_err();
    assert_eq!(error.status(), Some(500));

    // The secondary was first: the client also asks the primary, without a retry of the policy.
    let scripted = Scripted::new([(missing(), 60), (Step::status(500), 300), (entity(), 0)]).await;
    let mode = LocationMode::SecondaryThenPrimary;
    assert!(
        scripted
            .table()
            .get(("p", "r"))
            .with(&CallOptions::new().location_mode(mode))
            .await
            .unwrap()
            .is_some()
    );
    assert_eq!(scripted.hosts(), ["secondary", "primary", "primary"]);
}

/// A continuation of one location is not valid in the other.
#[tokio::test(start_paused = true)]
async fn query_stays_in_the_location_that_answered_its_first_page() {
    let page = |next: &[(&str, &str)]| Step::response(200, next, r#"{"value":[{"PartitionKey":"p","RowKey":"r"}]}"#);
    let more = [("x-ms-continuation-nextpartitionkey", "1!4!YQ--")];
    let scripted = Scripted::new([
        (page(&more), 10_000),
        (page(&more), 0),
        (page(&[]), 10_000),
        (page(&[]), 0),
    ])
    .await;
    let query = scripted.table().query().prefetch(0);
    let rows = query
        .with(&CallOptions::new().location_mode(LocationMode::PrimaryThenSecondary))
        .all()
        .await
        .unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(scripted.hosts(), ["primary", "secondary", "secondary", "secondary"]);
}

#[tokio::test(start_paused = true)]
async fn new_client_has_no_extra_request_and_none_goes_beyond_the_share() {
    let canned = Canned::new((0..41).map(|_| entity()));
    let faults = Faults::new(canned.clone());
    faults.add(Fault::DelayResponse(100 * MILLI));
    let table: TableClient = canned
        .service()
        .transport(faults)
        .hedge(Hedge::after(DELAY).share(0.1))
        .dynamic_table("Things")
        .unwrap();
    let mut sent = Vec::new();
    for _ in 0..30 {
        // A hedge of the call uses the same share.
        let hedge = Hedge::after(DELAY).share(0.1);
        table
            .get(("p", "r"))
            .with(&CallOptions::new().hedge(hedge))
            .await
            .unwrap();
        sent.push(canned.sent().len());
    }
    assert_eq!((sent[9], sent[29]), (10, 32), "{sent:?}");
}

/// The second request needs a permit like any other.
#[tokio::test(start_paused = true)]
async fn second_request_without_a_permit_is_not_sent() {
    let scripted = Scripted::new([(entity(), 1_000), (entity(), 1_000), (entity(), 0)]).await;
    let service = scripted.service.max_in_flight(1);
    let table: TableClient = service.dynamic_table("Things").unwrap();
    let context = OperationContext::new();
    table
        .get(("p", "r"))
        .with(&CallOptions::new().context(&context))
        .await
        .unwrap();
    assert_eq!((scripted.hosts().len(), context.attempts().len()), (1, 1));
    // The permit was returned.
    scripted.table().get(("p", "r")).await.unwrap();
    assert_eq!(scripted.hosts().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn hedge_can_be_off_for_a_call() {
    let scripted = Scripted::new([(entity(), 1_000)]).await;
    scripted
        .table()
        .get(("p", "r"))
        .with(&CallOptions::new().hedge(Hedge::off()))
        .await
        .unwrap();
    assert_eq!(scripted.hosts().len(), 1);
    let shown = scripted.service.settings().to_string();
    assert!(
        shown.contains("\nhedged reads: after 50ms, at most 100 % more requests\n"),
        "{shown}"
    );
    assert!(
        Canned::default()
            .service()
            .settings()
            .to_string()
            .contains("\nhedged reads: off\n")
    );
}

#[tokio::test]
async fn percentile_out_of_bounds_sends_nothing() {
    let canned = Canned::default();
    let table: TableClient = canned.service().dynamic_table("Things").unwrap();
    let error = table
        .get(("p", "r"))
        .with(&CallOptions::new().hedge(Hedge::after_percentile(100)))
        .await
        .unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0));
    assert!(
        error.to_string().contains("percentile 100: the limits are 50 and 99"),
        "{error}"
    );
}

/// Returns the latencies of reads under a model of the service, sorted, and the number of requests.
struct Latencies {
    sorted: Vec<u128>,
    requests: u64,
    slow: u64,
}

impl Latencies {
    /// 16 reads run in parallel. Each takes 10 ms ± 10 %, and the share `slow` 20 times as long.
    async fn measure(hedge: Hedge, slow: f64, reads: usize) -> Self {
        let model = ServiceModel::new().read_latency(10 * MILLI);
        let faults = Faults::with_seed(Emulator::new().service_model(model), 7);
        let service = TableServiceClient::from_transport(faults.clone()).hedge(hedge);
        let table = service.dynamic_table("Things").unwrap();
        table.create_table().await.unwrap();
        table.insert(&DynamicEntity::new("p", "r")).await.unwrap();
        let before = faults.requests();
        let rule = faults.add(FaultRule::new(Fault::DelayRequest(190 * MILLI)).probability(slow));
        let reads = futures::stream::iter(0..reads).map(|_| timed(table.get(("p", "r"))));
        let mut sorted: Vec<_> = reads
            .buffer_unordered(16)
            .map(|(read, elapsed)| {
                assert!(read.unwrap().is_some());
                elapsed
            })
            .collect()
            .await;
        sorted.sort_unstable();
        let requests = faults.requests() - before;
        let slow = rule.hits();
        Self { sorted, requests, slow }
    }

    /// Returns the latency that this share of the reads reaches or exceeds.
    fn reached_by(&self, share: f64) -> u128 {
        self.sorted[((1.0 - share) * self.sorted.len() as f64) as usize]
    }
}

#[tokio::test(start_paused = true)]
#[ignore = "takes long: `tests/faults/run` runs it"]
async fn hedging_shortens_the_tail_by_at_most_five_percent_more_requests() {
    let plain = Latencies::measure(Hedge::off(), 0.01, 10_000).await;
    assert!(plain.slow >= 100 && plain.requests == 10_000, "{} slow", plain.slow);
    for hedge in [Hedge::after(20 * MILLI), Hedge::after_percentile(98)] {
        let hedged = Latencies::measure(hedge, 0.01, 10_000).await;
        azure_table_tests::report::print(&format!(
            "hedge {hedge}: p50 {} ms, p99 {} ms (without {}), p99.9 {} ms (without {}), {} requests for 10,000 reads",
            hedged.reached_by(0.5),
            hedged.reached_by(0.01),
            plain.reached_by(0.01),
            hedged.reached_by(0.001),
            plain.reached_by(0.001),
            hedged.requests,
        ));
        assert!(5 * hedged.reached_by(0.01) <= plain.reached_by(0.01), "{hedge}");
        assert!(
            (10_050..=10_500).contains(&hedged.requests),
            "{hedge}: {}",
            hedged.requests
        );
    }
}

#[tokio::test(start_paused = true)]
async fn slow_service_is_sent_no_more_than_the_share() {
    for (hedge, expected) in [
        (Hedge::after(20 * MILLI), 4_150..=4_200),
        (Hedge::after(20 * MILLI).share(0.01), 4_020..=4_040),
        // By its own latencies, the service is no slower than usual.
        (Hedge::after_percentile(95), 4_000..=4_200),
    ] {
        let hedged = Latencies::measure(hedge, 1.0, 4_000).await;
        azure_table_tests::report::print(&format!(
            "hedge {hedge}, a slow service: {} requests for 4,000 reads",
            hedged.requests
        ));
        assert!(expected.contains(&hedged.requests), "{hedge}: {}", hedged.requests);
    }
}
