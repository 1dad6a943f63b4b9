//! An operation on one entity as the only operation of a batch: its keys are in the body instead of the URL.

use crate::codec::batch_body::{BatchBody, InnerRequest};
use crate::model::error::Result;
use crate::model::operation_kind::Effect;
use crate::protocol::batch;
use crate::protocol::endpoint::Endpoint;
use crate::protocol::request::Call;

/// Wraps the request of an operation on one entity in a batch. Leaves any other call unchanged.
pub(crate) fn enclose(call: &mut Call, endpoint: &Endpoint) -> Result<()> {
    if call.entity.is_none() || call.is_enclosed {
        return Ok(());
    }
    let mut body = match call.effect {
        Effect::Read => BatchBody::of_query(batch::batch_boundary()),
        Effect::Write => batch::changes(),
    };
    let request = &call.request;
    let mut headers = Vec::with_capacity(request.headers().len());
    for (name, value) in request.headers() {
        headers.push((batch::spelled(name.as_str())?, batch::text(value)?));
    }
    // The parts are joined again, so any slash may separate them.
    let url = request.uri().to_string();
    body.add(&InnerRequest {
        method: request.method().as_str(),
        url: url.rsplit_once('/').unwrap_or((&url, "")),
        headers: &headers,
        body: request.body(),
    });
    call.request = batch::request(endpoint, body)?;
    call.is_enclosed = true;
    Ok(())
}
