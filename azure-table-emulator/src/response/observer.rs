//! Observers: an event for each request, for a program's log or a test.
//!
//! Defines [`ResponseEvent`] and decides which parts of a request are shown: no header, and only the query parameters
//! that are not part of a signature. This is the service's view; the client's view of its own calls is in
//! `pipeline/observer.rs`.
//!
//! The log shows only values that are known to be harmless, and of query options only known names. Anything else may be
//! part of a signature, whatever its name and encoding.

mod batched_operation;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use azure_table_wire::codec::url;
use azure_table_wire::error::error_text::is_bidirectional_control;
use azure_table_wire::transport::TransportError;
use azure_table_wire::transport::injected_fault::InjectedFault;
use azure_table_wire::value::clock::Instant;
use azure_table_wire::value::datetime::DateTime;
use bytes::Bytes;
use http::header::{HeaderName, IF_MATCH};
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};

use crate::response::observer::batched_operation::BatchMessages;
pub use crate::response::observer::batched_operation::BatchedOperation;
use crate::rules::ServiceRules;
use crate::rules::service_error::ServiceError;

/// The number of characters of a target in a log line.
const MAX_OF_TARGET: usize = 500;
/// The parameters that are shown, in addition to all that begin with `$` or `Next`. An unknown one may be part of a
/// signature.
const SHOWN: [&str; 4] = ["comp", "restype", "timeout", "api-version"];

/// A request that an [`Emulator`](crate::Emulator) answered. Feature `emulator`.
///
/// `Display` writes a log line: time, method, target, status, error code, operations of a batch, duration, and the
/// reason of a rejection. It cuts the target after 500 characters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResponseEvent {
    /// The time at which the request arrived, by the emulator's clock.
    pub at: DateTime,
    /// The method as it was sent, tunnelled or not.
    pub method: Method,
    /// The path and the query in readable form: decoded, on one line, without signatures.
    pub target: String,
    /// The status of the response; `None` if the connection was closed without a complete response.
    ///
    /// That happens with an [adverse](crate::Emulator::adverse) service, or with a transport that
    /// `EmulatorServer::through` puts in front of an emulator: it injected a fault, or the client disconnected.
    pub status: Option<StatusCode>,
    /// The error code of a rejection, for example `EntityAlreadyExists`.
    ///
    /// For a batch it is the code of the failed operation, though the status is 202.
    pub code: Option<&'static str>,
    /// The reason for a rejection, if the emulator knows more than the live service reports: for example
    /// `no account "nobody"`.
    ///
    /// For people to read; the wording may change.
    pub why: Option<String>,
    /// The number of operations of a batch, if it could be read.
    pub operations: Option<usize>,
    /// The header If-Match.
    pub if_match: Option<String>,
    /// The header Prefer.
    pub prefer: Option<String>,
    batch: Option<BatchMessages>,
    /// The time from the last byte of the request to the response, by tokio's clock.
    pub duration: Duration,
}

impl ResponseEvent {
    /// Returns the operations of a batch in their order, each with its status.
    ///
    /// Empty for other requests, for a batch that cannot be read, and for one whose sender the emulator rejected.
    /// Parses the bodies of the request and of its response.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// use std::sync::{Arc, Mutex};
    /// use azure_table::emulator::ResponseEvent;
    /// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// let seen = Arc::new(Mutex::new(Vec::new()));
    /// let sink = Arc::clone(&seen);
    /// let observe = move |request: &ResponseEvent| sink.lock().unwrap().extend(request.batched_operations());
    /// let emulator = Emulator::new().observer(observe);
    /// let blogs = TableServiceClient::from_transport(emulator).dynamic_table("Blogs")?;
    /// blogs.create_table().await?;
    /// let mut batch = blogs.batch();
    /// batch.insert(&DynamicEntity::new("Channel9", "1"))?;
    /// batch.submit().await?;
    /// let operation = &seen.lock().unwrap()[0];
    /// assert_eq!((&*operation.method, operation.row_key.as_deref()), ("POST", Some("1")));
    /// assert_eq!(operation.status.unwrap().as_u16(), 204);
    /// # Ok(())
    /// # }
    /// ```
    pub fn batched_operations(&self) -> Vec<BatchedOperation> {
        self.batch.as_ref().map(BatchMessages::operations).unwrap_or_default()
    }
}

impl fmt::Display for ResponseEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {} {}",
            in_millis(self.at),
            self.method,
            cut(&self.target),
            self.status.as_ref().map_or("closed", StatusCode::as_str)
        )?;
        if let Some(code) = self.code {
            write!(f, " {code}")?;
        }
        match self.operations {
            Some(1) => f.write_str(" 1 operation")?,
            Some(count) => write!(f, " {count} operations")?,
            None => {}
        }
        if self.duration < Duration::from_millis(1) {
            write!(f, " {} µs", self.duration.as_micros())?;
        } else {
            write!(f, " {:.1} ms", self.duration.as_secs_f64() * 1_000.0)?;
        }
        match &self.why {
            Some(why) => write!(f, " ({why})"),
            None => Ok(()),
        }
    }
}

/// Returns a target as shown in a log line.
fn cut(target: &str) -> Cow<'_, str> {
    match target.char_indices().nth(MAX_OF_TARGET) {
        None => target.into(),
        Some((end, _)) => format!("{}…", &target[..end]).into(),
    }
}

/// Returns a time with milliseconds.
fn in_millis(time: DateTime) -> String {
    let second = DateTime::from_unix_seconds(time.unix_seconds()).to_string();
    let millis = time.unix_millis().rem_euclid(1_000);
    format!("{}.{millis:03}Z", second.trim_end_matches('Z'))
}

/// Details that a response does not contain, or that are hard to find in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Note {
    code: Option<&'static str>,
    why: Option<Cow<'static, str>>,
    operations: Option<usize>,
}

impl Note {
    pub(crate) fn of(service_error: &ServiceError) -> Self {
        Self {
            code: Some(service_error.code),
            why: service_error.why.clone(),
            operations: None,
        }
    }

    /// Notes why the service sent no response.
    pub(crate) fn because(why: String) -> Self {
        Self {
            why: Some(why.into()),
            ..Self::default()
        }
    }

    /// Adds the number of operations of the batch.
    pub(crate) fn of_batch(self, operations: usize) -> Self {
        Self {
            operations: Some(operations),
            ..self
        }
    }
}

/// Marks the response to a request whose sender was rejected: nothing of its body is shown.
#[derive(Clone, Copy)]
pub(crate) struct SenderRejected;

/// The function that receives the events.
pub(crate) type Observe = Arc<dyn Fn(&ResponseEvent) + Send + Sync>;

/// A request in flight.
pub(crate) struct Seen {
    at: DateTime,
    method: Method,
    target: String,
    if_match: Option<String>,
    prefer: Option<String>,
    batch: Option<BatchMessages>,
    started: Instant,
}

impl Seen {
    /// `rules` are those of the host.
    pub(crate) fn of(request: &Request<Bytes>, rules: &ServiceRules, at: DateTime) -> Self {
        let batch = BatchMessages::of(request, rules);
        Self {
            batch,
            ..Self::from_head((request.method(), request.uri(), request.headers()), at)
        }
    }

    /// A request whose body is not known.
    pub(crate) fn from_head((method, uri, headers): (&Method, &Uri, &HeaderMap), at: DateTime) -> Self {
        let text = |name: HeaderName| Some(on_one_line(headers.get(name)?.to_str().ok()?));
        Self {
            at,
            method: method.clone(),
            target: target(uri),
            if_match: text(IF_MATCH),
            prefer: text(HeaderName::from_static("prefer")),
            batch: None,
            started: Instant::now(),
        }
    }

    /// Reports a response, with the fault that was injected into it, or what broke the connection.
    pub(crate) fn show(mut self, observe: &Observe, outcome: &Result<Response<Bytes>, TransportError>) {
        let response = match outcome {
            Ok(response) => response,
            Err(error) => {
                let cause = std::error::Error::source(error);
                return self.show_lost(observe, cause.map_or_else(|| error.to_string(), ToString::to_string));
            }
        };
        if response.extensions().get::<SenderRejected>().is_some() {
            self.batch = None;
        }
        if let Some(batch) = &mut self.batch {
            batch.add_response(response);
        }
        let note = response.extensions().get::<Note>().cloned().unwrap_or_default();
        let why = note.why.map(|why| on_one_line(&why));
        let fault = response
            .extensions()
            .get::<InjectedFault>()
            .map(InjectedFault::to_string);
        let why = fault
            .into_iter()
            .chain(why)
            .reduce(|fault, why| format!("{fault}; {why}"));
        self.report(observe, Some(response.status()), Note { why: None, ..note }, why);
    }

    /// Omits the operations of a batch, because nothing shows that its sender was accepted.
    #[cfg(feature = "http")]
    pub(crate) fn without_batch(self) -> Self {
        Self { batch: None, ..self }
    }

    /// Reports a request without a complete response.
    pub(crate) fn show_lost(self, observe: &Observe, why: String) {
        self.report(observe, None, Note::default(), Some(why));
    }

    fn report(self, observe: &Observe, status: Option<StatusCode>, note: Note, why: Option<String>) {
        observe(&ResponseEvent {
            at: self.at,
            method: self.method,
            target: self.target,
            status,
            code: note.code,
            why,
            operations: note.operations,
            if_match: self.if_match,
            prefer: self.prefer,
            batch: self.batch,
            duration: self.started.elapsed(),
        });
    }
}

fn target(uri: &Uri) -> String {
    let mut text = shown(uri.path());
    let mut separator = '?';
    for pair in uri.query().unwrap_or_default().split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = shown(name);
        if name.starts_with('$') || name.starts_with("Next") || SHOWN.contains(&name.as_str()) {
            text.extend([separator]);
            text.extend([name.as_str(), "=", &shown(&value.replace('+', " "))]);
            separator = '&';
        }
    }
    text
}

/// Percent-decodes a text if the result is UTF-8, and escapes characters that would break the line.
///
/// A URL with a signature may be part of a path or of a value by mistake. The text ends before the signature.
fn shown(text: &str) -> String {
    let decoded = url::decode(text).unwrap_or_else(|| text.to_owned());
    let lower = decoded.to_ascii_lowercase();
    let signature = ["?sig=", "&sig="].iter().filter_map(|name| lower.find(name)).min();
    match signature.and_then(|at| decoded.get(..at)) {
        Some(before) => on_one_line(before) + "…",
        None => on_one_line(&decoded),
    }
}

fn on_one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || is_bidirectional_control(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_signature_is_shown() {
        let uri = "http://h/acct/Blogs()?%24filter=A%20eq%20%271%0A2%27&sv=2019-02-02&tn=Blogs&sp=r&%73ig=SECRET%3D&sig=SECRET\
                   &SIG=SECRET&$top=5&timeout=30&NextRowKey=1!4!cjE-";
        assert_eq!(
            target(&uri.parse().unwrap()),
            "/acct/Blogs()?$filter=A eq '1\\n2'&$top=5&timeout=30&NextRowKey=1!4!cjE-"
        );
        assert_eq!(
            target(&"http://h/a/T()%3Fsv=1%26Sig=SECRET".parse().unwrap()),
            "/a/T()?sv=1…"
        );
        let twice = "http://h/a/T()?$filter=A%20eq%201%26sig=SECRET&$top=5";
        assert_eq!(target(&twice.parse().unwrap()), "/a/T()?$filter=A eq 1…&$top=5");
        assert_eq!(target(&"http://h/a/%FF?%24top=%FF".parse().unwrap()), "/a/%FF?$top=%FF");
    }

    #[test]
    fn bidirectional_controls_are_escaped() {
        let uri = "http://h/a/T()?$filter=A%20eq%20%27%E2%80%8E%E2%80%8F%D8%9C%E2%80%AE%E2%81%A6%27";
        assert_eq!(
            target(&uri.parse().unwrap()),
            r"/a/T()?$filter=A eq '\u{200e}\u{200f}\u{61c}\u{202e}\u{2066}'"
        );
    }

    #[test]
    fn log_line_has_time_method_target_status_code_and_duration() {
        let mut request = ResponseEvent {
            at: "2026-01-02T03:04:05.0067Z".parse().unwrap(),
            method: Method::POST,
            target: "/acct/Tables".to_owned(),
            status: Some(StatusCode::CONFLICT),
            code: Some("TableAlreadyExists"),
            why: None,
            operations: None,
            if_match: None,
            prefer: None,
            batch: None,
            duration: Duration::from_micros(1_234),
        };
        let line = "2026-01-02T03:04:05.006Z POST /acct/Tables 409 TableAlreadyExists 1.2 ms";
        assert_eq!(request.to_string(), line);
        request.status = Some(StatusCode::NO_CONTENT);
        request.code = None;
        request.duration = Duration::from_nanos(999_900);
        request.operations = Some(100);
        request.why = Some("no If-Match".to_owned());
        request.target = format!("/{}", "é".repeat(600));
        assert_eq!(
            request.to_string(),
            format!(
                "2026-01-02T03:04:05.006Z POST /{}… 204 100 operations 999 µs (no If-Match)",
                "é".repeat(499)
            )
        );
    }
}
