//! Query Entities, addressed by both keys: one entity.
//!
//! Source: REST "Query Entities".

use bytes::Bytes;
use http::{Method, Response, StatusCode};

use crate::codec::json::read;
use crate::codec::odata::path;
use crate::codec::url;
use crate::model::entity::MetadataLevel;
use crate::model::error::{Error, ErrorInternals, Result};
use crate::model::error_text::Shown;
use crate::model::operation_kind::OperationKind;
use crate::model::row::Row;
use crate::protocol::endpoint::Endpoint;
use crate::protocol::http_request::odata;
use crate::protocol::request::Call;
use crate::protocol::response;

/// Builds `GET /table(PartitionKey='…',RowKey='…')`.
pub fn call(
    endpoint: &Endpoint,
    table: &str,
    (partition_key, row_key): (&str, &str),
    select: Option<&str>,
    metadata: MetadataLevel,
) -> Result<Call> {
    let mut path = url::PathAndQuery::new(path::entity(table, partition_key, row_key));
    if let Some(select) = select {
        path.pair("$select", select);
    }
    let request = odata(endpoint, Method::GET, path.as_str(), metadata)?;
    let call = Call::new(OperationKind::Get, request);
    Ok(call.in_table(table).at_entity((partition_key, row_key)))
}

/// An extension of a response that was recorded for a request with masked values: its keys may differ.
#[derive(Clone, Copy, Debug)]
pub struct MaskedKeys;

/// Returns the entity, or `None` if no entity has the key. A missing table is an error.
///
/// An entity with another key is an error too: something on the way may have mixed up two responses.
pub fn read_response<P>(
    response: Response<Bytes>,
    key: (&str, &str),
    metadata: MetadataLevel,
    read: impl FnOnce(&Row<'_>) -> Result<P>,
) -> Result<Option<P>> {
    if response.status() == StatusCode::NOT_FOUND {
        let error = response::error(&response);
        return if response::is_missing_entity(&error) {
            Ok(None)
        } else {
            Err(error)
        };
    }
    let is_masked = is_masked(&response);
    let response = response::expect(response, &[StatusCode::OK])?;
    let entity = read::entity(
        response::json(&response)?,
        metadata,
        response::etag_text(&response),
        |row| match is_masked || has_key(row, key) {
            true => read(row),
            false => Err(other_entity(row, key)),
        },
    );
    entity
        .map(Some)
        .map_err(|e| e.with_request_id(response::request_id(&response)))
}

/// Checks the keys of an entity that is read later.
pub(crate) fn check_keys(body: &[u8], key: (&str, &str)) -> Result<()> {
    read::entity(body, MetadataLevel::Minimal, None, |row| match has_key(row, key) {
        true => Ok(()),
        false => Err(other_entity(row, key)),
    })
}

/// Returns `true` if the keys of a response may differ from the requested ones.
pub(crate) fn is_masked(response: &Response<Bytes>) -> bool {
    response.extensions().get::<MaskedKeys>().is_some()
}

/// Compares the keys that the row has: a projection may lack them.
fn has_key(row: &Row<'_>, (partition_key, row_key): (&str, &str)) -> bool {
    row.partition_key
        .as_deref()
        .is_none_or(|stored| stored == partition_key)
        && row.row_key.as_deref().is_none_or(|stored| stored == row_key)
}

#[cold]
fn other_entity(row: &Row<'_>, (partition_key, row_key): (&str, &str)) -> Error {
    let stored = (row.partition_key.as_deref(), row.row_key.as_deref());
    Error::invalid_response(format!(
        "the response has the entity ({}, {}), which was not requested: check the proxies between this client and the \
         service",
        Shown(stored.0.unwrap_or_default()),
        Shown(stored.1.unwrap_or_default()),
    ))
    .at_entity(partition_key, row_key)
}
