//! Starts the request of a call: in the pipeline, and again after it created a missing table.

use std::sync::Arc;

use azure_table_wire::error::diagnostics;
use azure_table_wire::error::operation_kind::Effect;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::transport::BoxFuture;

use crate::pipeline::Pipeline;
use crate::pipeline::attempt_end::CallEnd;
use crate::pipeline::observer::history::{CallHistory, CallResponse};
use crate::pipeline::options::CallOptions;
use crate::request::tables;
use crate::write::batch_response;
use crate::write::operation_request::OperationRequest;

/// Returns the error of a call that is polled after it completed, as in a loop around `select!`. Returning `Pending`
/// would hang silently.
pub(crate) fn already_completed() -> Error {
    Error::invalid_input("the call has already completed: create a new one")
}

/// Returns the call as a future that owns all it needs.
pub(crate) fn start(
    pipeline: &Arc<Pipeline>,
    mut call: OperationRequest,
    options: CallOptions,
) -> BoxFuture<'static, Result<CallResponse>> {
    let pipeline = Arc::clone(pipeline);
    if pipeline.settings.creates_missing_tables && call.effect == Effect::Write {
        return run_and_make_table(pipeline, call, options);
    }
    Box::pin(async move { pipeline.run(&mut call, &options).await })
}

/// Runs the call. If its table is missing, creates the table and repeats the call.
///
/// This is a separate function because few clients need its code.
#[cold]
fn run_and_make_table(
    pipeline: Arc<Pipeline>,
    mut call: OperationRequest,
    options: CallOptions,
) -> BoxFuture<'static, Result<CallResponse>> {
    Box::pin(async move {
        let options = options.begun();
        let mut again = call.clone();
        let rules = pipeline.endpoint.profile().rules();
        let received = pipeline.run(&mut call, &options).await?;
        let is_missing = matches!(&received.end, CallEnd::Responded(response)
            if batch_response::table_is_missing(response, again.operation, rules));
        let Some(table) = again.table.as_deref().filter(|_| is_missing) else {
            return Ok(received);
        };
        let mut create = tables::create_if_not_exists(&pipeline.endpoint, table)?;
        let options = options.within(&call);
        if let Err(e) = make_table(&pipeline, &mut create, &options).await {
            let CallResponse {
                call, rows, started, ..
            } = received;
            // An attempt in doubt may still arrive, and find the table if another client creates it.
            return Err(match call.in_doubt {
                Some(_) => call.complete_write(e, &rows, started, &pipeline.endpoint),
                None => e,
            });
        }
        let earlier = received.call;
        let ended = pipeline.run(&mut again, &options.after(earlier.in_doubt)).await;
        ended.map_err(|e| after(earlier, e))
    })
}

/// Returns the error of the second run, with the attempts of both.
fn after(earlier: CallHistory, mut error: Error) -> Error {
    let (mut all, parts) = (earlier.diagnostics, error.parts_mut());
    diagnostics::append(&mut all, &parts.diagnostics);
    parts.diagnostics = all;
    parts.attempts += earlier.attempts;
    error
}

async fn make_table(pipeline: &Pipeline, create: &mut OperationRequest, options: &CallOptions) -> Result<()> {
    let CallResponse { end, call, .. } = pipeline.run(create, options).await?;
    let created =
        (end.into_response()).and_then(|response| tables::created_or_existed(response, call.in_doubt.is_some()));
    created.map(drop).map_err(|e| call.complete(e))
}
