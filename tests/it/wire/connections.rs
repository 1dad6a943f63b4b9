//! The connection pool of a transport: when it opens and closes connections, and what it sends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use azure_table::transport::{HttpTransport, Transport as _};
use azure_table::{DynamicEntity, ErrorKind, TableServiceClient};
use azure_table_tests::canned::{CONTOSO, no_retry};
use azure_table_tests::errors::{assert_contains, assert_error, kind_in_doubt};
use azure_table_tests::network::tls_front::{Identity, TlsFront};
use azure_table_tests::process::LIMIT;
use azure_table_tests::{Network, on_both_networks};
use http::Request;
use rcgen::ExtendedKeyUsagePurpose;
use tokio::io::AsyncReadExt as _;
use tokio::runtime::Builder;
use tokio::time::sleep;

use super::sockets::Sockets;

on_both_networks! {
    rejected_certificate_ends_the_call,
    certificate_that_is_no_x509_is_rejected_by_build,
    connection_that_cannot_be_secured_in_time_sends_nothing,
    idle_connection_is_closed_after_its_timeout,
    dropped_call_closes_its_connection,
}

/// The same certificates fail again. With TLS 1.3, the server rejects the client's after the request was sent.
async fn rejected_certificate_ends_the_call(network: Network) {
    let service = ([127, 0, 0, 1], 1).into();
    let clients = Identity::of(ExtendedKeyUsagePurpose::ClientAuth);
    let valid = TlsFront::to(service, None).await;
    let expired = Identity::until(ExtendedKeyUsagePurpose::ServerAuth, 2020);
    let expired = TlsFront::with(expired, service, None).await;
    let demanding = TlsFront::to(service, Some(&clients)).await;
    for (front, host, trusted, why) in [
        (&valid, "127.0.0.1", &demanding, "BadSignature"),
        (&valid, "localhost", &valid, "not valid for name"),
        (&expired, "127.0.0.1", &expired, "certificate expired"),
        (&demanding, "127.0.0.1", &demanding, "CertificateRequired"),
    ] {
        let endpoint = format!("{CONTOSO};TableEndpoint=https://{host}:{}", front.address.port());
        let service = TableServiceClient::from_connection_string(&endpoint).unwrap();
        let transport = network.builder().root_certificates(&trusted.identity.certificate);
        let service = service.transport(transport.build().unwrap());
        let table = service.dynamic_table("Things").unwrap();
        let error = table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
        let end = (error.kind(), error.may_have_applied(), error.attempts());
        assert_eq!(end, (ErrorKind::Connection, false, 1), "{why}: {error:?}");
        assert_contains(format!("{error:?}"), why);
    }
}

async fn certificate_that_is_no_x509_is_rejected_by_build(network: Network) {
    let pem = "-----BEGIN CERTIFICATE-----\nbm8gY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n";
    let error = network.builder().root_certificates(pem).build().unwrap_err();
    assert_error(&error, ErrorKind::InvalidInput, "no certificate of X.509");
}

/// The server accepts connections and sends nothing: the TLS handshake does not begin.
async fn connection_that_cannot_be_secured_in_time_sends_nothing(network: Network) {
    let server = Sockets::silent(network).await;
    let transport = network.builder().connect_timeout(Duration::from_millis(200));
    let endpoint = server.service.endpoint().replace("http:", "https:");
    let service = TableServiceClient::from_connection_string(&format!("{CONTOSO};TableEndpoint={endpoint}")).unwrap();
    let service = service.transport(transport.build().unwrap());
    let table = service.dynamic_table("Things").unwrap();
    let insert = table.insert(&DynamicEntity::new("p", "r")).with(&no_retry());
    let error = insert.await.unwrap_err();
    // Not a timeout of the attempt, which ends later.
    assert_error(&error, ErrorKind::Connection, "no connection to the service");
}

async fn idle_connection_is_closed_after_its_timeout(network: Network) {
    let mut server = Sockets::answering(network).await;
    for (timeout, connections) in [(LIMIT, 1), (Duration::from_millis(50), 3)] {
        let transport = network.builder().pool_idle_timeout(timeout);
        server = server.over(transport.build().unwrap());
        server.insert().await.unwrap();
        sleep(Duration::from_millis(200)).await;
        server.insert().await.unwrap();
        assert_eq!(server.connections(), connections);
    }
}

/// The server answers no request. The client closes the connection of a call that is dropped.
async fn dropped_call_closes_its_connection(network: Network) {
    let (sender, mut closed) = tokio::sync::mpsc::channel(1);
    let server = Sockets::doing(network, move |mut connection| {
        let sender = sender.clone();
        async move {
            while connection.request().await {}
            sender.send(()).await.unwrap();
        }
    })
    .await;
    let call = tokio::spawn(server.table().get(("p", "r")));
    while server.heads().is_empty() {
        sleep(Duration::from_millis(5)).await;
    }
    call.abort();
    closed.recv().await.unwrap();
    assert_eq!((server.heads().len(), server.connections()), (1, 1));
}

/// A runtime that does not run drives no connection.
#[test]
fn runtimes_that_take_turns_do_not_share_connections() {
    let runtime = |builder: &mut Builder| builder.enable_all().build().unwrap();
    let of_server = runtime(Builder::new_multi_thread().worker_threads(1));
    let mut server = of_server.block_on(Sockets::answering(Network::Hyper));
    let runtimes = [(); 3].map(|()| runtime(&mut Builder::new_current_thread()));
    for (limit, connections) in [(Some(1), 3), (None, 6)] {
        let transport = HttpTransport::builder().max_connections(limit).build().unwrap();
        server = server.over(transport);
        for runtime in runtimes.iter().chain(&runtimes) {
            runtime.block_on(server.insert()).unwrap();
        }
        assert_eq!(server.connections(), connections);
    }
}

#[tokio::test]
async fn idle_connections_are_limited_on_request() {
    let transport = HttpTransport::builder().pool_max_idle_per_host(0).build().unwrap();
    let server = Sockets::answering(Network::Hyper).await.over(transport);
    for _ in 0..3 {
        server.insert().await.unwrap();
    }
    assert_eq!(server.connections(), 3);
    futures::future::join_all((0..20).map(|_| async { server.insert().await.unwrap() })).await;
    assert_eq!(server.connections(), 23);
}

/// The server sends first and closes: hyper returns the request unsent, so the write is not in doubt.
#[tokio::test]
async fn unsent_request_of_a_closed_connection_is_not_in_doubt() {
    let read = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&read);
    let server = Sockets::doing(Network::Hyper, move |mut connection| {
        let counter = Arc::clone(&counter);
        async move {
            connection.write("SSH-2.0-OpenSSH_9.6\r\n").await;
            while connection.stream.read_u8().await.is_ok() {
                counter.fetch_add(1, Ordering::SeqCst);
            }
        }
    })
    .await;
    let mut unsent = 0;
    for _ in 0..50 {
        let before = read.load(Ordering::SeqCst);
        let error = server.insert().await.unwrap_err();
        let kind = kind_in_doubt(&error).unwrap_or(error.kind());
        assert_eq!(kind, ErrorKind::Connection, "{error}");
        sleep(Duration::from_millis(2)).await;
        // The server read one byte of the request, so it is in doubt.
        let is_unread = read.load(Ordering::SeqCst) == before;
        assert!(error.may_have_applied() || is_unread, "{error}");
        unsent += usize::from(!error.may_have_applied());
    }
    assert!(unsent > 0);
}

/// The service sees no difference: the same lines in any order.
#[tokio::test]
async fn both_transports_send_the_same_heads() {
    let mut heads = Vec::new();
    for network in Network::ALL {
        let server = Sockets::answering(*network).await;
        let (base, transport) = (server.service.endpoint(), network.transport());
        let key = "PartitionKey='%C3%A4',RowKey='..'";
        for (method, path, body) in [
            ("GET", &*format!("/a/Things({key})?$filter=a%20eq%201"), ""),
            ("DELETE", "/a/Things(PartitionKey='p',RowKey='%2F')", ""),
            ("POST", "/a/Things", "{}"),
            ("PUT", "/a/Things", ""),
        ] {
            let request = Request::builder().method(method).uri(format!("{base}{path}"));
            let request = request.header("accept", "application/json");
            let request = request.header("x-ms-version", "2019-02-02");
            transport.send(request.body(body.into()).unwrap()).await.unwrap();
        }
        let host = base.trim_start_matches("http://").split('/').next().unwrap().to_owned();
        let sorted = |head: &String| {
            let mut lines: Vec<_> = head.lines().map(|line| line.replace(&host, "host")).collect();
            lines.sort();
            lines
        };
        heads.push(server.heads().iter().map(sorted).collect::<Vec<_>>());
    }
    assert_eq!(heads[0].len(), 4);
    assert_eq!(heads[0], heads[1]);
    let mut lines = heads[0].iter().flatten();
    let is_direct = lines.all(|line| !line.starts_with("expect:"));
    assert!(is_direct, "no round trip before a body");
}
