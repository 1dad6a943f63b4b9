//! Requests as text and effective settings, shown before anything is sent.

use std::time::Duration;

use azure_table::CallOptions;
use azure_table::policy::HttpLog;
use azure_table::service::StoredAccessPolicy;
use azure_table::telemetry::{CostMeter, Event, Observer, OperationContext};
use azure_table_tests::canned::{Canned, Step};
use azure_table_tests::errors::assert_contains;

/// An operation of several requests shows the first one, as it is then sent.
#[tokio::test]
async fn first_request_of_an_operation_is_returned_as_text() {
    let canned = Canned::new([400; 6].map(Step::status));
    let service = canned.service().prefixed("t42").unwrap();
    let table = service.dynamic_table("Orders").unwrap();
    let (policy, minute) = (StoredAccessPolicy::new("readers"), Duration::from_secs(60));
    macro_rules! shown_and_sent {
        ($($call:expr),+ $(,)?) => {{
            let shown = [$($call.request_text().unwrap()),+];
            assert!(canned.sent().is_empty());
            $($call.await.unwrap_err();)+
            shown
        }};
    }
    let shown = shown_and_sent![
        service.list_tables().starting_with("O"),
        service.ensure_tables(["Orders", "Customers"]),
        table.recreate_table(minute),
        table.add_access_policy(policy.clone()),
        table
            .revoke_access_policy("readers")
            .with(&CallOptions::new().client_request_id("7")),
        table.set_access_policies([policy.clone()]),
    ];
    assert_contains(&shown[4], "x-ms-client-request-id: 7\n");
    let sent = canned.sent();
    assert_eq!(sent.len(), shown.len());
    for (sent, shown) in sent.iter().zip(&shown) {
        let line = format!("{} {}\n", sent.method(), sent.uri());
        assert!(shown.starts_with(&line), "{line} is not what is shown:\n{shown}");
        let body = std::str::from_utf8(sent.body()).unwrap();
        assert!(shown.ends_with(body), "{body} is not in:\n{shown}");
    }
    assert_contains(&shown[5], "<Id>readers</Id>");
}

#[tokio::test]
async fn invalid_request_has_no_text() {
    let service = Canned::new([]).service();
    let table = service.dynamic_table("Orders").unwrap();
    let policies = || (0..6).map(|n| StoredAccessPolicy::new(n.to_string()));
    let if_match = CallOptions::new().header("If-Match", "*");
    for (text, why) in [
        (service.ensure_tables(["no name"]).request_text(), "table name"),
        (service.ensure_tables::<&str>([]).request_text(), "nothing is sent"),
        (table.set_access_policies(policies()).request_text(), "5"),
        (service.list_tables().with(&if_match).request_text(), "If-Match"),
    ] {
        assert_contains(text.unwrap_err(), why);
    }
}

/// Shows its name, like every observer.
#[derive(Debug)]
struct Auditor;

impl Observer for Auditor {
    fn on_event(&self, _: &Event<'_>) {}
}

#[track_caller]
fn assert_lines(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|shown| shown == *line), "{line} in:\n{text}");
    }
}

#[tokio::test]
async fn settings_contain_every_setting() {
    let service = Canned::new([]).service();
    let unset = [
        "client request id: a new one for each call",
        "headers: none",
        "missing tables: not created",
        "clock of signatures: corrected by the service's",
        "observers: []",
        "policies: []",
        "context: none",
    ];
    assert_lines(&service.settings().to_string(), &unset);
    let options = CallOptions::new()
        .header("x-tenant", "SECRET")
        .header("x-route", "SECRET")
        .client_request_id("batch-7")
        .policy(HttpLog::new(|_| {}))
        .context(&OperationContext::new());
    let service = service.with(&options).observer(Auditor).observer(CostMeter::new());
    let text = service.without_clock_correction().settings().to_string();
    let set = [
        "client request id: batch-7",
        "headers: x-tenant, x-route",
        "clock of signatures: of this machine",
        "context: one for all calls",
    ];
    assert_lines(&text, &set);
    assert_contains(&text, "\nobservers: [Auditor, CostMeter");
    assert_contains(&text, "\npolicies: [HttpLog");
    assert!(!text.contains("SECRET") && !text.contains("Canned"), "{text}");
}

#[tokio::test]
async fn table_has_its_own_settings() {
    let service = Canned::new([]).service().prefixed("t42").unwrap();
    let table = service.dynamic_table("Orders").unwrap();
    let brief = CallOptions::new().timeout(Duration::from_secs(3));
    let text = table.create_missing_table().with(&brief).settings().to_string();
    let lines = [
        "endpoint: https://contoso.table.core.windows.net",
        "credential: AccountKey(contoso)",
        "timeout: 3s",
        "missing tables: created by the first write",
        "table: t42Orders",
    ];
    assert_lines(&text, &lines);
    let (of_table, of_service) = (table.settings().to_string(), service.settings().to_string());
    let both = of_table.lines().zip(of_service.lines());
    let differing: Vec<_> = both.filter(|(a, b)| a != b).collect();
    assert_eq!(differing, [("table: t42Orders", "table name prefix: \"t42\"")]);
}
