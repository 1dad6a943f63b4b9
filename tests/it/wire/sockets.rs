//! Servers that break HTTP, on real sockets: each has a bounded outcome, and the error states what is known.

use std::error::Error as _;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::transport::{ReqwestTransport, Transport};
use azure_table::{DynamicEntity, ETag, Emulator, ErrorKind, TableClient, TableServiceClient};
use azure_table_tests::canned::{CONTOSO, no_retry};
use azure_table_tests::errors::{assert_contains, assert_error, kind_in_doubt};
use azure_table_tests::network::serve;
use azure_table_tests::process::LIMIT;
use azure_table_tests::{Network, on_all_networks};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

const ENTITY: &str = r#"{"odata.etag":"e","PartitionKey":"p","RowKey":"r"}"#;
pub(super) const WRITTEN: &str = "HTTP/1.1 204 No Content\r\nETag: e\r\nContent-Length: 0\r\n\r\n";
/// More than the buffers of a socket hold on both sides: bytes that were written and never read.
const BUFFERS: usize = 16 << 20;

/// A server that does the same to every connection.
pub(super) struct Sockets {
    pub(super) service: TableServiceClient,
    seen: Arc<Seen>,
    task: JoinHandle<()>,
}

/// What a server has seen.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    /// The heads of the requests that were read to their end.
    heads: Mutex<Vec<String>>,
    /// Bytes that were written after the head of a response.
    written: AtomicUsize,
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
    seen: Arc<Seen>,
}

impl Sockets {
    /// Runs `act` on every connection, and closes it when `act` ends.
    pub(super) async fn doing<F: Future<Output = ()> + Send + 'static>(
        network: Network,
        act: impl Fn(Connection) -> F + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("{CONTOSO};TableEndpoint=http://{}/", listener.local_addr().unwrap());
        let service = TableServiceClient::from_connection_string(&endpoint).unwrap();
        let seen = Arc::new(Seen::default());
        let of_task = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let number = of_task.connections.fetch_add(1, Ordering::SeqCst);
                let seen = Arc::clone(&of_task);
                tokio::spawn(act(Connection { stream, number, seen }));
            }
        });
        Self {
            service: service.transport(network.transport()).attempt_timeout(LIMIT),
            seen,
            task,
        }
    }

    /// Answers every request, a ping with an empty list.
    pub(super) async fn answering(network: Network) -> Self {
        const PAGE: &str =
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"value\":[]}";
        Self::doing(network, |mut connection| async move {
            while let Some(head) = connection.head().await {
                let is_ping = head.starts_with("get /tables");
                connection.write(if is_ping { PAGE } else { WRITTEN }).await;
            }
        })
        .await
    }

    /// Accepts connections, and neither reads nor answers.
    pub(super) async fn silent(network: Network) -> Self {
        Self::doing(network, |connection| async move {
            let _open = connection;
            pending::<()>().await;
        })
        .await
    }

    /// Returns the server with a client that has this transport.
    pub(super) fn over(mut self, transport: impl Transport) -> Self {
        self.service = self.service.transport(transport);
        self
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
                    connection.seen.written.fetch_add(piece.len(), Ordering::SeqCst);
                }
            }
        })
        .await
    }

    pub(super) fn table(&self) -> TableClient<DynamicEntity> {
        self.service.dynamic_table("Things").unwrap()
    }

    /// Inserts a row, without retries.
    pub(super) async fn insert(&self) -> azure_table::Result<ETag> {
        let row = DynamicEntity::new("p", "r");
        self.table().insert(&row).with(&no_retry()).await
    }

    /// Returns the kind of the failure of a write that is not retried, after the common checks: one attempt, in doubt,
    /// and this message. The message of a write that only a time limit ends is another one.
    async fn lost_write(&self, message: &str) -> Option<ErrorKind> {
        let error = self.insert().await.unwrap_err();
        assert_error(&error, ErrorKind::InDoubt, message);
        assert_eq!((error.attempts(), self.connections()), (1, 1), "{error}");
        kind_in_doubt(&error)
    }

    pub(super) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// Returns the heads of the requests that were read to their end, in lower case.
    pub(super) fn heads(&self) -> Vec<String> {
        self.seen.heads.lock().unwrap().clone()
    }

    fn written(&self) -> usize {
        self.seen.written.load(Ordering::SeqCst)
    }
}

impl Connection {
    /// Reads a whole request; `false` if the client closed instead.
    pub(super) async fn request(&mut self) -> bool {
        self.head().await.is_some()
    }

    /// Reads a whole request and returns its head in lower case; `None` if the client closed instead.
    pub(super) async fn head(&mut self) -> Option<String> {
        let head = read_head(&mut self.stream).await?.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
        self.stream.read_exact(&mut body).await.ok()?;
        self.seen.heads.lock().unwrap().push(head.clone());
        Some(head)
    }

    /// Writes. A client that has closed is not a fault of the server.
    pub(super) async fn write(&mut self, text: &str) {
        let _ = self.stream.write_all(text.as_bytes()).await;
    }
}

/// Reads the head of a request; `None` if the client closed instead.
pub(super) async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8(head).unwrap())
}

on_all_networks! {
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
    insert_that_arrives_late_is_not_reported_as_failed,
}

fn entity() -> String {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json";
    format!("{head}\r\nContent-Length: {}\r\n\r\n{ENTITY}", ENTITY.len())
}

async fn announced_body_of_ten_gigabytes_is_rejected_unread(network: Network) {
    let head = "HTTP/1.1 201 Created\r\nContent-Length: 10000000000\r\n\r\n";
    let server = Sockets::pouring(network, head, vec![b' '; 1 << 16]).await;
    let expected = "a response of at least 10000000000 bytes, more than the limit of 67108864, at http://127.0.0.1:";
    assert_eq!(server.lost_write(expected).await, Some(ErrorKind::InvalidResponse));
    assert!(server.written() < BUFFERS, "{}", server.written());
    let error = server.insert().await.unwrap_err();
    assert_contains(error.source().unwrap(), "`page_size`");
}

async fn endless_body_is_cut_at_the_limit(network: Network) {
    let mut chunk = b"10000\r\n".to_vec();
    chunk.resize(chunk.len() + 0x1_0000, b' ');
    chunk.extend_from_slice(b"\r\n");
    for (head, piece) in [
        ("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n", chunk),
        // The end of the body is the end of the connection.
        ("HTTP/1.0 201 Created\r\n\r\n", vec![b' '; 1 << 16]),
    ] {
        let server = Sockets::pouring(network, head, piece).await;
        let kind = server.lost_write("more than the limit of 67108864, at http://").await;
        assert_eq!(kind, Some(ErrorKind::InvalidResponse), "{head}");
        let read = 64 << 20..(64 << 20) + BUFFERS;
        assert!(read.contains(&server.written()), "{head}: {}", server.written());
    }
}

async fn read_with_a_response_beyond_the_limit_is_not_retried(network: Network) {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 67108865\r\n\r\n";
    let server = Sockets::pouring(network, head, vec![b' '; 1 << 16]).await;
    let error = server.table().get(("p", "r")).await.unwrap_err();
    let expected = "a response of at least 67108865 bytes, more than the limit of 67108864, at http://";
    assert_error(&error, ErrorKind::InvalidResponse, expected);
    assert_eq!(error.attempts(), 1);
}

async fn endless_headers_are_cut(network: Network) {
    for (head, piece) in [
        ("HTTP/1.1 201 Created\r\n", b"X-Header: value\r\n".repeat(4_096)),
        ("HTTP/1.1 201 Created\r\nX-Header: ", vec![b'x'; 1 << 16]),
    ] {
        let server = Sockets::pouring(network, head, piece).await;
        assert_eq!(server.lost_write("").await, Some(ErrorKind::Connection), "{head}");
        assert!(server.written() < BUFFERS, "{head}: {}", server.written());
    }
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
        let kind = server
            .lost_write("no response within the `attempt_timeout` of 400ms")
            .await;
        assert_eq!(kind, Some(ErrorKind::Timeout));
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
            let kind = server.lost_write("the response broke off at http://127.0.0.1:").await;
            assert_eq!(kind, Some(ErrorKind::Connection), "{response}");
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
        let kind = server
            .lost_write("the connection broke before the response arrived")
            .await;
        assert_eq!(kind, Some(ErrorKind::Connection), "{garbage:?}");
    }
}

async fn response_may_end_with_its_connection(network: Network) {
    let server = Sockets::doing(network, |mut connection| async move {
        connection.request().await;
        let head = "HTTP/1.0 200 OK\r\nContent-Type: application/json";
        connection.write(&format!("{head}\r\n\r\n{ENTITY}")).await;
    })
    .await;
    for _ in 0..3 {
        let row = server.table().get(("p", "r")).await.unwrap().unwrap();
        assert_eq!(row.row_key, "r");
    }
    assert_eq!(server.connections(), 3);
}

/// The server closes without notice after each response, as load balancers do.
async fn closing(network: Network) -> Sockets {
    Sockets::doing(network, |mut connection| async move {
        if connection.request().await {
            connection.write(WRITTEN).await;
        }
    })
    .await
}

async fn idle_connection_closed_by_the_server_is_not_a_failure(network: Network) {
    let server = closing(network).await;
    for _ in 0..5 {
        server.table().insert(&DynamicEntity::new("p", "r")).await.unwrap();
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(server.connections(), 5);
}

async fn close_during_a_write_is_reported_correctly(network: Network) {
    let server = closing(network).await;
    let mut written = 0;
    for _ in 0..200 {
        // Immediately: the client may see the close before or after it sends the request.
        match server.insert().await {
            Ok(_) => written += 1,
            Err(error) => assert_eq!(kind_in_doubt(&error), Some(ErrorKind::Connection), "{error}"),
        }
    }
    // Most are written: hyper saw the close in time and used another connection, or opened one and left it unused. The
    // rest were sent after the close, and never read. So nothing was sent twice.
    assert_eq!(server.heads().len(), written);
}

async fn unanswered_write_is_in_doubt(network: Network) {
    // The second request of the connection is read to its end; it is unknown if it was applied.
    let server = Sockets::doing(network, |mut connection| async move {
        if connection.request().await {
            let is_first = connection.number == 0;
            let response = if is_first { WRITTEN.to_owned() } else { entity() };
            connection.write(&response).await;
            connection.request().await;
        }
    })
    .await;
    let table = server.table();
    table.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    server
        .lost_write("the connection broke before the response arrived")
        .await;
    assert!(table.get(("p", "r")).await.unwrap().is_some(), "a read may be repeated");
}

async fn a_call_ends_in_time_on_a_server_that_never_answers(network: Network) {
    let server = Sockets::silent(network).await;
    let get = server.table().get(("p", "r")).timeout(Duration::from_millis(300));
    // Nothing else ends the call: its attempt has no shorter limit.
    let ended = timeout(LIMIT / 2, get).await.unwrap();
    assert_error(&ended.unwrap_err(), ErrorKind::Timeout, "the `timeout` of 300ms");
}

/// The network takes a request, closes the connection, and delivers the request later.
async fn insert_that_arrives_late_is_not_reported_as_failed(network: Network) {
    let (emulator, owner) = serve(Emulator::new()).await;
    let owner = owner.dynamic_table("Things").unwrap();
    owner.create_table().await.unwrap();
    let service = emulator.address();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let front = listener.local_addr().unwrap();
    let (delivered, arrived) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        drop(listener);
        let mut request = vec![0; 1 << 16];
        let mut length = 0;
        // The body of an insert is JSON.
        while !request[..length].ends_with(b"}") {
            length += client.read(&mut request[length..]).await.unwrap();
        }
        drop(client);
        sleep(Duration::from_millis(100)).await;
        let mut stream = TcpStream::connect(service).await.unwrap();
        stream.write_all(&request[..length]).await.unwrap();
        stream.read_u8().await.unwrap();
        delivered.send(()).unwrap();
    });
    let connection_string = emulator
        .connection_string()
        .replace(&service.to_string(), &front.to_string());
    let client = TableServiceClient::from_connection_string(&connection_string).unwrap();
    let table = client.transport(network.transport()).dynamic_table("Things").unwrap();
    let insert = table.insert(&DynamicEntity::new("p", "r")).with(&no_retry());
    let error = insert.await.unwrap_err();
    assert!(error.may_have_applied(), "{error}");
    arrived.await.unwrap();
    assert!(owner.get(("p", "r")).await.unwrap().is_some());
}

/// The first response is lost after the service has applied the insert. The second copy would be refused a connection,
/// or be a conflict with the first.
#[tokio::test]
async fn retries_of_reqwest_hide_no_applied_insert() {
    for is_reachable in [false, true] {
        let (server, owner) = serve(Emulator::new()).await;
        let service = server.address();
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
        let endpoint = server
            .connection_string()
            .replace(&service.to_string(), &front.to_string());
        let client = TableServiceClient::from_connection_string(&endpoint).unwrap();
        let client = client.transport(transport.build().unwrap());
        let table = client.dynamic_table("Things").unwrap();
        let insert = table.insert(&DynamicEntity::new("p", "r"));
        if is_reachable {
            insert.await.unwrap();
        } else {
            let error = insert.with(&no_retry()).await.unwrap_err();
            assert!(error.may_have_applied(), "{error:?}");
        }
        assert!(owner.get(("p", "r")).await.unwrap().is_some());
    }
}
