//! Reads that share a request: which reads do, what each caller receives, and what is sent.

use std::time::Duration;

use azure_table::emulator::ServiceModel;
use azure_table::telemetry::{CostMeter, OperationContext};
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::{
    CallOptions, DynamicEntity, Emulator, ErrorKind, LinearRetry, LocationMode, NoRetry, TableClient,
    TableServiceClient,
};
use futures::future::join_all;
use tokio::time::{Instant, sleep, timeout};

const MILLI: Duration = Duration::from_millis(1);

/// A table with one row behind faults. Its reads share their requests.
struct Shared {
    service: TableServiceClient,
    faults: Faults,
    table: TableClient,
    /// Concurrent reads and writes, next to the faults.
    truth: TableClient,
}

impl Shared {
    async fn new() -> Self {
        let emulator = Emulator::new();
        let service = TableServiceClient::from_transport(emulator.clone()).retry(NoRetry);
        let truth = service.dynamic_table("Things").unwrap();
        truth.create_table().await.unwrap();
        truth.insert(&row(1)).await.unwrap();
        let faults = Faults::new(emulator);
        let service = service.transport(faults.clone()).shared_reads(true);
        let table = service.dynamic_table("Things").unwrap();
        Self {
            service,
            faults,
            table,
            truth,
        }
    }

    /// Adds a fault to the next request.
    fn next(&self, fault: impl Into<Fault>) {
        self.faults.add(FaultRule::new(fault).at_most(1));
    }

    async fn value(&self) -> i32 {
        value(&self.table.get(("p", "r")).await.unwrap().unwrap())
    }
}

fn row(value: i32) -> DynamicEntity {
    let mut row = DynamicEntity::new("p", "r");
    row.insert("Value", value);
    row
}

fn value(row: &DynamicEntity) -> i32 {
    match row.get("Value") {
        Some(azure_table::EdmValue::Int32(value)) => *value,
        other => unreachable!("{other:?}"),
    }
}

/// The response in flight is older than the caller's own write.
#[tokio::test(start_paused = true)]
async fn read_sees_the_write_before_it_though_an_older_read_is_in_flight() {
    let shared = Shared::new().await;
    shared.next(Fault::DelayResponse(100 * MILLI));
    let older = shared.value();
    let newer = async {
        sleep(10 * MILLI).await;
        shared.truth.replace(&row(2)).await.unwrap();
        shared.value().await
    };
    assert_eq!(tokio::join!(older, newer), (1, 2));
    assert_eq!(shared.faults.requests(), 2);
}

#[tokio::test(start_paused = true)]
async fn reads_that_wait_share_the_next_request_in_all_forms() {
    let shared = Shared::new().await;
    let meter = CostMeter::new();
    let table: TableClient = shared.service.observer(meter.clone()).dynamic_table("Things").unwrap();
    shared.next(Fault::DelayResponse(100 * MILLI));
    let first = table.get(("p", "r"));
    let rest = async {
        sleep(10 * MILLI).await;
        let plain = join_all((0..50).map(|_| table.get(("p", "r"))));
        let versioned = join_all((0..50).map(|_| table.get(("p", "r")).versioned()));
        let resolved = join_all((0..50).map(|_| table.get(("p", "r")).resolve(|row| Ok(row.etag()))));
        let missing = join_all((0..50).map(|_| table.get(("p", "none"))));
        let exists = join_all((0..50).map(|_| table.exists(("p", "r"))));
        tokio::join!(plain, versioned, resolved, missing, exists)
    };
    let (_, (plain, versioned, resolved, missing, exists)) = tokio::join!(first, rest);
    assert!(plain.into_iter().all(|read| value(&read.unwrap().unwrap()) == 1));
    let etag = versioned[0].as_ref().unwrap().as_ref().unwrap().etag.clone();
    assert!(
        versioned
            .into_iter()
            .all(|read| value(&read.unwrap().unwrap().entity) == 1)
    );
    assert!(
        resolved
            .into_iter()
            .all(|read| read.unwrap().unwrap() == Some(etag.clone()))
    );
    assert!(missing.into_iter().all(|read| read.unwrap().is_none()));
    assert!(exists.into_iter().all(|read| read.unwrap()));
    // Whole rows are one request in all forms; the missing row and the keys alone are two more.
    assert_eq!(shared.faults.requests(), 4);
    let cost = meter.of("get");
    // Each caller decodes its own entity; `exists` decodes none.
    assert_eq!((cost.requests, cost.entities), (4, 151));
}

#[tokio::test(start_paused = true)]
async fn request_goes_on_until_its_last_caller_has_left() {
    let shared = Shared::new().await;
    shared.next(Fault::DelayResponse(100 * MILLI));
    let started = Instant::now();
    let read = || tokio::spawn(shared.table.get(("p", "r")));
    let (first, second) = (read(), read());
    sleep(10 * MILLI).await;
    first.abort();
    assert!(second.await.unwrap().unwrap().is_some());
    assert!(
        (100..105).contains(&started.elapsed().as_millis()),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(shared.faults.requests(), 1);

    // The service never answers: the next request is sent when nothing waits for the first.
    shared.next(Fault::HangRequest);
    let (first, second) = (read(), read());
    sleep(10 * MILLI).await;
    let third = read();
    sleep(10 * MILLI).await;
    first.abort();
    second.abort();
    let started = Instant::now();
    assert!(third.await.unwrap().unwrap().is_some());
    assert!(started.elapsed() < 5 * MILLI, "{:?}", started.elapsed());
    assert_eq!(shared.faults.requests(), 3);
}

#[tokio::test(start_paused = true)]
async fn request_without_a_waiting_caller_is_not_sent() {
    let shared = Shared::new().await;
    shared.next(Fault::DelayResponse(100 * MILLI));
    let first = tokio::spawn(shared.table.get(("p", "r")));
    sleep(10 * MILLI).await;
    assert!(timeout(10 * MILLI, shared.table.get(("p", "r"))).await.is_err());
    first.await.unwrap().unwrap();
    sleep(10 * MILLI).await;
    assert_eq!(shared.faults.requests(), 1);
    assert_eq!(shared.value().await, 1);
}

/// A future that was polled once, and is kept.
#[tokio::test(start_paused = true)]
async fn caller_that_is_not_polled_stops_no_other() {
    let shared = Shared::new().await;
    shared.next(Fault::DelayResponse(100 * MILLI));
    let mut kept = Box::pin(shared.table.get(("p", "r")));
    assert!(futures::poll!(kept.as_mut()).is_pending());
    sleep(10 * MILLI).await;
    assert_eq!(shared.value().await, 1);
    assert!(kept.await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn each_caller_has_the_error_and_its_own_context() {
    let shared = Shared::new().await;
    shared.next(ResponseTemplate::internal_error());
    let contexts = [OperationContext::new(), OperationContext::new()];
    let reads = contexts
        .iter()
        .map(|context| shared.table.get(("p", "r")).with(&CallOptions::new().context(context)));
    let ids: Vec<_> = join_all(reads)
        .await
        .into_iter()
        .map(|read| {
            let error = read.unwrap_err();
            assert_eq!((error.kind(), error.attempts()), (ErrorKind::ServerFault, 1));
            assert_eq!((error.entity(), error.table()), (Some(("p", "r")), Some("Things")));
            assert_eq!(error.diagnostics().attempts().len(), 1);
            error.client_request_id().unwrap().to_owned()
        })
        .collect();
    assert_eq!(ids[0], ids[1]);
    for context in contexts {
        assert_eq!(context.attempts().len(), 1);
        assert_eq!(context.attempts()[0].status(), Some(500));
    }
    assert_eq!(shared.faults.requests(), 1);
}

#[tokio::test(start_paused = true)]
async fn timeout_of_a_call_ends_that_call_alone() {
    let shared = Shared::new().await;
    shared.next(ResponseTemplate::internal_error());
    shared.next(Fault::DelayResponse(500 * MILLI));
    let once = CallOptions::new().retry(LinearRetry::new(10 * MILLI, 1));
    let table = shared.table.with(&once);
    let get = || table.get(("p", "r"));
    let context = OperationContext::new();
    let (short, patient) = tokio::join!(
        get().timeout(100 * MILLI).with(&CallOptions::new().context(&context)),
        get()
    );
    let error = short.unwrap_err();
    assert_eq!((error.attempts(), error.diagnostics().attempts().len()), (1, 1));
    assert_eq!(context.attempts()[0].status(), Some(500));
    assert_eq!(
        error.client_request_id(),
        Some(context.attempts()[0].client_request_id())
    );
    assert_eq!((error.kind(), error.entity()), (ErrorKind::Timeout, Some(("p", "r"))));
    assert!(error.to_string().contains("a request that it shares"), "{error}");
    assert!(patient.unwrap().is_some());
    assert_eq!((shared.faults.requests(), context.attempts().len()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn only_equal_reads_of_the_primary_share() {
    let shared = Shared::new().await;
    let get = || shared.table.get(("p", "r"));
    let all = [
        get(),
        get().timeout(Duration::from_secs(9)),
        get().with(&CallOptions::new().attempt_timeout(Duration::from_secs(9))),
        get().with(&CallOptions::new().header("x-tenant", "7")),
        get().with(&CallOptions::new().client_request_id("one")),
        get().with(&CallOptions::new().via_batch()),
        get().with(&CallOptions::new().location_mode(LocationMode::SecondaryThenPrimary)),
        get().with(&CallOptions::new().location_mode(LocationMode::SecondaryThenPrimary)),
    ];
    let reads = join_all(all).await;
    assert!(
        reads.iter().all(|read| read.as_ref().is_ok_and(Option::is_some)),
        "{reads:?}"
    );
    // The first two are equal; reads of the secondary are not shared.
    assert_eq!(shared.faults.requests(), 7);

    let off = shared.table.with(&CallOptions::new().shared_reads(false));
    join_all((0..5).map(|_| off.get(("p", "r")))).await;
    assert_eq!(shared.faults.requests(), 12);
    let shown = |table: &TableClient| table.settings().to_string();
    assert!(shown(&shared.table).contains("\nreads of one entity: shared\n"));
    assert!(shown(&off).contains("\nreads of one entity: a request each\n"));
}

/// A client that outlives the runtime of its reads.
#[test]
fn reads_go_on_in_another_runtime() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let first = runtime();
    let shared = first.block_on(Shared::new());
    shared.next(Fault::HangRequest);
    first.block_on(async {
        // One read is in flight when the runtime ends, and one waits for the next request.
        tokio::spawn(shared.table.get(("p", "r")));
        sleep(10 * MILLI).await;
        tokio::spawn(shared.table.get(("p", "r")));
        sleep(10 * MILLI).await;
    });
    drop(first);
    assert_eq!(runtime().block_on(shared.value()), 1);
}

/// 10,000 concurrent reads of 10 hot rows, 10 ms each: all together, and spread over 100 ms, so that most of them start
/// while others are in flight.
#[tokio::test(start_paused = true)]
async fn hot_rows_are_read_once_per_flight() {
    const READS: usize = 10_000;
    const ROWS: usize = 10;
    let run = async |shares: bool, millis: usize| {
        let model = ServiceModel::new().read_latency(10 * MILLI);
        let faults = Faults::new(Emulator::new().service_model(model));
        let service = TableServiceClient::from_transport(faults.clone()).shared_reads(shares);
        let table: TableClient = service.dynamic_table("Things").unwrap();
        table.create_table().await.unwrap();
        for row in 0..ROWS {
            table.insert(&DynamicEntity::new("p", row.to_string())).await.unwrap();
        }
        let before = faults.requests();
        let started = Instant::now();
        let reads = (0..READS).map(|n| {
            let (table, key) = (table.clone(), (n % ROWS).to_string());
            tokio::spawn(async move {
                sleep(MILLI * (n / ROWS % millis) as u32).await;
                table.get(("p", key)).await.unwrap().unwrap()
            })
        });
        for read in join_all(reads).await {
            read.unwrap();
        }
        (faults.requests() - before, started.elapsed())
    };
    for millis in [1, 100] {
        let (plain, _) = run(false, millis).await;
        let (shared, elapsed) = run(true, millis).await;
        // For each row, one request after the other.
        let flights = ROWS as u64 * u64::try_from(elapsed.as_millis().div_ceil(10)).unwrap();
        azure_table_tests::report::print(&format!(
            "{READS} reads of {ROWS} hot rows that start within {millis} ms: {shared} requests, {plain} without sharing, \
             in {elapsed:?}, which is {flights} flights"
        ));
        assert_eq!(plain, READS as u64);
        assert!(shared <= flights + 30, "{shared} requests, {flights} flights");
    }
}

/// A read would wait forever for a request of a runtime that nothing drives.
#[test]
fn read_does_not_wait_for_a_request_of_another_runtime() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
    };
    let (first, second) = (runtime(), runtime());
    let shared = first.block_on(Shared::new());
    let hangs = shared.faults.add(FaultRule::new(Fault::HangResponse).on_reads());
    let given_up = first.block_on(async { timeout(MILLI * 20, shared.table.get(("p", "r")).into_future()).await });
    assert!(given_up.is_err());
    shared.faults.remove(&hangs);
    let read = second.block_on(async { timeout(MILLI * 5_000, shared.table.get(("p", "r")).into_future()).await });
    assert!(read.expect("the read waits").unwrap().is_some());
}
