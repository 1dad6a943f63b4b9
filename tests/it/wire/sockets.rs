//! Servers that break HTTP, on real sockets: each has a bounded outcome, and the error states what is known.

use std::error::Error as _;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use azure_table::transport::ReqwestTransport;
use azure_table::{
    CallOptions, DynamicEntity, Emulator, EmulatorServer, Error, ErrorKind, NoRetry, TableClient, TableServiceClient,
};
use azure_table_tests::canned::CONTOSO;
use azure_table_tests::errors::kind_in_doubt;
use azure_table_tests::{Network, on_both_networks};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;

const ENTITY: &str = r#"{"odata.etag":"e","PartitionKey":"p","RowKey":"r"}"#;
pub(super) const WRITTEN: &str = "HTTP/1.1 204 No Content\r\nETag: e\r\nContent-Length: 0\r\n\r\n";
/// More than the buffers of a socket hold on both sides: bytes that were written and never read.
const BUFFERS: usize = 16 << 20;

/// A server that does the same to every connection.
pub(super) struct Sockets {
    pub(super) service: TableServiceClient,
    connections: Arc<AtomicUsize>,
    /// Bytes that were written after the head of a response.
    written: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Sockets {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One of its connections.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    /// The number of connections before it.
    number: usize,
    written: Arc<AtomicUsize>,
}

impl Sockets {
    /// Runs `act` on every connection, and closes it when `act` ends.
    pub(super) async fn doing<F: Future<Output = ()> + Send + 'static>(
        network: Network,
        act: impl Fn(Connection) -> F + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("{CONTOSO};TableEndpoint=http://{}/", listener.local_addr().unwrap());
        let (connections, written) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (counted, counter) = (Arc::clone(&connections), Arc::clone(&written));
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let number = counted.fetch_add(1, Ordering::SeqCst);
                let written = Arc::clone(&counter);
                tokio::spawn(act(Connection {
                    stream,
                    number,
                    written,
                }));
            }
        });
        Self {
            service: TableServiceClient::from_connection_string(&endpoint)
                .unwrap()
                .transport(network.transport()),
            connections,
            written,
            task,
        }
    }

    /// Reads a request and answers with `head`, then repeats `piece` until the client closes.
    async fn pouring(network: Network, head: &'static str, piece: Vec<u8>) -> Self {
        let piece: Arc<[u8]> = piece.into();
        Self::doing(network, move |mut connection| {
            let piece = Arc::clone(&piece);
            async move {
                connection.request().await;
                connection.write(head).await;
                while connection.stream.write_all(&piece).await.is_ok() {
                    connection.written.fetch_add(piece.len(), Ordering::SeqCst);
                }
            }
        })
        .await
    }

    pub(super) fn table(&self) -> TableClient<DynamicEntity> {
        self.service.dynamic_table("Things").unwrap()
    }

    /// Returns the error of a write that is not retried, after the common checks: one attempt, a short time, in doubt.
    async fn lost_write(&self) -> Error {
        let started = Instant::now();
        let insert = self
            .table()
            .insert(&DynamicEntity::new("p", "r"))
            .with(&CallOptions::new().retry(NoRetry));
        let error = insert.await.unwrap_err();
        assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
        assert!(error.may_have_applied(), "{error}");
        assert_eq!((error.attempts(), self.connections()), (1, 1), "{error}");
        error
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    fn written(&self) -> usize {
        self.written.load(Ordering::SeqCst)
    }
}

impl Connection {
    /// Reads a whole request; `false` if the client closed instead.
    pub(super) async fn request(&mut self) -> bool {
        self.head().await.is_some()
    }

    /// Reads a whole request and returns its head in lower case; `None` if the client closed instead.
    pub(super) async fn head(&mut self) -> Option<String> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.stream.read_u8().await.ok()?);
        }
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
        self.stream.read_exact(&mut body).await.ok()?;
        Some(head)
    }

    /// Writes. A client that has closed is not a fault of the server.
    pub(super) async fn write(&mut self, text: &str) {
        let _ = self.stream.write_all(text.as_bytes()).await;
    }
}

on_both_networks! {
    announced_body_of_ten_gigabytes_is_rejected_unread,
    endless_body_is_cut_at_the_limit,
    read_with_a_response_beyond_the_limit_is_not_retried,
    endless_headers_are_cut,
    response_byte_by_byte_ends_with_the_attempt_timeout,
    truncated_body_is_an_incomplete_response,
    read_with_a_broken_response_is_retried,
    bytes_that_are_not_http_are_a_broken_connection,
    response_may_end_with_its_connection,
    idle_connection_closed_by_the_server_is_not_a_failure,
    close_during_a_write_is_reported_correctly(flavor = "multi_thread", worker_threads = 2),
    unanswered_write_is_in_doubt,
    a_call_ends_in_time_on_a_server_that_never_answers,
}

fn entity() -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{ENTITY}",
        ENTITY.len()
    )
}

fn source(error: &Error) -> String {
    error.source().unwrap().to_string()
}

async fn announced_body_of_ten_gigabytes_is_rejected_unread(network: Network) {
    let head = "HTTP/1.1 201 Created\r\nContent-Length: 10000000000\r\n\r\n";
    let server = Sockets::pouring(network, head, vec![b' '; 1 << 16]).await;
    let error = server.lost_write().await;
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::InvalidResponse));
    let expected = "a response of at least 10000000000 bytes, more than the limit of 67108864, at http://127.0.0.1:";
    assert!(error.to_string().contains(expected), "{error}");
    assert!(source(&error).contains("`page_size`"), "{}", source(&error));
    assert!(server.written() < BUFFERS, "{}", server.written());
}

async fn endless_body_is_cut_at_the_limit(network: Network) {
    let mut chunk = b"10000\r\n".to_vec();
    chunk.resize(chunk.len() + 0x1_0000, b' ');
    chunk.extend_from_slice(b"\r\n");
    let server = Sockets::pouring(
        network,
        "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n",
        chunk,
    )
    .await;
    let error = server.lost_write().await;
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::InvalidResponse));
    assert!(
        error
            .to_string()
            .contains("more than the limit of 67108864, at http://"),
        "{error}"
    );
    assert!(
        (64 << 20..(64 << 20) + BUFFERS).contains(&server.written()),
        "{}",
        server.written()
    );

    // The same without chunks: the end of the body is the end of the connection.
    let server = Sockets::pouring(network, "HTTP/1.0 201 Created\r\n\r\n", vec![b' '; 1 << 16]).await;
    let error = server.lost_write().await;
    assert!(
        error
            .to_string()
            .contains("more than the limit of 67108864, at http://"),
        "{error}"
    );
}

async fn read_with_a_response_beyond_the_limit_is_not_retried(network: Network) {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 67108865\r\n\r\n";
    let server = Sockets::pouring(network, head, vec![b' '; 1 << 16]).await;
    let error = server.table().get(("p", "r")).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.attempts()),
        (ErrorKind::InvalidResponse, 1),
        "{error}"
    );
    let expected = "a response of at least 67108865 bytes, more than the limit of 67108864, at http://";
    assert!(error.to_string().contains(expected), "{error}");
    assert!(!error.may_have_applied());
}

async fn endless_headers_are_cut(network: Network) {
    let server = Sockets::pouring(
        network,
        "HTTP/1.1 201 Created\r\n",
        b"X-Header: value\r\n".repeat(4_096),
    )
    .await;
    let error = server.lost_write().await;
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::Connection));
    assert!(server.written() < BUFFERS, "{}", server.written());
    // One header without end is no better.
    let server = Sockets::pouring(network, "HTTP/1.1 201 Created\r\nX-Header: ", vec![b'x'; 1 << 16]).await;
    assert_eq!(kind_in_doubt(&server.lost_write().await), Some(ErrorKind::Connection));
    assert!(server.written() < BUFFERS, "{}", server.written());
}

async fn response_byte_by_byte_ends_with_the_attempt_timeout(network: Network) {
    for head in ["", "HTTP/1.1 201 Created\r\nContent-Length: 1000\r\n\r\n"] {
        let mut server = Sockets::doing(network, move |mut connection| async move {
            connection.request().await;
            connection.write(head).await;
            // A start line without end, or a body.
            let endless = format!("HTTP/1.1 201 {}", "x".repeat(1_000));
            for byte in endless.bytes() {
                connection.write(char::from(byte).encode_utf8(&mut [0; 4])).await;
                sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        server.service = server.service.attempt_timeout(Duration::from_millis(400));
        let started = Instant::now();
        let error = server.lost_write().await;
        assert_eq!(kind_in_doubt(&error), Some(ErrorKind::Timeout), "{error}");
        assert!(
            error
                .to_string()
                .contains("no response within the `attempt_timeout` of 400ms"),
            "{error}"
        );
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }
}

async fn truncated_body_is_an_incomplete_response(network: Network) {
    for response in [
        "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{\"odata",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{\"odata\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense",
    ] {
        for resets in [false, true] {
            let server = Sockets::doing(network, move |mut connection| async move {
                connection.request().await;
                connection.write(response).await;
                // Gives the response time to arrive, because a reset may discard it.
                sleep(Duration::from_millis(50)).await;
                if resets {
                    connection.stream.set_zero_linger().unwrap();
                }
            })
            .await;
            let error = server.lost_write().await;
            assert_eq!(kind_in_doubt(&error), Some(ErrorKind::Connection));
            assert!(
                error
                    .to_string()
                    .contains("the response broke off at http://127.0.0.1:"),
                "{response}: {error}"
            );
        }
    }
}

async fn read_with_a_broken_response_is_retried(network: Network) {
    for first in [
        "",
        "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{",
        "SSH-2.0-OpenSSH_9.6\r\n",
    ] {
        let server = Sockets::doing(network, move |mut connection| async move {
            while connection.request().await {
                if connection.number == 0 {
                    connection.write(first).await;
                    return;
                }
                connection.write(&entity()).await;
            }
        })
        .await;
        assert!(server.table().get(("p", "r")).await.unwrap().is_some(), "{first}");
        assert_eq!(server.connections(), 2);
    }
}

async fn bytes_that_are_not_http_are_a_broken_connection(network: Network) {
    for garbage in [
        "SSH-2.0-OpenSSH_9.6\r\n",
        "\0\0\0\0",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 abc\r\n\r\n",
        "\r\n\r\n\r\n",
        "",
    ] {
        let server = Sockets::doing(network, move |mut connection| async move {
            connection.request().await;
            connection.write(garbage).await;
        })
        .await;
        let error = server.lost_write().await;
        assert_eq!(kind_in_doubt(&error), Some(ErrorKind::Connection), "{garbage:?}");
        assert!(
            error
                .to_string()
                .contains("the connection broke before the response arrived"),
            "{garbage:?}: {error}"
        );
    }
}

async fn response_may_end_with_its_connection(network: Network) {
    let server = Sockets::doing(network, |mut connection| async move {
        connection.request().await;
        connection
            .write(&format!(
                "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{ENTITY}"
            ))
            .await;
    })
    .await;
    for _ in 0..3 {
        let row = server.table().get(("p", "r")).await.unwrap().unwrap();
        assert_eq!(row.row_key, "r");
    }
    assert_eq!(server.connections(), 3);
}

/// The server closes without notice after each response, as load balancers do. Returns it with the number of requests
/// that it has read.
async fn closing(network: Network) -> (Sockets, Arc<AtomicUsize>) {
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&requests);
    let server = Sockets::doing(network, move |mut connection| {
        let counter = Arc::clone(&counter);
        async move {
            if connection.request().await {
                counter.fetch_add(1, Ordering::SeqCst);
                connection.write(WRITTEN).await;
            }
        }
    });
    (server.await, requests)
}

async fn idle_connection_closed_by_the_server_is_not_a_failure(network: Network) {
    let (server, _) = closing(network).await;
    for _ in 0..5 {
        server.table().insert(&DynamicEntity::new("p", "r")).await.unwrap();
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(server.connections(), 5);
}

async fn close_during_a_write_is_reported_correctly(network: Network) {
    let (server, requests) = closing(network).await;
    let (mut written, mut in_doubt) = (0, 0);
    for _ in 0..200 {
        // Immediately: the client may see the close before or after it sends the request.
        match server
            .table()
            .insert(&DynamicEntity::new("p", "r"))
            .with(&CallOptions::new().retry(NoRetry))
            .await
        {
            Ok(_) => written += 1,
            Err(error) => {
                assert_eq!(kind_in_doubt(&error), Some(ErrorKind::Connection), "{error}");
                in_doubt += 1;
            }
        }
    }
    // Most are written: hyper saw the close in time and used another connection, or opened one and left it unused. The
    // rest were sent after the close, and never read. So nothing was sent twice.
    assert_eq!((requests.load(Ordering::SeqCst), written + in_doubt), (written, 200));
}

async fn unanswered_write_is_in_doubt(network: Network) {
    // The second request of the connection is read to its end; it is unknown if it was applied.
    let server = Sockets::doing(network, |mut connection| async move {
        if connection.request().await {
            connection
                .write(&if connection.number == 0 {
                    WRITTEN.to_owned()
                } else {
                    entity()
                })
                .await;
            connection.request().await;
        }
    })
    .await;
    let table = server.table();
    table.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    let error = server.lost_write().await;
    assert!(
        error
            .to_string()
            .contains("the connection broke before the response arrived"),
        "{error}"
    );
    assert!(table.get(("p", "r")).await.unwrap().is_some(), "a read may be repeated");
}

async fn a_call_ends_in_time_on_a_server_that_never_answers(network: Network) {
    let server = Sockets::doing(network, |connection| async move {
        let _open = connection;
        pending::<()>().await;
    })
    .await;
    let started = Instant::now();
    let error = server
        .table()
        .get(("p", "r"))
        .timeout(Duration::from_millis(300))
        .await
        .unwrap_err();
    assert_eq!((error.kind(), error.may_have_applied()), (ErrorKind::Timeout, false));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

/// The first response is lost after the service has applied the insert. The second copy would be refused a connection,
/// or be a conflict with the first.
#[tokio::test]
async fn retries_of_reqwest_hide_no_applied_insert() {
    for is_reachable in [false, true] {
        let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await.unwrap();
        let connection_string = server.connection_string();
        let service = server.address();
        let _running = server.spawn();
        let owner = TableServiceClient::from_connection_string(&connection_string).unwrap();
        let owner = owner.dynamic_table("Things").unwrap();
        owner.create_table().await.unwrap();

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let front = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut listener = Some(listener).filter(|_| is_reachable);
            let mut stream = TcpStream::connect(service).await.unwrap();
            let (mut response, mut request) = stream.split();
            tokio::select! {
                _ = copy(&mut client, &mut request) => {}
                byte = response.read_u8() => drop(byte.unwrap()),
            }
            drop(client);
            while let Some(listener) = &mut listener {
                let (mut client, _) = listener.accept().await.unwrap();
                let mut stream = TcpStream::connect(service).await.unwrap();
                let _ = copy_bidirectional(&mut client, &mut stream).await;
            }
        });
        let retries = reqwest::retry::for_host("127.0.0.1").no_budget();
        let retries = retries.classify_fn(|request| match request.status() {
            None => request.retryable(),
            Some(_) => request.success(),
        });
        let transport = ReqwestTransport::builder().configure(|client| client.no_proxy().retry(retries));
        let connection_string = connection_string.replace(&service.to_string(), &front.to_string());
        let client = TableServiceClient::from_connection_string(&connection_string).unwrap();
        let table = client
            .transport(transport.build().unwrap())
            .dynamic_table("Things")
            .unwrap();
        let insert = table.insert(&DynamicEntity::new("p", "r"));
        if is_reachable {
            insert.await.unwrap();
        } else {
            let error = insert.with(&CallOptions::new().retry(NoRetry)).await.unwrap_err();
            assert!(error.may_have_applied(), "{error:?}");
        }
        assert!(owner.get(("p", "r")).await.unwrap().is_some());
    }
}
