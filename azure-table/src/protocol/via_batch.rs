//! An operation on one entity as the only one of a batch: its keys then stand in a body, and in no address.
//!
//! Owns the request around it. What comes back is taken out again by `batch_answer::only`, so that nobody else has to
//! know. A read stands outside of change sets, a write in one.
//!
//! `via_batch` is an option of the call: the request is enclosed when it is prepared, and the part is taken out when
//! the call ends. So builders, conditions and policies know nothing of it, and a lost write is read back by a point
//! read: keys that fit into no address fit into no query either. No recording has a query or a secondary in a batch, so
//! neither is sent.
//!
//! Source: REST "Performing entity group transactions"; a recorded answer to a read in a batch.

use crate::codec::batch_body::{BatchBody, InnerRequest};
use crate::model::error::Result;
use crate::model::operation_kind::Effect;
use crate::protocol::batch;
use crate::protocol::endpoint::Endpoint;
use crate::protocol::request::Call;

/// Puts the request of an operation on one entity into a batch of its own; any other call stays as it is.
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
    // Cut at any slash, it is put together again.
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
