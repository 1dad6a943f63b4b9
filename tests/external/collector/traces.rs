//! A program whose spans, trace context and log of requests go to a collector of OpenTelemetry.
//!
//! `cargo test --locked --manifest-path tests/external/collector/Cargo.toml`. The collector is an HTTP server in the
//! test, which decodes OTLP in protobuf. The table service is an emulator on a port, which records the headers.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{Method, Request, Response};
use axum::routing::post;
use azure_table::policy::{HttpLog, TraceContext};

use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{CallOptions, Column, DynamicEntity, Emulator, EmulatorServer, LinearRetry, TableServiceClient};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use prost::Message as _;
use tracing::Instrument as _;
use tracing_subscriber::layer::SubscriberExt as _;

/// The key of the account `devstoreaccount1`, as it is documented.
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq";
/// Data of the application, which no span and no line may contain.
const DATA: [&str; 4] = ["partition-of-ada", "row-of-ada", "title-of-ada", "filter-of-ada"];

/// The bodies that the collector has received.
type Received = Arc<Mutex<Vec<Bytes>>>;

/// Starts a collector, and returns the address of its endpoint for traces.
async fn collector(received: Received) -> std::io::Result<String> {
    let take = async |State(received): State<Received>, body: Bytes| {
        received.lock().unwrap().push(body);
        [("content-type", "application/x-protobuf")]
    };
    let router = Router::new().route("/v1/traces", post(take)).with_state(received);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(format!("http://{address}/v1/traces"))
}

/// Returns the spans of these bodies by their id, in hexadecimal digits.
fn spans(received: &Received) -> HashMap<String, Span> {
    let mut spans = HashMap::new();
    for body in received.lock().unwrap().iter() {
        let request = ExportTraceServiceRequest::decode(body.clone()).unwrap();
        let scopes = request
            .resource_spans
            .into_iter()
            .flat_map(|resource| resource.scope_spans);
        spans.extend(
            scopes
                .flat_map(|scope| scope.spans)
                .map(|span| (hex(&span.span_id), span)),
        );
    }
    spans
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The table service: an emulator with faults. Records the method of each request, and its header `traceparent`.
#[derive(Clone, Debug)]
struct Service {
    faults: Faults,
    seen: Arc<Mutex<Vec<(Method, String)>>>,
}

impl Transport for Service {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let header = request
            .headers()
            .get("traceparent")
            .and_then(|value| value.to_str().ok());
        let seen = (request.method().clone(), header.unwrap_or_default().to_owned());
        self.seen.lock().unwrap().push(seen);
        self.faults.send(request)
    }

    fn behind(&self) -> Option<&dyn Transport> {
        Some(&self.faults)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn collector_receives_the_spans_that_the_service_sees() {
    let received = Received::default();
    let endpoint = collector(Arc::clone(&received)).await.unwrap();
    // The client of the exporter is a blocking one, which cannot be created on a thread of the runtime.
    let exporter = std::thread::spawn(move || {
        let exporter = SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary);
        exporter.with_endpoint(endpoint).build().unwrap()
    });
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter.join().unwrap())
        .build();
    opentelemetry::global::set_text_map_propagator(TraceContextPropagator::new());
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("program"));
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer)).unwrap();

    let mut started = None;
    let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await.unwrap();
    let server = server.through(|emulator| {
        let (faults, seen) = (Faults::new(emulator), Arc::default());
        started.insert(Service { faults, seen }).clone()
    });
    let server = server.spawn();
    let service = started.unwrap();

    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = {
        let lines = Arc::clone(&lines);
        HttpLog::new(move |line| {
            tracing::info!("{line}");
            lines.lock().unwrap().push(line.to_owned());
        })
    };
    let table = TableServiceClient::from_connection_string(server.connection_string())
        .unwrap()
        .retry(LinearRetry::new(Duration::from_millis(1), 3))
        .with(
            &CallOptions::new()
                .policy(log.header("authorization"))
                .policy(TraceContext),
        )
        .dynamic_table("Blogs")
        .unwrap();
    let visit = async {
        table.create_table().await.unwrap();
        service
            .faults
            .add(FaultRule::new(Fault::Respond(ResponseTemplate::server_busy(Duration::from_millis(1)))).nth(1));
        let mut blog = DynamicEntity::new(DATA[0], DATA[1]);
        blog.insert("Title", DATA[2]);
        table.insert(&blog).await.unwrap();
        let titles = Column::<DynamicEntity, String>::property("Title");
        let found = table
            .query()
            .partition(DATA[0])
            .filter(titles.ne(DATA[3]))
            .all()
            .await
            .unwrap();
        assert_eq!(found.len(), 1);
    };
    visit.instrument(tracing::info_span!("visit")).await;
    let flushed = tokio::task::spawn_blocking(move || provider.shutdown());
    flushed.await.unwrap().unwrap();

    let spans = spans(&received);
    let names: Vec<&str> = spans.values().map(|span| &*span.name).collect();
    let of_name = |name: &str| {
        let mut found = spans.values().filter(|span| span.name == name);
        let span = found.next();
        assert!(span.is_some() && found.next().is_none(), "{name} in {names:?}");
        span.unwrap()
    };
    let visit = of_name("visit");
    for call in ["insert Blogs", "query Blogs"] {
        assert_eq!(of_name(call).parent_span_id, visit.span_id, "{call}");
    }

    // Each attempt has a span of its own, and the service sees its id. The first request creates the table.
    let seen = service.seen.lock().unwrap().clone();
    let calls = ["create table Blogs", "insert Blogs", "insert Blogs", "query Blogs"];
    assert_eq!(seen.len(), calls.len(), "{seen:?}");
    let mut attempts = HashSet::new();
    for ((method, header), call) in seen.iter().zip(calls) {
        assert_eq!(*method == Method::GET, call.starts_with("query"), "{call}");
        let parts: Vec<&str> = header.split('-').collect();
        let [version, trace, id, flags] = parts[..] else {
            panic!("{call}: {header}")
        };
        assert_eq!((version, flags), ("00", "01"), "{header}");
        assert_eq!(trace, hex(&visit.trace_id), "{call}");
        let attempt = &spans[id];
        let parent = &spans[&hex(&attempt.parent_span_id)];
        assert_eq!((hex(&attempt.trace_id), &*parent.name), (trace.to_owned(), call));
        assert!(attempts.insert(id), "an attempt of {call} has the span of another one");
    }

    // The log has a line for each request, and no data: neither has what the collector received.
    let lines = lines.lock().unwrap().clone();
    assert_eq!(lines.len(), seen.len(), "{lines:?}");
    assert!(lines[1].contains("503") && lines[2].contains(" 204 "), "{lines:?}");
    let events = spans.values().flat_map(|span| &span.events);
    let exported = events.filter(|event| lines.contains(&event.name)).count();
    assert_eq!(exported, lines.len(), "each line is an event of a span");
    let bodies = received.lock().unwrap();
    let bodies = bodies.iter().map(|body| String::from_utf8_lossy(body).into_owned());
    for text in lines.iter().cloned().chain(bodies) {
        for secret in DATA.iter().chain(&[KEY, "SharedKey "]) {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}
