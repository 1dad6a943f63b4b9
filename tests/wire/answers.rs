//! Answers that no Table service should give, and servers that are not there.

use azure_table::{DynamicEntity, ErrorKind, TableServiceClient};
use wiremock::ResponseTemplate;

use super::server::Server;

#[tokio::test]
async fn html_is_said_to_be_html() {
    let page = "<!DOCTYPE html><html><body>Welcome to nginx!</body></html>";
    for status in [200, 404] {
        let html = ResponseTemplate::new(status).set_body_raw(page, "text/html");
        let server = Server::answering(html).await;
        let table = server.service().table::<DynamicEntity>("Things").unwrap();
        for error in [
            table.get(("p", "r")).await.unwrap_err(),
            table.query().all().await.unwrap_err(),
        ] {
            assert_eq!(error.to_string().lines().count(), 1);
            if status == 200 {
                assert_eq!(error.kind(), ErrorKind::InvalidResponse);
                assert!(error.to_string().contains("in JSON"), "{error}");
            } else {
                assert!(error.to_string().contains("text/html"), "{error}");
                assert!(error.to_string().contains("<!DOCTYPE html>"), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn a_wrong_key_is_shown_as_what_the_live_service_says() {
    let refusal = r#"{"odata.error":{"code":"AuthenticationFailed","message":{"lang":"en-US","value":"Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.\nRequestId:a\nTime:b"}}}"#;
    let answer = ResponseTemplate::new(403)
        .insert_header("x-ms-error-code", "AuthenticationFailed")
        .set_body_raw(refusal, "application/json");
    let server = Server::answering(answer).await;
    let table = server.service().table::<DynamicEntity>("Things").unwrap();
    let error = table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Unauthenticated, 1));
    assert_eq!(
        error.to_string(),
        "insert in table Things: the service answered 403 AuthenticationFailed: Server failed to authenticate the \
         request. Make sure the value of Authorization header is formed correctly including the signature."
    );
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Server::answering(ResponseTemplate::new(200)).await;
    let server =
        Server::answering(ResponseTemplate::new(307).insert_header("location", elsewhere.uri().as_str())).await;
    let table = server.service().table::<DynamicEntity>("Things").unwrap();
    assert_eq!(table.get(("p", "r")).await.unwrap_err().status(), Some(307));
    assert_eq!(elsewhere.requests().await.len(), 0);
}

#[tokio::test]
async fn nothing_listening_is_named_with_its_address() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let connection_string = format!("AccountName=a;AccountKey=AAAA;TableEndpoint=http://{address}/a");
    let table = TableServiceClient::from_connection_string(&connection_string)
        .unwrap()
        .dynamic_table("Things")
        .unwrap();
    let error = table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Connection, 4));
    assert!(!error.may_have_applied(), "nothing was sent");
    assert_eq!(
        error.to_string(),
        format!("insert in table Things: no connection to the service at http://{address}/a (after 4 attempts)")
    );
    let mut causes = String::new();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        causes.push_str(&cause.to_string());
        source = cause.source();
    }
    assert!(causes.to_lowercase().contains("refused"), "{causes}");
}
