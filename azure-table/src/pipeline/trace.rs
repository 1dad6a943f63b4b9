//! Spans of calls and attempts, in the terms of OpenTelemetry. Feature `tracing`; without it nothing of this is compiled.
//!
//! Owns the names of spans and fields. One span is a call, named `{operation} {table}`; inside of it one for each attempt, without
//! the wait before the next one. A retry is an event of level WARN. A rejection that is an answer in itself, such as a `get`'s 404, is
//! no error.
//! Keys, filters and values are in none.
//!
//! Source: OpenTelemetry semantic conventions 1.44, database client spans. There are none for Azure Tables: `azure.table` as the
//! system's name is ours, `azure.cosmosdb` is registered.

use std::time::Duration;

use tracing::field::{Empty, Value, display};
use tracing::{Span, info_span, warn};

use crate::model::diagnostics::Attempt;
use crate::model::error::Error;
use crate::pipeline::attempt::Ended;
use crate::pipeline::observer::Completed;
use crate::pipeline::story::CallStory;
use crate::protocol::endpoint::Endpoint;
use crate::protocol::profile::Profile;
use crate::protocol::request::Call;

/// What exporters for Azure know the service by.
const RESOURCE_PROVIDER: &str = "Microsoft.Tables";

/// The span of a call.
pub(crate) fn call(endpoint: &Endpoint, call: &Call) -> Span {
    let operation = operation_name(endpoint, call);
    let name = match &call.table {
        Some(table) => format!("{operation} {table}"),
        None => operation.clone(),
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
        "db.operation.name" = operation,
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
    // Only of two and more is there a size.
    if call.is_batch() && call.rows.len() != 1 {
        span.record("db.operation.batch.size", call.rows.len());
    }
    span
}

/// The name of a batch is `BATCH`, with that of its operations if they are all of one; on Cosmos DB the registered `execute_batch`.
fn operation_name(endpoint: &Endpoint, call: &Call) -> String {
    if !call.is_batch() {
        return call.operation.name().to_owned();
    }
    if endpoint.profile() == Profile::Cosmos {
        return "execute_batch".to_owned();
    }
    match call.common_operation() {
        mixed if mixed == call.operation => "BATCH".to_owned(),
        common => format!("BATCH {}", common.name()),
    }
}

/// The span of an attempt, inside of its call's.
pub(crate) fn attempt(number: u32) -> Span {
    info_span!(
        target: "azure_table",
        "attempt",
        "otel.kind" = "client",
        "otel.status_code" = Empty,
        "error.type" = Empty,
        "http.request.resend_count" = (number > 1).then(|| number - 1),
        "http.response.status_code" = Empty,
        "azure.service.request.id" = Empty,
    )
}

/// Records how an attempt ended in its span, and closes it. A rejection that is an answer in itself is no error.
pub(crate) fn received(
    span: Span,
    call: &Call,
    ended: &Ended,
    refusal: Option<&(u16, Option<String>)>,
    attempt: Option<&Attempt>,
) {
    let Some(attempt) = attempt else { return };
    if let Some(status) = attempt.status() {
        span.record("http.response.status_code", status);
    }
    if let Some(id) = attempt.request_id() {
        span.record("azure.service.request.id", id);
    }
    match (&ended.outcome, refusal) {
        (Err((_, e)), _) => unanswered(&span, e),
        (Ok(_), Some((status, _))) if call.expected == Some(*status) => {}
        (Ok(_), Some((_, Some(code)))) => fail(&span, code.as_str()),
        (Ok(_), Some((status, None))) => fail(&span, display(status)),
        (Ok(_), None) => {}
    }
}

/// Records that an attempt failed without a response, or before it was sent.
pub(crate) fn unanswered(span: &Span, error: &Error) {
    fail(span, display(format_args!("{:?}", error.kind())));
}

fn fail(span: &Span, reason: impl Value) {
    span.record("otel.status_code", "ERROR");
    span.record("error.type", reason);
}

/// The event of a retry, in the span of its call.
pub(crate) fn retrying(wait: Duration, failed: Option<&Attempt>) {
    let Some(failed) = failed else { return };
    warn!(
        target: "azure_table",
        attempt = failed.number(),
        wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        "retrying after {wait:?}: {failed}",
    );
}

/// Tells the call's span how it ended.
pub(crate) fn completed(span: &Span, call: &Completed<'_>, story: &CallStory) {
    span.record("azure.table.attempts", call.attempts);
    if let Some(status) = call.status {
        span.record("db.response.status_code", display(status));
    }
    if let Some(charge) = call.request_charge {
        span.record("azure.cosmosdb.operation.request_charge", charge);
    }
    if let Some(attempt) = story.own_attempts().next_back() {
        span.record("azure.table.client_request_id", attempt.client_request_id());
        if let Some(id) = attempt.request_id() {
            span.record("azure.service.request.id", id);
        }
    }
    if let Some(kind) = call.error {
        match (call.code, call.status) {
            (Some(code), _) => fail(span, code),
            (None, Some(status)) => fail(span, display(status)),
            (None, None) => fail(span, display(format_args!("{kind:?}"))),
        }
    }
}
