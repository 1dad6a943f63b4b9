//! Entities in the responses of test doubles.
//!
//! Test doubles speak bytes and know nothing of entities. This trait converts them.

use azure_table_testing::{EncodedRow, ResponseTemplate, page_response, row_response};
use azure_table_wire::error::Result;
use azure_table_wire::value::etag::Condition;

use crate::entity::table_entity::TableEntity;
use crate::entity::write_json;
use crate::key::entity_key::key_texts;

/// Adds constructors to [`ResponseTemplate`] that take entities.
pub trait EntityResponse: Sized {
    /// Creates the response to a get: 200 and the entity in its stored form, with minimal metadata.
    ///
    /// If the entity holds no ETag, the row has a fixed one. Its Timestamp is the beginning of 2020.
    ///
    /// Source: REST "Query Entities".
    fn row<E: TableEntity + ?Sized>(entity: &E) -> Self;

    /// Creates the response to a query: 200 and these entities in this order, each in the form of [`row`](Self::row).
    ///
    /// [`continuation`](ResponseTemplate::continuation) makes the client request another page.
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

fn encoded<E: TableEntity + ?Sized>(entity: &E) -> Result<EncodedRow> {
    let etag = match entity.condition() {
        Condition::Matches(etag) => Some(etag),
        _ => None,
    };
    let written = write_json::entity(entity, key_texts(entity)?.pair())?;
    Ok((etag, written.text.as_bytes()[..written.body].to_vec()))
}
