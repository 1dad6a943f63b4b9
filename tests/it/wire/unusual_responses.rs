//! Responses that a Table service should never send, and servers that are not reachable.

use std::time::Duration;

use azure_table::{DynamicEntity, ErrorKind, ExponentialRetry, TableServiceClient};
use azure_table_tests::canned::{Canned, Step, no_retry};
use azure_table_tests::errors::{assert_contains, assert_error};
use azure_table_tests::{Network, on_both_networks};
use wiremock::ResponseTemplate;

use super::server::Server;

on_both_networks! {
    a_redirect_is_not_followed,
    nothing_listening_is_named_with_its_address,
}

#[tokio::test]
async fn html_response_is_named_as_html() {
    let page = "<!DOCTYPE html><html><body>Welcome to nginx!</body></html>";
    for status in [200, 404] {
        let html = ResponseTemplate::new(status).set_body_raw(page, "text/html");
        let server = Server::responding(html).await;
        let table = server.table();
        for error in [
            table.get(("p", "r")).await.unwrap_err(),
            table.query().all().await.unwrap_err(),
            server.service().list_tables().await.unwrap_err(),
        ] {
            // A proxy's 404 does not mean that the entity is missing.
            let shown = "content type text/html, begins with \"<!DOCTYPE html>";
            assert_error(&error, ErrorKind::InvalidResponse, shown);
            assert_eq!(error.status(), Some(status));
            assert_eq!(error.to_string().lines().count(), 1);
        }
    }
}

/// Identifies the failed operation of many.
#[tokio::test]
async fn rejected_entity_is_named() {
    let exists =
        r#"{"odata.error":{"code":"EntityAlreadyExists","message":{"lang":"en-US","value":"It\u001bexists."}}}"#;
    let server = Server::responding(ResponseTemplate::new(409).set_body_string(exists)).await;
    let table = server.table();
    let long = "r".repeat(1_000);
    let error = table.insert(&DynamicEntity::new("p", long.as_str())).await.unwrap_err();
    assert_eq!(error.entity(), Some(("p", long.as_str())));
    let shown = "r".repeat(80);
    let expected = format!(
        "insert in table Things: entity (\"p\", \"{shown}\"…): the service answered 409 EntityAlreadyExists: It exists."
    );
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn bidirectional_control_of_the_service_is_escaped() {
    let body = r#"{"odata.error":{"code":"A\u202eB","message":{"lang":"en-US","value":"It \u2066is\u2069 so."}}}"#;
    let server = Server::responding(ResponseTemplate::new(400).set_body_string(body)).await;
    let table = server.table();
    let key = ("p\u{200f}", "r");
    let error = table.insert(&DynamicEntity::new(key.0, key.1)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"insert in table Things: entity ("p\u{200f}", "r"): the service answered 400 A\u{202e}B: It \u{2066}is\u{2069} so."#
    );
    assert_contains(error.diagnostics(), r"400 A\u{202e}B after");
    assert_eq!(error.code(), Some("A\u{202e}B"), "as a value it is as it came");
}

#[tokio::test]
async fn wrong_key_has_the_message_of_the_live_service() {
    let rejection = r#"{"odata.error":{"code":"AuthenticationFailed","message":{"lang":"en-US","value":"Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.\nRequestId:a\nTime:b"}}}"#;
    let response = ResponseTemplate::new(403)
        .insert_header("x-ms-error-code", "AuthenticationFailed")
        .set_body_raw(rejection, "application/json");
    let server = Server::responding(response).await;
    let table = server.table();
    let error = table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Unauthenticated, 1));
    assert_eq!(
        error.to_string(),
        "insert in table Things: entity (\"p\", \"r\"): the service answered 403 AuthenticationFailed: the key is not \
         a current key of account acct: it belongs to another account, or was regenerated; set the current key, in a \
         running process with `AccountKey::rotate`: Server failed to authenticate the request. Make sure the value of \
         Authorization header is formed correctly including the signature."
    );
}

async fn a_redirect_is_not_followed(network: Network) {
    let elsewhere = Server::responding(ResponseTemplate::new(200)).await;
    let redirect = ResponseTemplate::new(307).insert_header("location", elsewhere.uri().as_str());
    let server = Server::responding(redirect).await;
    let service = server.service().transport(network.transport());
    let table = service.dynamic_table("Things").unwrap();
    assert_eq!(table.get(("p", "r")).await.unwrap_err().status(), Some(307));
    assert_eq!(elsewhere.requests().await.len(), 0);
}

async fn nothing_listening_is_named_with_its_address(network: Network) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let connection_string = format!("AccountName=a;AccountKey=AAAA;TableEndpoint=http://{address}/a");
    let service = TableServiceClient::from_connection_string(&connection_string).unwrap();
    let service = service.retry(ExponentialRetry::default().delay(Duration::from_millis(1)));
    let table = service.transport(network.transport()).dynamic_table("Things").unwrap();
    let error = table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Connection, 4));
    assert!(!error.may_have_applied(), "nothing was sent");
    let expected = format!(
        "insert in table Things: entity (\"p\", \"r\"): no connection to the service at http://{address}/a \
         (after 4 attempts)"
    );
    assert_eq!(error.to_string(), expected);
    let first = std::error::Error::source(&error);
    let causes = std::iter::successors(first, |cause| cause.source());
    let causes: String = causes.map(ToString::to_string).collect();
    assert_contains(causes.to_lowercase(), "refused");
}

/// Cosmos DB throttled the creation of a table in 2020 with a number as its code and without a time to wait.
#[tokio::test(start_paused = true)]
async fn throttling_is_known_by_its_status() {
    let body = r#"{"odata.error":{"code":"429","message":{"lang":"en-us","value":"Message: {\"Errors\":[\"Request rate is large. More Request Units may be needed, so no changes were made. Please retry this request later. Learn more: http://aka.ms/cosmosdb-error-429\"]}\r\nActivityId: 1\nRequestID:1\n"}}}"#;
    let busy = || Step::response(429, &[("content-type", "application/json")], &format!("{body}\r\n"));
    let create = Canned::new([busy()]).table().create_table();
    let error = create.with(&no_retry()).await.unwrap_err();
    assert_error(&error, ErrorKind::Throttled, "Request rate is large.");
    assert_eq!((error.status(), error.code()), (Some(429), Some("429")));
    assert_eq!(error.retry_after(), None);

    let canned = Canned::new([
        busy(),
        busy(),
        Step::response(204, &[("location", "Tables('Things')")], ""),
    ]);
    canned.table().create_table().await.unwrap();
    assert_eq!(canned.sent().len(), 3);
}
