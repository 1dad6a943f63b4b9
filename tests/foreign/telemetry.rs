//! Telemetry: spans as a subscriber receives them, metrics as they are exported.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Once;
use std::time::Duration;

use azure_table::telemetry::OtelMetrics;
use azure_table::testing::{Fault, FaultRule, Faults};
use azure_table::transport::{Delivery, TransportError};
use azure_table::{DynamicEntity, Emulator, ErrorKind, Filter, NoRetry, TableServiceClient};
use azure_table_tests::canned::{Canned, Step};
use azure_table_tests::intercept::Intercept;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};
use tokio::time::Instant;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Instrument as _, Level, Metadata};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::{LookupSpan, Registry};

type Fields = BTreeMap<&'static str, String>;

thread_local! {
    /// The spans of the test on this thread, in the order of their start; `None` if no test records.
    static SEEN: RefCell<Option<Vec<Started>>> = const { RefCell::new(None) };
    /// The most verbose level that is recorded.
    static MAX_VERBOSE: Cell<Level> = const { Cell::new(Level::TRACE) };
}

/// The name under which an event is recorded.
const EVENT: &str = "event";

/// Id, name and fields of a span; its beginning and its end.
type Started = (u64, &'static str, Fields, Instant, Option<Instant>);

struct Text<'a>(&'a mut Fields);

impl Visit for Text<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

/// The subscriber of the whole process. One per test would receive an event or not, depending on the tests of other
/// threads.
struct Recorder;

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recorder {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        SEEN.with_borrow(Option::is_some) && *metadata.level() <= MAX_VERBOSE.get()
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        let mut fields = Fields::new();
        attributes.record(&mut Text(&mut fields));
        SEEN.with_borrow_mut(|seen| {
            let seen = seen.as_mut().unwrap();
            let name = attributes.metadata().name();
            seen.push((id.into_u64(), name, fields, Instant::now(), None));
        });
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        SEEN.with_borrow_mut(|seen| {
            let mut seen = seen.iter_mut().flatten();
            if let Some(span) = seen.rfind(|(known, ..)| *known == id.into_u64()) {
                span.4 = Some(Instant::now());
            }
        });
    }

    fn on_event(&self, event: &tracing::Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::new();
        event.record(&mut Text(&mut fields));
        let span = context.event_span(event).map_or("", |span| span.name());
        fields.insert("span", span.to_owned());
        fields.insert("level", event.metadata().level().to_string());
        SEEN.with_borrow_mut(|seen| {
            let now = Instant::now();
            seen.as_mut().unwrap().push((0, EVENT, fields, now, Some(now)));
        });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        SEEN.with_borrow_mut(|seen| {
            let mut seen = seen.iter_mut().flatten();
            let span = seen.rfind(|(known, ..)| *known == id.into_u64()).unwrap();
            values.record(&mut Text(&mut span.2));
        });
    }
}

/// Returns the spans of these calls, which stay on this thread.
async fn spans_of(calls: impl Future<Output = ()>) -> Spans {
    static SET: Once = Once::new();
    SET.call_once(|| tracing::subscriber::set_global_default(Registry::default().with(Recorder)).unwrap());
    SEEN.set(Some(Vec::new()));
    calls.await;
    Spans(SEEN.take().unwrap())
}

struct Spans(Vec<Started>);

/// Metrics, and their exporter.
fn metrics() -> (OtelMetrics, impl Fn() -> Vec<ResourceMetrics>) {
    let exporter = InMemoryMetricExporter::default();
    let provider = SdkMeterProvider::builder();
    let provider = provider.with_periodic_exporter(exporter.clone()).build();
    let metrics = OtelMetrics::new(&provider.meter("tests"));
    let exported = move || {
        provider.force_flush().unwrap();
        exporter.get_finished_metrics().unwrap()
    };
    (metrics, exported)
}

impl Spans {
    fn named(&self, name: &str) -> Vec<Fields> {
        let named = self.0.iter().filter(|(_, known, ..)| *known == name);
        named.map(|(_, _, fields, ..)| fields.clone()).collect()
    }

    /// Returns the events whose message begins so.
    fn events(&self, message: &str) -> Vec<Fields> {
        let mut events = self.named(EVENT);
        events.retain(|event| event["message"].starts_with(message));
        events
    }

    /// Returns the duration of each span of this name, by tokio's clock.
    fn lasted(&self, name: &str) -> Vec<Duration> {
        let named = self.0.iter().filter(|(_, known, ..)| *known == name);
        named.map(|(.., started, ended)| ended.unwrap() - *started).collect()
    }
}

/// Asserts fields, each as `name value`.
fn has(fields: &Fields, expected: &[&str]) {
    for field in expected {
        let (name, value) = field.split_once(' ').unwrap();
        assert_eq!(
            fields.get(name).map(String::as_str),
            Some(value),
            "{name} of {fields:?}"
        );
    }
}

#[tokio::test]
async fn a_call_is_a_span_with_the_names_of_opentelemetry() {
    let spans = spans_of(async {
        let service = TableServiceClient::from_transport(Emulator::new());
        let table = service.dynamic_table("Things").unwrap();
        table.create_table().await.unwrap();
        assert!(table.get(("SECRETKEY", "r")).await.unwrap().is_none());
        table.delete(("SECRETKEY", "r")).await.unwrap_err();
        let mut batch = table.batch();
        batch.insert(&DynamicEntity::new("p", "1")).unwrap();
        batch.insert(&DynamicEntity::new("p", "2")).unwrap();
        batch.submit().await.unwrap();
    })
    .await;
    let calls = spans.named("call");
    let [_, get, delete, batch] = &calls[..] else {
        unreachable!("{calls:?}")
    };
    has(
        get,
        &[
            "otel.name get Things",
            "otel.kind client",
            "db.system.name azure.table",
            "db.namespace devstoreaccount1",
            "db.collection.name Things",
            "db.operation.name get",
            "db.response.status_code 404",
            "server.address 127.0.0.1",
            "server.port 10002",
            "azure.resource_provider.namespace Microsoft.Tables",
        ],
    );
    assert!(get.contains_key("azure.service.request.id") && get.contains_key("azure.table.client_request_id"));
    assert!(!get.contains_key("otel.status_code"), "a missing row is no error");
    has(
        delete,
        &[
            "otel.status_code ERROR",
            "error.type ResourceNotFound",
            "db.response.status_code 404",
        ],
    );
    has(
        batch,
        &[
            "otel.name BATCH insert Things",
            "db.operation.name BATCH insert",
            "db.operation.batch.size 2",
            "db.response.status_code 202",
        ],
    );
    assert!(!format!("{calls:?}").contains("SECRETKEY"));
}

#[tokio::test(start_paused = true)]
async fn each_attempt_is_a_span_of_its_own() {
    let canned = Canned::new([
        Step::Fail(Delivery::NothingSent),
        Step::status(503),
        Step::response(200, &[("x-ms-request-charge", "2.5")], r#"{"value":[]}"#),
    ]);
    let spans = spans_of(async { canned.service().ping().await.unwrap() }).await;
    let attempts = spans.named("attempt");
    for (name, expected) in [
        ("http.request.resend_count", [None, Some("1"), Some("2")]),
        ("http.response.status_code", [None, Some("503"), Some("200")]),
    ] {
        let reported = attempts.iter().map(|fields| fields.get(name).map(String::as_str));
        assert_eq!(reported.collect::<Vec<_>>(), expected);
    }
    let calls = spans.named("call");
    has(
        &calls[0],
        &["azure.table.attempts 3", "azure.cosmosdb.operation.request_charge 2.5"],
    );
}

/// A failed attempt reports it, and ends before the wait for the next one begins.
#[tokio::test(start_paused = true)]
async fn attempt_span_ends_with_the_attempt_and_has_its_error() {
    let canned = Canned::new([
        Step::Fail(Delivery::NothingSent),
        Step::response(503, &[("x-ms-error-code", "ServerBusy"), ("retry-after", "7")], ""),
        Step::response(404, &[("x-ms-error-code", "ResourceNotFound")], ""),
    ]);
    let started = tokio::time::Instant::now();
    let spans = spans_of(async {
        let table = canned.service().dynamic_table("Things").unwrap();
        assert!(table.get(("p", "r")).await.unwrap().is_none());
    })
    .await;
    assert!(started.elapsed().as_secs() >= 7);
    let attempts = spans.named("attempt");
    has(&attempts[0], &["otel.status_code ERROR", "error.type Connection"]);
    has(&attempts[1], &["otel.status_code ERROR", "error.type ServerBusy"]);
    assert!(!attempts[2].contains_key("error.type"), "{:?}", attempts[2]);
    for lasted in spans.lasted("attempt") {
        assert!(lasted.as_secs() < 1, "{lasted:?}");
    }
}

/// The type of an error stays the last failure's type, on which alerts are built.
#[tokio::test]
async fn write_in_doubt_has_the_error_type_of_its_last_failure() {
    let (metrics, exported) = metrics();
    let spans = spans_of(async {
        for step in [
            Step::Fail(Delivery::MaybeSent),
            Step::response(500, &[("x-ms-error-code", "InternalError")], ""),
        ] {
            let canned = Canned::new([step]);
            let service = canned.service().retry(NoRetry).observer(metrics.clone());
            let insert = service.dynamic_table("Things").unwrap();
            let error = insert.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InDoubt);
        }
    })
    .await;
    let calls = spans.named("call");
    has(&calls[0], &["otel.status_code ERROR", "error.type Connection"]);
    has(&calls[1], &["otel.status_code ERROR", "error.type InternalError"]);
    has(&spans.named("attempt")[0], &["error.type Connection"]);
    let metrics = format!("{:?}", exported());
    for name in ["Connection", "InternalError"] {
        assert!(metrics.contains(name), "{metrics}");
    }
    assert!(!metrics.contains("InDoubt"), "{metrics}");
}

#[tokio::test(start_paused = true)]
async fn spans_and_metrics_name_a_batch_alike() {
    for (emulator, names) in [
        (Emulator::new(), ["BATCH insert", "BATCH"]),
        (Emulator::cosmos(), ["execute_batch", "execute_batch"]),
    ] {
        let (metrics, exported) = metrics();
        let faults = Faults::new(emulator);
        let service = TableServiceClient::from_transport(faults.clone()).observer(metrics);
        let table = service.dynamic_table("Things").unwrap();
        table.create_table().await.unwrap();
        let spans = spans_of(async {
            let row = |row_key: &str| DynamicEntity::new("p", row_key);
            faults.add(FaultRule::new(Fault::NoConnection).on_writes().nth(1));
            let mut batch = table.batch();
            batch.insert(&row("1")).unwrap().insert(&row("2")).unwrap();
            batch.submit().await.unwrap();
            let mut batch = table.batch();
            batch.insert(&row("3")).unwrap().delete(("p", "1")).unwrap();
            batch.submit().await.unwrap();
        })
        .await;
        let calls = spans.named("call");
        assert!(
            calls.iter().map(|call| &call["db.operation.name"]).eq(names),
            "{calls:?}"
        );
        let exported = exported();
        let of = |metric: &str| {
            let scopes = exported.iter().flat_map(|it| it.scope_metrics());
            let mut metrics = scopes.flat_map(|it| it.metrics());
            format!("{:?}", metrics.find(|it| it.name() == metric).unwrap().data())
        };
        for name in names {
            let durations = of("db.client.operation.duration");
            assert!(durations.contains(&format!("{name:?}")), "{name}");
        }
        // The first batch was sent twice.
        assert!(of("azure.table.client.retries").contains(&format!("{:?}", names[0])));
        for metric in ["db.client.operation.duration", "azure.table.client.retries"] {
            assert!(!of(metric).contains("\"batch\""), "{metric}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn retry_is_an_event_of_level_warn() {
    let spans = spans_of(async {
        let canned = Canned::new([
            Step::response(503, &[("x-ms-error-code", "ServerBusy"), ("retry-after", "7")], ""),
            Step::response(200, &[], r#"{"value":[]}"#),
        ]);
        let table = canned.service().dynamic_table("Things").unwrap();
        table.query().partition("SECRETKEY").all().await.unwrap();
    })
    .await;
    let [event] = &spans.events("retrying")[..] else {
        unreachable!("{:?}", spans.named(EVENT))
    };
    has(
        event,
        &[
            "level WARN",
            "span call",
            "attempt 1",
            "wait_ms 7000",
            "db.operation.name query",
            "db.collection.name Things",
            "db.response.status_code 503",
            "error.type ServerBusy",
        ],
    );
    assert!(event.contains_key("azure.table.client_request_id"), "{event:?}");
    let text = &event["message"];
    let expected = "retrying after 7s: query attempt 1 ServerBusy after ";
    assert!(text.starts_with(expected), "{text}");
    assert!(!format!("{event:?}").contains("SECRETKEY"));
}

/// Returns level, message up to the time, operation, status, error type and kind of an event.
fn reported(event: &Fields) -> String {
    let names = [
        "level",
        "message",
        "db.operation.name",
        "db.response.status_code",
        "error.type",
        "azure.table.error.kind",
    ];
    let texts = names.map(|name| event.get(name).map_or("", |text| text.split(" after ").next().unwrap()));
    texts.join(" ").trim_end().to_owned()
}

#[tokio::test]
async fn end_of_a_call_is_an_event_of_its_level() {
    let spans = spans_of(async {
        let service = TableServiceClient::from_transport(Emulator::new());
        let table = service.dynamic_table("Things").unwrap();
        let row = DynamicEntity::new("SECRETKEY", "r");
        table.get(("SECRETKEY", "r")).await.unwrap_err();
        table.create_table().await.unwrap();
        table.create_table_if_not_exists().await.unwrap();
        assert!(table.get(("SECRETKEY", "r")).await.unwrap().is_none());
        table.delete_if_exists(("SECRETKEY", "r")).await.unwrap();
        table.insert(&row).await.unwrap();
        assert!(table.insert_if_not_exists(&row).await.unwrap().is_none());
        table.insert(&row).await.unwrap_err();
        let mut batch = table.batch();
        batch.insert(&row).unwrap();
        batch.insert(&DynamicEntity::new("SECRETKEY", "SECRETROW")).unwrap();
        batch.submit().await.unwrap_err();
        let text = Filter::raw("Name eq 'SECRETVALUE' und");
        table.query().filter(text).all().await.unwrap_err();
    })
    .await;
    let events = spans.named(EVENT);
    let expected = [
        "WARN failed get 404 TableNotFound TableNotFound",
        "DEBUG completed create table 204",
        "DEBUG completed create table 409",
        "DEBUG completed get 404",
        "DEBUG completed delete 404",
        "DEBUG completed insert 204",
        "DEBUG completed insert 409",
        "WARN failed insert 409 EntityAlreadyExists AlreadyExists",
        "WARN failed BATCH insert 409 EntityAlreadyExists AlreadyExists",
        "WARN failed query 400 InvalidInput Rejected",
    ];
    assert_eq!(events.iter().map(reported).collect::<Vec<_>>(), expected);
    for event in &events {
        has(event, &["span call", "azure.table.attempts 1"]);
        assert!(event.contains_key("azure.service.request.id"), "{event:?}");
        assert!(event.contains_key("azure.table.client_request_id"), "{event:?}");
        assert!(event["db.operation.name"] == "create table" || event["db.collection.name"] == "Things");
    }
    assert!(!format!("{:?}", spans.0).contains("SECRET"), "{:?}", spans.0);
}

/// The text of an error may contain anything that a transport knows.
#[tokio::test(start_paused = true)]
async fn events_of_a_call_without_response_have_its_kind_and_no_text() {
    let unreachable = Intercept::new(Emulator::new(), |_, request| async move {
        let text = format!("no route to {}", request.uri());
        Err(TransportError::new(Delivery::NothingSent, text))
    });
    let spans = spans_of(async {
        let service = TableServiceClient::from_transport(unreachable);
        let table = service.dynamic_table("Things").unwrap();
        let error = table.delete(("SECRETKEY", "r")).await.unwrap_err();
        assert!(format!("{error:?}").contains("SECRETKEY"), "{error:?}");
    })
    .await;
    let retries = spans.events("retrying");
    assert_eq!(retries.len(), 3);
    has(&retries[0], &["error.type Connection", "level WARN"]);
    let ends = spans.events("failed");
    let [end] = &ends[..] else { unreachable!("{ends:?}") };
    has(
        end,
        &[
            "error.type Connection",
            "azure.table.error.kind Connection",
            "azure.table.attempts 4",
        ],
    );
    assert!(!format!("{:?}", spans.0).contains("SECRET"), "{:?}", spans.0);
}

#[tokio::test(start_paused = true)]
async fn retry_event_is_in_the_callers_span_if_only_warnings_are_recorded() {
    MAX_VERBOSE.set(Level::WARN);
    let spans = spans_of(async {
        let canned = Canned::new([
            Step::response(503, &[("x-ms-error-code", "ServerBusy")], ""),
            Step::response(200, &[], r#"{"value":[]}"#),
        ]);
        let table = canned.service().dynamic_table("Things").unwrap();
        let query = table.query().all().instrument(tracing::warn_span!("request"));
        query.await.unwrap();
    })
    .await;
    MAX_VERBOSE.set(Level::TRACE);
    assert!(spans.named("call").is_empty());
    let [event] = &spans.named(EVENT)[..] else {
        unreachable!("{:?}", spans.named(EVENT))
    };
    has(event, &["level WARN", "span request"]);
}

#[tokio::test]
async fn calls_are_measured_by_the_names_of_opentelemetry() {
    let (metrics, exported) = metrics();
    let service = TableServiceClient::from_transport(Emulator::new()).observer(metrics);
    let table = service.dynamic_table("Things").unwrap();
    table.create_table().await.unwrap();
    table.insert(&DynamicEntity::new("SECRETKEY", "r")).await.unwrap();
    assert_eq!(table.query().all().await.unwrap().len(), 1);
    table.delete(("SECRETKEY", "no")).await.unwrap_err();
    let shown = format!("{:?}", exported());
    for name in [
        "db.client.operation.duration",
        "db.client.response.returned_rows",
        "azure.table",
        "ResourceNotFound",
        "\"s\"",
        "{row}",
    ] {
        assert!(shown.contains(name), "{name} in {shown}");
    }
    assert!(!shown.contains("SECRETKEY"), "no key is a dimension");
}
