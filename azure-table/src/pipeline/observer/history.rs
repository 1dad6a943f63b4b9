//! The history of a call.
//!
//! A [`CallHistory`] grows with each attempt and completes the errors of its call. A [`CallResponse`] is the result of
//! a call with its history.

use std::sync::Arc;
use std::time::Duration;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::diagnostics::{self, Attempt, AttemptParts, Diagnostics, attempt};
use azure_table_wire::error::in_doubt_write::parts::LostAttempts;
use azure_table_wire::error::operation_kind::{Effect, OperationKind};
use azure_table_wire::error::{Error, ErrorKind, ResponseHeaders};
use azure_table_wire::response;
use azure_table_wire::value::clock::{self, Instant};
use azure_table_wire::value::location::Location;
use bytes::Bytes;
use http::Response;

use crate::key::key_texts::KeyTexts;
use crate::pipeline::attempt_end::{AttemptEnd, CallEnd, requested_wait};
use crate::pipeline::lost_write::facts;
use crate::pipeline::skew::seconds_between;
use crate::write::operation_request::{OperationRequest, RowWrites};

/// The end of a call that does not fail, and its history.
#[derive(Debug)]
pub(crate) struct CallResponse {
    pub(crate) end: CallEnd,
    pub(crate) call: CallHistory,
    /// The writes of the call, and its start: an error of the response may leave them in doubt.
    pub(crate) rows: RowWrites,
    pub(crate) started: Instant,
}

/// The history of a call.
#[derive(Debug)]
pub(crate) struct CallHistory {
    pub(crate) operation: OperationKind,
    pub(crate) table: Option<Arc<str>>,
    entity: Option<Arc<KeyTexts>>,
    pub(crate) effect: Effect,
    pub(crate) attempts: u32,
    /// The wait that the last response requests.
    pub(crate) requested_wait: Option<Duration>,
    /// The headers of the last response, if it rejects.
    pub(crate) headers: ResponseHeaders,
    pub(crate) client_request_id: Arc<str>,
    /// Advice about the last rejection, for example from the credential.
    pub(crate) advice: Option<String>,
    /// The call is the only operation of a batch: an error of the operation is an error of the call.
    is_enclosed: bool,
    /// The attempts of a write that may have been applied, and the stored rows did not show whether they were.
    pub(crate) in_doubt: Option<LostAttempts>,
    /// The rows showed, after the last attempt failed, that no attempt was or will be applied.
    pub(crate) is_ruled_out: bool,
    /// The location of the last attempt.
    pub(crate) location: Location,
    pub(crate) diagnostics: Diagnostics,
}

impl CallHistory {
    pub(crate) fn of(call: &OperationRequest, client_request_id: Arc<str>) -> Self {
        Self {
            operation: call.operation,
            table: call.table.clone(),
            entity: call.entity.clone(),
            effect: call.effect,
            attempts: 0,
            requested_wait: None,
            headers: ResponseHeaders::default(),
            client_request_id,
            advice: None,
            is_enclosed: call.is_enclosed,
            in_doubt: None,
            is_ruled_out: false,
            location: call.location,
            diagnostics: Diagnostics::default(),
        }
    }

    /// Reads the end of an attempt, which replaces the end of the previous attempt.
    pub(crate) fn read(&mut self, ended: &AttemptEnd, call: &OperationRequest) {
        let response = ended.outcome.as_ref().ok();
        self.advice = response.and_then(|response| address_advice(call, response));
        let rejecting = response.filter(|_| ended.rejection.is_some());
        self.requested_wait = rejecting.and_then(|response| requested_wait(call, response));
        self.headers = rejecting.map(kept_headers).unwrap_or_default();
    }

    /// Returns the record of an attempt that ended, with the headers of its response if `keeps_headers`.
    pub(crate) fn attempt(&self, ended: &AttemptEnd, bytes_sent: usize, keeps_headers: bool) -> Attempt {
        let response = ended.outcome.as_ref().ok();
        attempt(AttemptParts {
            operation: self.operation,
            table: self.table.clone(),
            number: self.attempts,
            location: self.location,
            started: ended.started,
            elapsed: ended.elapsed,
            status: response.map(|response| response.status().as_u16()),
            code: ended.rejection.as_ref().and_then(|rejection| rejection.code.clone()),
            failure: ended.outcome.as_ref().err().map(|(_, e)| e.to_string()),
            etag: response.and_then(response::etag).map(str::to_owned),
            service_time: response.and_then(|response| response::date(response.headers())),
            request_id: response.and_then(response::request_id),
            client_request_id: Arc::clone(&self.client_request_id),
            bytes_sent,
            bytes_received: response.map_or(0, |response| response.body().len()),
            request_charge: response.and_then(|response| response::request_charge(response.headers())),
            headers: response
                .filter(|_| keeps_headers)
                .map(|response| Arc::new(ResponseHeaders::without_secrets(response.headers()))),
        })
    }

    /// Returns the attempts of the call itself, without those that read it back.
    pub(crate) fn own_attempts(&self) -> impl DoubleEndedIterator<Item = &Attempt> {
        let is_own = |attempt: &&Attempt| diagnostics::operation(attempt) == self.operation;
        self.diagnostics.attempts().iter().filter(is_own)
    }

    /// Returns the request units of the call itself on Cosmos DB.
    pub(crate) fn request_charge(&self) -> Option<f64> {
        self.own_attempts()
            .filter_map(Attempt::request_charge)
            .reduce(|a, b| a + b)
    }

    /// Returns `true` if the write may have been applied although the call ends with this error.
    pub(crate) fn is_in_doubt_after(&self, error: &Error) -> bool {
        self.effect == Effect::Write && (self.in_doubt.is_some() || error.may_have_applied() || self.leaves_open(error))
    }

    /// Returns `true` if a response leaves a write in doubt.
    ///
    /// A rejection (4xx, `ServerBusy`, not implemented) means that the service did not apply it. A success that cannot
    /// be read means that it did.
    fn leaves_open(&self, error: &Error) -> bool {
        match error.parts().status {
            Some(200..=399) => true,
            Some(408 | 500 | 502..) => !self.is_ruled_out && error.cause_kind() != ErrorKind::Throttled,
            _ => false,
        }
    }

    /// Completes an error of a call that writes these rows, so that the caller can resolve a write in doubt.
    #[cold]
    pub(crate) fn complete_write(
        &self,
        error: Error,
        rows: &RowWrites,
        started: Instant,
        endpoint: &Endpoint,
    ) -> Error {
        let mut error = self.complete(error);
        if error.may_have_applied() {
            // Without a lost attempt, it is the response that cannot be read.
            let elapsed = started.elapsed();
            let whole_call = || LostAttempts::followed_by(None, clock::now() - elapsed, elapsed);
            let attempts = self.in_doubt.unwrap_or_else(whole_call);
            let (table, diagnostics) = (self.table.as_deref(), &self.diagnostics);
            let facts = facts::of_call(endpoint, self.operation, table, rows.iter(), attempts, diagnostics);
            error.parts_mut().in_doubt_write = facts;
        }
        error
    }

    /// Completes an error of this call.
    #[cold]
    pub(crate) fn complete(&self, mut error: Error) -> Error {
        let maybe = self.is_in_doubt_after(&error);
        if self.is_enclosed {
            error = error.at_batch_index(None);
        }
        if let Some((partition_key, row_key)) = self.entity.as_deref().map(KeyTexts::pair) {
            error = error.at_entity(partition_key, row_key);
        }
        error = error
            .in_operation(self.operation, self.table.as_deref())
            .maybe_applied(maybe);
        let parts = error.parts_mut();
        if parts.message.is_empty() {
            let wait = self
                .requested_wait
                .map(|wait| format!("it requests a wait of {wait:?}"));
            parts.message = self.advice.clone().or(wait).unwrap_or_default().into();
        }
        parts.attempts = self.attempts;
        parts.client_request_id = Some(self.client_request_id.to_string());
        parts.retry_after = self.requested_wait;
        parts.headers = self.headers.clone();
        parts.diagnostics = self.diagnostics.clone();
        error
    }
}

/// Returns the remedy if the service rejects a URL because of the keys in it.
fn address_advice(call: &OperationRequest, response: &Response<Bytes>) -> Option<String> {
    // An insert has its keys in the body already.
    let has_keys = call.entity.is_some() && call.request.uri().path().ends_with(')');
    if !has_keys || call.is_enclosed || !response::rejects_address(response) {
        return None;
    }
    Some(format!(
        "the service rejects the URL of {} characters: use `CallOptions::via_batch`, which sends the keys in the body",
        call.request.uri().to_string().len()
    ))
}

/// Returns the headers of a response that rejects, in the form that an error keeps.
fn kept_headers(response: &Response<Bytes>) -> ResponseHeaders {
    let service = response::date(response.headers());
    ResponseHeaders::of(
        response.headers(),
        service.map(|service| seconds_between(clock::now(), service)),
    )
}
