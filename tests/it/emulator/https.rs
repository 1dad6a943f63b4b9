//! The emulator over HTTPS, with a certificate that is generated for the test.

use azure_table::emulator::ServerCertificate;
use azure_table::transport::Transport;
use azure_table::{DynamicEntity, Emulator, EmulatorServer, ErrorKind, NoRetry, RunningEmulator, TableServiceClient};
use azure_table_tests::network::NetworkTransport;
use azure_table_tests::{Network, on_both_networks};
use bytes::Bytes;
use http::Request;
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, KeyPair};

/// A certificate of 127.0.0.1 and its key, in PEM.
fn certificate() -> (String, String) {
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

async fn serve(certificate: &str, key: &str) -> RunningEmulator {
    let emulator = Emulator::new();
    let server = EmulatorServer::bind(emulator, "127.0.0.1:0").await.unwrap();
    server
        .https(ServerCertificate::from_pem(certificate, key).unwrap())
        .spawn()
}

fn trusting(network: Network, pem: &str) -> NetworkTransport {
    network.builder().root_certificates(pem).build().unwrap()
}

on_both_networks! {
    a_client_that_trusts_the_certificate_is_served,
    who_does_not_trust_it_or_speaks_http_is_not,
    tokens_are_taken_over_https_alone,
}

async fn a_client_that_trusts_the_certificate_is_served(network: Network) {
    let (pem, key) = certificate();
    let server = serve(&pem, &key).await;
    let connection = server.connection_string().to_owned();
    assert!(
        connection.starts_with("DefaultEndpointsProtocol=https;"),
        "{connection}"
    );
    assert!(connection.contains(&format!("TableEndpoint=https://{}/", server.address())));

    let service = TableServiceClient::from_connection_string(&connection)
        .unwrap()
        .transport(trusting(network, &pem));
    let blogs = service.dynamic_table("Blogs").unwrap();
    blogs.create_table().await.unwrap();
    blogs.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    assert_eq!(blogs.query().all().await.unwrap().len(), 1);
    server.stop().await;
}

async fn who_does_not_trust_it_or_speaks_http_is_not(network: Network) {
    let (pem, key) = certificate();
    let server = serve(&pem, &key).await;
    let connection = server.connection_string().to_owned();
    let (other, _) = certificate();
    for (connection, transport) in [
        (connection.clone(), trusting(network, &other)),
        (connection.replace("https", "http"), trusting(network, &pem)),
    ] {
        let service = TableServiceClient::from_connection_string(&connection)
            .unwrap()
            .transport(transport)
            .retry(NoRetry);
        let error = service
            .dynamic_table("Blogs")
            .unwrap()
            .create_table()
            .await
            .unwrap_err();
        // A server that answers HTTP with TLS may have read the request.
        let error = error.last_failure().unwrap_or(error);
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    }
    // Other connections are still served.
    let service = TableServiceClient::from_connection_string(&connection)
        .unwrap()
        .transport(trusting(network, &pem));
    service.dynamic_table("Blogs").unwrap().create_table().await.unwrap();
}

#[test]
fn invalid_certificate_file_is_named() {
    let (pem, key) = certificate();
    let (_, other) = certificate();
    let garbled = key.replace("\n", "\n*");
    for (pem, key, why) in [
        ("", &*key, "the certificate: the text has none in PEM"),
        (
            &*key,
            &*key,
            "the certificate: the text has a private key and no certificate",
        ),
        (&*pem, "", "the certificate's key: the text has none in PEM"),
        (
            &*pem,
            &*pem,
            "the certificate's key: the text has a certificate and no private key",
        ),
        (&*pem, &*garbled, "the certificate's key: a section of the PEM"),
        (&*pem, &*other, "the certificate and its key cannot be used"),
    ] {
        let error = ServerCertificate::from_pem(pem, key).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(why), "{error}");
    }
    let certificate = ServerCertificate::from_pem(&pem, format!("{pem}{key}")).unwrap();
    assert_eq!(format!("{certificate:?}"), "ServerCertificate { .. }");
}

async fn tokens_are_taken_over_https_alone(network: Network) {
    let (pem, key) = certificate();
    let certificate = ServerCertificate::from_pem(&pem, &key).unwrap();
    let emulator = Emulator::new().token("a-token");
    let plain = EmulatorServer::bind(emulator.clone(), "127.0.0.1:0").await.unwrap();
    let plain = plain.spawn();
    let tls = EmulatorServer::bind(emulator, "127.0.0.1:0").await.unwrap();
    let tls = tls.https(certificate).spawn();
    for (base, token, expected) in [
        (format!("https://{}", tls.address()), "a-token", 200),
        (format!("https://{}", tls.address()), "another", 401),
        (format!("http://{}", plain.address()), "a-token", 403),
    ] {
        let request = Request::get(format!("{base}/devstoreaccount1/Tables"))
            .header("x-ms-version", "2020-12-06")
            .header("accept", "application/json;odata=nometadata")
            .header("authorization", format!("Bearer {token}"))
            .body(Bytes::new())
            .unwrap();
        let response = trusting(network, &pem).send(request).await.unwrap();
        assert_eq!(
            response.status().as_u16(),
            expected,
            "{base} {token}: {:?}",
            response.body()
        );
    }
}

#[test]
fn misplaced_or_encrypted_key_is_named() {
    let (pem, key) = certificate();
    let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let older = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n";
    for (certificate, key, why) in [
        (
            &*key,
            &*pem,
            "the certificate: the text has a private key and no certificate",
        ),
        (
            &pem,
            &pem,
            "the certificate's key: the text has a certificate and no private key",
        ),
        (&pem, &encrypted, "the certificate's key: it is encrypted"),
        (&pem, older, "the certificate's key: it is encrypted"),
        (&pem, "", "the certificate's key: the text has none in PEM"),
    ] {
        let error = ServerCertificate::from_pem(certificate, key).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

/// A certificate of X.509 version 1, as `openssl x509 -req` makes without extensions.
const VERSION_1: &str = "-----BEGIN CERTIFICATE-----
MIIBJDCBywIUIP0ibXoobYFAKIEq54xxLbByc+gwCgYIKoZIzj0EAwIwFDESMBAG
A1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTE4NDQxMloYDzIxMjYxMDI4MTg0NDEy
WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AARH8SnHqWzcLnn3jDKCerk0fn6idKBBmBPIWLfoAwNG5jLm6cIZgGKsZys9WYc5
OEMoHoEjmEUP+JsqqZx9xZlfMAoGCCqGSM49BAMCA0gAMEUCIAt7IpyQ9TmFDJ77
D8jNGk2BG/WI6kY2SwvqEA8+bJ/MAiEAx/wjeikDWsaJvXH6qHayq0p+k8kJGV1h
o/2glrrJ02o=
-----END CERTIFICATE-----
";

#[test]
fn certificate_of_version_1_is_rejected_with_the_remedy() {
    let (pem, key) = certificate();
    for (text, number) in [(VERSION_1.to_owned(), 1), (format!("{pem}{VERSION_1}"), 2)] {
        let error = ServerCertificate::from_pem(text, &key).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let expected =
            format!("number {number} of the text is X.509 version 1, TLS here needs version 3: create one with");
        assert!(error.to_string().contains(&expected), "{error}");
    }
}
