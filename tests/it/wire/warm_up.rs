//! Connections that are opened before the first request.

use std::time::{Duration, Instant};

use azure_table::emulator::ServerCertificate;
use azure_table::testing::Spy;
use azure_table::{AccountKey, DynamicEntity, Emulator, EmulatorServer, ErrorKind, TableClient, TableServiceClient};
use azure_table_tests::canned::no_retry;
use azure_table_tests::errors::{assert_contains, assert_error};
use azure_table_tests::network::serve;
use azure_table_tests::network::tls_front::Identity;
use azure_table_tests::{Network, on_both_networks};
use cpu_time::ThreadTime;
use futures::future::join_all;
use rcgen::ExtendedKeyUsagePurpose;
use tokio::time::sleep;

use super::sockets::Sockets;

on_both_networks! {
    warm_up_opens_connections_that_later_requests_use,
    idle_connections_count_and_are_kept_by_the_settings,
    warm_up_beyond_a_limit_is_rejected_unsent,
    warm_up_accepts_a_rejected_credential_but_not_an_unreachable_service,
    first_request_over_tls_is_faster_after_a_warm_up,
}

async fn warm_up_opens_connections_that_later_requests_use(network: Network) {
    for connections in [0, 1, 8, 100] {
        let server = Sockets::answering(network).await;
        assert_eq!(server.service.warm_up(connections).await.unwrap(), connections);
        assert_eq!(server.heads().len(), connections);
        if connections > 0 {
            let text = server.service.warm_up(connections).request_text().unwrap();
            assert!(
                text.starts_with("GET http://127.0.0.1:") && text.contains("/Tables?$top=1"),
                "{text}"
            );
        }
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
    let server = Sockets::answering(network).await;
    server.service.warm_up(4).await.unwrap();
    sleep(Duration::from_millis(20)).await;
    server.service.warm_up(6).await.unwrap();
    assert_eq!(server.connections(), 6);

    let brief = network.builder().pool_idle_timeout(Duration::from_millis(50));
    let server = server.over(brief.build().unwrap());
    server.service.warm_up(1).await.unwrap();
    sleep(Duration::from_millis(400)).await;
    server.service.warm_up(1).await.unwrap();
    assert_eq!(server.connections(), 8);
}

async fn warm_up_beyond_a_limit_is_rejected_unsent(network: Network) {
    let server = Sockets::answering(network).await;
    let in_flight = server.service.max_in_flight(10);
    for (service, connections, limit) in [
        (
            &server.service,
            257,
            "256 are possible, by `max_connections` of the transport",
        ),
        (&in_flight, 11, "10 are possible, by `max_in_flight` of the client"),
    ] {
        let error = service.warm_up(connections).await.unwrap_err();
        let expected = format!("{connections} connections: at most {limit}");
        assert_error(&error, ErrorKind::InvalidInput, &expected);
        assert_eq!(error.attempts(), 0);
    }
    assert_eq!((server.heads().len(), server.connections()), (0, 0));
}

async fn warm_up_accepts_a_rejected_credential_but_not_an_unreachable_service(network: Network) {
    let (server, _) = serve(Emulator::new()).await;
    let endpoint = format!("http://{}/devstoreaccount1", server.address());
    let key = AccountKey::new("devstoreaccount1", "AAECAwQFBgc=").unwrap();
    let service = TableServiceClient::new(&endpoint, key).unwrap();
    let service = service.transport(network.transport());
    assert_eq!(service.ping().await.unwrap_err().kind(), ErrorKind::Unauthenticated);
    assert_eq!(service.warm_up(2).await.unwrap(), 2);
    server.stop().await;
    let error = service.warm_up(2).with(&no_retry()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
}

/// Prints the medians of 7 clients. Both ends are on this machine, so no network round trip is included. Both are also on
/// this thread, so its CPU time has the handshakes, and no time of other programs.
async fn first_request_over_tls_is_faster_after_a_warm_up(network: Network) {
    const AT_ONCE: usize = 16;
    let Identity { certificate: pem, key } = Identity::of(ExtendedKeyUsagePurpose::ServerAuth);
    let certificate = ServerCertificate::from_pem(&pem, key).unwrap();
    let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await.unwrap();
    let server = server.https(certificate).spawn();
    let base = TableServiceClient::from_connection_string(server.connection_string()).unwrap();
    // The first client reads the certificates of the platform, once.
    let client = || base.transport(network.builder().root_certificates(&pem).build().unwrap());
    client().dynamic_table("Things").unwrap().create_table().await.unwrap();

    let (mut first, mut burst) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for _ in 0..7 {
        for warm in [0, 1] {
            let table = async || -> TableClient {
                let service = client();
                service.warm_up(warm * AT_ONCE).await.unwrap();
                service.dynamic_table("Things").unwrap()
            };
            let (one, many) = (table().await, table().await);
            let started = (Instant::now(), ThreadTime::now());
            one.get(("p", "r")).await.unwrap();
            first[warm].push((started.0.elapsed(), started.1.elapsed()));

            let started = (Instant::now(), ThreadTime::now());
            for read in join_all((0..AT_ONCE).map(|_| many.get(("p", "r")))).await {
                read.unwrap();
            }
            burst[warm].push((started.0.elapsed(), started.1.elapsed()));
        }
    }
    let median = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2]
    };
    let medians = |times: Vec<(Duration, Duration)>| {
        let (elapsed, cpu) = times.into_iter().unzip();
        (median(elapsed), median(cpu))
    };
    let ([first_cold, first_warm], [burst_cold, burst_warm]) = (first.map(medians), burst.map(medians));
    azure_table_tests::report::print(&format!(
        "{network:?} over TLS: the first request takes {:?}, {:?} after a warm-up; \
         {AT_ONCE} concurrent ones {:?}, {:?}",
        first_cold.0, first_warm.0, burst_cold.0, burst_warm.0
    ));
    assert!(2 * first_warm.1 < first_cold.1, "{first_warm:?} {first_cold:?}");
    assert!(2 * burst_warm.1 < burst_cold.1, "{burst_warm:?} {burst_cold:?}");
    server.stop().await;
}

#[azure_table::test]
async fn emulator_in_the_process_opens_no_connections(service: TableServiceClient, spy: Spy) {
    assert_eq!(service.warm_up(1_000).await.unwrap(), 0);
    assert!(spy.exchanges().is_empty());
    let error = service.warm_up(1).request_text().unwrap_err();
    assert_contains(error, "nothing is sent");
}
