//! Query Entities: a page of a table.
//!
//! Source: REST "Query Entities", "Query timeout and pagination".

use bytes::Bytes;
use http::{Method, Response, StatusCode};

use crate::codec::json::read;
use crate::codec::url;
use crate::model::entity::MetadataLevel;
use crate::model::error::Result;
use crate::model::row::Row;
use crate::protocol::answer;
use crate::protocol::continuation::Continuation;
use crate::protocol::endpoint::Endpoint;
use crate::protocol::request::{Call, odata};

pub(crate) const OPERATION: &str = "query";

/// The most rows of a page.
///
/// Source: REST "Query timeout and pagination".
pub(crate) const MAX_PAGE_SIZE: u32 = 1_000;

/// What is asked of a table.
#[derive(Clone, Debug)]
pub(crate) struct QueryRequest {
    pub(crate) table: String,
    pub(crate) filter: Option<String>,
    pub(crate) select: Option<String>,
    /// The most rows of a page; `None` leaves it to the service.
    pub(crate) top: Option<u32>,
    pub(crate) metadata: MetadataLevel,
}

/// One page as read.
#[derive(Debug)]
pub(crate) struct PageAnswer<P> {
    pub(crate) rows: Vec<P>,
    pub(crate) continuation: Option<Continuation>,
    pub(crate) request_id: Option<String>,
}

impl QueryRequest {
    /// What tells this query from others, as far as positions go: the table and the conditions. The same in every process
    /// (FNV-1a).
    pub(crate) fn identity(&self) -> u64 {
        let table = self.table.to_ascii_lowercase();
        let text = [table.as_str(), "\n", self.filter.as_deref().unwrap_or_default()];
        let bytes = text.into_iter().flat_map(str::bytes);
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    /// `GET /table()` with the same options for every page and the position of this one.
    pub(crate) fn call(&self, endpoint: &Endpoint, from: Option<&Continuation>) -> Result<Call> {
        let mut query = url::Query::default();
        if let Some(filter) = &self.filter {
            query.pair("$filter", filter);
        }
        if let Some(select) = &self.select {
            query.pair("$select", select);
        }
        if let Some(top) = self.top {
            query.pair("$top", &top.to_string());
        }
        if let Some(from) = from {
            let halves = [
                ("NextPartitionKey", &from.next_partition_key),
                ("NextRowKey", &from.next_row_key),
            ];
            for (name, value) in halves {
                if let Some(value) = value {
                    query.pair(name, value);
                }
            }
        }
        let path = format!("{}(){}", url::encode(&self.table), query.as_str());
        let request = odata(endpoint, Method::GET, &path, self.metadata.accept())?;
        Ok(Call::read(OPERATION, request).in_table(&self.table))
    }
}

/// The rows of a page, those left out for which `read_row` gives `None`, and where the next one begins.
pub(crate) fn answer<P>(
    response: Response<Bytes>,
    metadata: MetadataLevel,
    read_row: impl Fn(&Row<'_>) -> Result<Option<P>>,
) -> Result<PageAnswer<P>> {
    let response = answer::expect(response, &[StatusCode::OK])?;
    let request_id = answer::request_id(&response);
    let mut rows = Vec::new();
    let read = read::page(answer::json(&response)?, metadata, |row| {
        rows.extend(read_row(row)?);
        Ok(())
    });
    read.map_err(|e| e.with_request_id(request_id.clone()))?;
    let continuation = Continuation::of(response.headers()).map_err(|e| e.with_request_id(request_id.clone()))?;
    Ok(PageAnswer {
        rows,
        continuation,
        request_id,
    })
}
