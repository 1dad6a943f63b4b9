//! The emulator over HTTPS, with a certificate that is generated for the test, or by the guide's command.

use std::process::Command;

use azure_table::emulator::ServerCertificate;
use azure_table::transport::Transport;
use azure_table::{
    DynamicEntity, Emulator, EmulatorServer, ErrorKind, RunningEmulator, TableClient, TableServiceClient,
};
use azure_table_tests::canned::no_retry;
use azure_table_tests::errors::{assert_contains, assert_error};
use azure_table_tests::network::tls_front::Identity;
use azure_table_tests::network::{NetworkTransport, serve};
use azure_table_tests::{Network, on_both_networks};
use bytes::Bytes;
use http::Request;
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, KeyPair};

use super::snapshot::Folder;

/// A certificate whose only name is an IP address, and its key.
fn identity() -> Identity {
    let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate().unwrap();
    Identity {
        certificate: params.self_signed(&key).unwrap().pem(),
        key: key.serialize_pem(),
    }
}

async fn serve_tls(emulator: Emulator, identity: &Identity) -> RunningEmulator {
    let server = EmulatorServer::bind(emulator, "127.0.0.1:0").await.unwrap();
    let certificate = ServerCertificate::from_pem(&identity.certificate, &identity.key);
    server.https(certificate.unwrap()).spawn()
}

fn trusting(network: Network, identity: &Identity) -> NetworkTransport {
    network
        .builder()
        .root_certificates(&identity.certificate)
        .build()
        .unwrap()
}

fn blogs(connection: &str, transport: NetworkTransport) -> TableClient {
    let service = TableServiceClient::from_connection_string(connection).unwrap();
    service.transport(transport).dynamic_table("Blogs").unwrap()
}

on_both_networks! {
    a_client_that_trusts_the_certificate_is_served,
    who_does_not_trust_it_or_speaks_http_is_not,
    tokens_are_taken_over_https_alone,
}

async fn a_client_that_trusts_the_certificate_is_served(network: Network) {
    let identity = identity();
    let server = serve_tls(Emulator::new(), &identity).await;
    let connection = server.connection_string().to_owned();
    assert!(
        connection.starts_with("DefaultEndpointsProtocol=https;"),
        "{connection}"
    );
    assert_contains(&connection, &format!("TableEndpoint=https://{}/", server.address()));

    let blogs = blogs(&connection, trusting(network, &identity));
    blogs.create_table().await.unwrap();
    blogs.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    assert_eq!(blogs.query().all().await.unwrap().len(), 1);
    server.stop().await;
}

/// Runs the guide's command, and returns the certificate that it creates.
fn identity_of_the_guide() -> Identity {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../azure-table/src/guide/emulator.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let start = guide.find("openssl req").unwrap();
    let command = guide[start..].split("\nazure-table-emulator").next().unwrap();
    let folder = Folder::new();
    let output = Command::new("sh").args(["-c", command]).current_dir(&folder.0).output();
    assert!(
        output.as_ref().is_ok_and(|o| o.status.success()),
        "{command}: {output:?}"
    );
    let read = |name: &str| std::fs::read_to_string(folder.0.join(name)).unwrap();
    Identity {
        certificate: read("certificate.pem"),
        key: read("key.pem"),
    }
}

#[tokio::test]
#[ignore = "needs openssl: add `--ignored`"]
async fn certificate_of_the_guide_is_trusted_by_its_name_and_its_address() {
    let identity = identity_of_the_guide();
    let server = serve_tls(Emulator::new(), &identity).await;
    let by_address = server.connection_string().to_owned();
    let by_name = by_address.replace("127.0.0.1", "localhost");
    for network in Network::ALL {
        for connection in [&by_address, &by_name] {
            let blogs = blogs(connection, trusting(*network, &identity));
            let exists = blogs.table_exists().with(&no_retry()).await;
            assert!(!exists.unwrap(), "{network:?} {connection}");
        }
    }
}

async fn who_does_not_trust_it_or_speaks_http_is_not(network: Network) {
    let (own, other) = (identity(), identity());
    let server = serve_tls(Emulator::new(), &own).await;
    let connection = server.connection_string();
    let plain = connection.replace("https", "http");
    for (connection, trusted) in [(connection, &other), (&plain, &own)] {
        let create = blogs(connection, trusting(network, trusted)).create_table();
        let error = create.with(&no_retry()).await.unwrap_err();
        // A server that answers HTTP with TLS may have read the request.
        let error = error.last_failure().unwrap_or(error);
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    }
    // Other connections are still served.
    let blogs = blogs(connection, trusting(network, &own));
    blogs.create_table().await.unwrap();
}

async fn tokens_are_taken_over_https_alone(network: Network) {
    let identity = identity();
    let emulator = Emulator::new().token("a-token");
    let (plain, _) = serve(emulator.clone()).await;
    let tls = serve_tls(emulator, &identity).await;
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
        let response = trusting(network, &identity).send(request).await.unwrap();
        let (status, body) = (response.status().as_u16(), response.body());
        assert_eq!(status, expected, "{base} {token}: {body:?}");
    }
}

#[test]
fn unusable_certificate_or_key_is_named() {
    let Identity { certificate: pem, key } = &identity();
    let (other, garbled) = (&identity().key, &key.replace('\n', "\n*"));
    let encrypted = &key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let older = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n";
    let only_key = "the certificate: the text has a private key and no certificate";
    let only_certificate = "the certificate's key: the text has a certificate and no private key";
    for (certificate, key, why) in [
        ("", &**key, "the certificate: the text has none in PEM"),
        (key, key, only_key),
        (key, pem, only_key),
        (pem, "", "the certificate's key: the text has none in PEM"),
        (pem, pem, only_certificate),
        (pem, garbled, "the certificate's key: a section of the PEM"),
        (pem, encrypted, "the certificate's key: it is encrypted"),
        (pem, older, "the certificate's key: it is encrypted"),
        (pem, other, "the certificate and its key cannot be used"),
    ] {
        let error = ServerCertificate::from_pem(certificate, key).unwrap_err();
        assert_error(&error, ErrorKind::InvalidInput, why);
    }
    let certificate = ServerCertificate::from_pem(pem, format!("{pem}{key}")).unwrap();
    assert_eq!(format!("{certificate:?}"), "ServerCertificate { .. }");
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
    let Identity { certificate: pem, key } = identity();
    for (text, number) in [(VERSION_1.to_owned(), 1), (format!("{pem}{VERSION_1}"), 2)] {
        let error = ServerCertificate::from_pem(text, &key).unwrap_err();
        let remedy = "of the text is X.509 version 1, TLS here needs version 3: create one with";
        assert_error(&error, ErrorKind::InvalidInput, &format!("number {number} {remedy}"));
    }
}
