//! Single operations as batches: their requests, and responses that do not belong to one operation.

use std::sync::{Arc, Mutex};

use azure_table::telemetry::{Event, Observer};
use azure_table::{CallOptions, Deletion, DynamicEntity, ErrorKind, LocationMode, TableClient, TableOperation};
use azure_table_tests::canned::{Canned, Step, no_retry};
use azure_table_tests::errors::{assert_error, kind_in_doubt};
use wiremock::ResponseTemplate;

use super::server::{Server, assert_batch, body, headers};

const TYPE: (&str, &str) = ("content-type", "multipart/mixed; boundary=b");
/// The response of HTTP.sys to a URL that it does not accept (dotnet/orleans issue 772).
const INVALID_URL: &str = "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\"\"http://www.w3.org/TR/html4/strict.dtd\">\r\n\
    <HTML><HEAD><TITLE>Bad Request</TITLE></HEAD>\r\n<BODY><h2>Bad Request - Invalid URL</h2>\r\n\
    <hr><p>HTTP Error 400. The request URL is invalid.</p>\r\n</BODY></HTML>\r\n";

/// The response to a batch of one: a part inside a change set or outside of one.
fn response(is_change: bool, head: &str, body: &str) -> Step {
    let part =
        |boundary: &str| format!("--{boundary}\r\nContent-Type: application/http\r\n\r\n{head}\r\n\r\n{body}\r\n");
    let body = if is_change {
        format!(
            "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{}--c--\r\n--b--\r\n",
            part("c")
        )
    } else {
        format!("{}--b--\r\n", part("b"))
    };
    Step::response(202, &[TYPE, ("x-ms-request-id", "outer")], &body)
}

/// The part of a rejection, as the response to a batch of one.
fn rejection(is_change: bool, status: &str, code: &str) -> Step {
    let body = format!(
        r#"{{"odata.error":{{"code":"{code}","message":{{"lang":"en-US","value":"0:It is so.\nRequestId:x"}}}}}}"#
    );
    response(
        is_change,
        &format!("HTTP/1.1 {status}\r\nContent-Type: application/json"),
        &body,
    )
}

/// A table whose single operations are batches.
fn via_batch(canned: &Canned) -> TableClient {
    canned.table().with(&CallOptions::new().via_batch())
}

#[tokio::test]
async fn read_is_outside_of_a_change_set_and_write_inside() {
    let server = Server::responding(ResponseTemplate::new(500)).await;
    let table = server.table().with(&no_retry().via_batch());
    let entity = DynamicEntity::new("O'B", "100%");
    let head = "Content-Type: application/http\nContent-Transfer-Encoding: binary\n\n";
    table.get(&entity).await.unwrap_err();
    table.exists(&entity).await.unwrap_err();
    table.insert(&entity).await.unwrap_err();
    table.delete(&entity).await.unwrap_err();
    let address = "URI/acct/Things(PartitionKey='O%27%27B',RowKey='100%25')";
    let minimal = "Accept: application/json;odata=minimalmetadata\nDataServiceVersion: 3.0\n";
    let none = minimal.replace("minimalmetadata", "nometadata");
    let in_change_set = |request: &str| {
        format!(
            "--BATCH\nContent-Type: multipart/mixed; boundary=CHANGES\n\n--CHANGES\n{head}{request}\n--CHANGES--\n--BATCH--\n"
        )
    };
    let expected = [
        format!("--BATCH\n{head}GET {address} HTTP/1.1\n{minimal}\n\n--BATCH--\n"),
        format!("--BATCH\n{head}GET {address}?$select=PartitionKey HTTP/1.1\n{none}\n\n--BATCH--\n"),
        in_change_set(&format!(
            "POST URI/acct/Things HTTP/1.1\n{none}Prefer: return-no-content\nContent-Type: application/json\n\n\
             {{\"PartitionKey\":\"O'B\",\"RowKey\":\"100%\"}}"
        )),
        in_change_set(&format!("DELETE {address} HTTP/1.1\n{none}If-Match: *\n\n")),
    ];
    let requests = server.requests().await;
    assert_eq!(requests.len(), expected.len());
    for (request, expected) in requests.iter().zip(expected) {
        assert_eq!(headers(request).len(), 4);
        assert_batch(&server, request, &expected);
    }

    // The request is the same as text; other calls are sent unchanged.
    let shown = table.get(("p", "r")).request_text().unwrap();
    assert!(shown.starts_with("POST ") && shown.contains("GET http"), "{shown}");
    let shown = table.create_table().request_text().unwrap();
    assert!(shown.contains("/Tables\n"), "{shown}");
}

#[tokio::test]
async fn echo_is_requested_by_a_header() {
    let server = Server::responding(ResponseTemplate::new(500)).await;
    let table = server.table().with(&no_retry());
    let entity = DynamicEntity::new("p", "r");
    table.insert_returning(&entity).await.unwrap_err();
    let mut batch = table.batch();
    batch.insert(&DynamicEntity::new("p", "1")).unwrap();
    batch.insert_returning(&entity).unwrap();
    batch.submit().await.unwrap_err();
    let requests = server.requests().await;
    assert_eq!(
        headers(&requests[0])[..4],
        [
            "accept: application/json;odata=minimalmetadata",
            "content-type: application/json",
            "dataserviceversion: 3.0",
            "prefer: return-content",
        ]
    );
    let text = body(&requests[1]);
    let (silent, echoed) = text.split_once("Prefer: return-no-content\r\n").unwrap();
    assert!(silent.contains("odata=nometadata") && !silent.contains("return-content"));
    assert!(echoed.contains("odata=minimalmetadata\r\n") && echoed.contains("Prefer: return-content\r\n"));
}

/// If a URL is rejected before the service sees it, the error names the alternative.
#[tokio::test]
async fn rejected_url_names_via_batch() {
    let html = [("content-type", "text/html; charset=us-ascii")];
    let row = "r".repeat(1_000);
    let key = ("p", row.as_str());
    for step in [
        Step::response(400, &html, INVALID_URL),
        Step::status(414),
        Step::status(431),
    ] {
        let canned = Canned::new([step.clone(), step.clone(), step.clone(), step]);
        let table = canned.table();
        for error in [
            table.get(key).await.unwrap_err(),
            table.merge(&DynamicEntity::new(key.0, key.1)).await.unwrap_err(),
        ] {
            let advice = "use `CallOptions::via_batch`, which sends the keys in the body";
            assert_error(&error, ErrorKind::Rejected, advice);
            assert_eq!(error.attempts(), 1, "{error}");
        }
        // Not if the URL has no key, or if the key is already in a body.
        for error in [
            table.query().all().await.unwrap_err(),
            via_batch(&canned).get(key).await.unwrap_err(),
        ] {
            assert_error(&error, ErrorKind::Rejected, "the server answered 4");
            assert!(!error.to_string().contains("via_batch"), "{error}");
        }
    }
    let json = r#"{"odata.error":{"code":"InvalidInput","message":{"value":"Bad Request - Invalid URL?"}}}"#;
    let error = Canned::new([Step::response(400, &[], json)])
        .table()
        .get(key)
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some("InvalidInput"), "{error}");
    assert!(!error.to_string().contains("via_batch"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn response_is_that_of_the_part() {
    let entity = DynamicEntity::new("p", "r");
    let exists = || rejection(true, "409 Conflict", "EntityAlreadyExists");
    let table = via_batch(&Canned::new([exists(), exists()]));
    let error = table.insert(&entity).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::AlreadyExists, Some(409)));
    assert_eq!((error.operation(), error.request_id()), (Some("insert"), Some("outer")));
    assert_eq!(error.service_message(), Some("It is so."));
    assert_eq!(error.batch_index(), None, "the user has made no batch");
    assert_eq!(table.insert_if_not_exists(&entity).await.unwrap(), None);

    let table = via_batch(&Canned::new([rejection(true, "404 Not Found", "ResourceNotFound")]));
    let deletion = table.delete_if_exists(("p", "r")).await.unwrap();
    assert_eq!(deletion, Deletion::WasMissing);

    // A part that is busy is retried.
    let written = response(true, "HTTP/1.1 204 No Content\r\nETag: W/\"2\"", "");
    let canned = Canned::new([rejection(true, "503 Service Unavailable", "ServerBusy"), written]);
    let etag = via_batch(&canned).insert_or_replace(&entity).await.unwrap();
    assert_eq!((etag.as_str(), canned.sent().len()), ("W/\"2\"", 2));
}

#[tokio::test]
async fn invalid_response_leaves_only_writes_in_doubt() {
    let two = "--b\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n\r\n".repeat(2) + "--b--";
    for step in [
        Step::response(202, &[TYPE], "cut off"),
        Step::response(202, &[TYPE], "--b--"),
        Step::response(202, &[TYPE], &two),
        Step::response(202, &[], "plain"),
        response(true, "HTTP/1.1 100 Continue", ""),
        response(true, "HTTP/1.1 302 Found", ""),
        response(true, "HTTP/1.1 nonsense", ""),
    ] {
        let canned = Canned::new([step.clone(), step]);
        let table = via_batch(&canned).with(&no_retry());
        let write = table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
        assert_eq!(kind_in_doubt(&write), Some(ErrorKind::InvalidResponse), "{write}");
        let read = table.get(("p", "r")).await.unwrap_err();
        assert_error(&read, ErrorKind::InvalidResponse, "");
    }
}

/// The secondary is not known to accept a batch: it is a POST.
#[tokio::test]
async fn reads_by_batch_go_to_the_primary() {
    for mode in [LocationMode::PrimaryThenSecondary, LocationMode::SecondaryThenPrimary] {
        let row = r#"{"PartitionKey":"p","RowKey":"r"}"#;
        let canned = Canned::new([response(false, "HTTP/1.1 200 OK\r\nETag: x", row)]);
        let read = via_batch(&canned).get(("p", "r"));
        let read = read.with(&CallOptions::new().location_mode(mode));
        assert!(read.await.unwrap().is_some());
        let host = canned.sent()[0].uri().host().map(str::to_owned);
        assert_eq!(host.as_deref(), Some("contoso.table.core.windows.net"), "{mode:?}");
    }
}

/// The status of a call, and why it failed.
type Ended = (u16, Option<ErrorKind>);

#[derive(Clone, Debug, Default)]
struct Ends(Arc<Mutex<Vec<Ended>>>);

impl Observer for Ends {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::Completed(completed) = event {
            let end = (completed.status.unwrap(), completed.error);
            self.0.lock().unwrap().push(end);
        }
    }
}

#[tokio::test]
async fn observers_receive_the_failure_of_the_part() {
    let missing = |is_change| rejection(is_change, "404 Not Found", "ResourceNotFound");
    let exists = rejection(true, "409 Conflict", "EntityAlreadyExists");
    let of_proxy = Step::status(404);
    let canned = Canned::new([missing(false), missing(true), exists, missing(false), of_proxy]);
    let ends = Ends::default();
    let service = canned.service().observer(ends.clone());
    let table = service.dynamic_table("Things").unwrap();
    let single = table.with(&CallOptions::new().via_batch());
    assert_eq!(single.get(("p", "r")).await.unwrap(), None);
    single.delete(("p", "r")).await.unwrap_err();
    let mut batch = table.batch();
    batch.insert(&DynamicEntity::new("p", "r")).unwrap();
    batch.submit().await.unwrap_err();
    let mut batch = table.batch();
    batch.push(TableOperation::get::<DynamicEntity>(("p", "r"))).unwrap();
    batch.submit().await.unwrap();
    table.get(("p", "r")).await.unwrap_err();
    let expected = [
        (404, None),
        (404, Some(ErrorKind::NotFound)),
        (409, Some(ErrorKind::AlreadyExists)),
        (404, None),
        (404, Some(ErrorKind::InvalidResponse)),
    ];
    assert_eq!(*ends.0.lock().unwrap(), expected);
}
