//! Query Entities, addressed by both keys: one entity.
//!
//! Source: REST "Query Entities".

use bytes::Bytes;
use http::{Method, Response, StatusCode};

use crate::codec::json::read;
use crate::codec::odata::path;
use crate::codec::url;
use crate::model::entity::MetadataLevel;
use crate::model::error::{ErrorInternals, Result};
use crate::model::operation_kind::OperationKind;
use crate::model::row::Row;
use crate::protocol::endpoint::Endpoint;
use crate::protocol::http_request::odata;
use crate::protocol::request::Call;
use crate::protocol::requested_key::{has_key, is_masked, other_entity};
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
