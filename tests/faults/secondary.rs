//! Reads from the secondary.

use azure_table::telemetry::{Location, OperationContext};
use azure_table::transport::Delivery;
use azure_table::{CallOptions, Continuation, DynamicEntity, ErrorKind, LocationMode, TableServiceClient};
use azure_table_tests::canned::{CONTOSO, Canned, Step};

fn entity() -> Step {
    Step::response(200, &[("etag", "e")], r#"{"PartitionKey":"p","RowKey":"r"}"#)
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
        let canned = Canned::new([Step::status(503), Step::status(500), entity()]);
        let table = canned.service().location_mode(mode).dynamic_table("Things").unwrap();
        let context = OperationContext::new();
        table
            .get(("p", "r"))
            .with(&CallOptions::new().context(&context))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(hosts(&canned), expected, "{mode:?}");
        let attempts = context.attempts();
        let reported: Vec<_> = attempts.iter().map(|a| a.location() == Location::Secondary).collect();
        assert_eq!(reported, expected.map(|place| place == "secondary"), "{mode:?}");

        let canned = Canned::new([Step::status(400)]);
        let table = canned.service().location_mode(mode).dynamic_table("Things").unwrap();
        table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
        assert_eq!(hosts(&canned), ["primary"], "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn row_missing_in_the_secondary_is_read_from_the_primary() {
    let canned = Canned::new([Step::status(404), entity()]);
    let service = canned.service().location_mode(LocationMode::SecondaryThenPrimary);
    let table = service.dynamic_table("Things").unwrap();
    assert!(table.get(("p", "r")).await.unwrap().is_some());
    assert_eq!(hosts(&canned), ["secondary", "primary"]);

    let missing = r#"{"odata.error":{"code":"ResourceNotFound","message":{"lang":"en-US","value":"No."}}}"#;
    let canned = Canned::new([Step::response(404, &[], missing)]);
    let service = canned.service().location_mode(LocationMode::SecondaryOnly);
    let table = service.dynamic_table("Things").unwrap();
    assert!(
        table.get(("p", "r")).await.unwrap().is_none(),
        "who asks the copy alone believes it"
    );
}

/// A continuation of one location is not valid in the other.
#[tokio::test(start_paused = true)]
async fn query_stays_in_its_location() {
    let page = |more: bool| {
        let next = [("x-ms-continuation-nextpartitionkey", "1!4!YQ--")];
        let headers: &[(&str, &str)] = if more { &next } else { &[] };
        Step::response(200, headers, r#"{"value":[{"PartitionKey":"p","RowKey":"r"}]}"#)
    };
    let canned = Canned::new([
        Step::status(503),
        page(true),
        Step::status(503),
        page(true),
        page(false),
    ]);
    let mode = CallOptions::new().location_mode(LocationMode::PrimaryThenSecondary);
    let table = canned.service().dynamic_table("Things").unwrap();
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
    let next = [("x-ms-continuation-nextpartitionkey", "1!4!YQ--")];
    let page = |next: &[(&str, &str)]| Step::response(200, next, r#"{"value":[{"PartitionKey":"p","RowKey":"r"}]}"#);
    let canned = Canned::new([page(&next), page(&[]), page(&[])]);
    let table = canned.service().dynamic_table("Things").unwrap();
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
    let service = TableServiceClient::from_connection_string(&connection_string)
        .unwrap()
        .transport(canned.clone());
    let service = service.location_mode(LocationMode::SecondaryOnly);
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
        let row = r#"{"value":[{"odata.etag":"W/\"1\"","PartitionKey":"p","RowKey":"r","Timestamp":"2099-01-01T00:00:00Z"}]}"#;
        let canned = Canned::new([
            Step::Fail(Delivery::MaybeSent),
            Step::response(200, &[("date", "Fri, 01 Jan 2016 00:00:00 GMT")], row),
        ]);
        let table = canned.service().location_mode(mode).dynamic_table("Things").unwrap();
        table.insert(&DynamicEntity::new("p", "r")).await.unwrap();
        assert_eq!(hosts(&canned), ["primary", "primary"], "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_of_statistics_name_the_secondary() {
    let canned = Canned::new(
        [500, 500, 500]
            .map(Step::status)
            .into_iter()
            .chain([Step::Fail(Delivery::NothingSent)]),
    );
    let context = OperationContext::new();
    let service = canned.service();
    let error = service
        .statistics()
        .with(&CallOptions::new().context(&context))
        .await
        .unwrap_err();
    assert_eq!(hosts(&canned), ["secondary"; 4]);
    let attempts = context.attempts();
    assert!(
        attempts.iter().all(|attempt| attempt.location() == Location::Secondary),
        "{attempts:?}"
    );
    assert!(error.to_string().contains("contoso-secondary"), "{error}");
}
