//! The notifications of one call: its history, observers, context and spans receive each step here.
//!
//! This file determines the time and the content of each notification. The receivers are `observer.rs`,
//! and `history`, `context` and `trace` in its folder.

use std::time::Duration;

use azure_table_wire::error::diagnostics;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::response;
use azure_table_wire::value::clock::Instant;
use azure_table_wire::value::location::Location;

use crate::pipeline::Pipeline;
use crate::pipeline::attempt_end::{AttemptEnd, CallEnd, Rejection};
use crate::pipeline::lost_write::outcome::Resolution;
use crate::pipeline::observer::history::CallHistory;
use crate::pipeline::observer::trace::{CallSpan, TraceSpan};
use crate::pipeline::observer::{Completed, Event, Observers, Sending};
use crate::pipeline::options::CallOptions;
use crate::write::operation_request::OperationRequest;

/// The receivers of the steps of a call.
pub(crate) struct Notifications<'a> {
    pub(super) pipeline: &'a Pipeline,
    pub(super) call: &'a OperationRequest,
    pub(super) options: &'a CallOptions,
    pub(super) span: &'a CallSpan,
    pub(crate) history: CallHistory,
}

impl<'a> Notifications<'a> {
    fn observers(&self) -> &'a Observers {
        &self.pipeline.observers
    }

    /// Reports that an attempt starts, before it has its permit and its authorization.
    pub(crate) fn starting(&mut self, location: Location) -> TraceSpan {
        self.history.attempts += 1;
        self.history.location = location;
        TraceSpan::for_attempt(self.history.attempts)
    }

    /// Reports that the attempt ended before anything was sent.
    pub(crate) fn not_sent(&mut self, span: TraceSpan, error: &Error) {
        self.history.attempts -= 1;
        span.failed(error);
    }

    /// Reports that a request of the attempt is being sent.
    pub(crate) fn sending(&self, location: Location) {
        self.observers().notify(&Event::Sending(Sending {
            operation: self.call.operation.name(),
            table: self.history.table.as_deref(),
            attempt: self.history.attempts,
            location,
            client_request_id: &self.history.client_request_id,
            bytes: self.call.request.body().len(),
        }));
    }

    /// Reports that the attempt ended. Its span ends too, without the wait before the next attempt.
    pub(crate) fn received(&mut self, span: TraceSpan, ended: &AttemptEnd) {
        self.history.read(ended, self.call);
        let context = self.options.get().context.as_ref();
        let keeps_headers = context.is_some() || self.observers().read_headers();
        let attempt = self
            .history
            .attempt(ended, self.call.request.body().len(), keeps_headers);
        self.observers().notify(&Event::Received(&attempt));
        if let Some(context) = context {
            context.add(attempt.clone());
        }
        span.received(self.call, ended, &attempt);
        diagnostics::add(&mut self.history.diagnostics, attempt);
    }

    /// Reports that the clock was corrected by the service's time.
    pub(crate) fn clock_corrected(&self, seconds: i64) {
        self.observers().notify(&Event::ClockCorrected { seconds });
    }

    /// Reports that the client waits before another attempt. `attempt` is the number of the failed one.
    pub(crate) fn retrying(&self, ended: &AttemptEnd, attempt: u32, wait: Duration) {
        self.observers().notify(&Event::Retrying {
            operation: self.call.operation.name(),
            telemetry_name: &self.call.telemetry_name(self.pipeline.endpoint.profile()),
            attempt,
            wait,
        });
        self.span.retrying(wait, ended, &self.history);
    }

    /// Reports that a write in doubt was read back.
    pub(crate) fn read_back(&self, resolution: &Resolution) {
        self.observers().notify(&Event::ReadBack {
            operation: self.call.operation.name(),
            applied: resolution.is_applied(),
        });
    }

    /// Reports that the call ended.
    pub(crate) fn completed(&self, outcome: &Result<CallEnd>, started: Instant) {
        if self.observers().is_empty() && !CallSpan::IS_RECORDED {
            return;
        }
        let response = match outcome {
            Ok(CallEnd::Responded(response)) => Some(response),
            Ok(CallEnd::ReadBack(_)) | Err(_) => None,
        };
        let rejection = response.and_then(|response| Rejection::of(self.call, response));
        let error = match (outcome, &rejection) {
            (Err(e), _) => Some(e.copy()),
            (Ok(_), Some(rejection)) if self.call.expects(rejection.status, rejection.code.as_deref()) => None,
            (Ok(_), Some(rejection)) => Some(match response {
                Some(response) if response.status().as_u16() >= 400 => response::error(response),
                // The service rejected an operation in the batch.
                _ => Error::of_response(rejection.status, rejection.code.clone(), None, None),
            }),
            (Ok(_), None) => None,
        };
        let error = error.map(|e| {
            let is_in_doubt = self.history.is_in_doubt_after(&e);
            let e = e.in_operation(self.call.operation, self.call.table.as_deref());
            e.maybe_applied(is_in_doubt)
        });
        let status = response.map(|response| response.status().as_u16());
        let profile = self.pipeline.endpoint.profile();
        let telemetry_name = self.call.telemetry_name(profile);
        let completed = Completed {
            operation: self.call.operation.name(),
            telemetry_name: &telemetry_name,
            table: self.history.table.as_deref(),
            account: self.pipeline.endpoint.account(),
            profile,
            writes: self.call.rows.len(),
            elapsed: started.elapsed(),
            attempts: self.history.attempts,
            is_read_back: matches!(outcome, Ok(CallEnd::ReadBack(_))),
            status: rejection.as_ref().map(|rejection| rejection.status).or(status),
            code: rejection.as_ref().and_then(|rejection| rejection.code.as_deref()),
            error: error.as_ref().map(Error::kind),
            last_failure: error.as_ref().map(Error::cause_kind),
            request_charge: self.history.request_charge(),
        };
        self.span.completed(&completed, &self.history);
        self.observers().notify(&Event::Completed(completed));
    }
}
