//! What is known of a call while it goes on, and what an error says of it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::Response;

use crate::model::diagnostics::{Attempt, Diagnostics};
use crate::model::error::{Error, ErrorKind, ResponseHeaders};
use crate::model::location::Location;
use crate::model::operation_kind::{Effect, OperationKind};
use crate::protocol::answer;
use crate::protocol::request::Call;

/// The story of a call.
#[derive(Clone, Debug)]
pub(crate) struct CallStory {
    pub(crate) operation: OperationKind,
    pub(crate) table: Option<Arc<str>>,
    entity: Option<(String, String)>,
    pub(crate) effect: Effect,
    pub(crate) attempts: u32,
    /// How long the last answer asked to wait.
    pub(crate) asked_wait: Option<Duration>,
    /// The headers of the last answer, if it rejects.
    pub(crate) headers: ResponseHeaders,
    pub(crate) client_request_id: Arc<str>,
    /// What the credential says of the refusal that the answer is.
    pub(crate) advice: Option<String>,
    /// Whether what is said of an operation of the batch is said of the call.
    is_enclosed: bool,
    /// Whether some attempt of a write may have been applied, and nothing was found out.
    pub(crate) in_doubt: bool,
    /// Where the answer came from.
    pub(crate) location: Location,
    pub(crate) diagnostics: Diagnostics,
}

/// How an attempt that ended is told of.
pub(crate) struct Told<'a> {
    pub(crate) location: Location,
    pub(crate) begun: SystemTime,
    pub(crate) elapsed: Duration,
    pub(crate) bytes_sent: usize,
    pub(crate) outcome: Result<&'a Response<Bytes>, &'a Error>,
    pub(crate) code: Option<String>,
}

impl CallStory {
    /// Takes the names out of the call, which needs them no longer.
    pub(crate) fn of(call: &Call, client_request_id: String) -> Self {
        Self {
            operation: call.operation,
            table: call.table.as_deref().map(Arc::from),
            entity: call.entity.clone(),
            effect: call.effect,
            attempts: 0,
            asked_wait: None,
            headers: ResponseHeaders::default(),
            client_request_id: Arc::from(client_request_id),
            advice: None,
            is_enclosed: call.is_enclosed,
            in_doubt: false,
            location: call.location,
            diagnostics: Diagnostics::default(),
        }
    }

    /// The attempt that ended, which is the next in the story.
    pub(crate) fn attempt(&self, told: Told<'_>) -> Attempt {
        let response = told.outcome.ok();
        Attempt {
            operation: self.operation,
            table: self.table.clone(),
            number: self.attempts,
            location: told.location,
            begun: told.begun,
            elapsed: told.elapsed,
            status: response.map(|response| response.status().as_u16()),
            code: told.code,
            failure: told.outcome.err().map(ToString::to_string),
            etag: response.and_then(answer::etag).map(|etag| etag.as_str().to_owned()),
            request_id: response.and_then(answer::request_id),
            client_request_id: Arc::clone(&self.client_request_id),
            bytes_sent: told.bytes_sent,
            bytes_received: response.map_or(0, |response| response.body().len()),
            request_charge: response.and_then(|response| answer::request_charge(response.headers())),
        }
    }

    /// The attempts of the call itself, without those of reads in between.
    pub(crate) fn own_attempts(&self) -> impl DoubleEndedIterator<Item = &Attempt> {
        let is_own = |attempt: &&Attempt| attempt.operation == self.operation;
        self.diagnostics.attempts().iter().filter(is_own)
    }

    /// What the call itself cost on Cosmos DB.
    pub(crate) fn request_charge(&self) -> Option<f64> {
        self.own_attempts()
            .filter_map(|attempt| attempt.request_charge)
            .reduce(|a, b| a + b)
    }

    /// Completes an error that came of this call.
    pub(crate) fn tell(&self, mut error: Error) -> Error {
        let maybe = self.effect == Effect::Write && (self.in_doubt || error.may_have_applied() || leaves_open(&error));
        if self.is_enclosed {
            error = error.at_batch_index(None);
        }
        if let Some((partition_key, row_key)) = &self.entity {
            error = error.at_entity(partition_key, row_key);
        }
        if let Some(advice) = self.advice.as_ref().filter(|_| !error.has_message()) {
            error = error.with_message(advice.clone());
        }
        if let Some(wait) = self.asked_wait.filter(|_| !error.has_message()) {
            error = error.with_message(format!("it asks to wait {wait:?}"));
        }
        error
            .in_operation(self.operation, self.table.as_deref())
            .after_attempts(self.attempts)
            .with_client_request_id(Some(self.client_request_id.to_string()))
            .with_retry_after(self.asked_wait)
            .with_headers(self.headers.clone())
            .with_diagnostics(self.diagnostics.clone())
            .maybe_applied(maybe)
    }
}

/// Whether an answer leaves open if the service applied the write. A refusal (4xx, `ServerBusy`, not implemented) says
/// that it did not; a success that cannot be read says that it did.
fn leaves_open(error: &Error) -> bool {
    match error.status() {
        Some(501) => false,
        Some(status) => matches!(status, 200..=399 | 408 | 500..) && error.kind() != ErrorKind::Throttled,
        None => false,
    }
}
