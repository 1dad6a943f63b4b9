//! The position at which a query goes on.

use http::HeaderMap;
use serde::{Deserialize, Serialize};

use crate::model::error::{Error, Result};
use crate::model::location::Location;

/// Where the next page of a query, or of a list of tables, begins.
///
/// Of a query either half may be missing. Opaque and serializable: keep it, and go on later, in another process even,
/// with [`TableQuery::resume_from`](crate::TableQuery::resume_from) on the same query: the same table and conditions.
/// Columns and page size may differ. A position, not a snapshot: rows written behind it are seen, rows written before
/// it are not.
///
/// Source: REST "Query timeout and pagination".
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Continuation {
    pub(crate) next_partition_key: Option<String>,
    pub(crate) next_row_key: Option<String>,
    /// In the list of an account's tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next_table_name: Option<String>,
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
        let next = Self {
            next_partition_key: position(headers, "x-ms-continuation-nextpartitionkey")?,
            next_row_key: position(headers, "x-ms-continuation-nextrowkey")?,
            next_table_name: position(headers, "x-ms-continuation-nexttablename")?,
            query: None,
            location: None,
        };
        let is_one = next.parameters().next().is_some();
        Ok(is_one.then_some(next))
    }

    /// What a request says of it.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let parts = [
            ("NextPartitionKey", &self.next_partition_key),
            ("NextRowKey", &self.next_row_key),
            ("NextTableName", &self.next_table_name),
        ];
        parts
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }
}

/// A header of a position; `None` where it is missing or empty. One that cannot be read is an error: without it a
/// listing would end too early, and nobody would know.
fn position(headers: &HeaderMap, name: &str) -> Result<Option<String>> {
    let value = headers.get(name).map(|value| value.as_bytes()).unwrap_or_default();
    match std::str::from_utf8(value) {
        Ok("") => Ok(None),
        Ok(text) => Ok(Some(text.to_owned())),
        Err(_) => Err(Error::invalid_response(format!("the header {name} is not UTF-8"))),
    }
}
