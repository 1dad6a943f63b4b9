//! Reads from the secondary.

use std::time::SystemTime;

use azure_table::telemetry::{Location, OperationContext};
use azure_table::transport::Delivery;
use azure_table::{CallOptions, Continuation, DateTime, ErrorKind, LocationMode, TableClient, TableServiceClient};
use azure_table_tests::canned::{CONTOSO, Canned, Step};
use azure_table_tests::scenario::rejection;

use super::{entity, row, table};

/// A continuation, in the headers of a page.
const NEXT: [(&str, &str); 1] = [("x-ms-continuation-nextpartitionkey", "1!4!YQ--")];

/// A page of one row.
fn page(headers: &[(&str, &str)]) -> Step {
    Step::response(200, headers, r#"{"value":[{"PartitionKey":"p","RowKey":"r"}]}"#)
}

fn table_at(canned: &Canned, mode: LocationMode) -> TableClient {
    table(canned).with(&CallOptions::new().location_mode(mode))
}

fn hosts(canned: &Canned) -> Vec<&'static str> {
    let host = |sent: &http::Request<bytes::Bytes>| match sent.uri().host().unwrap() {
        "contoso.table.core.windows.net" => "primary",
        "contoso-secondary.table.core.windows.net" => "secondary",
        other => unreachable!("{other}"),
    };
    canned.sent().iter().map(host).collect()
}

#[tokio::test(start_paused = true)]
async fn reads_go_where_the_mode_says_and_writes_never_leave_the_primary() {
    use LocationMode::{PrimaryOnly, PrimaryThenSecondary, SecondaryOnly, SecondaryThenPrimary};
    for (mode, expected) in [
        (PrimaryOnly, ["primary", "primary", "primary"]),
        (PrimaryThenSecondary, ["primary", "secondary", "primary"]),
        (SecondaryOnly, ["secondary", "secondary", "secondary"]),
        (SecondaryThenPrimary, ["secondary", "primary", "secondary"]),
    ] {
        let of_client = |canned: &Canned| canned.service().location_mode(mode).dynamic_table("Things").unwrap();
        let canned = Canned::new([Step::status(503), Step::status(500), entity()]);
        let context = OperationContext::new();
        let get = of_client(&canned).get(("p", "r"));
        get.with(&CallOptions::new().context(&context)).await.unwrap().unwrap();
        assert_eq!(hosts(&canned), expected, "{mode:?}");
        let attempts = context.attempts();
        let reported = attempts.iter().map(|a| a.location() == Location::Secondary);
        assert!(reported.eq(expected.map(|place| place == "secondary")), "{mode:?}");

        let canned = Canned::new([Step::status(400)]);
        of_client(&canned).insert(&row()).await.unwrap_err();
        assert_eq!(hosts(&canned), ["primary"], "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn row_missing_in_the_secondary_is_read_from_the_primary() {
    let canned = Canned::new([Step::status(404), entity()]);
    let table = table_at(&canned, LocationMode::SecondaryThenPrimary);
    assert!(table.get(("p", "r")).await.unwrap().is_some());
    assert_eq!(hosts(&canned), ["secondary", "primary"]);

    let canned = Canned::new([Step::Received(rejection(404, "ResourceNotFound"))]);
    let table = table_at(&canned, LocationMode::SecondaryOnly);
    let read = table.get(("p", "r")).await.unwrap();
    assert!(read.is_none(), "who asks the copy alone believes it");
}

/// A continuation of one location is not valid in the other.
#[tokio::test(start_paused = true)]
async fn query_stays_in_its_location() {
    let busy = || Step::status(503);
    let canned = Canned::new([busy(), page(&NEXT), busy(), page(&NEXT), page(&[])]);
    let mode = CallOptions::new().location_mode(LocationMode::PrimaryThenSecondary);
    let table = table(&canned);
    let mut pages = table.query().with(&mode).prefetch(0).pages();
    let first = pages.try_next().await.unwrap().unwrap();
    pages.try_next().await.unwrap().unwrap();
    assert_eq!(hosts(&canned), ["primary", "secondary", "secondary", "secondary"]);

    // In another process, too, whatever its own mode is.
    let kept = serde_json::to_string(first.continuation()).unwrap();
    let continuation: Continuation = serde_json::from_str(&kept).unwrap();
    table.query().resume_from(continuation).all().await.unwrap();
    assert_eq!(hosts(&canned).last(), Some(&"secondary"));
}

/// The secondary may lack rows that the primary has.
#[tokio::test(start_paused = true)]
async fn continuation_made_without_a_location_mode_stays_on_the_primary() {
    let canned = Canned::new([page(&NEXT), page(&[]), page(&[])]);
    let table = table(&canned);
    let first = table.query().pages().try_next().await.unwrap().unwrap();
    let stored = serde_json::to_string(first.continuation()).unwrap();
    let without_location = stored.replace(r#","location":"Primary""#, "");
    for stored in [stored, without_location] {
        let continuation: Continuation = serde_json::from_str(&stored).unwrap();
        let mode = CallOptions::new().location_mode(LocationMode::SecondaryThenPrimary);
        let rest = table.query().with(&mode).resume_from(continuation);
        assert_eq!(rest.all().await.unwrap().len(), 1);
    }
    assert_eq!(hosts(&canned), ["primary"; 3]);
}

#[tokio::test]
async fn account_without_a_secondary_reads_the_primary() {
    let canned = Canned::new([entity()]);
    let connection_string = format!("{CONTOSO};TableEndpoint=https://contoso.table.cosmos.azure.com");
    let service = TableServiceClient::from_connection_string(&connection_string).unwrap();
    let service = service
        .transport(canned.clone())
        .location_mode(LocationMode::SecondaryOnly);
    let table = service.dynamic_table("Things").unwrap();
    table.get(("p", "r")).await.unwrap().unwrap();
    assert_eq!(canned.sent()[0].uri().host(), Some("contoso.table.cosmos.azure.com"));
    let error = service.statistics().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

/// The secondary shows an older row, so a write would look like a conflict with itself.
#[tokio::test(start_paused = true)]
async fn lost_write_is_read_back_from_the_primary() {
    for mode in [LocationMode::SecondaryOnly, LocationMode::SecondaryThenPrimary] {
        let now = SystemTime::now();
        let stored = format!(
            r#"{{"value":[{{"odata.etag":"W/\"1\"","PartitionKey":"p","RowKey":"r","Timestamp":"{}"}}]}}"#,
            DateTime::try_from(now).unwrap()
        );
        let canned = Canned::new([
            Step::Fail(Delivery::MaybeSent),
            Step::response(200, &[("date", &httpdate::fmt_http_date(now))], &stored),
        ]);
        table_at(&canned, mode).insert(&row()).await.unwrap();
        assert_eq!(hosts(&canned), ["primary", "primary"], "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_of_statistics_name_the_secondary() {
    let fault = || Step::status(500);
    let canned = Canned::new([fault(), fault(), fault(), Step::Fail(Delivery::NothingSent)]);
    let context = OperationContext::new();
    let options = CallOptions::new().context(&context);
    let error = canned.service().statistics().with(&options).await.unwrap_err();
    assert_eq!(hosts(&canned), ["secondary"; 4]);
    for attempt in context.attempts() {
        assert_eq!(attempt.location(), Location::Secondary, "{attempt:?}");
    }
    assert!(error.to_string().contains("contoso-secondary"), "{error}");
}
