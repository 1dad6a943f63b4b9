//! The request of an entity group transaction, and the responses of the services.

use azure_table::{DynamicEntity, Error, ErrorKind, TableBatch};
use azure_table_tests::canned::no_retry;
use azure_table_tests::errors::{assert_contains, assert_error, kind_in_doubt};
use wiremock::ResponseTemplate;

use super::server::{Server, assert_batch, headers};

fn response(parts: &str) -> ResponseTemplate {
    ResponseTemplate::new(202).set_body_raw(
        format!(
            "--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_2\r\n\r\n{parts}\
             --changesetresponse_2--\r\n--batchresponse_1--\r\n"
        ),
        "multipart/mixed; boundary=batchresponse_1",
    )
}

fn part(head: &str, body: &str) -> String {
    format!(
        "--changesetresponse_2\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
         HTTP/1.1 {head}\r\n\r\n{body}\r\n"
    )
}

/// The body of an error. The message is the text of a JSON string.
fn rejection(code: &str, message: &str) -> String {
    format!(r#"{{"odata.error":{{"code":"{code}","message":{{"lang":"en-US","value":"{message}"}}}}}}"#)
}

/// A batch of inserts.
fn inserts(server: &Server, count: usize) -> TableBatch<DynamicEntity> {
    let mut batch = server.table().batch();
    for row in 0..count {
        batch.insert(&DynamicEntity::new("p", row.to_string())).unwrap();
    }
    batch
}

/// The error of a batch of inserts with this response.
async fn error_of(response: ResponseTemplate, count: usize) -> Error {
    let server = Server::responding(response).await;
    inserts(&server, count).submit().await.unwrap_err()
}

#[tokio::test]
async fn a_batch_is_one_request_with_crlf_and_absolute_addresses() {
    let parts = part("204 No Content\r\nETag: W/\"1\"", "") + &part("204 No Content", "");
    let server = Server::responding(response(&parts)).await;
    let mut batch = inserts(&server, 1);
    batch.delete(("p", "2")).unwrap();
    let results = batch.submit().await.unwrap();
    assert_eq!(results[0].etag().unwrap().as_str(), "W/\"1\"");
    assert_eq!(results[1].etag(), None);

    let request = server.only_request().await;
    assert_eq!(headers(&request).len(), 4);
    let expected = "--BATCH\n\
        Content-Type: multipart/mixed; boundary=CHANGES\n\
        \n\
        --CHANGES\n\
        Content-Type: application/http\n\
        Content-Transfer-Encoding: binary\n\
        \n\
        POST URI/acct/Things HTTP/1.1\n\
        Accept: application/json;odata=nometadata\n\
        DataServiceVersion: 3.0\n\
        Content-Type: application/json\n\
        Prefer: return-no-content\n\
        \n\
        {\"PartitionKey\":\"p\",\"RowKey\":\"0\"}\n\
        --CHANGES\n\
        Content-Type: application/http\n\
        Content-Transfer-Encoding: binary\n\
        \n\
        DELETE URI/acct/Things(PartitionKey='p',RowKey='2') HTTP/1.1\n\
        Accept: application/json;odata=nometadata\n\
        DataServiceVersion: 3.0\n\
        If-Match: *\n\
        \n\
        \n\
        --CHANGES--\n\
        --BATCH--\n";
    assert_batch(&server, &request, expected);
}

/// The failing operation is named by the index of the message, or not at all.
#[tokio::test]
async fn failing_operation_is_named_only_if_known() {
    let (exists, conflict) = ("EntityAlreadyExists", "409 Conflict");
    for (status, code, message, index, keys) in [
        (
            conflict,
            exists,
            r"1:It exists.\nRequestId:x\nTime:y",
            Some(1),
            Some(("p", "1")),
        ),
        (conflict, exists, r"It exists.\nRequestId:x\nTime:y", None, None),
        ("400 Bad Request", "InvalidInput", "Something is wrong.", None, None),
    ] {
        let head = format!("{status}\r\nContent-Type: application/json");
        let error = error_of(response(&part(&head, &rejection(code, message))), 3).await;
        assert_eq!((error.batch_index(), error.entity()), (index, keys));
        assert!(!error.may_have_applied());
    }
}

/// Cosmos DB rejects a row that occurs twice with a 400 of the whole batch, whose text names the operation.
#[tokio::test]
async fn rejection_of_a_whole_batch_names_the_operation() {
    for (index, found, keys) in [(2, Some(2), Some(("p", "2"))), (7, None, None)] {
        let message = format!(
            r"{index}:The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.\r\nActivityId: 1, documentdb-dotnet-sdk/2.14.0\nRequestID:1\n"
        );
        let body = rejection("InvalidDuplicateRow", &message);
        let response = ResponseTemplate::new(400).set_body_raw(body, "application/json;odata=fullmetadata");
        let error = error_of(response, 3).await;
        assert_error(&error, ErrorKind::Rejected, "400 InvalidDuplicateRow");
        assert_eq!((error.status(), error.code()), (Some(400), Some("InvalidDuplicateRow")));
        assert_eq!((error.batch_index(), error.entity()), (found, keys), "{error}");
        let message = error.service_message().unwrap();
        assert!(message.starts_with("The batch request contains"), "{error}");
    }
}

/// Cosmos DB executes a batch as a script, which rejects a second partition with texts inside of texts.
#[tokio::test]
async fn rejection_by_the_script_of_a_batch_is_read() {
    let text = r#"0:Message: {\"Errors\":[\"Encountered exception while executing function. Exception = Error: OperationCount:0.\\n{\\\"message\\\":\\\"{}\\\",\\\"number\\\":412}\\r\\nStack trace: \"]}\r\nActivityId: 1"#;
    let head = "400 Bad Request\r\nContent-Type: application/json;odata=fullmetadata";
    let error = error_of(response(&part(head, &rejection("BadRequest", text))), 2).await;
    assert_error(&error, ErrorKind::Rejected, "400 BadRequest");
    assert_eq!((error.status(), error.code()), (Some(400), Some("BadRequest")));
    let message = error.service_message().unwrap();
    assert!(message.starts_with("Message: {\"Errors\":["), "{error}");
    assert_eq!(error.to_string().lines().count(), 1, "{error}");
    assert_eq!(error.batch_index(), Some(0));
}

/// A success that cannot be parsed must not look like a failure.
#[tokio::test]
async fn invalid_response_leaves_the_batch_in_doubt() {
    for response in [
        ResponseTemplate::new(202).set_body_raw("cut off", "multipart/mixed; boundary=x"),
        ResponseTemplate::new(202).set_body_string("plain"),
        response(&part("204 No Content", "")),
    ] {
        let error = error_of(response, 2).await;
        assert_eq!(kind_in_doubt(&error), Some(ErrorKind::InvalidResponse));
        let text = error.to_string();
        assert!(
            text.contains("; the write may have been applied, so read what is stored"),
            "{text}"
        );
    }
}

/// A server fault inside the 202 is a server fault.
#[tokio::test]
async fn inner_server_error_is_a_server_error() {
    let body = rejection("InternalError", "0:Oops.");
    let server = Server::responding(response(&part("500 Internal Server Error", &body))).await;
    let error = inserts(&server, 1).submit().with(&no_retry()).await.unwrap_err();
    let last = error.last_failure().unwrap();
    assert_eq!((last.kind(), last.status()), (ErrorKind::ServerFault, Some(500)));
}

/// More parts than operations, or fewer, are not a success, and do not mean that nothing was applied.
#[tokio::test]
async fn response_of_another_form_is_not_a_success() {
    let good = part("204 No Content\r\nETag: W/\"1\"", "");
    let rejected = part("409 Conflict\r\nContent-Type: application/json", "{}");
    let endless = "--changesetresponse_2\r\nContent-Type: application/http\r\n";
    for (parts, said) in [
        (good.clone() + &rejected, "its response has 2 results"),
        (good.clone() + &good, "its response has 2 results"),
        (part("204 No Content\r\nCache-Con", ""), "has no ETag"),
        (part("204 No Content", ""), "has no ETag"),
        (endless.to_owned(), "has no end"),
    ] {
        let error = error_of(response(&parts), 1).await;
        assert_eq!(
            kind_in_doubt(&error),
            Some(ErrorKind::InvalidResponse),
            "{parts}: {error}"
        );
        assert_contains(format!("{parts}: {error}"), said);
    }
    // A line that is not text, and a space before a name, hide nothing.
    let odd = part("204 No Content\r\nLocation: \u{fffd}\r\n ETag: W/\"1\"", "");
    let server = Server::responding(response(&odd)).await;
    let results = inserts(&server, 1).submit().await.unwrap();
    assert_eq!(results[0].etag().unwrap().as_str(), "W/\"1\"");
}
