//! The spans and events of the feature `tracing`.

use std::borrow::Cow;
use std::time::Duration;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::diagnostics::Attempt;
use azure_table_wire::error::{Error, ErrorKind};
use tracing::field::{Empty, Value, display};
use tracing::instrument::{Instrument as _, Instrumented};
use tracing::{Span, debug, info_span, warn};

use crate::pipeline::attempt_end::AttemptEnd;
use crate::pipeline::observer::Completed;
use crate::pipeline::observer::history::CallHistory;
use crate::write::operation_request::OperationRequest;

/// The name of the service that exporters for Azure expect.
const RESOURCE_PROVIDER: &str = "Microsoft.Tables";

/// The span of a call.
pub(crate) struct CallSpan {
    span: Span,
    /// The name of its operation.
    operation: Cow<'static, str>,
}

impl CallSpan {
    pub(crate) const IS_RECORDED: bool = true;

    pub(crate) fn new(endpoint: &Endpoint, call: &OperationRequest) -> Self {
        let operation = call.telemetry_name(endpoint.profile());
        let name = match &call.table {
            Some(table) => format!("{operation} {table}"),
            None => operation.to_string(),
        };
        let span = info_span!(
            target: "azure_table",
            "call",
            "otel.name" = name,
            "otel.kind" = "client",
            "otel.status_code" = Empty,
            "db.system.name" = endpoint.profile().rules().system,
            "db.namespace" = endpoint.account(),
            "db.collection.name" = call.table.as_deref(),
            "db.operation.name" = &*operation,
            "db.operation.batch.size" = Empty,
            "db.query.summary" = name,
            "db.response.status_code" = Empty,
            "error.type" = Empty,
            "server.address" = endpoint.host(),
            "server.port" = endpoint.port().filter(|port| *port != 443),
            "azure.resource_provider.namespace" = RESOURCE_PROVIDER,
            "azure.table.client_request_id" = Empty,
            "azure.service.request.id" = Empty,
            "azure.cosmosdb.operation.request_charge" = Empty,
            "azure.table.attempts" = Empty,
        );
        // Only a batch of two or more operations has a size.
        if call.is_batch() && call.rows.len() != 1 {
            span.record("db.operation.batch.size", call.rows.len());
        }
        Self { span, operation }
    }

    /// Runs the call in its span.
    pub(crate) fn around<F: Future>(&self, call: F) -> Instrumented<F> {
        call.instrument(self.span.clone())
    }

    /// Reports a retry, as an event in the current span: the call's, or the caller's if spans of calls are
    /// filtered out.
    pub(crate) fn retrying(&self, wait: Duration, ended: &AttemptEnd, history: &CallHistory) {
        let Some(failed) = history.diagnostics.attempts().last() else {
            return;
        };
        let failure = ended.outcome.as_ref().err().map(|(_, e)| e.kind());
        let reason = reason(failed.code(), failed.status(), failure);
        warn!(
            target: "azure_table",
            {
                "attempt" = failed.number(),
                "wait_ms" = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                "db.operation.name" = &*self.operation,
                "db.collection.name" = history.table.as_deref(),
                "db.response.status_code" = failed.status().map(display),
                "error.type" = reason,
                "azure.table.client_request_id" = failed.client_request_id(),
                "azure.service.request.id" = failed.request_id(),
            },
            "retrying after {wait:?}: {} attempt {} {reason} after {:?}",
            failed.operation(),
            failed.number(),
            failed.elapsed(),
        );
    }

    /// Records the end of the call, and reports it as an event in the current span.
    pub(crate) fn completed(&self, call: &Completed<'_>, history: &CallHistory) {
        let span = &self.span;
        span.record("azure.table.attempts", call.attempts);
        if let Some(status) = call.status {
            span.record("db.response.status_code", display(status));
        }
        if let Some(charge) = call.request_charge {
            span.record("azure.cosmosdb.operation.request_charge", charge);
        }
        let attempt = history.own_attempts().next_back();
        let request_id = attempt.and_then(Attempt::request_id);
        if let Some(attempt) = attempt {
            span.record("azure.table.client_request_id", attempt.client_request_id());
        }
        if let Some(id) = request_id {
            span.record("azure.service.request.id", id);
        }
        let failure = call.error.zip(call.last_failure).map(|(kind, last_failure)| {
            let reason = reason(call.code, call.status, Some(last_failure));
            fail(span, &*reason);
            (format!("{kind:?}"), reason)
        });
        macro_rules! report {
            ($event:ident, $ended:literal) => {
                $event!(
                    target: "azure_table",
                    {
                        "db.operation.name" = &*self.operation,
                        "db.collection.name" = call.table,
                        "db.response.status_code" = call.status.map(display),
                        "error.type" = failure.as_ref().map(|(_, reason)| &**reason),
                        "azure.table.error.kind" = failure.as_ref().map(|(kind, _)| &**kind),
                        "azure.table.attempts" = call.attempts,
                        "azure.table.client_request_id" = attempt.map(Attempt::client_request_id),
                        "azure.service.request.id" = request_id,
                    },
                    concat!($ended, " after {:?}"),
                    call.elapsed,
                )
            };
        }
        match &failure {
            None => report!(debug, "completed"),
            Some(_) => report!(warn, "failed"),
        }
    }
}

/// The span of a caller, a batch or an attempt.
#[derive(Debug)]
pub(crate) struct TraceSpan(Span);

impl TraceSpan {
    /// Returns the span that a call starts in, for the part of it that runs on a task.
    pub(crate) fn current() -> Self {
        Self(Span::current())
    }

    /// Creates the span of an attempt, inside its call's span.
    pub(crate) fn for_attempt(number: u32) -> Self {
        Self(info_span!(
            target: "azure_table",
            "attempt",
            "otel.kind" = "client",
            "otel.status_code" = Empty,
            "error.type" = Empty,
            "http.request.resend_count" = (number > 1).then(|| number - 1),
            "http.response.status_code" = Empty,
            "azure.service.request.id" = Empty,
        ))
    }

    /// Runs the work in the span.
    pub(crate) fn around<F: Future>(&self, work: F) -> Instrumented<F> {
        work.instrument(self.0.clone())
    }

    /// Records that the attempt failed without a response, or before it was sent, and closes the span.
    pub(crate) fn failed(self, error: &Error) {
        fail(&self.0, display(format_args!("{:?}", error.cause_kind())));
    }

    /// Records the end of the attempt, and closes the span.
    pub(crate) fn received(self, call: &OperationRequest, ended: &AttemptEnd, attempt: &Attempt) {
        if let Some(status) = attempt.status() {
            self.0.record("http.response.status_code", status);
        }
        if let Some(id) = attempt.request_id() {
            self.0.record("azure.service.request.id", id);
        }
        match (&ended.outcome, &ended.rejection) {
            (Err((_, e)), _) => self.failed(e),
            (Ok(_), Some(rejection)) if call.expects(rejection.status, rejection.code.as_deref()) => {}
            (Ok(_), Some(rejection)) => match &rejection.code {
                Some(code) => fail(&self.0, code.as_str()),
                None => fail(&self.0, display(rejection.status)),
            },
            (Ok(_), None) => {}
        }
    }
}

/// Returns the code of a rejection, or its status if it has none. Returns the kind of the failure without a response.
fn reason(code: Option<&str>, status: Option<u16>, failure: Option<ErrorKind>) -> String {
    match (code, status) {
        (Some(code), _) => code.to_owned(),
        (None, Some(status)) => status.to_string(),
        (None, None) => failure.map_or_else(String::new, |kind| format!("{kind:?}")),
    }
}

fn fail(span: &Span, reason: impl Value) {
    span.record("otel.status_code", "ERROR");
    span.record("error.type", reason);
}
