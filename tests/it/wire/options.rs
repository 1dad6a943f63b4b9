//! The options of a call: ids, headers, limits; and its request as text.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::auth::AuthorizationContext;
use azure_table::emulator::ServiceModel;
use azure_table::filter::AccessPath;
use azure_table::telemetry::OperationContext;
use azure_table::transport::{BoxFuture, ConnectionLimit, Delivery, Transport, TransportError};
use azure_table::{CallOptions, Credential, DynamicEntity, Emulator, ErrorKind, TableServiceClient};
use azure_table_tests::Network;
use azure_table_tests::canned::{CONTOSO, Canned, Step, no_retry};
use azure_table_tests::entities::Counter;
use azure_table_tests::errors::{assert_contains, assert_error, kind_in_doubt};
use azure_table_tests::intercept::Intercept;
use bytes::Bytes;
use futures::future::{join, join_all};
use http::{Request, Response};
use tokio::time::Instant;

fn no_content() -> Step {
    Step::response(204, &[("etag", "W/\"1\""), ("x-ms-request-id", "r-1")], "")
}

#[tokio::test]
async fn ids_and_headers_of_a_call_are_sent() {
    let canned = Canned::new([Step::Fail(Delivery::NothingSent), no_content()]);
    let service = canned.service().application_id("orders/1.4");
    let table = service.dynamic_table("Things").unwrap();
    let context = OperationContext::new();
    let options = CallOptions::new()
        .client_request_id("order-7")
        .header("x-tenant", "blue");
    let insert = table.insert(&DynamicEntity::new("p", "r")).with(&options);
    insert.with(&CallOptions::new().context(&context)).await.unwrap();
    // The same for each attempt.
    for sent in canned.sent() {
        assert_eq!(sent.headers()["x-ms-client-request-id"], "order-7");
        assert_eq!(sent.headers()["x-tenant"], "blue");
        let agent = sent.headers()["user-agent"].to_str().unwrap();
        assert!(agent.starts_with("orders/1.4 azure-table/"), "{agent}");
    }
    let attempts = context.attempts();
    let statuses: Vec<_> = attempts.iter().map(|attempt| attempt.status()).collect();
    assert_eq!(statuses, [None, Some(204)]);
    assert_eq!(attempts[1].request_id(), Some("r-1"));
    assert_eq!(attempts[1].client_request_id(), "order-7");
    assert_eq!(context.request_charge(), None);
}

#[tokio::test]
async fn user_agent_and_version_can_be_set() {
    let sent = async |service: TableServiceClient, canned: &Canned| {
        let table = service.dynamic_table("Things").unwrap();
        table.insert(&DynamicEntity::new("p", "r")).await.map(|_| {
            let headers = canned.sent().last().unwrap().headers().clone();
            let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
            (text("user-agent"), text("x-ms-version").unwrap())
        })
    };
    for (version, expected) in [
        ("2020-12-06", "2020-12-06"),
        ("2030-01-01", "2030-01-01"),
        ("2011-08-18", "2019-02-02"),
    ] {
        let canned = Canned::new([no_content()]);
        let service = canned.service().user_agent("orders").service_version(version);
        let shown = service.settings().to_string();
        assert_contains(&shown, &format!("x-ms-version: {expected}"));
        assert_eq!(shown.contains("(not tested)"), version > "2025-07-05", "{shown}");
        let sent = sent(service, &canned).await.unwrap();
        assert_eq!(sent, (Some("orders".to_owned()), expected.to_owned()));
    }
    let canned = Canned::new([no_content()]);
    let (agent, _) = sent(canned.service().user_agent(""), &canned).await.unwrap();
    assert_eq!(agent, None);
    for version in ["latest", "2020-12-6", "2020-12-06\n", "0"] {
        let canned = Canned::new([]);
        let error = sent(canned.service().service_version(version), &canned)
            .await
            .unwrap_err();
        let why = "it is not a date such as 2019-02-02";
        assert_error(&error, ErrorKind::InvalidInput, why);
    }
}

#[tokio::test]
async fn request_id_is_generated_and_in_the_error() {
    let canned = Canned::new([Step::status(400), Step::status(400)]);
    let table = canned.table();
    let error = table.get(("p", "r")).await.unwrap_err();
    let sent = canned.sent()[0].headers()["x-ms-client-request-id"].clone();
    assert_eq!(error.client_request_id(), sent.to_str().ok());
    let other = table.get(("p", "r")).await.unwrap_err();
    assert_ne!(other.client_request_id(), sent.to_str().ok());
}

#[tokio::test]
async fn the_charge_of_cosmos_is_summed() {
    let page = |headers: &[_]| Step::response(200, headers, r#"{"value":[]}"#);
    let next = ("x-ms-continuation-nextpartitionkey", "a");
    let canned = Canned::new([
        page(&[("x-ms-request-charge", "2.5"), next]),
        page(&[("x-ms-request-charge", "0.75")]),
    ]);
    let context = OperationContext::new();
    let query = canned.table().query();
    query.with(&CallOptions::new().context(&context)).all().await.unwrap();
    assert_eq!(context.request_charge(), Some(3.25));
    assert_eq!(context.attempts().len(), 2);
}

#[tokio::test]
async fn invalid_options_are_rejected_before_a_request() {
    let canned = Canned::new([]);
    let service = canned.service();
    let table = service.dynamic_table("Things").unwrap();
    let get = async |options: CallOptions| table.get(("p", "r")).with(&options).await.unwrap_err();
    let id = |id: &str| CallOptions::new().client_request_id(id);
    let header = |name, value| CallOptions::new().header(name, value);
    let read_only = service.read_only().dynamic_table("Things").unwrap();
    for (error, why) in [
        (get(id("a b")).await, "visible ASCII"),
        (get(id(&"x".repeat(1_025))).await, "1025 characters"),
        (get(header("Authorization", "x")).await, "the client sets it itself"),
        (get(header("if-match", "\n")).await, "header if-match"),
        (service.application_id("\n").ping().await.unwrap_err(), "application id"),
        (
            read_only.delete(("p", "r")).await.unwrap_err(),
            "this client is read-only",
        ),
    ] {
        assert_error(&error, ErrorKind::InvalidInput, why);
        assert_eq!(error.attempts(), 0);
    }
    assert!(canned.sent().is_empty());
}

#[tokio::test]
async fn request_is_returned_as_text_without_being_sent() {
    let canned = Canned::new([]);
    let table = canned.table();
    let insert = table.insert(&DynamicEntity::new("p", "r"));
    let insert = insert.with(&CallOptions::new().client_request_id("7"));
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!(
        "POST https://contoso.table.core.windows.net/Things\n\
         authorization: by AccountKey(contoso)\n\
         accept: application/json;odata=nometadata\n\
         content-type: application/json\n\
         dataserviceversion: 3.0\n\
         prefer: return-no-content\n\
         user-agent: azure-table/{version}\n\
         x-ms-client-request-id: 7\n\
         x-ms-version: 2019-02-02\n\
         \n\
         {{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}}"
    );
    assert_eq!(insert.request_text().unwrap(), expected);
    let query = table.query().partition("it's").request_text().unwrap();
    let url = "https://contoso.table.core.windows.net/Things";
    assert!(query.starts_with(&format!("GET {url}()?$filter=")), "{query}");
    let mut batch = table.batch();
    batch.insert(&DynamicEntity::new("p", "r")).unwrap();
    let batch = batch.submit().request_text().unwrap();
    assert_contains(batch, &format!("POST {url} HTTP/1.1"));
    for (text, operation) in [
        (table.get(("p/", "r")).request_text(), "get"),
        (table.exists(("p/", "r")).request_text(), "get"),
        (table.delete(("p/", "r")).request_text(), "delete"),
        (table.insert(&DynamicEntity::new("p/", "r")).request_text(), "insert"),
    ] {
        let error = text.unwrap_err().to_string();
        assert!(error.starts_with(&format!("{operation} in table Things: ")), "{error}");
    }
    assert!(canned.sent().is_empty());
}

#[tokio::test]
async fn settings_show_the_effective_values() {
    let service = Canned::new([]).service();
    let settings = service
        .attempt_timeout(Duration::from_secs(5))
        .timeout(Duration::from_secs(20))
        .max_in_flight(64)
        .deny_access(AccessPath::PartitionRange)
        .prefixed("t42")
        .unwrap()
        .settings();
    let text = settings.to_string();
    for line in [
        "endpoint: https://contoso.table.core.windows.net",
        "secondary: https://contoso-secondary.table.core.windows.net",
        "service: Azure Table storage",
        "credential: AccountKey(contoso)",
        "x-ms-version: 2019-02-02",
        "attempt timeout: 5s",
        "timeout: 20s",
        "max in flight: 64",
        "writes: allowed",
        "denied queries: a range of partitions or wider",
        "table name prefix: \"t42\"",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line} in:\n{text}");
    }
    let warnings: Vec<_> = settings.warnings().collect();
    let ends = ["an attempt ends after 5s", "a call ends after 20s"];
    assert_eq!(warnings.len(), ends.len());
    for (warning, end) in warnings.iter().zip(ends) {
        assert_contains(warning, end);
        assert_contains(warning, "may be applied though its call failed");
    }
    assert_eq!(service.settings().warnings().count(), 0);
    assert_contains(service.settings(), "\ndenied queries: none\n");
    assert!(!text.contains("AAECAw"), "{text}");
}

#[tokio::test]
async fn max_in_flight_limits_the_attempts() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let peak = Arc::clone(&most);
    let counting = Intercept::new(Emulator::new(), move |emulator, request| {
        let (now, peak) = (Arc::clone(&now), Arc::clone(&peak));
        async move {
            peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            let response = emulator.send(request).await;
            now.fetch_sub(1, Ordering::SeqCst);
            response
        }
    });
    let service = TableServiceClient::from_transport(counting).max_in_flight(3);
    let table = service.dynamic_table("Things").unwrap();
    table.create_table().await.unwrap();
    let inserts = (0..20).map(|n| table.insert(&DynamicEntity::new("p", n.to_string())));
    for insert in join_all(inserts).await {
        insert.unwrap();
    }
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn wait_for_a_permit_ends_with_the_timeout() {
    let canned = Canned::new([Step::Hang]);
    let service = canned.service().max_in_flight(1);
    let table = service.dynamic_table("Things").unwrap();
    let hanging = tokio::spawn(table.get(("p", "1")));
    tokio::task::yield_now().await;
    let insert = table.insert(&DynamicEntity::new("p", "2"));
    let error = insert.timeout(Duration::from_secs(1)).await.unwrap_err();
    assert_error(&error, ErrorKind::Timeout, "for one of 1 permits");
    assert_eq!(error.attempts(), 0);
    hanging.abort();
}

/// Each permit that is released shows that there is progress, and still the time runs out.
#[tokio::test(start_paused = true)]
async fn wait_for_a_permit_ends_with_the_timeout_behind_a_long_queue() {
    let slow = ServiceModel::new().write_latency(Duration::from_secs(9));
    let service = TableServiceClient::from_transport(Emulator::new().service_model(slow)).max_in_flight(1);
    let table = service
        .attempt_timeout(Duration::from_secs(10))
        .dynamic_table("Things")
        .unwrap();
    table.create_table().await.unwrap();
    let insert = |n: u32| table.insert(&DynamicEntity::new("p", n.to_string()));
    let others = join_all((0..5).map(insert));
    let started = Instant::now();
    let last = async { (insert(5).timeout(Duration::from_secs(25)).await, started.elapsed()) };
    let (others, (last, elapsed)) = join(others, last).await;
    assert!(others.iter().all(Result::is_ok));
    let error = last.unwrap_err();
    assert_error(&error, ErrorKind::Timeout, "for one of 1 permits");
    assert_eq!((elapsed.as_secs(), error.attempts()), (25, 0));
}

/// The bulk holds all permits, and the loop over its outcomes does not poll it.
#[tokio::test(start_paused = true)]
async fn wait_for_a_permit_ends_if_nothing_releases_one() {
    let slow = ServiceModel::new().write_latency(Duration::from_millis(50));
    let service = TableServiceClient::from_transport(Emulator::new().service_model(slow)).max_in_flight(16);
    let table = service.dynamic_table("Things").unwrap();
    table.create_table().await.unwrap();
    let rows = (0..32).map(|n| DynamicEntity::new(format!("p{n}"), "r"));
    let mut outcomes = table.bulk().insert(rows).outcomes();
    assert!(outcomes.next().await.is_some());
    let started = Instant::now();
    let insert = table.insert(&DynamicEntity::new("q", "r")).into_future();
    let ended = tokio::time::timeout(Duration::from_secs(600), insert).await;
    let error = ended.expect("it hangs").unwrap_err();
    let advice = "for one of 16 permits; raise `max_in_flight`";
    assert_error(&error, ErrorKind::Timeout, advice);
    assert_eq!((started.elapsed(), error.attempts()), (Duration::from_secs(120), 0));
    while outcomes.next().await.is_some() {}
    assert_eq!(outcomes.finish().unwrap().applied(), 32);
}

/// A transport with one connection. Each request takes a time.
#[derive(Clone, Debug)]
struct Narrow {
    limit: ConnectionLimit,
    time: Duration,
    timeouts: Arc<Mutex<Vec<Option<String>>>>,
}

impl Transport for Narrow {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let query = request.uri().query().unwrap_or_default();
        let timeout = query.split('&').find_map(|pair| pair.strip_prefix("timeout="));
        self.timeouts.lock().unwrap().push(timeout.map(str::to_owned));
        Box::pin(async {
            tokio::time::sleep(self.time).await;
            let response = Response::builder().status(204).header("etag", "e");
            Ok(response.body(Bytes::new()).unwrap())
        })
    }

    fn connection_limit(&self) -> Option<&ConnectionLimit> {
        Some(&self.limit)
    }
}

impl Narrow {
    fn new(seconds: u64) -> Self {
        Self {
            limit: ConnectionLimit::new(1),
            time: Duration::from_secs(seconds),
            timeouts: Arc::default(),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn service_stops_when_a_caller_that_waited_for_a_connection_stops() {
    let transport = Narrow::new(18);
    let service = TableServiceClient::from_connection_string(CONTOSO).unwrap();
    let table = service.transport(transport.clone()).dynamic_table("Things").unwrap();
    let (one, two) = (DynamicEntity::new("p", "1"), DynamicEntity::new("p", "2"));
    let limit = Duration::from_secs(20);
    let (first, second) = futures::join!(
        table.insert(&one).timeout(limit),
        table.insert(&two).timeout(limit).with(&no_retry()),
    );
    first.unwrap();
    assert_eq!(kind_in_doubt(&second.unwrap_err()), Some(ErrorKind::Timeout));
    let timeouts = transport.timeouts.lock().unwrap().clone();
    assert_eq!(timeouts, [Some("20".to_owned()), Some("2".to_owned())]);
}

/// A credential whose source responds for 70 s.
#[derive(Debug)]
struct Tiring(Instant);

impl Credential for Tiring {
    fn authorize<'a>(
        &'a self,
        _: &'a mut Request<Bytes>,
        _: &'a AuthorizationContext<'a>,
    ) -> BoxFuture<'a, azure_table::Result<()>> {
        Box::pin(async {
            if self.0.elapsed() > Duration::from_secs(70) {
                std::future::pending::<()>().await;
            }
            Ok(())
        })
    }
}

#[tokio::test(start_paused = true)]
async fn hanging_source_ends_with_the_timeout_of_a_call_that_waited() {
    let started = Instant::now();
    let service = TableServiceClient::new("https://contoso.table.core.windows.net", Tiring(started)).unwrap();
    let table = service.transport(Narrow::new(40)).dynamic_table("Things").unwrap();
    let rows: Vec<_> = (0..3).map(|n| DynamicEntity::new("p", n.to_string())).collect();
    let limit = Duration::from_secs(100);
    let calls = rows.iter().map(|row| table.insert(row).timeout(limit));
    let ended = futures::future::join_all(calls).await;
    assert_eq!(started.elapsed(), limit);
    let error = ended[2].as_ref().unwrap_err();
    assert!(ended[1].is_ok() && !error.may_have_applied(), "{error}");
    assert_contains(error, "the `timeout` of 100s");
}

#[tokio::test(start_paused = true)]
async fn timeout_covers_all_requests_of_a_call() {
    let missing = r#"{"odata.error":{"code":"TableNotFound","message":{"lang":"en-US","value":"No."}}}"#;
    // The write, a wait of 0.4 s, creating the table, and nothing more in time.
    let canned = Canned::new([Step::status(503), Step::response(404, &[], missing), Step::Hang]);
    let limit = Duration::from_secs(2);
    let table = canned.table().create_missing_table();
    let started = Instant::now();
    let error = table
        .insert(&DynamicEntity::new("p", "r"))
        .timeout(limit)
        .await
        .unwrap_err();
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::Timeout), "{error}");
    assert_eq!(started.elapsed().as_secs(), 2);

    let page = Step::response(200, &[("x-ms-continuation-nexttablename", "a")], r#"{"value":[]}"#);
    let canned = Canned::new([Step::status(500), page, Step::Hang]);
    let started = Instant::now();
    let error = canned.service().list_tables().timeout(limit).await.unwrap_err();
    assert_error(&error, ErrorKind::Timeout, "the `timeout` of 2s");
    assert_eq!(started.elapsed().as_secs(), 2);
}

/// A certificate in another form would never be trusted, and the first request would fail without an explanation.
#[test]
fn certificates_that_are_not_pem_are_rejected() {
    let pem = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n";
    for other in [&b""[..], b"\x30\x82\x01\x0a", b"certificate.pem"] {
        for builder in Network::ALL.iter().flat_map(|network| {
            let valid = network.builder().root_certificates(pem);
            [network.builder(), valid].map(|builder| builder.root_certificates(other))
        }) {
            let shown = format!("{builder:?}");
            let error = builder.build().expect_err(&shown);
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{shown}: {error}");
            let is_explained = error.to_string().contains("-----BEGIN CERTIFICATE-----");
            assert!(is_explained, "{shown}: {error}");
        }
    }
}

/// A header of the client is not one of the operation: bulks and writes by query merge the options more than once.
#[tokio::test]
async fn later_header_replaces_an_earlier_one_of_its_name() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let keeper = Arc::clone(&seen);
    let tenants = Intercept::new(Emulator::new(), move |emulator, request| {
        let values = request.headers().get_all("x-tenant").into_iter();
        let values: Vec<_> = values.map(|value| value.to_str().unwrap().to_owned()).collect();
        keeper.lock().unwrap().push(values);
        async move { emulator.send(request).await }
    });
    let header = |name, value| CallOptions::new().header(name, value);
    let service = TableServiceClient::from_transport(tenants).with(&header("x-tenant", "client"));
    let of_client = service.table::<Counter>("Things").unwrap();
    let of_table = of_client.with(&header("X-Tenant", "table"));
    of_client.create_table().await.unwrap();
    let row = |name: &str| Counter::new("p", name, 0);
    let rows = || (0..3).map(|n| row(&n.to_string()));
    let sent = || std::mem::take(&mut *seen.lock().unwrap());
    let all = |tenant: &str, sent: Vec<Vec<String>>| {
        assert!(!sent.is_empty());
        assert!(sent.iter().all(|values| values == &[tenant]), "{tenant}: {sent:?}");
    };
    sent();
    for (table, tenant) in [(&of_client, "client"), (&of_table, "table")] {
        table.insert_or_replace(&row("a")).await.unwrap();
        table.get(("p", "a")).await.unwrap().unwrap();
        all(tenant, sent());
        let of_call = header("x-TENANT", "call");
        table.insert_or_replace(&row("a")).with(&of_call).await.unwrap();
        table.query().with(&of_call).all().await.unwrap();
        all("call", sent());

        let report = table.bulk().insert_or_replace(rows()).await.unwrap();
        assert_eq!(report.applied(), 3);
        let patched = table.patch_where(Counter::VALUE.ge(0), [Counter::VALUE.set(1)]);
        assert_eq!(patched.await.unwrap().applied(), 4);
        table.modify(("p", "a"), |row| row.value = 2).await.unwrap();
        all(tenant, sent());
        let deleted = table.delete_where(Counter::VALUE.ge(0));
        let deleted = deleted.with(&header("x-tenant", "call")).await.unwrap();
        assert_eq!(deleted.applied(), 4);
        all("call", sent());
    }
}

#[tokio::test]
async fn error_contains_wait_clock_and_public_headers() {
    let ahead = std::time::SystemTime::now() + Duration::from_secs(120);
    let headers = [
        ("date", &*httpdate::fmt_http_date(ahead)),
        ("retry-after", "100000"),
        ("server", "Windows-Azure-Table/1.0"),
        ("x-ms-version", "2019-02-02"),
        (
            "location",
            "https://contoso.table.core.windows.net/Things(PartitionKey='SECRET')",
        ),
        ("x-ms-continuation-nextpartitionkey", "SECRET"),
    ];
    let canned = Canned::new([Step::response(503, &headers, ""), Step::Fail(Delivery::NothingSent)]);
    let table = canned.table().with(&no_retry());
    let error = table.get(("p", "r")).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(100_000)));
    assert_eq!(error.header("Server"), Some("Windows-Azure-Table/1.0"));
    assert_eq!(error.header("x-ms-version"), Some("2019-02-02"));
    assert_eq!((error.header("location"), error.header("x-other")), (None, None));
    let skew = error.clock_skew_seconds().unwrap();
    assert!((118..=120).contains(&skew), "{skew}");
    assert!(!format!("{error} {error:?}").contains("SECRET"));

    let no_response = table.get(("p", "r")).await.unwrap_err();
    assert_eq!(no_response.retry_after(), None);
    assert_eq!(no_response.clock_skew_seconds(), None);
}

/// `Duration::MAX` is the usual "no limit": its end is beyond the clock, so the service is not asked for a time either.
#[tokio::test]
async fn timeout_beyond_the_clock_is_no_limit() {
    let canned = Canned::new([no_content(), no_content()]);
    let service = canned.service().attempt_timeout(Duration::from_secs(5));
    let table = service.dynamic_table("Things").unwrap();
    let entity = DynamicEntity::new("p", "r");
    table.insert(&entity).timeout(Duration::MAX).await.unwrap();
    let unlimited = service.attempt_timeout(Duration::MAX).timeout(Duration::MAX);
    let table = unlimited.dynamic_table("Things").unwrap();
    table.insert(&entity).await.unwrap();
    assert!(canned.sent().iter().all(|sent| sent.uri().query().is_none()));
}
