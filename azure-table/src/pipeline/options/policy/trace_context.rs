//! W3C trace context: tells the service the span of the application. Feature `opentelemetry-033`.

use opentelemetry::propagation::Injector;
use opentelemetry::{Context, global};

use azure_table_wire::transport::BoxFuture;

use crate::pipeline::options::policy::{PolicyRequest, PolicyResult, RequestPolicy};

/// A policy that sends `traceparent` and `tracestate` of the current OpenTelemetry context with each request. Feature
/// `opentelemetry-033`.
///
/// The service writes them to its logs, and a proxy may continue the trace. The signature does not include them. The
/// program's global propagator writes both headers, such as the `TraceContextPropagator` of `opentelemetry_sdk`;
/// without one nothing is sent. With `tracing-opentelemetry` and its context activated, it is the attempt's span.
///
/// Requests on the client's own tasks, such as those of `get_many`, have their caller's context.
///
/// The feature alone sends nothing, because any crate of the program can enable it. Add the policy.
///
/// ```
/// use azure_table::policy::TraceContext;
/// use azure_table::{CallOptions, Emulator, TableServiceClient};
/// let service = TableServiceClient::from_transport(Emulator::new());
/// let traced = service.with(&CallOptions::new().policy(TraceContext));
/// ```
///
/// Source: W3C Recommendation "Trace Context", the headers `traceparent` and `tracestate`.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceContext;

/// Takes the two headers of a propagator. Others, such as baggage, are data of the application.
struct TraceHeaders(Vec<(&'static str, String)>);

impl Injector for TraceHeaders {
    fn set(&mut self, key: &str, value: String) {
        let known = ["traceparent", "tracestate"].into_iter().find(|known| *known == key);
        if let Some(known) = known.filter(|_| !value.is_empty()) {
            self.0.push((known, value));
        }
    }
}

impl RequestPolicy for TraceContext {
    fn attempt<'a>(&'a self, request: &'a mut PolicyRequest<'_>) -> BoxFuture<'a, PolicyResult> {
        Box::pin(async {
            let mut headers = TraceHeaders(Vec::new());
            global::get_text_map_propagator(|propagator| propagator.inject_context(&Context::current(), &mut headers));
            for (name, value) in headers.0 {
                request.set_header(name, &value)?;
            }
            Ok(())
        })
    }
}
