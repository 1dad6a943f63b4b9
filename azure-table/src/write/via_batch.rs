//! An operation on one entity as the only operation of a batch: its keys are in the body instead of the URL.
//!
//! This file builds the request around it. `batch_response::only` unwraps the response, so no other code needs to know.
//! A read is placed outside of change sets, a write in one.
//!
//! `via_batch` is an option of the call: the request is enclosed when it is prepared, and the part is unwrapped when
//! the call ends. Builders, conditions and policies are unaware of it. A write in doubt is read back by a point read:
//! keys that do not fit into a URL do not fit into a query either. No recording has a query or a secondary in a batch,
//! so neither is sent.
//!
//! Source: REST "Performing entity group transactions"; a recorded response to a read in a batch.

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::Result;
use azure_table_wire::error::operation_kind::Effect;

use crate::write::batch_body::{BatchBody, InnerRequest};
use crate::write::batch_request;
use crate::write::operation_request::OperationRequest;

/// Wraps the request of an operation on one entity in a batch. Leaves any other call unchanged.
pub(crate) fn enclose(call: &mut OperationRequest, endpoint: &Endpoint) -> Result<()> {
    if call.entity.is_none() || call.is_enclosed {
        return Ok(());
    }
    let mut body = match call.effect {
        Effect::Read => BatchBody::from_query(batch_request::batch_boundary()),
        Effect::Write => batch_request::changes(),
    };
    let request = &call.request;
    let mut headers = Vec::with_capacity(request.headers().len());
    for (name, value) in request.headers() {
        headers.push((batch_request::spelled(name.as_str())?, batch_request::text(value)?));
    }
    // The parts are joined again, so any slash may separate them.
    let url = request.uri().to_string();
    body.add(&InnerRequest {
        method: request.method().as_str(),
        url: url.rsplit_once('/').unwrap_or((&url, "")),
        headers: &headers,
        body: request.body(),
    });
    call.request = batch_request::request(endpoint, body)?;
    call.is_enclosed = true;
    Ok(())
}
