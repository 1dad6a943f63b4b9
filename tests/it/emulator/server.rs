//! The shutdown of a server, and the addresses that it reports.

use std::sync::Arc;
use std::time::Duration;

use azure_table::emulator::SeedEntities as _;
use azure_table::{DynamicEntity, Emulator, EmulatorServer, Filter, NoRetry, TableServiceClient};
use azure_table_tests::entities::Numbered;
use azure_table_tests::intercept::Intercept;
use azure_table_tests::network::serve;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::Instant;

#[tokio::test]
async fn request_in_flight_is_answered_before_shutdown() {
    let at_once = Emulator::new();
    at_once.seed("Blogs", [DynamicEntity::new("p", "before")]).unwrap();
    let (arrived, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let notify = (Arc::clone(&arrived), Arc::clone(&release));
    let server = EmulatorServer::bind(at_once.clone(), "127.0.0.1:0").await.unwrap();
    let server = server.through(|emulator| {
        Intercept::new(emulator, move |emulator, request| {
            let (arrived, release) = notify.clone();
            async move {
                arrived.notify_one();
                release.notified().await;
                emulator.send(request).await
            }
        })
    });
    let running = server.spawn();
    let service = TableServiceClient::from_connection_string(running.connection_string()).unwrap();
    let blogs = service.dynamic_table("Blogs").unwrap();
    let insert = tokio::spawn(blogs.insert(&DynamicEntity::new("p", "r")).into_future());
    arrived.notified().await;
    assert_eq!(at_once.snapshot().entity_count(), 1, "it is on its way");

    // The shutdown began long before.
    tokio::join!(running.stop(), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        release.notify_one();
    });
    insert.await.unwrap().unwrap();
    assert_eq!(at_once.snapshot().entity_count(), 2);
    service.retry(NoRetry).ping().await.unwrap_err();
}

#[tokio::test]
async fn idle_connection_does_not_delay_shutdown() {
    let (running, service) = serve(Emulator::new()).await;
    let address = running.address();
    // One connection that was used, and one that never sent anything.
    service.ping().await.unwrap();
    let mut silent = TcpStream::connect(address).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    // A shutdown that waited for a client would let the clock jump to its limit.
    tokio::time::pause();
    let started = Instant::now();
    running.stop().await;
    assert_eq!(started.elapsed(), Duration::ZERO);
    assert_eq!(silent.read(&mut [0; 8]).await.unwrap_or(0), 0, "it is closed");
    // The port is free again.
    EmulatorServer::bind(Emulator::new(), address).await.unwrap();
}

#[tokio::test]
async fn unspecified_address_is_reported_as_a_reachable_one() {
    // Port 0 on all addresses would accept foreign connections: the test checks only the text, and serves nothing.
    let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await.unwrap();
    let port = server.address().port();
    let endpoint = format!("TableEndpoint=http://127.0.0.1:{port}/devstoreaccount1;");
    assert!(server.connection_string().ends_with(&endpoint));
    assert_eq!(server.connection_string_of("nobody"), None);
}

#[tokio::test]
async fn cosmos_works_with_the_connection_string_of_the_server() {
    let (running, service) = serve(Emulator::cosmos()).await;
    let blogs = service.dynamic_table("Blogs").unwrap();
    blogs.create_table().await.unwrap();
    let mut blog = DynamicEntity::new("p", "r");
    blog.insert("A", 1);
    blogs.insert(&blog).await.unwrap();
    let mut change = DynamicEntity::new("p", "r");
    change.insert("B", 2);
    blogs.insert_or_merge(&change).await.unwrap();
    let mut batch = blogs.batch();
    change.insert("C", 3);
    batch.insert_or_merge(&change).unwrap();
    batch.submit().await.unwrap();
    let merged = blogs.get(("p", "r")).await.unwrap().unwrap();
    for (name, value) in [("A", 1), ("B", 2), ("C", 3)] {
        assert_eq!(merged.property::<i32>(name).unwrap(), value);
    }
    // It is still Cosmos DB.
    let long = DynamicEntity::new("p", "r".repeat(300));
    assert_eq!(blogs.insert(&long).await.unwrap_err().status(), Some(400));
    running.stop().await;
}

#[tokio::test]
async fn too_long_url_is_rejected_by_the_server() {
    let (running, _) = serve(Emulator::new()).await;
    let address = running.address();
    let base = "http://h/devstoreaccount1/";
    // Beyond 64 KiB, the server does not even read it.
    for (length, status) in [(32_767, "404"), (32_768, "414"), (60 << 10, "414"), (66 << 10, "414")] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let path = "a".repeat(length - base.len());
        let head = format!("GET /devstoreaccount1/{path} HTTP/1.1\r\nHost: h\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut response = [0; 12];
        stream.read_exact(&mut response).await.unwrap();
        let response = String::from_utf8_lossy(&response).into_owned();
        assert_eq!(response, format!("HTTP/1.1 {}", status), "{length}");
    }
    running.stop().await;
}

/// The program serves on one thread. A request on one connection has to wait for a turn of a query on another, not for
/// its end. The turns are measured next to the emulator; here the number of reads shows that sockets have turns too. The
/// client is on the same thread, so the number does not depend on how fast the machine runs either of them.
#[tokio::test]
async fn point_reads_over_http_are_answered_while_a_long_scan_runs() {
    let emulator = Emulator::new();
    let rows = (0..6_000).map(|n| Numbered::new("p", n, 7));
    emulator.seed("Blogs", rows).unwrap();
    let (running, service) = serve(emulator).await;
    let blogs = service.table::<Numbered>("Blogs").unwrap();
    let filter: Vec<String> = (1_000..2_200).map(|n| format!("count eq {n}")).collect();
    let filter = Filter::raw(filter.join(" or "));
    blogs.get(("p", 3_000)).await.unwrap().unwrap();
    let scan = tokio::spawn(blogs.query().filter(filter).all().into_future());
    let mut reads = 0;
    while !scan.is_finished() {
        blogs.get(("p", 3_000)).await.unwrap().unwrap();
        reads += 1;
    }
    assert_eq!(scan.await.unwrap().unwrap(), []);
    assert!(reads >= 20, "{reads} reads");
    running.stop().await;
}
