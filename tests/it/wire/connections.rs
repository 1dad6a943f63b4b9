//! The connection pool of a transport: when it opens and closes connections, and what it sends.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use azure_table::transport::{HttpTransport, Transport as _};
use azure_table::{CallOptions, DynamicEntity, ErrorKind, NoRetry, TableServiceClient};
use azure_table_tests::canned::CONTOSO;
use azure_table_tests::errors::kind_in_doubt;
use azure_table_tests::{Network, on_both_networks};
use http::Request;
use rcgen::ExtendedKeyUsagePurpose;
use tokio::io::AsyncReadExt as _;
use tokio::runtime::Builder;
use tokio::time::sleep;

use super::sockets::{Sockets, WRITTEN};
use azure_table_tests::network::tls_front::{Identity, TlsFront};

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
        let endpoint = format!("https://{host}:{}", front.address.port());
        let service = TableServiceClient::from_connection_string(&format!("{CONTOSO};TableEndpoint={endpoint}"));
        let transport = network.builder().root_certificates(&trusted.identity.certificate);
        let service = service.unwrap().transport(transport.build().unwrap());
        let table = service.dynamic_table("Things").unwrap();
        let error = table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.may_have_applied(), error.attempts()),
            (ErrorKind::Connection, false, 1),
            "{why}: {error:?}"
        );
        assert!(format!("{error:?}").contains(why), "{error:?}");
    }
}

async fn certificate_that_is_no_x509_is_rejected_by_build(network: Network) {
    let pem = "-----BEGIN CERTIFICATE-----\nbm8gY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n";
    let error = network.builder().root_certificates(pem).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    assert!(error.to_string().contains("no certificate of X.509"), "{error}");
}

/// The server accepts connections and sends nothing: the TLS handshake does not begin.
async fn connection_that_cannot_be_secured_in_time_sends_nothing(network: Network) {
    let server = Sockets::doing(network, |connection| async move {
        let _open = connection;
        pending::<()>().await;
    })
    .await;
    let transport = network.builder().connect_timeout(Duration::from_millis(200));
    let endpoint = server.service.endpoint().replace("http:", "https:");
    let service = TableServiceClient::from_connection_string(&format!("{CONTOSO};TableEndpoint={endpoint}")).unwrap();
    let table = service
        .transport(transport.build().unwrap())
        .dynamic_table("Things")
        .unwrap();
    let started = Instant::now();
    let insert = table
        .insert(&DynamicEntity::new("p", "r"))
        .with(&CallOptions::new().retry(NoRetry));
    let error = insert.await.unwrap_err();
    assert_eq!(
        (error.kind(), error.may_have_applied()),
        (ErrorKind::Connection, false),
        "{error}"
    );
    assert!(error.to_string().contains("no connection to the service"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

async fn idle_connection_is_closed_after_its_timeout(network: Network) {
    let mut server = Sockets::doing(network, |mut connection| async move {
        while connection.request().await {
            connection.write(WRITTEN).await;
        }
    })
    .await;
    let transport = network.builder().pool_idle_timeout(Duration::from_millis(200));
    server.service = server.service.transport(transport.build().unwrap());
    let insert = || server.table().insert(&DynamicEntity::new("p", "r"));
    insert().await.unwrap();
    insert().await.unwrap();
    assert_eq!(server.connections(), 1);
    sleep(Duration::from_millis(400)).await;
    insert().await.unwrap();
    assert_eq!(server.connections(), 2);
}

/// The server answers no request. The client closes the connection of a call that is dropped.
async fn dropped_call_closes_its_connection(network: Network) {
    let counters = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let [requests, closed] = counters.clone();
    let server = Sockets::doing(network, move |mut connection| {
        let [requests, closed] = counters.clone();
        async move {
            while connection.request().await {
                requests.fetch_add(1, Ordering::SeqCst);
            }
            closed.fetch_add(1, Ordering::SeqCst);
        }
    })
    .await;
    let call = tokio::spawn(server.table().get(("p", "r")));
    while requests.load(Ordering::SeqCst) == 0 {
        sleep(Duration::from_millis(5)).await;
    }
    call.abort();
    while closed.load(Ordering::SeqCst) == 0 {
        sleep(Duration::from_millis(5)).await;
    }
    assert_eq!((requests.load(Ordering::SeqCst), server.connections()), (1, 1));
}

/// A runtime that does not run drives no connection.
#[test]
fn runtimes_that_take_turns_do_not_share_connections() {
    let runtime = |builder: &mut Builder| builder.enable_all().build().unwrap();
    let of_server = runtime(Builder::new_multi_thread().worker_threads(1));
    let mut server = of_server.block_on(Sockets::doing(Network::Hyper, |mut connection| async move {
        while connection.request().await {
            connection.write(WRITTEN).await;
        }
    }));
    let runtimes = [(); 3].map(|()| runtime(&mut Builder::new_current_thread()));
    for (limit, connections) in [(Some(1), 3), (None, 6)] {
        let transport = HttpTransport::builder().max_connections(limit).build().unwrap();
        server.service = server
            .service
            .transport(transport)
            .attempt_timeout(Duration::from_secs(3));
        for runtime in runtimes.iter().chain(&runtimes) {
            let insert = server.table().insert(&DynamicEntity::new("p", "r"));
            runtime
                .block_on(insert.with(&CallOptions::new().retry(NoRetry)))
                .unwrap();
        }
        assert_eq!(server.connections(), connections);
    }
}

#[tokio::test]
async fn idle_connections_are_limited_on_request() {
    let mut server = Sockets::doing(Network::Hyper, |mut connection| async move {
        while connection.request().await {
            connection.write(WRITTEN).await;
        }
    })
    .await;
    let transport = HttpTransport::builder().pool_max_idle_per_host(0).build().unwrap();
    server.service = server.service.transport(transport);
    for _ in 0..3 {
        server.table().insert(&DynamicEntity::new("p", "r")).await.unwrap();
    }
    assert_eq!(server.connections(), 3);
    let table = server.table();
    let row = DynamicEntity::new("p", "r");
    futures::future::join_all((0..20).map(|_| async { table.insert(&row).await.unwrap() })).await;
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
        let insert = server
            .table()
            .insert(&DynamicEntity::new("p", "r"))
            .with(&CallOptions::new().retry(NoRetry));
        let error = insert.await.unwrap_err();
        let kind = kind_in_doubt(&error).unwrap_or(error.kind());
        assert_eq!(kind, ErrorKind::Connection, "{error}");
        sleep(Duration::from_millis(2)).await;
        // The server read one byte of the request, so it is in doubt.
        assert!(
            error.may_have_applied() || read.load(Ordering::SeqCst) == before,
            "{error}"
        );
        unsent += usize::from(!error.may_have_applied());
    }
    assert!(unsent > 0);
}

/// The service sees no difference: the same lines in any order.
#[tokio::test]
async fn both_transports_send_the_same_heads() {
    let mut heads = Vec::new();
    for network in [Network::Reqwest, Network::Hyper] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let keeper = Arc::clone(&seen);
        let server = Sockets::doing(network, move |mut connection| {
            let keeper = Arc::clone(&keeper);
            async move {
                while let Some(head) = connection.head().await {
                    keeper.lock().unwrap().push(head);
                    connection.write(WRITTEN).await;
                }
            }
        })
        .await;
        let (base, transport) = (server.service.endpoint(), network.transport());
        for (method, path, body) in [
            (
                "GET",
                "/a/Things(PartitionKey='%C3%A4',RowKey='..')?$filter=a%20eq%201",
                "",
            ),
            ("DELETE", "/a/Things(PartitionKey='p',RowKey='%2F')", ""),
            ("POST", "/a/Things", "{}"),
            ("PUT", "/a/Things", ""),
        ] {
            let request = Request::builder().method(method).uri(format!("{base}{path}"));
            let request = request
                .header("accept", "application/json")
                .header("x-ms-version", "2019-02-02");
            transport.send(request.body(body.into()).unwrap()).await.unwrap();
        }
        let host = base.trim_start_matches("http://").split('/').next().unwrap().to_owned();
        let sorted = |head: &String| {
            let mut lines: Vec<_> = head.lines().map(|line| line.replace(&host, "host")).collect();
            lines.sort();
            lines
        };
        heads.push(seen.lock().unwrap().iter().map(sorted).collect::<Vec<_>>());
    }
    assert_eq!(heads[0].len(), 4);
    assert_eq!(heads[0], heads[1]);
    let mut lines = heads[0].iter().flatten();
    assert!(
        lines.all(|line| !line.starts_with("expect:")),
        "no round trip before a body"
    );
}
