//! Query Entities, addressed by both keys: one entity.
//!
//! Source: REST "Query Entities".

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::codec::url;
use azure_table_wire::error::Result;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::request::http_request::odata;
use azure_table_wire::response;
use bytes::Bytes;
use http::{Method, Response, StatusCode};

use crate::entity::read_json;
use crate::entity::row::members::RowMembers;
use crate::entity::row::{Row, context::RowContext};
use crate::write::operation_request::OperationRequest;
use crate::write::path;
use crate::write::requested_key::{has_key, is_masked, other_entity};

/// Builds `GET /table(PartitionKey='…',RowKey='…')`.
pub(crate) fn request(
    endpoint: &Endpoint,
    table: &str,
    (partition_key, row_key): (&str, &str),
    select: Option<&str>,
    metadata: MetadataLevel,
) -> Result<OperationRequest> {
    let mut path = url::PathAndQuery::new(path::entity(table, partition_key, row_key));
    if let Some(select) = select {
        path.pair("$select", select);
    }
    let request = odata(endpoint, Method::GET, path.as_str(), metadata)?;
    let operation = OperationRequest::new(OperationKind::Get, request);
    Ok(operation.in_table(table).at_entity((partition_key, row_key)))
}

/// Returns the entity, or `None` if no entity has the key. A missing table is an error.
///
/// An entity with another key is an error too: something on the way may have mixed up two responses.
pub(crate) fn read_response<P>(
    response: Response<Bytes>,
    key: (&str, &str),
    metadata: MetadataLevel,
    is_of_members: bool,
    read: impl Fn(&mut RowMembers<'_, '_>) -> Result<P>,
) -> Result<Option<P>> {
    let mut entity = None;
    let mut read = |members: &mut RowMembers<'_, '_>| {
        entity = Some(read(members)?);
        Ok(())
    };
    read_into(response, key, metadata, is_of_members, &mut read)?;
    Ok(entity)
}

/// Reads the entity, whatever its type, if one has the key.
fn read_into(
    response: Response<Bytes>,
    key: (&str, &str),
    metadata: MetadataLevel,
    is_of_members: bool,
    read: &mut dyn FnMut(&mut RowMembers<'_, '_>) -> Result<()>,
) -> Result<()> {
    if response.status() == StatusCode::NOT_FOUND {
        let error = response::error(&response);
        return if response::is_missing_entity(&error) {
            Ok(())
        } else {
            Err(error)
        };
    }
    let is_masked = is_masked(&response);
    let response = response::expect(response, &[StatusCode::OK])?;
    let (body, etag) = (response::json(&response)?, response::etag(&response));
    let checked = |row: &Row<'_>| {
        if is_masked || has_key(row, key) {
            Ok(())
        } else {
            Err(other_entity(row, key))
        }
    };
    let context = RowContext::of(&response);
    let is_read = if is_of_members {
        // The keys are known when the last member is read.
        read_json::entity_of_members(&context, body, metadata, etag, &mut |members| {
            if !members.is_of_text() {
                checked(members.row())?;
            }
            read(members).and_then(|()| checked(members.row()))
        })
    } else {
        read_json::entity_in(Some(&context), body, metadata, etag, |row| {
            checked(row).and_then(|()| read(&mut RowMembers::of(row)))
        })
    };
    is_read.map_err(|e| e.with_request_id(response::request_id(&response)))
}
