//! The trace context of a span, as it is sent.

use azure_table::policy::TraceContext;
use azure_table::transport::Delivery;
use azure_table::{CallOptions, DynamicEntity};
use azure_table_tests::canned::{Canned, Step};
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};

#[tokio::test]
async fn trace_context_of_the_current_span_is_sent_with_each_attempt() {
    opentelemetry::global::set_text_map_propagator(opentelemetry_sdk::propagation::TraceContextPropagator::new());
    let state = TraceState::from_key_value([("vendor", "7")]).unwrap();
    let span = SpanContext::new(
        TraceId::from(0xabc),
        SpanId::from(0xdef),
        TraceFlags::SAMPLED,
        false,
        state,
    );
    let context = opentelemetry::Context::new().with_remote_span_context(span);
    let no_content = || Step::response(204, &[("etag", "W/\"1\"")], "");
    let canned = Canned::new([Step::Fail(Delivery::NothingSent), no_content(), no_content()]);
    let table = canned.service().dynamic_table("Things").unwrap();
    let entity = DynamicEntity::new("p", "r");
    let traced = CallOptions::new().policy(TraceContext);
    {
        let insert = table.insert_or_replace(&entity).with(&traced).into_future();
        opentelemetry::context::FutureExt::with_context(insert, context)
            .await
            .unwrap();
    }
    // Outside of the span nothing is sent.
    table.insert_or_replace(&entity).with(&traced).await.unwrap();
    let sent = canned.sent();
    for request in &sent[..2] {
        let parent = "00-00000000000000000000000000000abc-0000000000000def-01";
        assert_eq!(request.headers()["traceparent"], parent);
        assert_eq!(request.headers()["tracestate"], "vendor=7");
    }
    assert!(!sent[2].headers().contains_key("traceparent"));
}
