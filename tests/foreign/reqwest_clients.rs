//! Clients of reqwest with other settings than ours: the TLS of the platform, redirects.

use azure_table::transport::ReqwestTransport;
use azure_table::{
    CallOptions, DynamicEntity, Emulator, EmulatorServer, Error, ErrorKind, NoRetry, TableServiceClient,
};
#[cfg(target_os = "linux")]
use azure_table_tests::network::tls_front::TlsFront;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

/// The test certificate is unknown to the platform, and the error comes from OpenSSL, not rustls.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn reqwest_may_use_native_tls() {
    let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0")
        .await
        .unwrap()
        .spawn();
    let front = TlsFront::to(server.address(), None).await;
    let own = format!("http://{}", server.address());
    let address = format!("https://{}", front.address);
    let connection_string = server.connection_string().replace(&own, &address);
    let client = TableServiceClient::from_connection_string(&connection_string).unwrap();
    let transport = |pem: &str| {
        let certificates = reqwest::Certificate::from_pem_bundle(pem.as_bytes()).unwrap();
        ReqwestTransport::builder()
            .configure(reqwest::ClientBuilder::tls_backend_native)
            .configure(|client| {
                certificates
                    .into_iter()
                    .fold(client, reqwest::ClientBuilder::add_root_certificate)
            })
            .build()
            .unwrap()
    };
    client
        .transport(transport(&front.identity.certificate))
        .ping()
        .await
        .unwrap();
    let error = client
        .transport(transport(""))
        .ping()
        .with(&CallOptions::new().retry(NoRetry))
        .await
        .unwrap_err();
    assert!(format!("{error:?}").contains("certificate verify failed"), "{error:?}");
}

/// A client of the application follows redirects unless it is told not to.
#[tokio::test]
async fn client_that_follows_a_redirect_is_used_no_more() {
    let server = MockServer::start().await;
    let elsewhere = ResponseTemplate::new(307).insert_header("location", "/elsewhere");
    Mock::given(path("/acct/Things"))
        .respond_with(elsewhere)
        .mount(&server)
        .await;
    Mock::given(path("/elsewhere"))
        .respond_with(ResponseTemplate::new(204))
        .mount(&server)
        .await;
    let settings = format!(
        "AccountName=acct;AccountKey=AAECAwQFBgc=;TableEndpoint={}/acct",
        server.uri()
    );
    let service = TableServiceClient::from_connection_string(&settings).unwrap();
    let service = service.with(&CallOptions::new().retry(NoRetry));
    let table = |client: reqwest::ClientBuilder| {
        let transport = ReqwestTransport::from_client(client.no_proxy().build().unwrap());
        service.transport(transport).dynamic_table("Things").unwrap()
    };
    let cause = |error: &Error| std::error::Error::source(error).unwrap().to_string();
    let entity = DynamicEntity::new("p", "r");
    let follows = table(reqwest::Client::builder());
    let error = follows.insert(&entity).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
    assert!(
        cause(&error).contains("build it with `redirect(Policy::none())`"),
        "{error}"
    );
    let sent = server.received_requests().await.unwrap().len();
    let error = follows.insert(&entity).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.may_have_applied()),
        (ErrorKind::Connection, false),
        "{error}"
    );
    assert!(cause(&error).contains("follows redirects"), "{error}");
    assert_eq!(server.received_requests().await.unwrap().len(), sent);

    // The redirect itself is a response of nobody's service.
    let stays = table(reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()));
    let error = stays.insert(&entity).await.unwrap_err();
    assert_eq!(error.last_failure().unwrap().status(), Some(307), "{error}");

    // A client of the application without redirects serves the emulator.
    let emulator = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0")
        .await
        .unwrap()
        .spawn();
    let client = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none());
    let transport = ReqwestTransport::from_client(client.build().unwrap());
    let service = TableServiceClient::from_connection_string(emulator.connection_string()).unwrap();
    let table = service.transport(transport).dynamic_table("Things").unwrap();
    table.create_table().await.unwrap();
    table.insert(&entity).await.unwrap();
    assert!(table.get(("p", "r")).await.unwrap().is_some());
}
