//! The position at which a query goes on.

use http::HeaderMap;
use serde::{Deserialize, Serialize};

use crate::model::error::{Error, Result};
use crate::model::location::Location;

/// Where the next page of a query begins.
///
/// Either half may be missing. Opaque and serializable: keep it, and go on later, in another process even, with
/// [`TableQuery::resume_from`](crate::TableQuery::resume_from) on the same query: the same table and conditions. Columns and
/// page size may differ.
/// A position, not a snapshot: rows written behind it are seen, rows written before it are not.
///
/// Source: REST "Query timeout and pagination".
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Continuation {
    pub(crate) next_partition_key: Option<String>,
    pub(crate) next_row_key: Option<String>,
    /// Of which query it is one; not of those that were kept by an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) query: Option<u64>,
    /// Where it is a position, if the query may ask elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) location: Option<Location>,
}

impl Continuation {
    /// From the headers of a page; `None` on the last page. An empty header says nothing.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Option<Self>> {
        let next_partition_key = position(headers, "x-ms-continuation-nextpartitionkey")?;
        let next_row_key = position(headers, "x-ms-continuation-nextrowkey")?;
        if next_partition_key.is_none() && next_row_key.is_none() {
            return Ok(None);
        }
        Ok(Some(Self {
            next_partition_key,
            next_row_key,
            query: None,
            location: None,
        }))
    }
}

/// A header of a position; `None` where it is missing or empty. One that cannot be read is an error: without it a listing
/// would end too early, and nobody would know.
pub(crate) fn position(headers: &HeaderMap, name: &str) -> Result<Option<String>> {
    let value = headers.get(name).map(|value| value.as_bytes()).unwrap_or_default();
    match std::str::from_utf8(value) {
        Ok("") => Ok(None),
        Ok(text) => Ok(Some(text.to_owned())),
        Err(_) => Err(Error::invalid_response(format!("the header {name} is not UTF-8"))),
    }
}
