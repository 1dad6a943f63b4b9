//! Single operations as batches: their requests, and responses that do not belong to one operation.

use std::sync::{Arc, Mutex};

use azure_table::telemetry::{Event, Observer};
use azure_table::{
    CallOptions, Deletion, DynamicEntity, ErrorKind, LocationMode, NoRetry, TableClient, TableOperation,
};
use azure_table_tests::canned::{Canned, Step};
use azure_table_tests::errors::kind_in_doubt;
use wiremock::ResponseTemplate;

use super::server::{Server, body, headers, line};

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

fn rejection(status: &str, code: &str) -> (String, String) {
    let body = format!(
        r#"{{"odata.error":{{"code":"{code}","message":{{"lang":"en-US","value":"0:It is so.\nRequestId:x"}}}}}}"#
    );
    (
        format!("HTTP/1.1 {status}\r\nContent-Type: application/json"),
        body.replace('\n', "\\n"),
    )
}

fn table(canned: &Canned) -> TableClient {
    canned.service().dynamic_table("Things").unwrap()
}

#[tokio::test]
async fn read_is_outside_of_a_change_set_and_write_inside() {
    let server = Server::responding(ResponseTemplate::new(500)).await;
    let table = server
        .service()
        .dynamic_table("Things")
        .unwrap()
        .with(&CallOptions::new().retry(NoRetry).via_batch());
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
        assert_eq!(line(request), "POST /acct/$batch");
        assert_eq!(headers(request).len(), 4);
        let content_type = request.headers["content-type"].to_str().unwrap();
        let boundary = content_type.strip_prefix("multipart/mixed; boundary=").unwrap();
        let change_set = body(request).lines().nth(1).unwrap().split("boundary=").nth(1);
        let expected = expected
            .replace('\n', "\r\n")
            .replace("BATCH", boundary)
            .replace("CHANGES", change_set.unwrap_or_default())
            .replace("URI", &server.uri());
        assert_eq!(body(request), expected);
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
    let table = server
        .service()
        .dynamic_table("Things")
        .unwrap()
        .with(&CallOptions::new().retry(NoRetry));
    let entity = DynamicEntity::new("p", "r");
    table.insert_returning(&entity).await.unwrap_err();
    let mut batch = table.batch();
    batch
        .insert(&DynamicEntity::new("p", "1"))
        .unwrap()
        .insert_returning(&entity)
        .unwrap();
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
        let table = table(&canned);
        let entity = DynamicEntity::new(key.0, key.1);
        let errors = [
            table.get(key).await.unwrap_err(),
            table.merge(&entity).await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::Rejected, "{error}");
            assert!(
                error
                    .to_string()
                    .contains("use `CallOptions::via_batch`, which sends the keys in the body"),
                "{error}"
            );
            assert!(!error.may_have_applied() && error.attempts() == 1, "{error}");
        }
        // Not if the URL has no key, or if the key is already in a body.
        for error in [
            table.query().all().await.unwrap_err(),
            table.get(key).with(&CallOptions::new().via_batch()).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Rejected, "{error}");
            let text = error.to_string();
            assert!(
                text.contains("the service answered 4") && !text.contains("via_batch"),
                "{text}"
            );
        }
    }
    let json = r#"{"odata.error":{"code":"InvalidInput","message":{"value":"Bad Request - Invalid URL?"}}}"#;
    let canned = Canned::new([Step::response(400, &[], json)]);
    let error = table(&canned).get(key).await.unwrap_err();
    assert!(
        error.code() == Some("InvalidInput") && !error.to_string().contains("via_batch"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn response_is_that_of_the_part() {
    let entity = DynamicEntity::new("p", "r");
    let (head, body) = rejection("409 Conflict", "EntityAlreadyExists");
    let canned = Canned::new([response(true, &head, &body), response(true, &head, &body)]);
    let error = table(&canned)
        .insert(&entity)
        .with(&CallOptions::new().via_batch())
        .await
        .unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::AlreadyExists, Some(409)));
    assert_eq!((error.operation(), error.request_id()), (Some("insert"), Some("outer")));
    assert_eq!(error.service_message(), Some("It is so."));
    assert_eq!(error.batch_index(), None, "the user has made no batch");
    assert_eq!(
        table(&canned)
            .insert_if_not_exists(&entity)
            .with(&CallOptions::new().via_batch())
            .await
            .unwrap(),
        None
    );

    let (head, body) = rejection("404 Not Found", "ResourceNotFound");
    let canned = Canned::new([response(true, &head, &body)]);
    let deletion = table(&canned)
        .delete_if_exists(("p", "r"))
        .with(&CallOptions::new().via_batch())
        .await
        .unwrap();
    assert_eq!(deletion, Deletion::WasMissing);

    // A part that is busy is retried.
    let (head, body) = rejection("503 Service Unavailable", "ServerBusy");
    let written = response(true, "HTTP/1.1 204 No Content\r\nETag: W/\"2\"", "");
    let canned = Canned::new([response(true, &head, &body), written]);
    let etag = table(&canned)
        .insert_or_replace(&entity)
        .with(&CallOptions::new().via_batch())
        .await
        .unwrap();
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
        let table = table(&canned).with(&CallOptions::new().via_batch().retry(NoRetry));
        let write = table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
        assert_eq!(kind_in_doubt(&write), Some(ErrorKind::InvalidResponse), "{write}");
        let read = table.get(("p", "r")).await.unwrap_err();
        assert_eq!(
            (read.kind(), read.may_have_applied()),
            (ErrorKind::InvalidResponse, false),
            "{read}"
        );
    }
}

/// The secondary is not known to accept a batch: it is a POST.
#[tokio::test]
async fn reads_by_batch_go_to_the_primary() {
    for mode in [LocationMode::SecondaryOnly, LocationMode::SecondaryThenPrimary] {
        let canned = Canned::new([response(
            false,
            "HTTP/1.1 200 OK\r\nETag: x",
            r#"{"PartitionKey":"p","RowKey":"r"}"#,
        )]);
        let read = table(&canned)
            .get(("p", "r"))
            .with(&CallOptions::new().via_batch().location_mode(mode));
        assert!(read.await.unwrap().is_some());
        let sent = canned.sent();
        assert_eq!(sent[0].uri().host(), Some("contoso.table.core.windows.net"), "{mode:?}");
    }
}

/// The status of a call, and the reason of its failure.
type Ended = (u16, Option<ErrorKind>);

#[derive(Clone, Debug, Default)]
struct Heard(Arc<Mutex<Vec<Ended>>>);

impl Observer for Heard {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::Completed(completed) = event {
            self.0
                .lock()
                .unwrap()
                .push((completed.status.unwrap(), completed.error));
        }
    }
}

#[tokio::test]
async fn observers_receive_the_failure_of_the_part() {
    let (missing, body) = rejection("404 Not Found", "ResourceNotFound");
    let (exists, other) = rejection("409 Conflict", "EntityAlreadyExists");
    let canned = Canned::new([
        response(false, &missing, &body),
        response(true, &missing, &body),
        response(true, &exists, &other),
        response(false, &missing, &body),
    ]);
    let heard = Heard::default();
    let table = canned
        .service()
        .observer(heard.clone())
        .dynamic_table("Things")
        .unwrap();
    assert_eq!(
        table
            .get(("p", "r"))
            .with(&CallOptions::new().via_batch())
            .await
            .unwrap(),
        None
    );
    table
        .delete(("p", "r"))
        .with(&CallOptions::new().via_batch())
        .await
        .unwrap_err();
    let mut batch = table.batch();
    batch.insert(&DynamicEntity::new("p", "r")).unwrap();
    batch.submit().await.unwrap_err();
    let mut batch = table.batch();
    batch.push(TableOperation::get::<DynamicEntity>(("p", "r"))).unwrap();
    batch.submit().await.unwrap();
    let expected = [
        (404, None),
        (404, Some(ErrorKind::NotFound)),
        (409, Some(ErrorKind::AlreadyExists)),
        (404, None),
    ];
    assert_eq!(*heard.0.lock().unwrap(), expected);
}
