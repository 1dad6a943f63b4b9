//! A Table service with one partition of two rows: the responses of Storage and Cosmos DB to the requests of a write.
//!
//! Much faster than the emulator, which `service_answers_as_the_emulator` compares it with.

use std::fmt::Write as _;
use std::time::Duration;

use azure_table::DateTime;
use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Map, Value};

/// The RowKeys.
pub(super) const KEYS: [&str; 2] = ["a", "b"];

/// The properties of a row, without its keys.
pub(super) type Cells = Map<String, Value>;

/// The time of the service's clock at the start of a history.
pub(super) const BASE: Duration = Duration::from_secs(1_767_225_600);

/// A stored row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) etag: String,
    /// The time of the last write in microseconds after [`BASE`], or `None` before it is decided.
    pub(super) written: Option<i64>,
    pub(super) cells: Cells,
    /// `true` if the call of the history wrote it.
    pub(super) is_own: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Insert,
    Upsert { merges: bool },
    Update { merges: bool },
    Delete,
}

/// One write, alone or in a batch.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) verb: Verb,
    /// The position of the row in [`KEYS`].
    pub(super) row: usize,
    pub(super) if_match: Option<String>,
    pub(super) cells: Cells,
}

/// A rejection: the status, the error code, and the position of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rejected(pub(super) u16, pub(super) &'static str, usize);

pub(super) const NOT_FOUND: (u16, &str) = (404, "ResourceNotFound");
pub(super) const EXISTS: (u16, &str) = (409, "EntityAlreadyExists");
pub(super) const NOT_MET: (u16, &str) = (412, "UpdateConditionNotSatisfied");

/// The rows, and the version of each before the last write.
#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    pub(super) rows: [Option<Row>; 2],
    pub(super) previous: [Option<Row>; 2],
    versions: u32,
    last: i64,
}

impl Store {
    /// Writes a row without a condition. `None` deletes it.
    pub(super) fn put(&mut self, row: usize, cells: Option<Cells>, (now, is_own): (Option<i64>, bool)) {
        self.versions += 1;
        // Two writes never have the same Timestamp.
        let now = now.map(|now| now.max(self.last + 1));
        self.last = now.unwrap_or(self.last);
        let etag = format!("W/\"datetime'2026-01-01T00%3A00%3A00.{:07}Z'\"", self.versions);
        let written = cells.map(|cells| Row {
            etag,
            written: now,
            cells,
            is_own,
        });
        self.previous[row] = std::mem::replace(&mut self.rows[row], written);
    }

    /// Applies all operations or none.
    pub(super) fn apply(&mut self, operations: &[Operation], (now, is_own): (i64, bool)) -> Result<(), Rejected> {
        let before = self.clone();
        for (index, operation) in operations.iter().enumerate() {
            if let Err((status, code)) = self.apply_one(operation, (now, is_own)) {
                *self = before;
                return Err(Rejected(status, code, index));
            }
        }
        Ok(())
    }

    fn apply_one(&mut self, operation: &Operation, (now, is_own): (i64, bool)) -> Result<(), (u16, &'static str)> {
        let stored = self.rows[operation.row].as_ref();
        let merges = match (operation.verb, stored) {
            (Verb::Insert, Some(_)) => return Err(EXISTS),
            (Verb::Update { .. } | Verb::Delete, None) => return Err(NOT_FOUND),
            (Verb::Update { .. } | Verb::Delete, Some(stored))
                if operation
                    .if_match
                    .as_ref()
                    .is_some_and(|etag| *etag != "*" && *etag != stored.etag) =>
            {
                return Err(NOT_MET);
            }
            (Verb::Upsert { merges } | Verb::Update { merges }, _) => merges,
            (Verb::Insert | Verb::Delete, _) => false,
        };
        let mut cells = stored
            .filter(|_| merges)
            .map(|row| row.cells.clone())
            .unwrap_or_default();
        cells.extend(operation.cells.clone());
        let cells = (operation.verb != Verb::Delete).then_some(cells);
        self.put(operation.row, cells, (Some(now), is_own));
        Ok(())
    }
}

/// Returns the operations of a request that writes.
pub(super) fn operations(request: &Request<Bytes>) -> Vec<Operation> {
    let body = std::str::from_utf8(request.body()).unwrap();
    if !request.uri().path().ends_with("$batch") {
        let header = |name: &str| Some(request.headers().get(name)?.to_str().unwrap().to_owned());
        return vec![operation(request.method().as_str(), request.uri().path(), header, body)];
    }
    let mut found = Vec::new();
    for part in body.split("Content-Transfer-Encoding: binary\r\n\r\n").skip(1) {
        let (head, rest) = part.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let mut request_line = lines.next().unwrap().split(' ');
        let (method, url) = (request_line.next().unwrap(), request_line.next().unwrap());
        let headers: Vec<_> = lines.filter_map(|line| line.split_once(": ")).collect();
        let header = |name: &str| {
            let found = headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name))?;
            Some(found.1.to_owned())
        };
        let body = rest.split("\r\n--").next().unwrap();
        found.push(operation(method, url, header, body));
    }
    found
}

fn operation(method: &str, url: &str, header: impl Fn(&str) -> Option<String>, body: &str) -> Operation {
    let mut cells: Cells = serde_json::from_str(body.trim()).unwrap_or_default();
    let key = cells.remove("RowKey");
    cells.remove("PartitionKey");
    let key = key.map_or_else(|| key_of(url), |key| row_of(key.as_str().unwrap()));
    let if_match = header("if-match");
    let tunnelled = header("x-http-method");
    let verb = match (tunnelled.as_deref().unwrap_or(method), &if_match) {
        ("POST", _) => Verb::Insert,
        ("DELETE", _) => Verb::Delete,
        (method, None) => Verb::Upsert {
            merges: method != "PUT",
        },
        (method, Some(_)) => Verb::Update {
            merges: method != "PUT",
        },
    };
    Operation {
        verb,
        row: key,
        if_match,
        cells,
    }
}

fn row_of(key: &str) -> usize {
    KEYS.iter().position(|known| *known == key).unwrap()
}

/// Returns the row of a URL `…RowKey='a'…`.
fn key_of(url: &str) -> usize {
    let (_, after) = url.split_once("RowKey=").unwrap();
    let after = after.trim_start_matches("%27").trim_start_matches('\'');
    row_of(&after[..1])
}

/// Returns the rows that a GET asks for, and `true` for a query.
pub(super) fn rows_read(request: &Request<Bytes>) -> (Vec<usize>, bool) {
    let query = request.uri().query().unwrap_or_default();
    match (query.contains("filter="), query.contains("RowKey%20eq%20")) {
        (false, _) => (vec![key_of(request.uri().path())], false),
        (true, true) => {
            let (_, after) = query.split_once("RowKey%20eq%20").unwrap();
            let after = after.trim_start_matches("%27").trim_start_matches('\'');
            (vec![row_of(&after[..1])], true)
        }
        (true, false) => (vec![0, 1], true),
    }
}

/// Writes responses in the form of a service.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    /// The value of `Date`, in seconds since 1970.
    pub(super) date: Option<u64>,
}

impl Form {
    /// Returns a response of a server in between, which knows neither codes nor ids.
    pub(super) fn proxy(self, status: u16) -> Response<Bytes> {
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = status.try_into().unwrap();
        if let Some(date) = self.date {
            let date = httpdate::fmt_http_date(std::time::UNIX_EPOCH + Duration::from_secs(date));
            response.headers_mut().insert("date", date.try_into().unwrap());
        }
        response
    }

    fn respond(self, status: u16, (media_type, body): (&'static str, String)) -> Response<Bytes> {
        let mut response = self.proxy(status);
        let headers = response.headers_mut();
        let id = http::HeaderValue::from_static("5a0b2f1e-0002-0000-0000-000000000000");
        headers.insert("x-ms-request-id", id);
        if !body.is_empty() {
            headers.insert("content-type", http::HeaderValue::from_static(media_type));
        }
        *response.body_mut() = body.into();
        response
    }

    /// Returns an error with a code.
    pub(super) fn error(self, (status, code): (u16, &'static str)) -> Response<Bytes> {
        self.respond(status, (JSON, error_body(code, None)))
    }

    /// Returns the response to a write.
    pub(super) fn written(
        self,
        operations: &[Operation],
        is_batch: bool,
        store: &Store,
        outcome: Result<(), Rejected>,
    ) -> Response<Bytes> {
        let etag = |operation: &Operation| store.rows[operation.row].as_ref().map(|row| row.etag.clone());
        if !is_batch {
            return match outcome {
                Ok(()) => {
                    let mut response = self.respond(204, (JSON, String::new()));
                    if let Some(etag) = etag(&operations[0]) {
                        response.headers_mut().insert("etag", etag.try_into().unwrap());
                    }
                    response
                }
                Err(Rejected(status, code, _)) => self.error((status, code)),
            };
        }
        let mut body = "--r\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n".to_owned();
        let mut part = |status: &str, headers: &str, text: &str| {
            body += "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n";
            write!(body, "HTTP/1.1 {status}\r\n{headers}\r\n{text}\r\n").unwrap();
        };
        match outcome {
            Ok(()) => operations.iter().for_each(|operation| {
                let etag = etag(operation).map_or_else(String::new, |etag| format!("ETag: {etag}\r\n"));
                part("204 No Content", &etag, "");
            }),
            Err(Rejected(status, code, index)) => {
                let media_type = format!("Content-Type: {JSON}\r\n");
                part(
                    &format!("{status} Rejected"),
                    &media_type,
                    &error_body(code, Some(index)),
                );
            }
        }
        body += "--c--\r\n--r--\r\n";
        self.respond(202, ("multipart/mixed; boundary=r", body))
    }

    /// Returns the response to a read.
    pub(super) fn read(self, rows: &[(usize, Option<Row>)], is_query: bool) -> Response<Bytes> {
        let entities = rows
            .iter()
            .filter_map(|(key, row)| Some(entity(KEYS[*key], row.as_ref()?)));
        let mut entities: Vec<Value> = entities.collect();
        if is_query {
            let page = serde_json::json!({ "odata.metadata": "https://contoso/$metadata#Rows", "value": entities });
            return self.respond(200, (JSON, page.to_string()));
        }
        match entities.pop() {
            Some(entity) => self.respond(200, (JSON, entity.to_string())),
            None => self.error(NOT_FOUND),
        }
    }
}

const JSON: &str = "application/json;odata=minimalmetadata;streaming=true;charset=utf-8";

fn error_body(code: &str, index: Option<usize>) -> String {
    let index = index.map_or_else(String::new, |index| format!("{index}:"));
    let message = serde_json::json!({ "lang": "en-US", "value": format!("{index}{code}.") });
    serde_json::json!({ "odata.error": { "code": code, "message": message } }).to_string()
}

fn entity(key: &str, row: &Row) -> Value {
    let mut entity = row.cells.clone();
    let written = u64::try_from(row.written.unwrap() + 40_000_000_000).unwrap();
    let at = BASE - Duration::from_secs(40_000) + Duration::from_micros(written);
    let at = DateTime::try_from(std::time::UNIX_EPOCH + at).unwrap().to_string();
    for (name, value) in [
        ("odata.etag", &*row.etag),
        ("PartitionKey", "p"),
        ("RowKey", key),
        ("Timestamp", &*at),
    ] {
        entity.insert(name.to_owned(), value.into());
    }
    entity.into()
}
