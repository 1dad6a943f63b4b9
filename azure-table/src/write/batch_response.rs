//! The response to an entity group transaction: a result per operation, or the operation that failed.
//!
//! We never guess the index of a failed operation. It comes from the message, or from a batch of one operation, for
//! which Storage omits it. Otherwise it is `None`, for example for a missing table on Cosmos DB.
//!
//! Source: REST "Performing entity group transactions"; the forms seen of Storage and Cosmos DB.

use std::sync::Arc;

use azure_table_wire::account::profile::ProfileRules;
use azure_table_wire::codec::multipart::Message;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::response;
use azure_table_wire::response::batch_parts::{add_headers, part_error, parts};
use azure_table_wire::value::etag;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::{Response, StatusCode};

use crate::entity::row::context::RowContext;
use crate::write::batch::MAX_BATCH_OPERATIONS;
use crate::write::requested_key;
use crate::write::sent_batch::SentBatch;
use crate::write::table_result::TableResult;

/// Returns the results in the order of the operations, or the failure. A failed batch applied nothing.
pub(crate) fn read_response(sent: &SentBatch, response: Response<Bytes>) -> Result<Vec<TableResult>> {
    let (request_id, is_masked) = (response::request_id(&response), requested_key::is_masked(&response));
    // Cosmos DB rejects some batches as a whole, with the index in the text (recorded for a repeated row).
    let whole = |error: Error| match error.batch_index() {
        Some(index) => of_operation(sent, error, Some(index)),
        None => error,
    };
    let response = response::expect(response, &[StatusCode::ACCEPTED]).map_err(whole)?;
    // The service has processed the batch: if its response is unreadable, the batch may have been applied.
    let unreadable = |e: Error| e.with_request_id(request_id.clone()).maybe_applied(true);
    let messages = messages(&response).map_err(unreadable)?;
    // The results share one text.
    let etags: Vec<&str> = messages.iter().filter_map(|message| message.etag).collect();
    let etags = etags.concat();
    let (etags, mut at) = (Arc::from(etags), 0);
    let mut results = Vec::with_capacity(messages.len());
    for (message, requested) in messages.iter().zip(sent.requested()) {
        let status = message.status().map_err(unreadable)?;
        if (400..600).contains(&status) {
            let error = failure(sent, status, message, request_id);
            if status == 404 && requested.kind == OperationKind::Get && response::is_missing_entity(&error) {
                return Ok(vec![TableResult::missing(requested.kind)]);
            }
            return Err(error);
        }
        if !(200..300).contains(&status) {
            return Err(unreadable(Error::invalid_response(format!(
                "operation {} of the batch has the status {status}, which is neither a success nor an error",
                results.len()
            ))));
        }
        let etag = message.etag.map(|text| {
            let from = at;
            at += text.len();
            etag::part_of(&etags, from..at)
        });
        if etag.is_none() && requested.kind != OperationKind::Delete {
            let why = format!("the response to operation {} of the batch has no ETag", results.len());
            return Err(unreadable(Error::invalid_response(why)));
        }
        let body = if requested.entity {
            response.body().slice_ref(message.body)
        } else {
            Bytes::new()
        };
        let context = RowContext::of(&response);
        results.push(TableResult::of_response(requested, status, etag, body, context).map_err(unreadable)?);
        // A get is alone in its batch.
        if requested.kind == OperationKind::Get
            && !is_masked
            && let Some(key) = sent.keys(0)
        {
            requested_key::check_keys(message.body, key).map_err(|e| e.with_request_id(request_id.clone()))?;
        }
    }
    if messages.len() != sent.len() {
        let why = format!(
            "the batch had {} operations, its response has {} results",
            sent.len(),
            messages.len()
        );
        return Err(unreadable(Error::invalid_response(why)));
    }
    Ok(results)
}

/// Returns the response to the only operation of a batch as if it had been sent alone. A response that is not one of a
/// batch is returned unchanged.
pub(crate) fn only(response: Response<Bytes>) -> Result<Response<Bytes>> {
    if response.status() != StatusCode::ACCEPTED {
        return Ok(response);
    }
    let unreadable = |why: Error| why.with_request_id(response::request_id(&response)).maybe_applied(true);
    let messages = messages(&response).map_err(unreadable)?;
    let [message] = &messages[..] else {
        let why = format!(
            "the batch had one operation, its response has {} results",
            messages.len()
        );
        return Err(unreadable(Error::invalid_response(why)));
    };
    let status = message.status().map_err(unreadable)?;
    let status = StatusCode::from_u16(status)
        .ok()
        .filter(|status| !status.is_informational());
    let Some(status) = status else {
        return Err(unreadable(Error::invalid_response("a part has no final HTTP status")));
    };
    let mut only = Response::new(response.body().slice_ref(message.body));
    *only.status_mut() = status;
    only.extensions_mut().clone_from(response.extensions());
    // The headers of the batch apply to its only part, except headers about the body's format.
    only.headers_mut().clone_from(response.headers());
    for form in [CONTENT_TYPE, CONTENT_LENGTH, TRANSFER_ENCODING] {
        only.headers_mut().remove(form);
    }
    add_headers(only.headers_mut(), message);
    Ok(only)
}

/// Returns `true` if the response to a batch or an operation rejects a write because its table is missing.
///
/// Cosmos DB has no code for that. It reports a missing resource, even for a write that needs no entity. In a batch it
/// omits the index that precedes every other error (recorded of azure-data-tables, `new_non_existent_table` and
/// `table_name_errors_bad_length`, 2024 and 2026).
pub(crate) fn table_is_missing(response: &Response<Bytes>, operation: OperationKind, rules: &ProfileRules) -> bool {
    use OperationKind::{Insert, InsertOrMerge, InsertOrReplace};
    let (code, needs_entity) = match response.status() {
        StatusCode::NOT_FOUND => (
            response::error(response).code().map(str::to_owned),
            !matches!(operation, Insert | InsertOrMerge | InsertOrReplace),
        ),
        StatusCode::ACCEPTED => match part_error(response) {
            Some(part_error) => (part_error.code, part_error.has_index),
            None => return false,
        },
        _ => return false,
    };
    match code.as_deref() {
        Some("TableNotFound") => true,
        Some("ResourceNotFound") => !rules.names_missing_tables && !needs_entity,
        _ => false,
    }
}

/// Returns the responses to the operations: inside one change set, or directly where the service sends them so.
fn messages(response: &Response<Bytes>) -> Result<Vec<Message<'_>>> {
    let mut messages = Vec::with_capacity(MAX_BATCH_OPERATIONS);
    for message in parts(response)? {
        messages.push(message?);
    }
    Ok(messages)
}

fn failure(sent: &SentBatch, status: u16, message: &Message<'_>, request_id: Option<String>) -> Error {
    let error = response::error_of(
        status,
        message.header("x-ms-error-code"),
        message.header("content-type"),
        message.body,
        request_id,
    );
    // The table is missing, not the first row: see `table_is_missing`.
    let is_of_table = status == 404 && !sent.names_missing_tables && error.batch_index().is_none();
    let error = if is_of_table && error.code() == Some("ResourceNotFound") {
        error.with_kind(ErrorKind::TableNotFound)
    } else {
        error
    };
    let index = error.batch_index().or((sent.len() == 1 && !is_of_table).then_some(0));
    of_operation(sent, error, index)
}

/// Returns the error with its operation.
fn of_operation(sent: &SentBatch, error: Error, index: Option<usize>) -> Error {
    // Ignores an index that no operation has.
    let index = index.filter(|index| *index < sent.len());
    let error = error.at_batch_index(index);
    match index.and_then(|index| sent.keys(index)) {
        Some((partition_key, row_key)) => error.at_entity(partition_key, row_key),
        None => error,
    }
}
