//! Requests over connections that stay open, one in flight per connection. Each response is read to its end.
//!
//! One thread polls all sockets and never sleeps, so that neither side pays for a wake-up.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use azure_table_tests::process::LIMIT;

use crate::load::Load;
use crate::process::Server;

/// The work of a server in a window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) per_second: f64,
    /// CPU time of the server's process, per request.
    pub(crate) cpu_micros: f64,
    /// The length of a response's body.
    pub(crate) bytes: usize,
    /// The time within which 99 of 100 requests were answered.
    pub(crate) p99_micros: f64,
}

/// Sends requests for the time of `window`, and waits for the last responses.
pub(crate) fn run(server: &Server, load: &mut Load, connections: usize, window: Duration) -> Measured {
    let mut connections: Vec<Connection> = (0..connections).map(|_| Connection::open(server.port)).collect();
    let mut buffer = vec![0; 256 << 10];
    let (cpu, started) = (server.cpu_micros(), Instant::now());
    for connection in &mut connections {
        connection.ask(load);
    }
    let (mut times, mut bytes, mut waiting) = (Vec::new(), 0, connections.len());
    while waiting > 0 {
        for connection in connections.iter_mut().filter(|connection| connection.is_waiting) {
            if let Some((status, length)) = connection.advance(&mut buffer) {
                assert_eq!(status, load.status, "{}", String::from_utf8_lossy(&connection.head));
                bytes = length;
                times.push(connection.requested.elapsed().as_secs_f64() * 1e6);
                if started.elapsed() < window {
                    connection.ask(load);
                } else {
                    waiting -= 1;
                }
            }
        }
    }
    let elapsed = started.elapsed().as_secs_f64();
    let responses = times.len() as f64;
    times.sort_by(f64::total_cmp);
    Measured {
        p99_micros: times[times.len() * 99 / 100],
        per_second: responses / elapsed,
        cpu_micros: (server.cpu_micros() - cpu) / responses,
        bytes,
    }
}

/// Sends one request and returns the whole response.
pub(crate) fn ask(port: u16, request: &[u8]) -> (u16, Vec<u8>) {
    let mut connection = Connection::open(port);
    connection.request = request.to_vec();
    (connection.sent, connection.is_waiting) = (0, true);
    connection.kept = Some(Vec::new());
    let mut buffer = vec![0; 64 << 10];
    loop {
        if let Some((status, _)) = connection.advance(&mut buffer) {
            return (status, connection.kept.take().unwrap_or_default());
        }
    }
}

struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    sent: usize,
    requested: Instant,
    is_waiting: bool,
    /// The bytes of the response until its headers are complete.
    head: Vec<u8>,
    body: Option<Body>,
    length: usize,
    kept: Option<Vec<u8>>,
}

/// The remaining part of a body.
enum Body {
    Length(usize),
    Chunked(Chunks),
}

/// The framing of a body of unknown length.
#[derive(Default)]
struct Chunks {
    /// The remaining bytes of the chunk, including its line end.
    left: usize,
    line: Vec<u8>,
    is_last: bool,
}

impl Connection {
    fn open(port: u16) -> Self {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_nonblocking(true).unwrap();
        Self {
            stream,
            request: Vec::new(),
            sent: 0,
            requested: Instant::now(),
            is_waiting: false,
            head: Vec::new(),
            body: None,
            length: 0,
            kept: None,
        }
    }

    fn ask(&mut self, load: &mut Load) {
        load.next(&mut self.request);
        (self.sent, self.is_waiting) = (0, true);
        self.requested = Instant::now();
        self.write();
    }

    fn write(&mut self) {
        while self.sent < self.request.len() {
            match self.stream.write(&self.request[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Sends and reads what is ready. Returns the status and the length of the body when the response is complete.
    fn advance(&mut self, buffer: &mut [u8]) -> Option<(u16, usize)> {
        self.write();
        let count = match self.stream.read(buffer) {
            Ok(0) => panic!("the server closed the connection"),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                assert!(self.requested.elapsed() < LIMIT, "no response within {LIMIT:?}");
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        let mut bytes = &buffer[..count];
        if self.body.is_none() {
            if self.length == 0 && self.head.ends_with(b"\r\n\r\n") {
                self.head.clear();
            }
            let before = self.head.len();
            self.head.extend_from_slice(bytes);
            let end = self.head.windows(4).position(|part| part == b"\r\n\r\n")? + 4;
            self.head.truncate(end);
            bytes = &bytes[end - before..];
            self.body = Some(framing(&self.head));
        }
        let body = self.body.as_mut()?;
        let (length, is_complete) = body.take(bytes, self.kept.as_mut());
        self.length += length;
        if !is_complete {
            return None;
        }
        let length = std::mem::take(&mut self.length);
        (self.body, self.is_waiting) = (None, false);
        let status = std::str::from_utf8(&self.head[9..12]).unwrap().parse().unwrap();
        Some((status, length))
    }
}

impl Body {
    /// Counts the bytes of the body, and reports if it is complete.
    fn take(&mut self, bytes: &[u8], mut kept: Option<&mut Vec<u8>>) -> (usize, bool) {
        match self {
            Self::Length(left) => {
                if let Some(kept) = kept {
                    kept.extend_from_slice(bytes);
                }
                *left -= bytes.len();
                (bytes.len(), *left == 0)
            }
            Self::Chunked(chunks) => {
                let (mut rest, mut length) = (bytes, 0);
                while !rest.is_empty() {
                    if chunks.left > 0 {
                        let count = chunks.left.min(rest.len());
                        let data = count.min(chunks.left.saturating_sub(2));
                        if let Some(kept) = kept.as_deref_mut() {
                            kept.extend_from_slice(&rest[..data]);
                        }
                        length += data;
                        chunks.left -= count;
                        rest = &rest[count..];
                    } else {
                        chunks.line.push(rest[0]);
                        rest = &rest[1..];
                        if chunks.line.ends_with(b"\n") {
                            let line = std::mem::take(&mut chunks.line);
                            if chunks.is_last {
                                return (length, true);
                            }
                            let text = std::str::from_utf8(line.trim_ascii()).unwrap();
                            let size = usize::from_str_radix(text, 16).unwrap();
                            chunks.is_last = size == 0;
                            chunks.left = if size == 0 { 0 } else { size + 2 };
                        }
                    }
                }
                (length, false)
            }
        }
    }
}

fn framing(head: &[u8]) -> Body {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let value = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    match (value("content-length:"), value("transfer-encoding:")) {
        (Some(length), _) => Body::Length(length.parse().unwrap()),
        (None, Some("chunked")) => Body::Chunked(Chunks::default()),
        _ => Body::Length(0),
    }
}
