//! The position at which a query goes on.

use http::HeaderMap;
use serde::{Deserialize, Serialize};

use crate::model::location::Location;

/// Where the next page of a query begins.
///
/// Either half may be missing. Opaque and serializable: keep it, and go on later, in another process even, with
/// [`TableQuery::resume_from`](crate::TableQuery::resume_from) on the same query.
/// A position, not a snapshot: rows written behind it are seen, rows written before it are not.
///
/// Source: REST "Query timeout and pagination".
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Continuation {
    pub(crate) next_partition_key: Option<String>,
    pub(crate) next_row_key: Option<String>,
    /// Where it is a position, if the query may ask elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) location: Option<Location>,
}

impl Continuation {
    /// From the headers of a page; `None` on the last page. An empty header says nothing.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let next_partition_key = header(headers, "x-ms-continuation-nextpartitionkey");
        let next_row_key = header(headers, "x-ms-continuation-nextrowkey");
        if next_partition_key.is_none() && next_row_key.is_none() {
            return None;
        }
        Some(Self {
            next_partition_key,
            next_row_key,
            location: None,
        })
    }
}

/// A header that is there and not empty.
pub(crate) fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers
        .get(name)
        .and_then(|v| v.to_str().ok())
        .filter(|v| !v.is_empty())
        .map(str::to_owned)
}
