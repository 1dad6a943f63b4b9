//! What a call did, attempt by attempt: a value that errors hold and callers read.
//!
//! It is filled by the pipeline.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::model::error_text::OneLine;
use crate::model::location::Location;
use crate::model::operation_kind::OperationKind;

/// Of longer stories the oldest attempts are left out.
const MOST_ATTEMPTS: usize = 128;

/// One request that was sent, or tried to be sent.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub(crate) operation: OperationKind,
    pub(crate) table: Option<Arc<str>>,
    pub(crate) number: u32,
    pub(crate) location: Location,
    pub(crate) begun: SystemTime,
    pub(crate) elapsed: Duration,
    pub(crate) status: Option<u16>,
    pub(crate) code: Option<String>,
    pub(crate) failure: Option<String>,
    pub(crate) etag: Option<String>,
    pub(crate) request_id: Option<String>,
    pub(crate) client_request_id: Arc<str>,
    pub(crate) bytes_sent: usize,
    pub(crate) bytes_received: usize,
    pub(crate) request_charge: Option<f64>,
}

impl Attempt {
    /// The operation, such as `insert`; `query` too for the read that finds out whether a lost write was applied.
    pub fn operation(&self) -> &str {
        self.operation.name()
    }

    /// The table it worked on.
    pub fn table(&self) -> Option<&str> {
        self.table.as_deref()
    }

    /// Which attempt of its call: 1 is the first.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Where it went.
    pub fn location(&self) -> Location {
        self.location
    }

    /// When it began, by the clock of this machine.
    pub fn begun(&self) -> SystemTime {
        self.begun
    }

    /// From sending to the end of the answer, or to the failure.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// The HTTP status; `None` if no complete answer came.
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// The service's code, of a refusal; of a failed batch that of the operation that failed.
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// Why no complete answer came.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// The ETag of the answer.
    pub fn etag(&self) -> Option<&str> {
        self.etag.as_deref()
    }

    /// The service's id of the request.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// The client's id of the call: the same for all attempts of one.
    pub fn client_request_id(&self) -> &str {
        &self.client_request_id
    }

    /// The bytes of the request's body.
    pub fn bytes_sent(&self) -> usize {
        self.bytes_sent
    }

    /// The bytes of the answer's body.
    pub fn bytes_received(&self) -> usize {
        self.bytes_received
    }

    /// What it cost, in request units of Cosmos DB; Storage never says.
    pub fn request_charge(&self) -> Option<f64> {
        self.request_charge
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} attempt {} ", self.operation(), self.number)?;
        match (self.status, &self.failure) {
            (Some(status), _) => write!(f, "{status}")?,
            (None, Some(failure)) => write!(f, "{}", OneLine(failure))?,
            (None, None) => f.write_str("no answer")?,
        }
        if let Some(code) = &self.code {
            write!(f, " {}", OneLine(code))?;
        }
        write!(f, " after {:?}", self.elapsed)
    }
}

/// What a call did: its attempts, with those of the reads that found out whether a lost write was applied. In an error
/// it is [`Error::diagnostics`](crate::Error::diagnostics), else
/// [`OperationContext::diagnostics`](crate::telemetry::OperationContext::diagnostics).
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) omitted: usize,
}

impl Diagnostics {
    /// The attempts in the order in which they ended; of more than 128 the last ones.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// How many older attempts were left out.
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// What the attempts cost, in request units of Cosmos DB; `None` if no answer said so.
    pub fn request_charge(&self) -> Option<f64> {
        self.attempts
            .iter()
            .filter_map(Attempt::request_charge)
            .reduce(|sum, charge| sum + charge)
    }

    pub(crate) fn add(&mut self, attempt: Attempt) {
        if self.attempts.len() == MOST_ATTEMPTS {
            self.attempts.remove(0);
            self.omitted += 1;
        }
        self.attempts.push(attempt);
    }

    /// Adds the attempts of a call within the call.
    pub(crate) fn append(&mut self, inner: &Self) {
        self.omitted += inner.omitted;
        for attempt in &inner.attempts {
            self.add(attempt.clone());
        }
    }
}

/// A line for each attempt.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, attempt) in self.attempts.iter().enumerate() {
            let end = if n == 0 { "" } else { "\n" };
            write!(f, "{end}{attempt}")?;
        }
        Ok(())
    }
}
