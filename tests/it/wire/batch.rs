//! The request of an entity group transaction, and the responses of the services.

use azure_table::{DynamicEntity, ErrorKind, NoRetry};
use azure_table_tests::errors::kind_in_doubt;
use wiremock::ResponseTemplate;

use super::server::{Server, body, headers, line};

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

#[tokio::test]
async fn a_batch_is_one_request_with_crlf_and_absolute_addresses() {
    let parts = part("204 No Content\r\nETag: W/\"1\"", "") + &part("204 No Content", "");
    let server = Server::responding(response(&parts)).await;
    let table = server.service().table::<DynamicEntity>("Things").unwrap();
    let mut batch = table.batch();
    batch
        .insert(&DynamicEntity::new("p", "1"))
        .unwrap()
        .delete(("p", "2"))
        .unwrap();
    let results = batch.submit().await.unwrap();
    assert_eq!(results[0].etag().unwrap().as_str(), "W/\"1\"");
    assert_eq!(results[1].etag(), None);

    let request = server.only_request().await;
    assert_eq!(line(&request), "POST /acct/$batch");
    let content_type = request.headers["content-type"].to_str().unwrap();
    let boundary = content_type.strip_prefix("multipart/mixed; boundary=").unwrap();
    let change_set = body(&request)
        .lines()
        .nth(1)
        .unwrap()
        .split("boundary=")
        .nth(1)
        .unwrap();
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
        {\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\n\
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
    let expected = expected
        .replace('\n', "\r\n")
        .replace("BATCH", boundary)
        .replace("CHANGES", change_set)
        .replace("URI", &server.uri());
    assert_eq!(body(&request), expected);
}

/// The failing operation is named by the index of the message, or not at all.
#[tokio::test]
async fn failing_operation_is_named_only_if_known() {
    let error = |status: &str, code: &str, message: &str| {
        let body = format!(r#"{{"odata.error":{{"code":"{code}","message":{{"lang":"en-US","value":"{message}"}}}}}}"#);
        response(&part(&format!("{status}\r\nContent-Type: application/json"), &body))
    };
    for (response, index, keys) in [
        (
            error(
                "409 Conflict",
                "EntityAlreadyExists",
                "1:It exists.\\nRequestId:x\\nTime:y",
            ),
            Some(1),
            Some(("p", "1")),
        ),
        (
            error(
                "409 Conflict",
                "EntityAlreadyExists",
                "It exists.\\nRequestId:x\\nTime:y",
            ),
            None,
            None,
        ),
        (
            error("400 Bad Request", "InvalidInput", "Something is wrong."),
            None,
            None,
        ),
    ] {
        let server = Server::responding(response).await;
        let table = server.service().table::<DynamicEntity>("Things").unwrap();
        let mut batch = table.batch();
        for n in 0..3 {
            batch.insert(&DynamicEntity::new("p", n.to_string())).unwrap();
        }
        let error = batch.submit().await.unwrap_err();
        assert_eq!((error.batch_index(), error.entity()), (index, keys));
        assert!(!error.may_have_applied());
    }
}

/// Cosmos DB rejects a row that occurs twice with a 400 of the whole batch, whose text names the operation.
#[tokio::test]
async fn rejection_of_a_whole_batch_names_the_operation() {
    for (index, found, keys) in [(2, Some(2), Some(("p", "2"))), (7, None, None)] {
        let body = format!(
            r#"{{"odata.error":{{"code":"InvalidDuplicateRow","message":{{"lang":"en-us","value":"{index}:The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.\r\nActivityId: 1, documentdb-dotnet-sdk/2.14.0\nRequestID:1\n"}}}}}}"#
        );
        let response = ResponseTemplate::new(400).set_body_raw(body, "application/json; odata=fullmetadata");
        let server = Server::responding(response).await;
        let table = server.service().table::<DynamicEntity>("Things").unwrap();
        let mut batch = table.batch();
        for n in 0..3 {
            batch.insert(&DynamicEntity::new("p", n.to_string())).unwrap();
        }
        let error = batch.submit().await.unwrap_err();
        assert_eq!((error.kind(), error.status()), (ErrorKind::Rejected, Some(400)));
        assert_eq!(error.code(), Some("InvalidDuplicateRow"));
        assert_eq!((error.batch_index(), error.entity()), (found, keys), "{error}");
        assert!(
            error
                .service_message()
                .unwrap()
                .starts_with("The batch request contains"),
            "{error}"
        );
        assert!(!error.may_have_applied());
    }
}

/// Cosmos DB executes a batch as a script, which rejects a second partition with texts inside of texts.
#[tokio::test]
async fn rejection_by_the_script_of_a_batch_is_read() {
    let text = r#"0:Message: {\"Errors\":[\"Encountered exception while executing function. Exception = Error: OperationCount:0.\\n{\\\"message\\\":\\\"{}\\\",\\\"number\\\":412}\\r\\nStack trace: \"]}\r\nActivityId: 1"#;
    let body = format!(r#"{{"odata.error":{{"code":"BadRequest","message":{{"lang":"en-us","value":"{text}"}}}}}}"#);
    let head = "400 Bad Request\r\nContent-Type: application/json;odata=fullmetadata";
    let server = Server::responding(response(&part(head, &body))).await;
    let table = server.service().table::<DynamicEntity>("Things").unwrap();
    let mut batch = table.batch();
    for n in 0..2 {
        batch.insert(&DynamicEntity::new("p", n.to_string())).unwrap();
    }
    let error = batch.submit().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.status(), error.code()),
        (ErrorKind::Rejected, Some(400), Some("BadRequest"))
    );
    assert!(
        error.service_message().unwrap().starts_with("Message: {\"Errors\":["),
        "{error}"
    );
    assert_eq!(error.to_string().lines().count(), 1, "{error}");
    assert_eq!(error.batch_index(), Some(0));
    assert!(!error.may_have_applied());
}

/// A success that cannot be parsed must not look like a failure.
#[tokio::test]
async fn invalid_response_leaves_the_batch_in_doubt() {
    for response in [
        ResponseTemplate::new(202).set_body_raw("cut off", "multipart/mixed; boundary=x"),
        ResponseTemplate::new(202).set_body_string("plain"),
        response(&part("204 No Content", "")),
    ] {
        let server = Server::responding(response).await;
        let table = server.service().table::<DynamicEntity>("Things").unwrap();
        let mut batch = table.batch();
        batch
            .insert(&DynamicEntity::new("p", "1"))
            .unwrap()
            .insert(&DynamicEntity::new("p", "2"))
            .unwrap();
        let error = batch.submit().await.unwrap_err();
        assert_eq!(kind_in_doubt(&error), Some(ErrorKind::InvalidResponse));
        assert!(
            error.to_string().ends_with("; the write may have been applied"),
            "{error}"
        );
    }
}

/// A server fault inside the 202 is a server fault.
#[tokio::test]
async fn inner_server_error_is_a_server_error() {
    let body = r#"{"odata.error":{"code":"InternalError","message":{"lang":"en-US","value":"0:Oops."}}}"#;
    let server = Server::responding(response(&part("500 Internal Server Error", body))).await;
    let service = server.service().retry(NoRetry);
    let table = service.table::<DynamicEntity>("Things").unwrap();
    let mut batch = table.batch();
    batch.insert(&DynamicEntity::new("p", "1")).unwrap();
    let error = batch.submit().await.unwrap_err();
    let last = error.last_failure().unwrap();
    assert_eq!((last.kind(), last.status()), (ErrorKind::ServerFault, Some(500)));
}

/// More parts than operations, or fewer, are not a success, and do not mean that nothing was applied.
#[tokio::test]
async fn response_of_another_form_is_not_a_success() {
    let good = part("204 No Content\r\nETag: W/\"1\"", "");
    let cut = part("204 No Content\r\nCache-Con", "");
    let rejected = part("409 Conflict\r\nContent-Type: application/json", "{}");
    for (parts, said) in [
        (good.clone() + &rejected, "its response has 2 results"),
        (good.clone() + &good, "its response has 2 results"),
        (cut, "has no ETag"),
        (part("204 No Content", ""), "has no ETag"),
        (
            "--changesetresponse_2\r\nContent-Type: application/http\r\n".to_owned(),
            "has no end",
        ),
    ] {
        let server = Server::responding(response(&parts)).await;
        let table = server.service().table::<DynamicEntity>("Things").unwrap();
        let mut batch = table.batch();
        batch.insert(&DynamicEntity::new("p", "1")).unwrap();
        let error = batch.submit().await.unwrap_err();
        assert_eq!(
            kind_in_doubt(&error),
            Some(ErrorKind::InvalidResponse),
            "{parts}: {error}"
        );
        assert!(error.to_string().contains(said), "{parts}: {error}");
    }
    // A line that is not text, and a space before a name, hide nothing.
    let odd = part("204 No Content\r\nLocation: \u{fffd}\r\n ETag: W/\"1\"", "");
    let server = Server::responding(response(&odd)).await;
    let table = server.service().table::<DynamicEntity>("Things").unwrap();
    let mut batch = table.batch();
    batch.insert(&DynamicEntity::new("p", "1")).unwrap();
    assert_eq!(batch.submit().await.unwrap()[0].etag().unwrap().as_str(), "W/\"1\"");
}
