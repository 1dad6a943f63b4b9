//! The transport of a client that sets none, which depends on the features.

use std::error::Error as _;

use azure_table::{CallOptions, ErrorKind, NoRetry, TableServiceClient};

/// The texts of an error and of its sources.
fn chain(error: &azure_table::Error) -> Vec<String> {
    let mut texts = vec![format!("{error:?}")];
    let mut source = error.source();
    while let Some(error) = source {
        texts.push(format!("{error:?}"));
        source = error.source();
    }
    texts
}

/// Only reqwest has errors of this type. The suite over HTTP uses the same transport.
#[tokio::test]
async fn reqwest_is_the_default_without_http() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let connection_string =
        format!("AccountName=acct;AccountKey=AAECAwQFBgc=;TableEndpoint=http://127.0.0.1:{port}/acct");
    let service = TableServiceClient::from_connection_string(&connection_string).unwrap();
    let error = service
        .ping()
        .with(&CallOptions::new().retry(NoRetry))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    let by_reqwest = chain(&error).iter().any(|text| text.contains("reqwest::Error"));
    assert_eq!(by_reqwest, !cfg!(feature = "http"), "{error:?}");
}
