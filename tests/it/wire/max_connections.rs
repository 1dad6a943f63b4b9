//! The limit of connections: how many are open, which requests wait, and what an error says.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use azure_table::emulator::SeedEntities as _;
use azure_table::transport::{BoxFuture, HttpTransport, Transport, TransportError};
use azure_table::{CallOptions, DynamicEntity, Emulator, ErrorKind, NoRetry, Profile, TableClient, TableServiceClient};
use azure_table_tests::canned::{CONTOSO, no_retry};
use azure_table_tests::errors::{assert_contains, assert_error};
use azure_table_tests::network::serve;
use azure_table_tests::process;
use azure_table_tests::{Network, NetworkBuilder, on_both_networks};
use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::join_all;
use http::{Request, Response};
use tokio::time::{sleep, timeout};

use super::sockets::{Sockets, WRITTEN};

/// The default of both transports.
const LIMIT: usize = 256;

on_both_networks! {
    burst_opens_at_most_the_limit_and_idle_connections_are_closed,
    requests_beyond_the_limit_wait_in_order,
    request_that_waited_until_its_timeout_was_not_sent,
    request_that_nobody_polls_does_not_stop_others_for_ever,
    limit_can_be_removed,
    streams_leave_the_only_connection_to_calls_for_their_rows,
}

/// The current and the highest value of a counter.
#[derive(Debug, Default)]
struct Gauge {
    now: AtomicUsize,
    peak: AtomicUsize,
}

impl Gauge {
    fn up(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.peak.fetch_max(now, Ordering::SeqCst);
    }

    fn down(&self) {
        self.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A server that holds its requests until a number of them is in flight.
async fn server(network: Network, builder: NetworkBuilder, wanted: usize) -> (Sockets, Arc<Gauge>, Arc<Gauge>) {
    let (open, busy) = (Arc::new(Gauge::default()), Arc::new(Gauge::default()));
    let gauges = (Arc::clone(&open), Arc::clone(&busy));
    let server = Sockets::doing(network, move |mut connection| {
        let (open, busy) = gauges.clone();
        async move {
            open.up();
            while connection.request().await {
                busy.up();
                sleep(Duration::from_millis(5)).await;
                while busy.peak.load(Ordering::SeqCst) < wanted {
                    sleep(Duration::from_millis(5)).await;
                }
                busy.down();
                connection.write(WRITTEN).await;
            }
            open.down();
        }
    })
    .await;
    (server.over(builder.build().unwrap()), open, busy)
}

async fn burst(table: &TableClient, requests: usize) {
    let writes = (0..requests).map(|n| {
        let write = table.insert(&DynamicEntity::new("p", n.to_string()));
        tokio::spawn(async move { write.await.map(drop) })
    });
    for outcome in join_all(writes).await {
        outcome.unwrap().unwrap();
    }
}

async fn burst_opens_at_most_the_limit_and_idle_connections_are_closed(network: Network) {
    let idle = Duration::from_millis(500);
    let (server, open, busy) = server(network, network.builder().pool_idle_timeout(idle), 1).await;
    burst(&server.table(), 1_000).await;
    assert_eq!(server.service.settings().max_connections(), Some(LIMIT));
    assert!(busy.peak.load(Ordering::SeqCst) <= LIMIT);
    // reqwest has no limit of its own: its pool also keeps connections that no request needed.
    let most = LIMIT * if network == Network::Hyper { 1 } else { 2 };
    assert!(open.peak.load(Ordering::SeqCst) <= most, "{open:?}");
    let closed = async {
        while open.now.load(Ordering::SeqCst) > 0 {
            sleep(idle / 10).await;
        }
    };
    timeout(process::LIMIT, closed).await.unwrap();
}

async fn requests_beyond_the_limit_wait_in_order(network: Network) {
    let one = network.builder().max_connections(Some(1)).build().unwrap();
    let server = Sockets::answering(network).await.over(one);
    let table = server.table();
    join_all((0..20).map(|n| table.delete(("p", format!("{n:02}"))))).await;
    let heads = server.heads();
    let lines: Vec<_> = heads.iter().map(|head| head.lines().next().unwrap()).collect();
    assert_eq!(lines.len(), 20);
    assert!(lines.is_sorted(), "{lines:#?}");
}

/// A transport of a program, without the limit of the one inside.
#[derive(Debug)]
struct Wrapper(HttpTransport);

impl Transport for Wrapper {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        self.0.send(request)
    }
}

/// A transport of a program that names the one inside.
#[derive(Debug)]
struct Outer<T>(T);

impl<T: Transport> Transport for Outer<T> {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        self.0.send(request)
    }

    fn behind(&self) -> Option<&dyn Transport> {
        Some(&self.0)
    }
}

#[tokio::test]
async fn transport_that_wraps_another_one_is_asked_as_the_one_behind() {
    let limited = Outer(HttpTransport::builder().max_connections(4).build().unwrap());
    assert!(limited.connection_limit().is_some() && limited.opens_connections());
    assert_eq!(limited.profile(), None);
    let emulated = Outer(Outer(Emulator::cosmos()));
    assert!(emulated.connection_limit().is_none() && !emulated.opens_connections());
    assert_eq!(emulated.profile(), Some(Profile::Cosmos));
}

/// Each request takes longer than opening a connection may take.
#[tokio::test]
async fn wait_for_a_connection_is_no_failure_to_connect() {
    let server = Sockets::doing(Network::Hyper, |mut connection| async move {
        while connection.request().await {
            sleep(Duration::from_millis(300)).await;
            connection.write(WRITTEN).await;
        }
    })
    .await;
    let transport = HttpTransport::builder().max_connections(4);
    let transport = transport.connect_timeout(Duration::from_millis(200)).build().unwrap();
    let mut server = server.over(Wrapper(transport));
    server.service = server.service.retry(NoRetry);
    burst(&server.table(), 16).await;
    assert_eq!(server.connections(), 4);
}

#[tokio::test]
async fn long_wait_for_a_connection_names_the_limit() {
    let transport = HttpTransport::builder().max_connections(1).build().unwrap();
    let server = Sockets::silent(Network::Hyper).await.over(Wrapper(transport));
    let first = tokio::spawn(server.table().insert(&DynamicEntity::new("p", "1")));
    while server.connections() == 0 {
        sleep(Duration::from_millis(5)).await;
    }
    tokio::time::pause();
    let error = server.insert().await.unwrap_err();
    assert_error(&error, ErrorKind::Connection, "no connection");
    let advice = "none of 1 connections was free within 30s: raise `max_connections`";
    assert_contains(format!("{error:?}"), advice);
    first.abort();
}

/// The error of a second request, while a first one that nobody polls has the only connection.
async fn waiting_error(network: Network, options: &CallOptions) -> String {
    let one = network.builder().max_connections(Some(1)).build().unwrap();
    let server = Sockets::silent(network).await.over(one);
    let table = server.table();
    let mut first = pin!(table.insert(&DynamicEntity::new("p", "1")));
    assert!(first.as_mut().now_or_never().is_none());
    let second = table.insert(&DynamicEntity::new("p", "2"));
    let error = second.with(options).await.unwrap_err();
    assert_error(&error, ErrorKind::Timeout, "for one of 1 connections");
    assert_contains(&error, "`max_connections`");
    error.to_string()
}

async fn request_that_waited_until_its_timeout_was_not_sent(network: Network) {
    let options = CallOptions::new().timeout(Duration::from_millis(100));
    let error = waiting_error(network, &options).await;
    assert_contains(error, "the time limit of the call ended while the request waited ");
}

async fn request_that_nobody_polls_does_not_stop_others_for_ever(network: Network) {
    let options = CallOptions::new().attempt_timeout(Duration::from_millis(100));
    let error = waiting_error(network, &options).await;
    assert_contains(error, "no request in flight ended");
}

async fn limit_can_be_removed(network: Network) {
    let (server, _, _) = server(network, network.builder().max_connections(None), 2 * LIMIT).await;
    let table = server.table();
    let all = burst(&table, 2 * LIMIT);
    timeout(process::LIMIT, all).await.unwrap();
    assert_eq!(server.service.settings().max_connections(), None);
}

#[cfg(unix)]
#[tokio::test]
async fn error_of_too_many_open_files_names_the_setting() {
    let program = std::env::current_exe().unwrap();
    let few = r#"ulimit -n 40 && exec "$0" --ignored --exact "$1""#;
    let test = "wire::max_connections::burst_with_forty_file_handles";
    let mut command = std::process::Command::new("sh");
    let output = command.args(["-c", few]).arg(program).arg(test).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_contains(text, "1 passed");
}

#[tokio::test]
#[ignore = "needs few file handles: error_of_too_many_open_files_names_the_setting runs it"]
async fn burst_with_forty_file_handles() {
    for network in [Network::Reqwest, Network::Hyper] {
        // Connections wait there until they are accepted.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("{CONTOSO};TableEndpoint=http://{}/", listener.local_addr().unwrap());
        let service = TableServiceClient::from_connection_string(&endpoint).unwrap();
        let service = service.transport(network.transport());
        let options = no_retry().attempt_timeout(Duration::from_secs(1));
        let table = service.dynamic_table("Things").unwrap().with(&options);
        let writes = join_all((0..60).map(|n| table.delete(("p", n.to_string())))).await;
        let errors = writes.into_iter().map(|write| write.unwrap_err());
        let mut unsent = errors.filter(|error| error.kind() == ErrorKind::Connection);
        let error = unsent.next().expect("handles do not suffice");
        let advice = "too many open files; lower `max_connections`";
        assert_error(&error, ErrorKind::Connection, advice);
        assert_contains(&error, "(256)");
    }
}

/// Pages, parts, reads and bulks each use the connection only while they are polled.
async fn streams_leave_the_only_connection_to_calls_for_their_rows(network: Network) {
    let emulator = Emulator::new();
    let rows = (0..200).map(|n| DynamicEntity::new(format!("p{}", n % 8), n.to_string()));
    emulator.seed("Things", rows).unwrap();
    let (_server, service) = serve(emulator).await;
    let one = network.builder().max_connections(Some(1)).build().unwrap();
    let table = service.transport(one).dynamic_table("Things").unwrap();
    let read = |row: &DynamicEntity| table.get((row.partition_key.clone(), row.row_key.clone()));
    let work = async {
        let mut stream = table.query().page_size(10).prefetch(1).stream();
        let mut keys = Vec::new();
        while let Some(row) = stream.try_next().await.unwrap() {
            read(&row).await.unwrap();
            keys.push((row.partition_key.clone(), row.row_key.clone()));
        }
        let partitions = (0..8).map(|n| format!("p{n}"));
        let mut parts = table.query().page_size(10).fan_out().partitions(partitions).stream();
        while let Some(row) = parts.try_next().await.unwrap() {
            read(&row).await.unwrap();
        }
        let mut many = table.get_many(keys);
        while let Some((_, row)) = many.try_next().await.unwrap() {
            read(&row.unwrap()).await.unwrap();
        }
        let update = table.update_where(table.query(), |row| drop(row.insert("V", 1)));
        update.await.unwrap().applied()
    };
    assert_eq!(timeout(process::LIMIT, work).await.unwrap(), 200);
}
