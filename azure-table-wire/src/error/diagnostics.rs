//! The attempts of a call, as a value that errors hold and callers read.
//!
//! The `pipeline` fills it.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::error::error_text::OneLine;
use crate::error::operation_kind::OperationKind;
use crate::error::response_headers::ResponseHeaders;
use crate::value::location::Location;

/// The number of attempts that are kept; beyond it the oldest are dropped.
const MAX_ATTEMPTS: usize = 128;

/// One request that was sent, or that failed to be sent.
#[derive(Clone)]
pub struct Attempt {
    parts: AttemptParts,
}

/// The parts of an attempt. The methods of [`Attempt`] explain each.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct AttemptParts {
    pub operation: OperationKind,
    pub table: Option<Arc<str>>,
    pub number: u32,
    pub location: Location,
    pub started: SystemTime,
    pub elapsed: Duration,
    pub status: Option<u16>,
    pub code: Option<String>,
    pub failure: Option<String>,
    pub etag: Option<String>,
    pub service_time: Option<SystemTime>,
    pub request_id: Option<String>,
    pub client_request_id: Arc<str>,
    pub bytes_sent: usize,
    pub bytes_received: usize,
    pub request_charge: Option<f64>,
    /// Kept only if a caller or an observer reads them.
    pub headers: Option<Arc<ResponseHeaders>>,
}

/// Creates an attempt.
pub fn attempt(parts: AttemptParts) -> Attempt {
    Attempt { parts }
}

/// Returns the operation of an attempt.
pub fn operation(attempt: &Attempt) -> OperationKind {
    attempt.parts.operation
}

impl Attempt {
    /// Returns the operation, such as `insert`.
    ///
    /// The read that checks whether a write in doubt was applied counts as a `query`.
    pub fn operation(&self) -> &str {
        self.parts.operation.name()
    }

    /// Returns the table of the operation.
    pub fn table(&self) -> Option<&str> {
        self.parts.table.as_deref()
    }

    /// Returns the number of the attempt within its call, from 1.
    pub fn number(&self) -> u32 {
        self.parts.number
    }

    /// Returns the location that the request was sent to.
    pub fn location(&self) -> Location {
        self.parts.location
    }

    /// Returns the time of the response by the service's clock, truncated to seconds.
    ///
    /// Source: the header `Date` of the response.
    pub fn service_time(&self) -> Option<SystemTime> {
        self.parts.service_time
    }

    /// Returns the start time, by the clock of this machine.
    pub fn started_at(&self) -> SystemTime {
        self.parts.started
    }

    /// Returns the time from the start of sending to the end of the response, or to the failure.
    pub fn elapsed(&self) -> Duration {
        self.parts.elapsed
    }

    /// Returns the HTTP status, or `None` if no complete response arrived.
    pub fn status(&self) -> Option<u16> {
        self.parts.status
    }

    /// Returns the service's error code; for a failed batch, the code of the failed operation.
    pub fn code(&self) -> Option<&str> {
        self.parts.code.as_deref()
    }

    /// Returns the reason why no complete response arrived.
    pub fn failure(&self) -> Option<&str> {
        self.parts.failure.as_deref()
    }

    /// Returns the ETag of the response.
    pub fn etag(&self) -> Option<&str> {
        self.parts.etag.as_deref()
    }

    /// Returns the service's request ID.
    pub fn request_id(&self) -> Option<&str> {
        self.parts.request_id.as_deref()
    }

    /// Returns the client request ID: the same for all attempts of a call.
    pub fn client_request_id(&self) -> &str {
        &self.parts.client_request_id
    }

    /// Returns the size of the request body in bytes.
    pub fn bytes_sent(&self) -> usize {
        self.parts.bytes_sent
    }

    /// Returns the size of the response body in bytes.
    pub fn bytes_received(&self) -> usize {
        self.parts.bytes_received
    }

    /// Returns the request charge in request units of Cosmos DB. Storage never reports one.
    pub fn request_charge(&self) -> Option<f64> {
        self.parts.request_charge
    }

    /// Returns a header of the response, such as `x-ms-version`, or `x-ms-session-token` on Cosmos DB. Names are
    /// case-insensitive.
    ///
    /// If a header occurs several times, returns the first value. Returns `None` for a value that is not ASCII text.
    ///
    /// The client keeps headers for calls with a `context`, and for all calls if an observer's `reads_headers` returns
    /// `true`. Otherwise every header is `None`.
    ///
    /// Secrets are never kept. `Set-Cookie`, `Authorization` and the other cookie and authentication headers are always
    /// `None`, and so is a value with a shared access signature (`sig=`).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.parts.headers.as_ref()?.get(name)
    }
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = &self.parts;
        f.debug_struct("Attempt")
            .field("operation", &parts.operation)
            .field("table", &parts.table)
            .field("number", &parts.number)
            .field("location", &parts.location)
            .field("started", &parts.started)
            .field("elapsed", &parts.elapsed)
            .field("status", &parts.status)
            .field("code", &parts.code)
            .field("failure", &parts.failure)
            .field("request_id", &parts.request_id)
            .field("client_request_id", &parts.client_request_id)
            .field("etag", &parts.etag)
            .field("service_time", &parts.service_time)
            .field("bytes_sent", &parts.bytes_sent)
            .field("bytes_received", &parts.bytes_received)
            .field("request_charge", &parts.request_charge)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} attempt {} ", self.operation(), self.parts.number)?;
        match (self.parts.status, &self.parts.failure) {
            (Some(status), _) => write!(f, "{status}")?,
            (None, Some(failure)) => write!(f, "{}", OneLine(failure))?,
            (None, None) => f.write_str("no response")?,
        }
        if let Some(code) = &self.parts.code {
            write!(f, " {}", OneLine(code))?;
        }
        write!(f, " after {:?}", self.parts.elapsed)
    }
}

/// The attempts of a call, including the reads that check whether a write in doubt was applied.
///
/// A failed call has them in [`Error::diagnostics`](crate::error::Error::diagnostics). For other calls, use
/// `telemetry::OperationContext::diagnostics`.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) omitted: usize,
}

impl Diagnostics {
    /// Returns the last 128 attempts, in the order in which they ended.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// Returns the number of older attempts that were left out.
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// Returns the total request charge in request units of Cosmos DB; `None` if no response reported one.
    pub fn request_charge(&self) -> Option<f64> {
        self.attempts
            .iter()
            .filter_map(Attempt::request_charge)
            .reduce(|sum, charge| sum + charge)
    }
}

/// Adds an attempt.
pub fn add(diagnostics: &mut Diagnostics, attempt: Attempt) {
    if diagnostics.attempts.len() == MAX_ATTEMPTS {
        diagnostics.attempts.remove(0);
        diagnostics.omitted += 1;
    }
    diagnostics.attempts.push(attempt);
}

/// Adds the attempts of a nested call.
pub fn append(diagnostics: &mut Diagnostics, inner: &Diagnostics) {
    diagnostics.omitted += inner.omitted;
    for attempt in &inner.attempts {
        add(diagnostics, attempt.clone());
    }
}

/// Takes the request ID of the last attempt.
pub fn take_request_id(diagnostics: &mut Diagnostics) -> Option<String> {
    diagnostics.attempts.last_mut()?.parts.request_id.take()
}

/// Writes one line per attempt.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, attempt) in self.attempts.iter().enumerate() {
            let end = if n == 0 { "" } else { "\n" };
            write!(f, "{end}{attempt}")?;
        }
        Ok(())
    }
}
