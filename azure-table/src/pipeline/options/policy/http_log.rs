//! A log of requests: one compact line for each.
//!
//! Defines [`HttpLog`]. Keys of entities and conditions of queries are data of the application's users, so the line has
//! neither unless they are wanted.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use azure_table_wire::error::operation_kind::{self, OperationKind, Subject};
use azure_table_wire::response;
use azure_table_wire::value::location::Location;
use http::{HeaderMap, HeaderName, Uri};

use crate::pipeline::options::policy::{PolicyRequest, RequestEnd, RequestPolicy};

/// The query parameters whose values are shown, because they contain no data.
const SHOWN: [&str; 4] = ["comp", "restype", "$top", "%24top"];

/// Parts of the names of headers that have credentials, keys of entities, or both.
const SECRET: [&str; 7] = [
    "auth",
    "cookie",
    "continuation",
    "location",
    "serviceid",
    "signature",
    "token",
];

/// A policy that writes a line for each request, retries included:
///
/// ```text
/// GET /account/Blogs(…)?$select=… 200 in 4.1 ms, 0 bytes sent, 312 received
/// ```
///
/// The keys of an entity and the values of the query are shown as `…`, except `comp`, `restype` and `$top`. A request
/// to the secondary has `(secondary)` behind its target. A request without a response has its error instead of a
/// status. Lines have no headers and no bodies unless they are requested. Even then, headers with credentials,
/// bodies of 401 and 403, and signatures of a repeated URL are left out.
///
/// ```
/// use azure_table::policy::HttpLog;
/// use azure_table::{CallOptions, DynamicEntity, Emulator, TableServiceClient};
/// use std::sync::{Arc, Mutex};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let lines = Arc::new(Mutex::new(Vec::new()));
/// let log = {
///     let lines = Arc::clone(&lines);
///     HttpLog::new(move |line| lines.lock().unwrap().push(line.to_owned()))
/// };
/// let logged = CallOptions::new().policy(log.header("content-type"));
/// let table = TableServiceClient::from_transport(Emulator::new()).with(&logged).dynamic_table("Blogs")?;
/// table.create_table().await?;
/// table.insert(&DynamicEntity::new("Channel9", "1")).await?;
/// table.get(("Channel9", "1")).await?;
/// let lines = lines.lock().unwrap();
/// assert!(lines[0].starts_with("POST /devstoreaccount1/Tables 204 in "), "{}", lines[0]);
/// assert!(lines[2].starts_with("GET /devstoreaccount1/Blogs(…) 200 in "), "{}", lines[2]);
/// assert!(!lines.concat().contains("Channel9"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct HttpLog {
    write: Arc<dyn Fn(&str) + Send + Sync>,
    headers: Vec<HeaderName>,
    /// The maximum length of a body in the log, in characters.
    body_chars: usize,
}

impl HttpLog {
    /// Creates a log that passes each line to `write`, without a line end.
    pub fn new(write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            write: Arc::new(write),
            headers: Vec::new(),
            body_chars: 0,
        }
    }

    /// Adds a header to the lines, if the request or the response has it.
    ///
    /// A value that a caller or a policy has set is `(hidden)`, since it may be a secret. Headers with credentials,
    /// keys or continuation tokens are never shown.
    ///
    /// # Panics
    /// Panics if `name` is not a header name in lower case.
    pub fn header(mut self, name: &'static str) -> Self {
        self.headers.push(HeaderName::from_static(name));
        self
    }

    /// Adds the bodies to the lines, each cut after `max_chars` characters. They contain the entities.
    ///
    /// Bodies of operations on the service, and of access policies, are never shown. Signatures in a body are hidden.
    pub fn bodies(mut self, max_chars: usize) -> Self {
        self.body_chars = max_chars;
        self
    }

    fn line(&self, request: &PolicyRequest<'_>, end: &RequestEnd<'_>) -> Result<String, fmt::Error> {
        let mut line = format!("{} ", request.method());
        target(&mut line, request.uri())?;
        if request.location() == Location::Secondary {
            line.push_str(" (secondary)");
        }
        let millis = end.elapsed.as_secs_f64() * 1_000.0;
        let sent = request.body().len();
        let (headers, body) = match end.outcome {
            Ok(response) => {
                let (status, received) = (response.status().as_u16(), response.body().len());
                write!(
                    line,
                    " {status} in {millis:.1} ms, {sent} bytes sent, {received} received"
                )?;
                (Some(response.headers()), &response.body()[..])
            }
            Err(error) => {
                write!(line, " failed in {millis:.1} ms, {sent} bytes sent: {:?}", error.kind())?;
                (None, &b""[..])
            }
        };
        for (sign, headers) in [('>', Some(request.headers())), ('<', headers)] {
            self.chosen(&mut line, sign, headers)?;
        }
        if self.body_chars > 0 && has_entities(request.call.operation) {
            self.body(&mut line, '>', request.body())?;
            // The detail of a rejected signature quotes it.
            let status = end.outcome.map(|response| response.status().as_u16());
            let is_rejected = matches!(status, Ok(401 | 403));
            self.body(&mut line, '<', if is_rejected { b"" } else { body })?;
        }
        Ok(line)
    }

    fn chosen(&self, line: &mut String, sign: char, headers: Option<&HeaderMap>) -> fmt::Result {
        let Some(headers) = headers else { return Ok(()) };
        for name in &self.headers {
            let is_secret = SECRET.iter().any(|secret| name.as_str().contains(secret));
            for value in headers.get_all(name).iter().filter(|_| !is_secret) {
                let shown = String::from_utf8_lossy(value.as_bytes());
                let shown = if value.is_sensitive() { "(hidden)" } else { &shown };
                write!(line, " {sign} {name}: {shown}")?;
            }
        }
        Ok(())
    }

    fn body(&self, line: &mut String, sign: char, body: &[u8]) -> fmt::Result {
        if body.is_empty() {
            return Ok(());
        }
        // The pages of proxies repeat addresses, with their signatures.
        let text = response::without_signatures(&String::from_utf8_lossy(body));
        let shown: String = text.chars().take(self.body_chars).collect();
        let cut = if shown.len() < text.len() { "…" } else { "" };
        // On one line: control characters of a batch are escaped.
        write!(line, " {sign} {}{cut}", shown.escape_debug())
    }
}

/// Returns `true` if the bodies of an operation are entities, not settings or secrets of the service.
fn has_entities(operation: OperationKind) -> bool {
    matches!(
        operation_kind::facts(operation).subject,
        Subject::Entity | Subject::Batch | Subject::Table
    )
}

/// Appends the path and the query, without the keys and without the values that may be data.
fn target(line: &mut String, uri: &Uri) -> fmt::Result {
    match uri.path().split_once('(') {
        Some((table, ")")) => write!(line, "{table}()")?,
        Some((table, _)) => write!(line, "{table}(…)")?,
        None => line.push_str(uri.path()),
    }
    let parameters = uri.query().into_iter().flat_map(|query| query.split('&'));
    for (n, parameter) in parameters.enumerate() {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let is_shown = SHOWN.contains(&name);
        let sign = if n == 0 { '?' } else { '&' };
        write!(line, "{sign}{name}={}", if is_shown { value } else { "…" })?;
    }
    Ok(())
}

impl RequestPolicy for HttpLog {
    fn ended(&self, request: &PolicyRequest<'_>, end: &RequestEnd<'_>) {
        // Writing to a String cannot fail.
        if let Ok(line) = self.line(request, end) {
            (self.write)(&line);
        }
    }
}

impl fmt::Debug for HttpLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpLog").finish_non_exhaustive()
    }
}
