//! Clients that break HTTP, on real sockets: each is rejected or closed within a bounded time, nothing of its request
//! is applied, and others are still served.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::time::Duration;

use azure_table::emulator::SeedEntities as _;
use azure_table::{DynamicEntity, Emulator, EmulatorServer, RunningEmulator, TableServiceClient};
use azure_table_tests::errors::assert_contains;
use azure_table_tests::process::LIMIT;
use fastrand::Rng;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The server's timeout for a head, and for a body.
const READ_TIMEOUT: Duration = Duration::from_millis(300);

struct Server {
    emulator: Emulator,
    running: RunningEmulator,
}

impl Server {
    async fn start() -> Self {
        Self::start_with(|server| server).await
    }

    async fn start_with(limits: impl FnOnce(EmulatorServer) -> EmulatorServer) -> Self {
        let emulator = Emulator::new();
        emulator.seed("Blogs", [DynamicEntity::new("p", "r")]).unwrap();
        let server = EmulatorServer::bind(emulator.clone(), "127.0.0.1:0").await.unwrap();
        let running = limits(server.read_timeout(READ_TIMEOUT)).spawn();
        Self { emulator, running }
    }

    async fn connect(&self, sent: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.running.address()).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        stream
    }

    /// Sends bytes in pieces and returns the response up to the close of the connection, which must come in time.
    async fn send(&self, pieces: &[&[u8]], pause: Duration, close: bool) -> Vec<u8> {
        timeout(LIMIT, exchange(self.running.address(), pieces, pause, close))
            .await
            .unwrap()
    }

    /// Asserts that nothing has changed, and that a client is served.
    async fn is_as_before(&self) {
        let service = TableServiceClient::from_connection_string(self.running.connection_string()).unwrap();
        assert_eq!(service.list_tables().await.unwrap(), ["Blogs"]);
        let blogs = service.dynamic_table("Blogs").unwrap();
        assert_eq!(blogs.query().all().await.unwrap().len(), 1);
        assert_eq!(self.emulator.snapshot().entity_count(), 1);
    }
}

async fn exchange(address: SocketAddr, pieces: &[&[u8]], pause: Duration, close: bool) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    for piece in pieces {
        // The server may have closed the connection already.
        if stream.write_all(piece).await.is_err() {
            break;
        }
        tokio::time::sleep(pause).await;
    }
    if close {
        let _ = stream.shutdown().await;
    }
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response).await;
    response
}

fn shown(response: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(response)
}

/// Returns the status of a response, or 0 without one.
fn status(response: &[u8]) -> u16 {
    let line = shown(response);
    match line.strip_prefix("HTTP/1.1 ") {
        Some(rest) => rest[..3].parse().unwrap(),
        None => {
            assert!(line.is_empty(), "{line}");
            0
        }
    }
}

const HEAD: &str = "POST /devstoreaccount1/Tables HTTP/1.1\r\nHost: 127.0.0.1\r\n";

#[tokio::test]
async fn bytes_that_are_not_http_are_rejected_or_closed() {
    let server = Server::start().await;
    let long = |length: usize| "a".repeat(length);
    let with_head = |rest: &str| format!("{HEAD}{rest}\r\n\r\n");
    for (what, bytes, expected) in [
        ("no HTTP", "GARBAGE\r\n\r\n".to_owned(), 400),
        ("TLS", "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\r\n\r\n".to_owned(), 400),
        ("another protocol", "GET / SPDY/9\r\n\r\n".to_owned(), 400),
        ("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), 0),
        ("a header without a name", with_head(": x"), 400),
        (
            "two lengths",
            with_head("Content-Length: 1\r\nContent-Length: 2") + "{}",
            400,
        ),
        ("a length below zero", with_head("Content-Length: -1"), 400),
        ("a length that is no number", with_head("Content-Length: 1e3"), 400),
        (
            "a header of a megabyte",
            with_head(&format!("x: {}", long(1 << 20))),
            431,
        ),
        (
            "a thousand headers",
            with_head("x: y\r\n".repeat(1_000).trim_end()),
            431,
        ),
        (
            "a long address",
            format!("GET /{} HTTP/1.1\r\n\r\n", long(100_000)),
            414,
        ),
        ("no chunk", with_head("Transfer-Encoding: chunked") + "xyz\r\n", 400),
        (
            "no host",
            "GET /devstoreaccount1/Tables HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(),
            400,
        ),
        ("nothing", String::new(), 0),
    ] {
        let response = server.send(&[bytes.as_bytes()], Duration::ZERO, false).await;
        let found = status(&response);
        // If much was unread when the connection closed, the response may be lost.
        let may_be_lost = bytes.len() > 10_000 && found == 0;
        assert!(found == expected || may_be_lost, "{what}: {}", shown(&response));
    }
    server.is_as_before().await;
}

#[tokio::test]
async fn requests_that_break_off_change_nothing() {
    let server = Server::start().await;
    let body = r#"{"TableName":"Partial"}"#;
    let head = format!("{HEAD}Content-Length: {}\r\nContent-Type: application/json", body.len());
    let whole = format!("{head}\r\n\r\n{body}");
    for end in 0..whole.len() {
        let response = server.send(&[&whole.as_bytes()[..end]], Duration::ZERO, true).await;
        assert!(matches!(status(&response), 0 | 400..500), "{end}: {}", shown(&response));
    }
    server.is_as_before().await;
}

#[tokio::test]
async fn slow_heads_and_bodies_have_a_bounded_time() {
    const PAUSE: Duration = Duration::from_millis(10);
    let server = Server::start().await;
    // A byte at a time, for longer than the client waits.
    let count = (2 * LIMIT.as_millis() / PAUSE.as_millis()) as usize;
    let bytes: Vec<&[u8]> = HEAD.as_bytes().chunks(1).cycle().take(count).collect();
    let head = format!("{HEAD}Content-Length: {count}\r\n\r\n");
    let mut slow_body = vec![head.as_bytes()];
    slow_body.extend(vec![&b"x"[..]; count]);
    for (what, pieces) in [("head", bytes), ("body", slow_body)] {
        let response = server.send(&pieces, PAUSE, false).await;
        assert!(matches!(status(&response), 0 | 408), "{what}: {}", shown(&response));
    }
    server.is_as_before().await;
}

#[tokio::test]
async fn waiting_clients_do_not_block_others() {
    const MAX_CONNECTIONS: usize = 8;
    let server = Server::start_with(|server| server.max_connections(MAX_CONNECTIONS).read_timeout(LIMIT)).await;
    let mut working = server.connect("").await;
    let mut slow = Vec::new();
    for _ in 0..100 {
        slow.push(server.connect("GET /devstoreaccount1/Tables HTTP/1.1\r\nHo").await);
        // A connection that keeps sending requests is never the one that has waited longest.
        let request = format!("{HEAD}Content-Length: 0\r\n\r\n");
        working.write_all(request.as_bytes()).await.unwrap();
        let mut response = [0; 4_096];
        let length = timeout(LIMIT, working.read(&mut response)).await.unwrap().unwrap();
        let response = &response[..length];
        assert_eq!(status(response), 404, "{}", shown(response));
    }
    server.is_as_before().await;
    let mut closed = 0;
    for stream in &mut slow {
        let read = timeout(Duration::from_millis(1), stream.read(&mut [0])).await;
        closed += usize::from(read.is_ok());
    }
    assert!(closed >= slow.len() - MAX_CONNECTIONS, "{closed}");
}

#[tokio::test]
async fn large_bodies_wait_for_each_other_and_small_ones_do_not() {
    const MAX_BODY: usize = 64 << 10;
    let server = Server::start_with(|server| server.max_body_bytes(MAX_BODY).read_timeout(LIMIT)).await;
    let head = format!("{HEAD}Connection: close\r\nContent-Length: {MAX_BODY}\r\n\r\n");
    let held = server.connect(&head).await;
    let whole = "x".repeat(MAX_BODY);
    let waiting = [head.as_bytes(), whole.as_bytes()];
    let mut waiting = std::pin::pin!(server.send(&waiting, Duration::ZERO, false));
    assert!(timeout(READ_TIMEOUT, &mut waiting).await.is_err());
    let small = format!("{HEAD}Connection: close\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!(
        status(&server.send(&[small.as_bytes()], Duration::ZERO, false).await),
        404
    );
    assert!(timeout(READ_TIMEOUT, &mut waiting).await.is_err());
    drop(held);
    assert_eq!(status(&waiting.await), 404);
    server.is_as_before().await;
}

#[tokio::test]
async fn client_that_does_not_read_is_closed() {
    let server = Server::start().await;
    let mut stream = server.connect("").await;
    let requests = format!("{HEAD}Content-Length: 0\r\n\r\n").repeat(1_000);
    let closed = async { while stream.write_all(requests.as_bytes()).await.is_ok() {} };
    timeout(LIMIT, closed).await.unwrap();
    server.is_as_before().await;
}

#[tokio::test]
async fn bodies_beyond_the_limit_are_rejected() {
    let server = Server::start().await;
    let over = (4 << 20) + 1;
    for (length, announced) in [(over, over as u64), (7 << 20, 7 << 20), (6 << 20, u64::MAX / 2)] {
        let head = format!("{HEAD}Connection: close\r\nContent-Length: {announced}\r\n\r\n");
        let pieces = [head.as_bytes(), &vec![b'x'; length]];
        let response = server.send(&pieces, Duration::ZERO, false).await;
        // An unsigned request is rejected for that, if it is read to its end. Otherwise the response may be lost.
        let is_rejected = matches!(status(&response), 0 | 404 | 413);
        assert!(is_rejected, "{length}: {}", shown(&response));
    }
    server.is_as_before().await;
}

#[tokio::test]
async fn random_bytes_do_not_stop_the_server() {
    let server = Server::start().await;
    let mut random = Rng::with_seed(20_170_301);
    let pieces = [
        "GET ",
        "POST ",
        "/devstoreaccount1/Tables",
        "/devstoreaccount1/Blogs()",
        " HTTP/1.1\r\n",
        "Host: h\r\n",
        "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Expect: 100-continue\r\n",
        "\r\n",
        "5\r\n",
        "0\r\n\r\n",
        "{}",
    ];
    for _ in 0..1_000 {
        let mut bytes = Vec::new();
        for _ in 0..random.usize(..20) {
            if random.u8(..4) == 0 {
                bytes.extend(std::iter::repeat_with(|| random.u8(..)).take(10));
            } else {
                bytes.extend_from_slice(random.choice(&pieces).unwrap().as_bytes());
            }
        }
        let response = server.send(&[&bytes], Duration::ZERO, true).await;
        let is_rejected = !matches!(status(&response) / 100, 2 | 5);
        assert!(is_rejected, "{bytes:?}: {}", shown(&response));
    }
    server.is_as_before().await;
}

/// The clients for Python and Node.js write the whole body before they read the response.
#[tokio::test]
async fn body_far_beyond_the_limit_is_rejected_after_the_client_has_written_it() {
    const MIB: usize = 1 << 20;
    let server = Server::start_with(|server| server.read_timeout(LIMIT)).await;
    for (body, has_response) in [(5 * MIB + 1, true), (32 * MIB, true), (200 * MIB, false)] {
        let mut stream = server.connect(&format!("{HEAD}Content-Length: {body}\r\n\r\n")).await;
        let piece = vec![b' '; MIB];
        let mut left = body;
        while left > 0 {
            let next = left.min(MIB);
            if stream.write_all(&piece[..next]).await.is_err() {
                break;
            }
            left -= next;
        }
        assert_eq!(left == 0, has_response, "{body} bytes, {left} left");
        let mut response = Vec::new();
        let _ = timeout(LIMIT, stream.read_to_end(&mut response)).await.unwrap();
        if has_response {
            assert_eq!(status(&response), 413, "{body} bytes");
            assert_contains(shown(&response), "RequestBodyTooLarge");
        }
    }
    server.is_as_before().await;
}
