//! The headers of responses, also of calls that succeed, and the cost that Cosmos DB reports in them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::emulator::ServiceModel;
use azure_table::telemetry::{CostMeter, Event, Observer, OperationContext};
use azure_table::{CallOptions, DynamicEntity, Emulator, TableClient, TableServiceClient};
use azure_table_tests::canned::{Canned, Step};
use azure_table_tests::intercept::Intercept;
use http::HeaderValue;

const HEADERS: &[(&str, &str)] = &[
    ("etag", "W/\"1\""),
    ("date", "Fri, 21 Nov 2036 10:00:00 GMT"),
    ("x-ms-request-id", "r-1"),
    ("x-ms-version", "2019-02-02"),
    ("x-ms-request-charge", "2.5"),
    ("x-ms-session-token", "0:1#2"),
    ("x-own", "any"),
    ("set-cookie", "SECRET"),
    ("www-authenticate", "Bearer SECRET"),
    ("content-location", "https://h/T?sig=SECRET"),
];

/// Notes a header of each attempt.
#[derive(Clone, Debug)]
struct Noted {
    asks: bool,
    tokens: Arc<Mutex<Vec<Option<String>>>>,
}

impl Observer for Noted {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::Received(attempt) = event {
            let token = attempt.header("x-ms-session-token").map(str::to_owned);
            self.tokens.lock().unwrap().push(token);
        }
    }

    fn reads_headers(&self) -> bool {
        self.asks
    }
}

fn table(steps: impl IntoIterator<Item = Step>) -> (Canned, TableClient) {
    let canned = Canned::new(steps);
    let table = canned.service().dynamic_table("Things").unwrap();
    (canned, table)
}

#[tokio::test(start_paused = true)]
async fn context_has_the_headers_of_every_attempt_and_no_secrets() {
    let busy = Step::response(503, &[("x-ms-error-code", "ServerBusy")], "");
    let (_, table) = table([busy, Step::response(204, HEADERS, "")]);
    let context = OperationContext::new();
    let options = CallOptions::new().context(&context);
    let insert = table.insert(&DynamicEntity::new("p", "r"));
    insert.with(&options).await.unwrap();
    let attempts = context.attempts();
    let [failed, succeeded] = &attempts[..] else {
        unreachable!("{attempts:?}")
    };
    assert_eq!(failed.header("x-ms-error-code"), Some("ServerBusy"));
    assert_eq!(failed.header("x-ms-session-token"), None);
    for (name, value) in HEADERS {
        let is_secret = value.contains("SECRET");
        assert_eq!(succeeded.header(name), (!is_secret).then_some(*value), "{name}");
        assert_eq!(succeeded.header(&name.to_uppercase()), succeeded.header(name));
    }
    assert_eq!(succeeded.request_id(), Some("r-1"));
    assert_eq!(succeeded.request_charge(), Some(2.5));
    let shown = format!("{context:?} {attempts:?} {}", context.diagnostics());
    assert!(!shown.contains("SECRET") && !shown.contains("any"), "{shown}");
}

#[tokio::test]
async fn headers_are_kept_only_for_callers_and_observers_that_read_them() {
    let [silent, asking] = [false, true].map(|asks| Noted {
        asks,
        tokens: Arc::default(),
    });
    let canned = Canned::new([(); 3].map(|()| Step::response(204, HEADERS, "")));
    let service = canned.service();
    let row = DynamicEntity::new("p", "r");
    let insert = |service: TableServiceClient| service.dynamic_table("Things").unwrap().insert(&row);
    insert(service.observer(silent.clone())).await.unwrap();
    let both = service.observer(silent.clone()).observer(asking.clone());
    insert(both).await.unwrap();
    // A context makes them available to every observer of the call.
    let options = CallOptions::new().context(&OperationContext::new());
    insert(service.observer(silent.clone())).with(&options).await.unwrap();
    let token = Some("0:1#2".to_owned());
    assert_eq!(*silent.tokens.lock().unwrap(), [None, token.clone(), token.clone()]);
    assert_eq!(*asking.tokens.lock().unwrap(), [token]);
}

#[tokio::test]
async fn session_token_of_a_write_is_sent_with_a_read() {
    let (canned, table) = table([
        Step::response(204, HEADERS, ""),
        Step::response(200, &[], r#"{"PartitionKey":"p","RowKey":"r"}"#),
        Step::response(200, &[], r#"{"value":[]}"#),
    ]);
    let written = OperationContext::new();
    let insert = table.insert(&DynamicEntity::new("p", "r"));
    insert.with(&CallOptions::new().context(&written)).await.unwrap();
    let attempts = written.attempts();
    let token = attempts[0].header("x-ms-session-token").unwrap();
    let options = CallOptions::new().header("x-ms-session-token", token);
    table.get(("p", "r")).with(&options).await.unwrap();
    table.query().with(&options).all().await.unwrap();
    let sent = canned.sent();
    assert!(!sent[0].headers().contains_key("x-ms-session-token"));
    for read in &sent[1..] {
        assert_eq!(read.headers()["x-ms-session-token"], token);
    }
}

#[tokio::test(start_paused = true)]
async fn cost_meter_counts_the_request_of_a_dropped_call() {
    let meter = CostMeter::new();
    let slow = ServiceModel::new().write_latency(Duration::from_millis(100));
    let service = TableServiceClient::from_transport(Emulator::new().service_model(slow)).observer(meter.clone());
    let table = service.dynamic_table("Things").unwrap();
    let insert = table.insert(&DynamicEntity::new("p", "r"));
    assert!(tokio::time::timeout(Duration::from_millis(50), insert).await.is_err());
    let cost = meter.of("insert");
    assert_eq!((cost.requests, cost.entities, cost.bytes_received), (1, 0, 0));
    assert!(cost.bytes_sent > 0);
}

#[tokio::test]
async fn cost_meter_adds_up_request_units_of_reads_batches_and_bulks() {
    let meter = CostMeter::new();
    // Cosmos DB reports 1.5 request units for each response.
    let charging = Intercept::new(Emulator::cosmos().page_size(50), |behind, request| async move {
        let mut response = behind.send(request).await?;
        let charge = HeaderValue::from_static("1.5");
        response.headers_mut().insert("x-ms-request-charge", charge);
        Ok(response)
    });
    let service = TableServiceClient::from_transport(charging).observer(meter.clone());
    let table = service.dynamic_table("Things").unwrap();
    table.create_table().await.unwrap();
    let rows = || (0..150).map(|n| DynamicEntity::new("p", format!("{n:03}")));
    let report = table.bulk().insert(rows()).await.unwrap();
    assert_eq!(report.applied(), 150);
    let charge = |operation: &str| (meter.of(operation).requests, meter.of(operation).request_charge);
    assert_eq!(charge("batch"), (2, 3.0));
    table.get(("p", "001")).await.unwrap();
    assert_eq!(charge("get"), (1, 1.5));
    let context = OperationContext::new();
    let options = CallOptions::new().context(&context);
    let all = table.query().partition("p").with(&options).all().await.unwrap();
    assert_eq!((all.len(), charge("query")), (150, (3, 4.5)));
    assert_eq!(context.request_charge(), Some(4.5));
    let mut batch = table.batch();
    for row_key in ["1", "2"] {
        batch.insert(&DynamicEntity::new("q", row_key)).unwrap();
    }
    batch.submit().await.unwrap();
    assert_eq!(charge("batch"), (3, 4.5));
    // A request that the service rejects has its cost too.
    table.insert(&DynamicEntity::new("q", "1")).await.unwrap_err();
    assert_eq!(charge("insert"), (1, 1.5));
    let total = meter.total();
    assert_eq!(total.request_charge, 1.5 * total.requests as f64);
}
