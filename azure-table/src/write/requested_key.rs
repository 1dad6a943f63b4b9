//! The key of a response, compared with the requested one.
//!
//! Something between the client and the service may mix up two responses. Contains neither requests nor results.

use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::error_text::Shown;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::response::masked_keys::MaskedKeys;
use http::Response;

use crate::entity::read_json;
use crate::entity::row::Row;

/// Checks the keys of an entity that is read later.
pub(crate) fn check_keys(body: &[u8], key: (&str, &str)) -> Result<()> {
    read_json::entity(body, MetadataLevel::Minimal, None, |row| {
        if has_key(row, key) {
            Ok(())
        } else {
            Err(other_entity(row, key))
        }
    })
}

/// Returns `true` if the keys of a response may differ from the requested ones.
pub(crate) fn is_masked(response: &Response<bytes::Bytes>) -> bool {
    response.extensions().get::<MaskedKeys>().is_some()
}

/// Compares the keys that the row has: a projection may lack them.
pub(crate) fn has_key(row: &Row<'_>, (partition_key, row_key): (&str, &str)) -> bool {
    row.partition_key
        .as_deref()
        .is_none_or(|stored| stored == partition_key)
        && row.row_key.as_deref().is_none_or(|stored| stored == row_key)
}

/// Returns the error of an entity that was not requested.
#[cold]
pub(crate) fn other_entity(row: &Row<'_>, (partition_key, row_key): (&str, &str)) -> Error {
    let stored = (row.partition_key.as_deref(), row.row_key.as_deref());
    Error::invalid_response(format!(
        "the response has the entity ({}, {}), which was not requested: check the proxies between this client and the \
         service",
        Shown(stored.0.unwrap_or_default()),
        Shown(stored.1.unwrap_or_default()),
    ))
    .at_entity(partition_key, row_key)
}
