//! Connections that are opened before the first request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use azure_table::emulator::ServerCertificate;
use azure_table::testing::{Faults, Spy};
use azure_table::{
    AccountKey, CallOptions, DynamicEntity, Emulator, EmulatorServer, ErrorKind, NoRetry, TableClient,
    TableServiceClient,
};
use azure_table_tests::{Network, on_both_networks};
use futures::future::join_all;
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, KeyPair};
use tokio::time::sleep;

use super::sockets::{Sockets, WRITTEN};

on_both_networks! {
    warm_up_opens_connections_that_later_requests_use,
    idle_connections_count_and_are_kept_by_the_settings,
    warm_up_beyond_a_limit_is_rejected_unsent,
    warm_up_accepts_a_rejected_credential_but_not_an_unreachable_service,
    first_request_over_tls_is_faster_after_a_warm_up,
}

const PAGE: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"value\":[]}";

/// A server that answers pings, other requests with 204, and counts its requests.
async fn server(network: Network) -> (Sockets, Arc<AtomicUsize>) {
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&requests);
    let server = Sockets::doing(network, move |mut connection| {
        let requests = Arc::clone(&counter);
        async move {
            while let Some(head) = connection.head().await {
                requests.fetch_add(1, Ordering::SeqCst);
                let is_ping = head.starts_with("get /tables");
                connection.write(if is_ping { PAGE } else { WRITTEN }).await;
            }
        }
    })
    .await;
    (server, requests)
}

async fn warm_up_opens_connections_that_later_requests_use(network: Network) {
    for connections in [0, 1, 8, 100] {
        let (server, requests) = server(network).await;
        assert_eq!(server.service.warm_up(connections).await.unwrap(), connections);
        assert_eq!(requests.load(Ordering::SeqCst), connections);
        // Connections that the pool opened in vain may still arrive.
        sleep(Duration::from_millis(50)).await;
        assert_eq!(server.connections(), connections);
        let table = server.table();
        let writes = (0..connections).map(|n| table.insert(&DynamicEntity::new("p", n.to_string())));
        for written in join_all(writes).await {
            written.unwrap();
        }
        assert_eq!(server.connections(), connections);
    }
}

async fn idle_connections_count_and_are_kept_by_the_settings(network: Network) {
    let (mut server, _) = server(network).await;
    let transport = network.builder().pool_idle_timeout(Duration::from_millis(200));
    server.service = server.service.transport(transport.build().unwrap());
    server.service.warm_up(4).await.unwrap();
    sleep(Duration::from_millis(20)).await;
    server.service.warm_up(6).await.unwrap();
    assert_eq!(server.connections(), 6);
    sleep(Duration::from_millis(400)).await;
    server.service.warm_up(1).await.unwrap();
    assert_eq!(server.connections(), 7);
}

async fn warm_up_beyond_a_limit_is_rejected_unsent(network: Network) {
    let (server, requests) = server(network).await;
    let in_flight = server.service.max_in_flight(10);
    for (service, connections, limit) in [
        (
            &server.service,
            257,
            "257 connections: at most 256 are possible, by `max_connections` of the transport",
        ),
        (
            &in_flight,
            11,
            "11 connections: at most 10 are possible, by `max_in_flight` of the client",
        ),
    ] {
        let error = service.warm_up(connections).await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0));
        assert!(error.to_string().contains(limit), "{error}");
    }
    assert_eq!((requests.load(Ordering::SeqCst), server.connections()), (0, 0));
}

async fn warm_up_accepts_a_rejected_credential_but_not_an_unreachable_service(network: Network) {
    let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await.unwrap();
    let server = server.spawn();
    let endpoint = format!("http://{}/devstoreaccount1", server.address());
    let key = AccountKey::new("devstoreaccount1", "AAECAwQFBgc=").unwrap();
    let service = TableServiceClient::new(&endpoint, key)
        .unwrap()
        .transport(network.transport());
    assert_eq!(service.ping().await.unwrap_err().kind(), ErrorKind::Unauthenticated);
    assert_eq!(service.warm_up(2).await.unwrap(), 2);
    server.stop().await;
    let error = service
        .warm_up(2)
        .with(&CallOptions::new().retry(NoRetry))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
}

/// Prints the medians of 7 clients. Both ends are on this machine, so no network round trip is included.
async fn first_request_over_tls_is_faster_after_a_warm_up(network: Network) {
    const AT_ONCE: usize = 16;
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let pem = params.self_signed(&key).unwrap().pem();
    let certificate = ServerCertificate::from_pem(&pem, key.serialize_pem()).unwrap();
    let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await.unwrap();
    let server = server.https(certificate).spawn();
    let base = TableServiceClient::from_connection_string(server.connection_string()).unwrap();
    // The first client reads the certificates of the platform, once.
    let client = || base.transport(network.builder().root_certificates(&pem).build().unwrap());
    client().dynamic_table("Things").unwrap().create_table().await.unwrap();

    let (mut first, mut burst) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for _ in 0..7 {
        for warm in [0, 1] {
            let service = client();
            service.warm_up(warm * AT_ONCE).await.unwrap();
            let table: TableClient = service.dynamic_table("Things").unwrap();
            let started = Instant::now();
            table.get(("p", "r")).await.unwrap();
            first[warm].push(started.elapsed());

            let service = client();
            service.warm_up(warm * AT_ONCE).await.unwrap();
            let table: TableClient = service.dynamic_table("Things").unwrap();
            let started = Instant::now();
            for read in join_all((0..AT_ONCE).map(|_| table.get(("p", "r")))).await {
                read.unwrap();
            }
            burst[warm].push(started.elapsed());
        }
    }
    let medians = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2]
    };
    let ([first_cold, first_warm], [burst_cold, burst_warm]) = (first.map(medians), burst.map(medians));
    azure_table_tests::report::print(&format!(
        "{network:?} over TLS: the first request takes {first_cold:?}, {first_warm:?} after a warm-up; \
         {AT_ONCE} concurrent ones {burst_cold:?}, {burst_warm:?}"
    ));
    assert!(first_warm < first_cold && burst_warm < burst_cold);
    server.stop().await;
}

#[tokio::test]
async fn emulator_in_the_process_opens_no_connections() {
    let spy = Spy::new(Faults::new(Emulator::new()));
    let service = TableServiceClient::from_transport(spy.clone());
    assert_eq!(service.warm_up(1_000).await.unwrap(), 0);
    assert!(spy.exchanges().is_empty());
    let error = service.warm_up(1).request_text().unwrap_err();
    assert!(error.to_string().contains("nothing is sent"), "{error}");
}
