//! Policies of the application: what they see and change, and how their errors end a call.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::policy::{HttpLog, PolicyRequest, PolicyResult, RequestEnd, RequestPolicy};
use azure_table::telemetry::OperationContext;
use azure_table::testing::{Fault, FaultRule, Faults, Spy};
use azure_table::transport::{BoxFuture, Delivery};
use azure_table::{CallOptions, Column, DynamicEntity, Error, ErrorKind, TableClient, TableServiceClient};
use azure_table_tests::canned::{Canned, Step, no_retry};
use azure_table_tests::errors::{assert_contains, assert_error};

type Rule = dyn Fn(&mut PolicyRequest<'_>) -> PolicyResult + Send + Sync;

/// Records its hooks, and does what a rule says before each request.
#[derive(Clone)]
struct Recorder {
    hooks: Arc<Mutex<Vec<String>>>,
    rule: Arc<Rule>,
}

impl Recorder {
    fn new(rule: impl Fn(&mut PolicyRequest<'_>) -> PolicyResult + Send + Sync + 'static) -> Self {
        Self {
            hooks: Arc::default(),
            rule: Arc::new(rule),
        }
    }

    fn hooks(&self) -> Vec<String> {
        std::mem::take(&mut self.hooks.lock().unwrap())
    }

    fn add(&self, hook: &str, request: &PolicyRequest<'_>) {
        let hook = format!("{hook} {}", request.operation());
        self.hooks.lock().unwrap().push(hook);
    }

    fn options(&self) -> CallOptions {
        CallOptions::new().policy(self.clone())
    }

    /// The error of an insert with this policy.
    async fn insert_error(&self, table: &TableClient) -> Error {
        let insert = table.insert(&DynamicEntity::new("p", "r"));
        insert.with(&self.options()).await.unwrap_err()
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recorder")
    }
}

impl RequestPolicy for Recorder {
    fn call<'a>(&'a self, request: &'a mut PolicyRequest<'_>) -> BoxFuture<'a, PolicyResult> {
        self.add("call", request);
        Box::pin(async { Ok(request.set_header("x-call", "1")?) })
    }

    fn attempt<'a>(&'a self, request: &'a mut PolicyRequest<'_>) -> BoxFuture<'a, PolicyResult> {
        self.add("attempt", request);
        Box::pin(async { (self.rule)(request) })
    }

    fn ended(&self, request: &PolicyRequest<'_>, end: &RequestEnd<'_>) {
        let end = match end.outcome {
            Ok(response) => response.status().to_string(),
            Err(error) => format!("{:?}", error.kind()),
        };
        self.add(&format!("ended {end}"), request);
    }
}

fn no_content() -> Step {
    Step::response(204, &[("etag", "W/\"1\"")], "")
}

#[tokio::test(start_paused = true)]
async fn hooks_run_once_a_call_and_once_a_request() {
    let found = Step::response(200, &[], r#"{"PartitionKey":"p","RowKey":"r"}"#);
    let canned = Canned::new([Step::status(503), Step::Fail(Delivery::NothingSent), found]);
    let number = AtomicUsize::new(1);
    let recorder = Recorder::new(move |request| {
        let number = number.fetch_add(1, Ordering::SeqCst).to_string();
        Ok(request.set_header("x-attempt", &number)?)
    });
    let table = canned.table();
    let row = table.get(("p", "r")).with(&recorder.options()).await.unwrap();
    assert!(row.is_some());
    let expected = [
        "call",
        "attempt",
        "ended 503 Service Unavailable",
        "attempt",
        "ended Connection",
        "attempt",
        "ended 200 OK",
    ];
    assert_eq!(recorder.hooks(), expected.map(|hook| format!("{hook} get")));
    for (n, sent) in (1..).zip(canned.sent()) {
        assert_eq!(sent.headers()["x-call"], "1");
        assert_eq!(sent.headers()["x-attempt"], format!("{n}"));
        assert!(sent.headers()["authorization"].as_bytes().starts_with(b"SharedKey"));
    }
}

#[tokio::test]
async fn policies_of_client_table_and_call_run_in_their_order() {
    let canned = Canned::new([no_content()]);
    let named = |name: &'static str| {
        CallOptions::new().policy(Recorder::new(move |request| {
            let before = request.headers().get("x-names");
            let names = before.map_or("", |value| value.to_str().unwrap()).to_owned() + name;
            Ok(request.set_header("x-names", &names)?)
        }))
    };
    let service = canned.service().with(&named("client "));
    let table = service.dynamic_table("Things").unwrap().with(&named("table "));
    let insert = table.insert_or_replace(&DynamicEntity::new("p", "r"));
    insert.with(&named("call")).with(&named("")).await.unwrap();
    assert_eq!(canned.sent()[0].headers()["x-names"], "client table call");
}

#[tokio::test]
async fn headers_of_the_client_cannot_be_changed() {
    let canned = Canned::new([no_content()]);
    for name in [
        "authorization",
        "If-Match",
        "prefer",
        "accept",
        "x-ms-version",
        "content-type",
        "If-None-Match",
    ] {
        let recorder = Recorder::new(move |request| Ok(request.set_header(name, "x")?));
        let insert = canned.table().insert_or_replace(&DynamicEntity::new("p", "r"));
        let error = insert.with(&recorder.options()).await.unwrap_err();
        assert_error(&error, ErrorKind::Other, &format!("header {name}: "));
    }
    assert!(canned.sent().is_empty());
}

#[tokio::test]
async fn rejection_is_not_retried_and_sends_nothing() {
    let canned = Canned::new([]);
    let recorder = Recorder::new(|_| Err("not today".into()));
    let context = OperationContext::new();
    let table = canned.table().with(&CallOptions::new().context(&context));
    let error = recorder.insert_error(&table).await;
    assert_error(&error, ErrorKind::Other, "rejected by a policy: not today");
    assert_eq!(error.get_ref().unwrap().to_string(), "not today");
    assert_eq!(recorder.hooks(), ["call insert", "attempt insert"]);
    assert!(canned.sent().is_empty() && context.attempts().is_empty());
}

#[azure_table::test(start_paused)]
async fn rejection_after_a_lost_response_is_in_doubt(things: TableClient, faults: Faults) {
    let before = faults.requests();
    faults.add(Fault::LoseResponse);
    let is_first = AtomicBool::new(true);
    // The read-back is rejected too.
    let recorder = Recorder::new(move |_| {
        let is_first = is_first.swap(false, Ordering::SeqCst);
        if is_first { Ok(()) } else { Err("one is enough".into()) }
    });
    let error = recorder.insert_error(&things).await;
    assert_error(&error, ErrorKind::InDoubt, "");
    assert_eq!(faults.requests(), before + 1);
    let hooks = recorder.hooks();
    let calls = hooks.iter().filter(|hook| hook.starts_with("call"));
    assert_eq!(calls.count(), 1, "{hooks:?}");
}

#[azure_table::test(start_paused)]
async fn the_read_back_of_a_write_passes_the_policies(things: TableClient, faults: Faults) {
    let recorder = Recorder::new(|request| Ok(request.set_header("x-tenant", "7")?));
    faults.add(FaultRule::new(Fault::LoseResponse).first(1));
    let insert = things.insert(&DynamicEntity::new("p", "r"));
    insert.with(&recorder.options()).await.unwrap();
    let hooks = recorder.hooks();
    assert_eq!(hooks[..3], ["call insert", "attempt insert", "ended Connection insert"]);
    assert_eq!(hooks[3..], ["attempt query", "ended 200 OK query"]);
}

#[tokio::test(start_paused = true)]
async fn headers_of_the_call_are_sent_with_its_read_back() {
    let maybe = Step::Fail(Delivery::MaybeSent);
    let canned = Canned::new([maybe, Step::response(200, &[], r#"{"value":[]}"#), no_content()]);
    let table = canned.table();
    let recorder = Recorder::new(|_| Ok(()));
    let insert = table.insert(&DynamicEntity::new("p", "r"));
    let _ = insert.with(&recorder.options().header("x-own", "7")).await;
    let sent = canned.sent();
    assert!(sent.len() > 1 && sent[1].method() == "GET", "{sent:?}");
    for request in sent {
        assert_eq!(request.headers()["x-call"], "1");
        assert_eq!(request.headers()["x-own"], "7");
    }
}

/// The service and its proxies would decode other bytes differently, and the read-back needs the same headers.
#[tokio::test]
async fn header_of_a_policy_is_ascii() {
    let canned = Canned::new([]);
    let recorder = Recorder::new(|request| Ok(request.set_header("x-tenant", "Zürich")?));
    let error = recorder.insert_error(&canned.table()).await;
    assert_error(&error, ErrorKind::Other, "header x-tenant");
    assert!(!error.to_string().contains("rich"), "{error}");
    assert!(canned.sent().is_empty());
}

/// The write, the creation of its table and the write again are one call.
#[azure_table::test]
async fn hooks_of_a_call_run_once_if_it_creates_its_table(service: TableServiceClient, spy: Spy) {
    let table = service.dynamic_table("Things").unwrap().create_missing_table();
    let recorder = Recorder::new(|_| Ok(()));
    let insert = table.insert(&DynamicEntity::new("p", "r"));
    insert.with(&recorder.options()).await.unwrap();
    let hooks = recorder.hooks();
    let calls: Vec<_> = hooks.iter().filter(|hook| hook.starts_with("call")).collect();
    assert_eq!(calls, ["call insert"], "{hooks:?}");
    let sent = spy.exchanges();
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|exchange| exchange.header("x-call").is_some()));
}

#[azure_table::test]
async fn policy_of_a_client_runs_once_for_each_request_of_a_procedure(
    things: TableClient,
    service: TableServiceClient,
) {
    things.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    let recorder = Recorder::new(|_| Ok(()));
    let table = service.with(&recorder.options()).dynamic_table("Things").unwrap();
    let add = |entity: &mut DynamicEntity| drop(entity.insert("N", 1));
    table.modify(("p", "r"), add).await.unwrap();
    let hooks = recorder.hooks();
    let attempts: Vec<_> = hooks.iter().filter(|hook| hook.starts_with("attempt")).collect();
    assert_eq!(attempts, ["attempt get", "attempt replace"]);
}

#[tokio::test]
async fn end_of_a_request_hides_its_body() {
    #[derive(Debug, Default, Clone)]
    struct Debugging(Arc<Mutex<String>>);
    impl RequestPolicy for Debugging {
        fn ended(&self, request: &PolicyRequest<'_>, end: &RequestEnd<'_>) {
            *self.0.lock().unwrap() += &format!("{request:?} {end:?}");
        }
    }
    let shown = Debugging::default();
    let token = [("x-ms-continuation-nextpartitionkey", "SECRET")];
    let secret = Step::response(200, &token, r#"{"value":[{"PartitionKey":"SECRET","RowKey":"r"}]}"#);
    let canned = Canned::new([secret]);
    let table = canned.table().with(&CallOptions::new().policy(shown.clone()));
    let mut pages = table.query().partition("SECRET").prefetch(0).pages();
    pages.try_next().await.unwrap();
    let shown = shown.0.lock().unwrap();
    assert_contains(&*shown, "query");
    assert_contains(&*shown, "200");
    assert!(!shown.contains("SECRET"), "{shown}");
}

#[tokio::test]
async fn the_doubt_of_another_write_is_not_taken_for_that_of_the_call() {
    let canned = Canned::new([Delivery::MaybeSent; 2].map(Step::Fail));
    let table = canned.table().with(&no_retry());
    let doubt = table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
    assert_eq!(doubt.kind(), ErrorKind::InDoubt);
    let sent = canned.sent().len();
    let doubt = Mutex::new(Some(doubt));
    let recorder = Recorder::new(move |_| Err(doubt.lock().unwrap().take().unwrap().into()));
    let error = recorder.insert_error(&table).await;
    assert_error(&error, ErrorKind::Other, "rejected by a policy: ");
    assert_eq!(canned.sent().len(), sent);
}

#[tokio::test(start_paused = true)]
async fn time_of_a_policy_counts_to_the_timeout() {
    #[derive(Debug)]
    struct Slow;
    impl RequestPolicy for Slow {
        fn attempt<'a>(&'a self, _: &'a mut PolicyRequest<'_>) -> BoxFuture<'a, PolicyResult> {
            Box::pin(async {
                tokio::time::sleep(Duration::from_secs(60)).await;
                Ok(())
            })
        }
    }
    let canned = Canned::new([]);
    let table = canned.table();
    let options = CallOptions::new().policy(Slow).timeout(Duration::from_secs(2));
    let started = tokio::time::Instant::now();
    let error = table.get(("p", "r")).with(&options).await.unwrap_err();
    assert_error(&error, ErrorKind::Timeout, "a policy did not return");
    assert_eq!(started.elapsed(), Duration::from_secs(2));
    assert!(canned.sent().is_empty());
}

/// A log, and its lines.
fn log() -> (HttpLog, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&lines);
    let log = HttpLog::new(move |line| kept.lock().unwrap().push(line.to_owned()));
    (log, lines)
}

#[azure_table::test]
async fn log_has_neither_keys_nor_values(service: TableServiceClient) {
    let (log, lines) = log();
    let service = service.with(&CallOptions::new().policy(log.header("content-type").header("authorization")));
    let table = service.dynamic_table("Things").unwrap();
    table.create_table().await.unwrap();
    let mut entity = DynamicEntity::new("SECRET", "SECRET");
    entity.insert("Name", "SECRET");
    table.insert(&entity).await.unwrap();
    table.get(("SECRET", "SECRET")).await.unwrap();
    table.get(("SECRET", "other")).await.unwrap();
    let name = Column::<DynamicEntity, String>::property("Name");
    let query = table.query().partition("SECRET").filter(name.eq("SECRET")).limit(5);
    assert_eq!(query.all().await.unwrap().len(), 1);
    service.properties().await.unwrap();
    let lines = lines.lock().unwrap();
    for line in &*lines {
        let is_secret = ["SECRET", "SharedKey", "\n"].iter().any(|part| line.contains(part));
        assert!(!is_secret, "{line}");
    }
    let begins = |n: usize, begin: &str| assert!(lines[n].starts_with(begin), "{}", lines[n]);
    begins(0, "POST /devstoreaccount1/Tables 204 in ");
    begins(1, "POST /devstoreaccount1/Things 204 in ");
    begins(2, "GET /devstoreaccount1/Things(…) 200 in ");
    begins(3, "GET /devstoreaccount1/Things(…) 404 in ");
    begins(4, "GET /devstoreaccount1/Things()?");
    begins(5, "GET /devstoreaccount1/?restype=service&comp=properties 200 in ");
    for (n, part) in [(1, " > content-type: application/json"), (4, "=…"), (4, "$top=5")] {
        assert_contains(&lines[n], part);
    }
}

#[azure_table::test]
async fn bodies_are_logged_on_request_and_cut(service: TableServiceClient) {
    let (log, lines) = log();
    let service = service.with(&CallOptions::new().policy(log.bodies(30)));
    let table = service.dynamic_table("Things").unwrap();
    table.create_table().await.unwrap();
    let mut batch = table.batch();
    batch.insert(&DynamicEntity::new("p", "r")).unwrap();
    batch.insert(&DynamicEntity::new("p", "s")).unwrap();
    batch.submit().await.unwrap();
    service.properties().await.unwrap();
    let lines = lines.lock().unwrap();
    for (n, part) in [(0, r#" > {\"TableName\":\"Things\"}"#), (1, " > --batch_"), (1, "…")] {
        assert_contains(&lines[n], part);
    }
    assert!(lines[1].len() < 250, "{}", lines[1]);
    assert!(!lines[2].contains('<'), "settings of the service: {}", lines[2]);
}

#[tokio::test]
async fn log_hides_what_may_be_secret() {
    let (log, lines) = log();
    let names = ["location", "set-cookie", "www-authenticate"];
    let log = names
        .iter()
        .fold(log.bodies(500).header("x-tenant"), |log, name| log.header(name));
    let url = "http://h/acct/Things?sv=1&sig=SECRET%3D&x";
    let echo = Step::response(502, &names.map(|name| (name, "SECRET")), url);
    let mac = "The MAC signature found in the HTTP request 'SECRET' is not the same";
    let canned = Canned::new([echo, Step::response(403, &[], mac)]);
    let table = canned
        .table()
        .with(&no_retry().policy(log).header("x-tenant", "SECRET"));
    for _ in 0..2 {
        table.get(("p", "r")).await.unwrap_err();
    }
    let lines = lines.lock().unwrap().join("\n");
    assert!(!lines.contains("SECRET"), "{lines}");
    assert_contains(&lines, "> x-tenant: (hidden)");
    assert_contains(&lines, "sig=…&x");
}
