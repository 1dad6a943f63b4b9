//! The spans of calls and attempts, in the terms of OpenTelemetry. Without the feature `tracing` they are empty types.
//!
//! Each call is a span, named `{operation} {table}`. Each attempt is a span inside it, without the wait before the next
//! one.
//!
//! A retry and the end of a failed call are events of level WARN; the end of any other call is an event of level DEBUG.
//! A rejection that is a valid result, such as the 404 of a `get`, is not a failure. Spans and events never contain
//! keys, filters, values, or the text of an error, which may contain them.
//!
//! Source: OpenTelemetry semantic conventions 1.44, database client spans. They do not cover Azure Tables:
//! `azure.table` as the system's name is ours, `azure.cosmosdb` is registered.

#[cfg(not(feature = "tracing"))]
pub(crate) use disabled::{CallSpan, TraceSpan};
#[cfg(feature = "tracing")]
pub(crate) use enabled::{CallSpan, TraceSpan};

#[cfg(feature = "tracing")]
mod enabled;

/// Spans that record nothing and take no memory.
#[cfg(not(feature = "tracing"))]
mod disabled {
    use std::time::Duration;

    use azure_table_wire::account::endpoint::Endpoint;
    use azure_table_wire::error::Error;
    use azure_table_wire::error::diagnostics::Attempt;

    use crate::pipeline::attempt_end::AttemptEnd;
    use crate::pipeline::observer::Completed;
    use crate::pipeline::observer::history::CallHistory;
    use crate::write::operation_request::OperationRequest;

    pub(crate) struct CallSpan;

    impl CallSpan {
        pub(crate) const IS_RECORDED: bool = false;

        pub(crate) fn new(_: &Endpoint, _: &OperationRequest) -> Self {
            Self
        }

        pub(crate) fn around<F: Future>(&self, call: F) -> F {
            call
        }

        pub(crate) fn retrying(&self, _: Duration, _: &AttemptEnd, _: &CallHistory) {}

        pub(crate) fn completed(&self, _: &Completed<'_>, _: &CallHistory) {}
    }

    #[derive(Debug)]
    pub(crate) struct TraceSpan;

    impl TraceSpan {
        pub(crate) fn current() -> Self {
            Self
        }

        pub(crate) fn for_attempt(_: u32) -> Self {
            Self
        }

        pub(crate) fn around<F: Future>(&self, work: F) -> F {
            work
        }

        pub(crate) fn failed(self, _: &Error) {}

        pub(crate) fn received(self, _: &OperationRequest, _: &AttemptEnd, _: &Attempt) {}
    }
}
