//! Entities in the responses and requests of test doubles.
//!
//! The doubles speak bytes, and do not know entities: these traits add their methods for them.

use azure_table_testing::{EncodedRow, Exchange, ResponseTemplate, page_response, request_body, row_response};
use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::Result;
use azure_table_wire::value::etag::Condition;

use crate::entity::table_entity::{ReadEntity, TableEntity};
use crate::entity::{read_json, write_json};
use crate::key::entity_key::key_texts;

/// Creates responses of entities: methods of [`ResponseTemplate`].
pub trait EntityResponse: Sized {
    /// Creates the response to a get: 200 and the entity in its stored form, with minimal metadata.
    ///
    /// It has the entity's ETag, or a fixed one. Its Timestamp is the beginning of 2020.
    ///
    /// Source: REST "Query Entities".
    fn row<E: TableEntity + ?Sized>(entity: &E) -> Self;

    /// Creates the response to a query: 200 and these entities in this order, each in the form of [`row`](Self::row).
    ///
    /// [`continuation`](ResponseTemplate::continuation) adds the position of a further page.
    ///
    /// Source: REST "Query Entities".
    fn page<'e, E: TableEntity + 'e>(entities: impl IntoIterator<Item = &'e E>) -> Self;
}

impl EntityResponse for ResponseTemplate {
    fn row<E: TableEntity + ?Sized>(entity: &E) -> Self {
        row_response(encoded(entity))
    }

    fn page<'e, E: TableEntity + 'e>(entities: impl IntoIterator<Item = &'e E>) -> Self {
        page_response(entities.into_iter().map(encoded).collect())
    }
}

/// Reads the entity of a request: a method of [`Exchange`].
pub trait EntityRequest {
    /// Decodes the entity of an insert, a replace or a merge.
    ///
    /// [`DynamicEntity`](crate::DynamicEntity) accepts any entity.
    ///
    /// # Errors
    /// - `InvalidResponse`: the body is not an entity, or does not fit `E`. A merge may have only some of its
    ///   properties.
    fn entity<E: ReadEntity>(&self) -> Result<E>;
}

impl EntityRequest for Exchange {
    fn entity<E: ReadEntity>(&self) -> Result<E> {
        read_json::entity(request_body(self), MetadataLevel::Minimal, None, E::read)
    }
}

fn encoded<E: TableEntity + ?Sized>(entity: &E) -> Result<EncodedRow> {
    let etag = match entity.condition() {
        Condition::Matches(etag) => Some(etag),
        _ => None,
    };
    let written = write_json::entity(entity, key_texts(entity)?.pair())?;
    Ok((etag, written.text.as_bytes()[..written.body].to_vec()))
}
