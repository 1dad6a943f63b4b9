//! Entities in the responses of test doubles.
//!
//! The doubles handle bytes and know no entities: this trait adds methods that do.

use azure_table_testing::{EncodedRow, ResponseTemplate, page_response, row_response};
use azure_table_wire::error::Result;
use azure_table_wire::value::etag::Condition;

use crate::entity::table_entity::TableEntity;
use crate::entity::write_json;
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

fn encoded<E: TableEntity + ?Sized>(entity: &E) -> Result<EncodedRow> {
    let etag = match entity.condition() {
        Condition::Matches(etag) => Some(etag),
        _ => None,
    };
    let written = write_json::entity(entity, key_texts(entity)?.pair())?;
    Ok((etag, written.text.as_bytes()[..written.body].to_vec()))
}
