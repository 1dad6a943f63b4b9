//! Requests as text and effective settings, shown before anything is sent.

use std::time::Duration;

use azure_table::policy::HttpLog;
use azure_table::service::StoredAccessPolicy;
use azure_table::telemetry::{CostMeter, Event, Observer, OperationContext};
use azure_table::{CallOptions, TableServiceClient};
use azure_table_tests::canned::{CONTOSO, Canned, Step};

/// An operation of several requests shows the first one, as it is then sent.
#[tokio::test]
async fn first_request_of_an_operation_is_returned_as_text() {
    let canned = Canned::new([]);
    let service = canned.service().prefixed("t42").unwrap();
    let table = service.dynamic_table("Orders").unwrap();
    let policy = || StoredAccessPolicy::new("readers");
    let shown = [
        service.list_tables().starting_with("O").request_text().unwrap(),
        service.ensure_tables(["Orders", "Customers"]).request_text().unwrap(),
        table.recreate_table(Duration::from_secs(60)).request_text().unwrap(),
        table.add_access_policy(policy()).request_text().unwrap(),
        table
            .revoke_access_policy("readers")
            .with(&CallOptions::new().client_request_id("7"))
            .request_text()
            .unwrap(),
        table.set_access_policies([policy()]).request_text().unwrap(),
    ];
    assert!(canned.sent().is_empty());
    assert!(shown[4].contains("x-ms-client-request-id: 7\n"), "{}", shown[4]);

    let canned = Canned::new([400; 6].map(Step::status));
    let service = canned.service().prefixed("t42").unwrap();
    let table = service.dynamic_table("Orders").unwrap();
    service.list_tables().starting_with("O").await.unwrap_err();
    service.ensure_tables(["Orders", "Customers"]).await.unwrap_err();
    table.recreate_table(Duration::from_secs(60)).await.unwrap_err();
    table.add_access_policy(policy()).await.unwrap_err();
    table.revoke_access_policy("readers").await.unwrap_err();
    table.set_access_policies([policy()]).await.unwrap_err();
    let sent = canned.sent();
    assert_eq!(sent.len(), shown.len());
    for (sent, shown) in sent.iter().zip(&shown) {
        let line = format!("{} {}\n", sent.method(), sent.uri());
        assert!(shown.starts_with(&line), "{line} is not what is shown:\n{shown}");
        let body = std::str::from_utf8(sent.body()).unwrap();
        assert!(shown.ends_with(body), "{body} is not in:\n{shown}");
    }
    assert!(shown[5].contains("<Id>readers</Id>"), "{}", shown[5]);
}

#[tokio::test]
async fn invalid_request_has_no_text() {
    let service = Canned::new([]).service();
    let table = service.dynamic_table("Orders").unwrap();
    let policies = || (0..6).map(|n| StoredAccessPolicy::new(n.to_string()));
    for (error, why) in [
        (
            service.ensure_tables(["no name"]).request_text().unwrap_err(),
            "table name",
        ),
        (
            service.ensure_tables::<&str>([]).request_text().unwrap_err(),
            "nothing is sent",
        ),
        (table.set_access_policies(policies()).request_text().unwrap_err(), "5"),
        (
            service
                .list_tables()
                .with(&CallOptions::new().header("If-Match", "*"))
                .request_text()
                .unwrap_err(),
            "If-Match",
        ),
    ] {
        assert!(error.to_string().contains(why), "{error}");
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
    let service = TableServiceClient::from_connection_string(CONTOSO)
        .unwrap()
        .transport(Canned::new([]));
    assert_lines(
        &service.settings().to_string(),
        &[
            "client request id: a new one for each call",
            "headers: none",
            "missing tables: not created",
            "clock of signatures: corrected by the service's",
            "observers: []",
            "policies: []",
            "context: none",
        ],
    );
    let options = CallOptions::new()
        .header("x-tenant", "SECRET")
        .header("x-route", "SECRET")
        .client_request_id("batch-7")
        .policy(HttpLog::new(|_| {}))
        .context(&OperationContext::new());
    let service = service
        .with(&options)
        .observer(Auditor)
        .observer(CostMeter::new())
        .without_clock_correction();
    let text = service.settings().to_string();
    assert_lines(
        &text,
        &[
            "client request id: batch-7",
            "headers: x-tenant, x-route",
            "clock of signatures: of this machine",
            "context: one for all calls",
        ],
    );
    assert!(text.contains("\nobservers: [Auditor, CostMeter"), "{text}");
    assert!(text.contains("\npolicies: [HttpLog"), "{text}");
    assert!(!text.contains("SECRET") && !text.contains("Canned"), "{text}");
}

#[tokio::test]
async fn table_has_its_own_settings() {
    let service = Canned::new([]).service().prefixed("t42").unwrap();
    let table = service.dynamic_table("Orders").unwrap();
    let brief = table
        .create_missing_table()
        .with(&CallOptions::new().timeout(Duration::from_secs(3)));
    let text = brief.settings().to_string();
    assert_lines(
        &text,
        &[
            "endpoint: https://contoso.table.core.windows.net",
            "credential: AccountKey(contoso)",
            "timeout: 3s",
            "missing tables: created by the first write",
            "table: t42Orders",
        ],
    );
    let (of_table, of_service) = (table.settings().to_string(), service.settings().to_string());
    let differing: Vec<_> = of_table
        .lines()
        .zip(of_service.lines())
        .filter(|(a, b)| a != b)
        .collect();
    assert_eq!(differing, [("table: t42Orders", "table name prefix: \"t42\"")]);
}
