//! The log of requests: the latest ones as lines of JSON, and a stream of those that follow.
//!
//! The log keeps a limited number of requests. A reader that falls behind misses lines, and can tell from their
//! numbers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table_emulator::{BatchedOperation, ResponseEvent};
use azure_table_wire::value::datetime::DateTime;
use serde::Serialize;
use tokio::sync::watch;

use crate::control::response::push_line;

/// The number of characters of each text that are kept. Anyone can send longer ones.
const MAX_OF_TEXT: usize = 1_000;
/// The number of operations of a batch that are kept, all that the service accepts.
const MAX_OF_BATCH: usize = 100;

/// The log, shared by clones.
#[derive(Clone)]
pub(crate) struct RequestLog {
    /// The number of requests that are kept.
    length: usize,
    requests: Arc<Mutex<Requests>>,
    /// The number of the latest request.
    newest: watch::Sender<u64>,
}

#[derive(Default)]
struct Requests {
    count: u64,
    lines: VecDeque<(u64, String)>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    number: u64,
    at: DateTime,
    method: &'a str,
    target: &'a str,
    /// `None` if the connection was closed without a complete response.
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    if_match: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operations: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    batch: Vec<OperationJson>,
    milliseconds: f64,
}

/// An operation of a batch.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OperationJson {
    method: String,
    table: Option<String>,
    partition_key: Option<String>,
    row_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    if_match: Option<String>,
    /// `None` if another operation failed.
    status: Option<u16>,
}

impl From<BatchedOperation> for OperationJson {
    fn from(operation: BatchedOperation) -> Self {
        Self {
            method: cut(&operation.method).to_owned(),
            table: kept(operation.table.as_ref()),
            partition_key: kept(operation.partition_key.as_ref()),
            row_key: kept(operation.row_key.as_ref()),
            if_match: kept(operation.if_match.as_ref()),
            status: operation.status.map(|status| status.as_u16()),
        }
    }
}

/// Returns the part of a text that is kept.
fn cut(text: &str) -> &str {
    let end = text.char_indices().nth(MAX_OF_TEXT);
    &text[..end.map_or(text.len(), |(end, _)| end)]
}

/// Returns a copy, because a cut text would keep its memory.
fn kept(text: Option<&String>) -> Option<String> {
    text.map(|text| cut(text).to_owned())
}

impl RequestLog {
    /// Creates a log that keeps this number of requests.
    pub(crate) fn new(length: usize) -> Self {
        Self {
            length,
            requests: Arc::default(),
            newest: watch::Sender::default(),
        }
    }

    pub(crate) fn record(&self, event: &ResponseEvent) {
        let batch = event
            .batched_operations()
            .into_iter()
            .take(MAX_OF_BATCH)
            .map(OperationJson::from)
            .collect();
        let mut requests = self.requests();
        requests.count += 1;
        let number = requests.count;
        let mut line = String::new();
        push_line(
            &mut line,
            &Line {
                number,
                at: event.at,
                method: cut(event.method.as_str()),
                target: cut(&event.target),
                status: event.status.map(|status| status.as_u16()),
                code: event.code,
                why: event.why.as_deref().map(cut),
                if_match: event.if_match.as_deref().map(cut),
                prefer: event.prefer.as_deref().map(cut),
                operations: event.operations,
                batch,
                // In whole microseconds.
                milliseconds: event.duration.as_micros() as f64 / 1_000.0,
            },
        );
        if requests.lines.len() == self.length {
            requests.lines.pop_front();
        }
        requests.lines.push_back((number, line));
        drop(requests);
        self.newest.send_replace(number);
    }

    pub(super) fn clear(&self) {
        self.requests().lines.clear();
    }

    /// Returns the kept lines.
    pub(super) fn lines(&self) -> String {
        self.after(0).1
    }

    /// Returns a reader of the kept and of all future lines.
    pub(super) fn follow(&self) -> Follower {
        Follower {
            newest: self.newest.subscribe(),
            log: self.clone(),
            seen: 0,
        }
    }

    /// Returns the number of the latest request, and the lines after `seen`.
    fn after(&self, seen: u64) -> (u64, String) {
        let requests = self.requests();
        let lines = requests.lines.iter().filter(|(number, _)| *number > seen);
        (requests.count, lines.map(|(_, line)| line.as_str()).collect())
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reader of the log.
pub(super) struct Follower {
    newest: watch::Receiver<u64>,
    log: RequestLog,
    seen: u64,
}

impl Follower {
    /// Waits for lines. Returns `None` only when the program ends.
    pub(super) async fn next(&mut self) -> Option<String> {
        loop {
            self.newest.borrow_and_update();
            let (newest, lines) = self.log.after(self.seen);
            self.seen = newest;
            if !lines.is_empty() {
                return Some(lines);
            }
            self.newest.changed().await.ok()?;
        }
    }
}
