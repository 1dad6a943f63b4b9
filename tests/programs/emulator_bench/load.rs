//! The requests to the servers, prepared and signed.

use azure_table::Emulator;
use azure_table::transport::Transport;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::sockets;

pub(crate) const PAGE_ROWS: u32 = 1_000;
const BATCH: usize = 100;
const ACCOUNT: &str = "devstoreaccount1";
/// The public account of all emulators.
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
/// The place of a number: as many digits.
const NUMBER: &str = "##########";

#[derive(Clone, Copy, Debug)]
pub(crate) enum Scenario {
    Insert,
    PointRead,
    Page,
    Batch,
}

impl Scenario {
    pub(crate) const ALL: [Self; 4] = [Self::Insert, Self::PointRead, Self::Page, Self::Batch];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert one entity",
            Self::PointRead => "point read",
            Self::Page => "page of 1,000 rows",
            Self::Batch => "batch of 100 inserts",
        }
    }

    pub(crate) fn short_name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::PointRead => "read",
            Self::Page => "page",
            Self::Batch => "batch",
        }
    }

    pub(crate) fn connections(self) -> usize {
        match self {
            Self::Insert | Self::PointRead => 16,
            Self::Page | Self::Batch => 4,
        }
    }

    /// The requests, for the server on this port. Inserts have a separate table, because Azurite slows down with the
    /// rows of a table.
    pub(crate) fn load(self, port: u16, round: usize) -> Load {
        let table = format!("Round{round}{self:?}");
        if matches!(self, Self::Insert | Self::Batch) {
            assert_eq!(sockets::ask(port, &create(&table).text(port)).0, 201);
        }
        match self {
            Self::Insert => Load::new(vec![insert(&table).text(port)], 204, 1),
            Self::PointRead => Load::new((0..PAGE_ROWS).map(|n| read(n).text(port)).collect(), 200, 1),
            Self::Page => Load::new(vec![page("").text(port)], 200, 1),
            Self::Batch => Load::new(vec![batch(port, &table).text(port)], 202, BATCH),
        }
    }
}

/// Requests in rotation, with new numbers in their places.
#[derive(Debug)]
pub(crate) struct Load {
    requests: Vec<Vec<u8>>,
    places: Vec<usize>,
    next: usize,
    number: u64,
    pub(crate) status: u16,
    /// The number of parts of a response that must report success.
    parts: usize,
}

impl Load {
    fn new(requests: Vec<Vec<u8>>, status: u16, parts: usize) -> Self {
        let places = requests[0].windows(NUMBER.len()).enumerate();
        let places = places.filter(|(_, part)| *part == NUMBER.as_bytes()).map(|(at, _)| at);
        Self {
            places: places.collect(),
            requests,
            next: 0,
            number: 0,
            status,
            parts,
        }
    }

    /// Writes the next request to `request`.
    pub(crate) fn next(&mut self, request: &mut Vec<u8>) {
        request.clear();
        request.extend_from_slice(&self.requests[self.next]);
        self.next = (self.next + 1) % self.requests.len();
        for &at in &self.places {
            put_number(&mut request[at..at + NUMBER.len()], self.number);
            self.number += 1;
        }
    }

    /// Checks a whole response once.
    pub(crate) fn check(&mut self, port: u16) {
        let mut request = Vec::new();
        self.next(&mut request);
        let (status, body) = sockets::ask(port, &request);
        let body = String::from_utf8_lossy(&body);
        assert_eq!(status, self.status, "{body}");
        if self.parts > 1 {
            assert_eq!(body.matches("HTTP/1.1 204").count(), self.parts, "{body}");
        }
    }
}

fn put_number(digits: &mut [u8], mut number: u64) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// A request, independent of its transport.
pub(crate) struct Request {
    method: &'static str,
    /// The path after the account.
    path: String,
    query: String,
    content_type: &'static str,
    headers: &'static [(&'static str, &'static str)],
    pub(crate) body: String,
}

const JSON: &str = "application/json;odata=nometadata";
const MINIMAL: &str = "application/json;odata=minimalmetadata";

/// Without an echo of the inserted entity, as SDKs request by default.
pub(crate) fn insert(table: &str) -> Request {
    Request {
        method: "POST",
        path: table.to_owned(),
        query: String::new(),
        content_type: JSON,
        headers: &[("Accept", MINIMAL), ("Prefer", "return-no-content")],
        body: entity(NUMBER),
    }
}

fn read(number: u32) -> Request {
    Request {
        method: "GET",
        path: format!("Rows(PartitionKey='partition',RowKey='{number:010}')"),
        query: String::new(),
        content_type: "",
        headers: &[("Accept", MINIMAL)],
        body: String::new(),
    }
}

/// A page of the rows, or of those that match `filter`.
pub(crate) fn page(filter: &str) -> Request {
    Request {
        method: "GET",
        path: "Rows()".to_owned(),
        query: filter.to_owned(),
        content_type: "",
        headers: &[("Accept", MINIMAL)],
        body: String::new(),
    }
}

fn batch(port: u16, table: &str) -> Request {
    let mut body = String::from("--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n");
    for _ in 0..BATCH {
        let entity = entity(NUMBER);
        body.push_str(&format!(
            "--changeset_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
             POST http://127.0.0.1:{port}/{ACCOUNT}/{table} HTTP/1.1\r\nAccept: {MINIMAL}\r\nContent-Type: {JSON}\r\n\
             Prefer: return-no-content\r\nContent-Length: {}\r\n\r\n{entity}\r\n",
            entity.len()
        ));
    }
    body.push_str("--changeset_1--\r\n--batch_1--\r\n");
    Request {
        method: "POST",
        path: "$batch".to_owned(),
        query: String::new(),
        content_type: "multipart/mixed; boundary=batch_1",
        headers: &[("Accept", MINIMAL)],
        body,
    }
}

/// 402 bytes as a row of a page at minimal metadata.
fn entity(row_key: &str) -> String {
    format!(
        r#"{{"PartitionKey":"partition","RowKey":"{row_key}","Title":"A title of a usual length, with more words behind it","Rating":4,"Views@odata.type":"Edm.Int64","Views":"9223372036854","Price":12.5,"IsPublished":true,"Posted@odata.type":"Edm.DateTime","Posted":"2026-01-02T03:04:05.1234567Z"}}"#
    )
}

impl Request {
    fn headers(&self) -> Vec<(&'static str, String)> {
        let date = httpdate::fmt_http_date(std::time::SystemTime::now());
        let mut signer = Hmac::<Sha256>::new_from_slice(&STANDARD.decode(KEY).unwrap()).unwrap();
        let (method, kind, path) = (self.method, self.content_type, &self.path);
        signer.update(format!("{method}\n\n{kind}\n{date}\n/{ACCOUNT}/{ACCOUNT}/{path}").as_bytes());
        let signature = STANDARD.encode(signer.finalize().into_bytes());
        let mut headers = vec![
            ("x-ms-date", date),
            ("x-ms-version", "2019-02-02".to_owned()),
            ("DataServiceVersion", "3.0;NetFx".to_owned()),
            ("Authorization", format!("SharedKey {ACCOUNT}:{signature}")),
        ];
        headers.extend(self.headers.iter().map(|(name, value)| (*name, (*value).to_owned())));
        if !kind.is_empty() {
            headers.push(("Content-Type", kind.to_owned()));
        }
        headers
    }

    fn target(&self) -> String {
        let mark = if self.query.is_empty() { "" } else { "?" };
        format!("/{ACCOUNT}/{}{mark}{}", self.path, self.query)
    }

    /// For a socket.
    pub(crate) fn text(&self, port: u16) -> Vec<u8> {
        let mut text = format!(
            "{} {} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n",
            self.method,
            self.target()
        );
        for (name, value) in self.headers() {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !self.body.is_empty() {
            text.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        text.push_str("\r\n");
        text.push_str(&self.body);
        text.into_bytes()
    }

    /// For an emulator in this process.
    pub(crate) fn in_process(&self) -> http::Request<Bytes> {
        let mut request = http::Request::builder()
            .method(self.method)
            .uri(format!("http://127.0.0.1{}", self.target()));
        for (name, value) in self.headers() {
            request = request.header(name, value);
        }
        request.body(self.body.clone().into()).unwrap()
    }
}

fn create(table: &str) -> Request {
    Request {
        method: "POST",
        path: "Tables".to_owned(),
        query: String::new(),
        content_type: JSON,
        headers: &[("Accept", MINIMAL)],
        body: format!(r#"{{"TableName":"{table}"}}"#),
    }
}

/// The rows that are read.
pub(crate) fn prepare(port: u16) {
    assert_eq!(sockets::ask(port, &create("Rows").text(port)).0, 201);
    let mut rows = Load::new(vec![insert("Rows").text(port)], 204, 1);
    for _ in 0..PAGE_ROWS {
        rows.check(port);
    }
}

/// The same in this process.
pub(crate) fn prepare_in_process(emulator: &Emulator) {
    fill(emulator, PAGE_ROWS);
}

/// This many rows, inserted one by one.
pub(crate) fn fill(emulator: &Emulator, rows: u32) {
    let send = |request| futures::executor::block_on(emulator.send(request)).unwrap().status();
    assert_eq!(send(create("Rows").in_process()), 201);
    let insert = insert("Rows").in_process();
    let (head, body) = insert.into_parts();
    let at = body
        .windows(NUMBER.len())
        .position(|part| part == NUMBER.as_bytes())
        .unwrap();
    for number in 0..rows {
        let mut body = body.to_vec();
        put_number(&mut body[at..at + NUMBER.len()], number.into());
        assert_eq!(send(http::Request::from_parts(head.clone(), body.into())), 204);
    }
}

/// A point read of each row of a page.
pub(crate) fn reads_in_process() -> Vec<http::Request<Bytes>> {
    (0..PAGE_ROWS).map(|number| read(number).in_process()).collect()
}
