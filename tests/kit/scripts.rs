//! Scripts: responses in order, and the failure for an unexpected request.

use std::time::Duration;

use azure_table::operation::OperationKind;
use azure_table::testing::EntityResponse as _;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate, Script};
use azure_table::{
    CallOptions, DateTime, DynamicEntity, ETag, Emulator, ErrorKind, NoRetry, TableClient, TableServiceClient,
    Versioned,
};
use azure_table_tests::entities::{AllTypes, Blog};
use bytes::Bytes;

use super::panic_of;

fn blog(number: u32) -> AllTypes {
    AllTypes::sample("Channel9", &number.to_string())
}

fn blogs(script: &Script) -> TableClient<AllTypes> {
    TableServiceClient::from_transport(script.clone())
        .table("Blogs")
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn rows_and_pages_come_from_values() {
    let held = Versioned {
        entity: blog(2),
        etag: ETag::new("W/\"2\""),
        timestamp: DateTime::from_unix_seconds(1_577_836_800),
    };
    let script = Script::new()
        .then(OperationKind::Get, ResponseTemplate::row(&blog(1)))
        .then(OperationKind::Get, ResponseTemplate::row(&held))
        .then(
            OperationKind::Query,
            ResponseTemplate::page([&blog(1), &blog(2)]).continuation("Channel9", "3"),
        )
        .then(
            OperationKind::Query,
            ResponseTemplate::page::<AllTypes>([]).continuation("Channel9", "4"),
        )
        .then(OperationKind::Query, ResponseTemplate::page([&blog(4)]));
    let blogs = blogs(&script);
    assert_eq!(blogs.get(("Channel9", "1")).await.unwrap(), Some(blog(1)));
    let read: Versioned<AllTypes> = blogs.get(("Channel9", "2")).versioned().await.unwrap().unwrap();
    assert_eq!(read, held);
    assert_eq!(blogs.query().all().await.unwrap(), [blog(1), blog(2), blog(4)]);
    assert_eq!(script.requests(), 5);
    script.finish();
}

#[tokio::test]
async fn response_with_another_code_keeps_its_message() {
    let script = Script::new().then(
        OperationKind::Get,
        ResponseTemplate::internal_error().code("OperationTimedOut"),
    );
    let once = CallOptions::new().retry(NoRetry);
    let error = blogs(&script).get(("p", "r")).with(&once).await.unwrap_err();
    assert_eq!(error.code(), Some("OperationTimedOut"));
    assert!(error.service_message().unwrap().contains("internal error"), "{error}");
}

/// An absent property, and a number as the key.
#[tokio::test]
async fn rows_and_pages_have_the_properties_that_are_stored() {
    let blog = Blog {
        channel: "Channel9".into(),
        id: 1,
        rating: 3,
        author: None,
    };
    let script = Script::new()
        .then(OperationKind::Get, ResponseTemplate::row(&blog))
        .then(OperationKind::Query, ResponseTemplate::page([&blog]));
    let blogs = blogs(&script).typed::<Blog>();
    assert_eq!(blogs.get(("Channel9", 1_u32)).await.unwrap().as_ref(), Some(&blog));
    assert_eq!(blogs.query().all().await.unwrap(), [blog]);
    script.finish();
}

#[tokio::test(start_paused = true)]
async fn writes_batches_and_failures_are_answered_in_order() {
    let exists = ResponseTemplate::new(409)
        .code("EntityAlreadyExists")
        .message("1:It exists.");
    let raw = http::Response::builder()
        .status(204)
        .header("ETag", "raw")
        .body(Bytes::new())
        .unwrap();
    let script = Script::new()
        .then_any(Fault::NoConnection)
        .then_any(ResponseTemplate::server_busy(Duration::from_secs(5)))
        .then(
            OperationKind::Insert,
            ResponseTemplate::written().etag("first").etag("second"),
        )
        .then(OperationKind::InsertOrReplace, ResponseTemplate::from(raw))
        .then(
            OperationKind::Batch,
            ResponseTemplate::batch([
                ResponseTemplate::written().etag("a"),
                ResponseTemplate::written().etag("b"),
            ]),
        )
        .then(OperationKind::Batch, ResponseTemplate::batch([exists]))
        .then(OperationKind::Delete, Fault::LoseResponse);
    let blogs = blogs(&script);
    assert_eq!(blogs.insert(&blog(1)).await.unwrap().as_str(), "second");
    assert_eq!(blogs.insert_or_replace(&blog(1)).await.unwrap().as_str(), "raw");
    let mut batch = blogs.batch();
    batch.insert(&blog(1)).unwrap().insert(&blog(2)).unwrap();
    let results = batch.submit().await.unwrap();
    let etags: Vec<_> = results.iter().map(|result| result.etag().unwrap().as_str()).collect();
    assert_eq!(etags, ["a", "b"]);
    let mut batch = blogs.batch();
    batch.insert(&blog(1)).unwrap().insert(&blog(2)).unwrap();
    let error = batch.submit().await.unwrap_err();
    assert_eq!((error.kind(), error.batch_index()), (ErrorKind::AlreadyExists, Some(1)));
    let error = blogs
        .delete(&blog(1))
        .with(&CallOptions::new().retry(NoRetry))
        .await
        .unwrap_err();
    assert!(error.may_have_applied());
    script.finish();
}

/// Faults and a script are both transports: one can wrap the other, and a step can be a whole service.
#[tokio::test(start_paused = true)]
async fn a_script_stands_behind_faults_and_before_a_service() {
    let emulator = Emulator::new();
    let truth = TableServiceClient::from_transport(emulator.clone())
        .table::<AllTypes>("Blogs")
        .unwrap();
    truth.create_table().await.unwrap();
    let script = Script::new()
        .then_any(ResponseTemplate::internal_error())
        // The read-back finds no row, so the insert is sent again.
        .then(OperationKind::Query, ResponseTemplate::page::<AllTypes>([]))
        .then(OperationKind::Insert, Fault::RouteTo(std::sync::Arc::new(emulator)));
    let faults = Faults::new(script.clone());
    faults.add(FaultRule::new(Fault::DelayResponse(Duration::from_secs(9))).first(1));
    let started = tokio::time::Instant::now();
    let blogs = TableServiceClient::from_transport(faults)
        .table::<AllTypes>("Blogs")
        .unwrap();
    blogs.insert(&blog(1)).await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(9));
    script.finish();
    assert_eq!(truth.query().all().await.unwrap(), [blog(1)]);
}

#[tokio::test]
async fn unexpected_request_fails_the_test_and_is_not_retried() {
    let script = Script::new()
        .then(OperationKind::Query, ResponseTemplate::page::<AllTypes>([]))
        .then_any(ResponseTemplate::new(204));
    let blogs = blogs(&script);
    let error = blogs.insert(&blog(1)).await.unwrap_err();
    assert_eq!(
        (error.status(), error.code(), error.attempts()),
        (Some(501), Some("NotExpected"), 1)
    );
    assert!(
        error
            .to_string()
            .contains("request 1 is Insert of Blogs, expected Query"),
        "{error}"
    );
    assert!(!error.may_have_applied());
    blogs.query().all().await.unwrap();
    let reported = panic_of(|| script.finish());
    assert_eq!(
        reported,
        "the script:\n  unexpected: request 1 is Insert of Blogs, expected Query\n  not received: request 3, any request"
    );
    // It is reported once.
    script.finish();
}

#[tokio::test]
async fn dropped_script_reports_unsent_requests() {
    let reported = panic_of(|| drop(Script::new().then(OperationKind::Get, ResponseTemplate::new(404))));
    assert_eq!(reported, "the script:\n  not received: request 1, Get");
    let script = Script::new();
    // No failure so far.
    script.finish();
    let blogs = blogs(&script);
    assert!(blogs.get(("Channel9", "1")).await.is_err());
    drop(blogs);
    let reported = panic_of(|| drop(script));
    assert!(
        reported.contains("request 1 is Get of Blogs, expected no further request"),
        "{reported}"
    );
}

#[tokio::test]
async fn invalid_response_template_names_its_error() {
    let mut wrong = DynamicEntity::new("Channel9", "1");
    wrong.insert("a b", 1);
    let script = Script::new()
        .then_any(ResponseTemplate::row(&wrong))
        .then_any(ResponseTemplate::batch([ResponseTemplate::new(99)]));
    let table = TableServiceClient::from_transport(script.clone())
        .retry(NoRetry)
        .table::<AllTypes>("Blogs")
        .unwrap();
    for reason in ["property name \"a b\"", "status"] {
        let error = table.get(("Channel9", "1")).await.unwrap_err();
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains(reason), "{source}");
    }
    let row = DynamicEntity::new("p", "r");
    assert!(format!("{:?}", ResponseTemplate::row(&row).code("X")).contains("\"X\""));
}
