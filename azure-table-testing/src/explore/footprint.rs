//! The rows that a request reads and writes.
//!
//! Defines [`Footprint`]. A request that cannot be parsed touches everything: the search then runs more orders than
//! necessary, never fewer. A query reads the whole range of its filter, whatever page it requests.

use std::borrow::Cow;

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::filter::expression::Expression;
use azure_table_wire::filter::key_range::KeyRange;
use azure_table_wire::filter::parse;
use azure_table_wire::request::inbound::Inbound;
use azure_table_wire::request::inbound::target::Target;
use azure_table_wire::value::row_id::RowId;
use bytes::Bytes;
use http::Request;
use serde::Deserialize;

use crate::explore::dated_rows::DatedRows;

/// The accesses of one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Footprint(Vec<Access>);

/// One access.
#[derive(Clone, Debug, PartialEq)]
struct Access {
    /// In lower case, as the service compares names; `None` for every table and the service itself.
    table: Option<String>,
    rows: Rows,
    writes: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Rows {
    All,
    One(RowId),
    Matching(Expression),
}

impl Footprint {
    /// Returns the footprint of a request that never reaches the service.
    pub fn nothing() -> Self {
        Self(Vec::new())
    }

    pub fn of(request: &Request<Bytes>) -> Self {
        Self(accesses(&Inbound::of(request)).unwrap_or_else(|| vec![Access::everything(true)]))
    }

    /// Returns `true` if the order of the two requests matters: one writes what the other reads or writes.
    pub fn conflicts(&self, other: &Self) -> bool {
        self.0.iter().any(|a| other.0.iter().any(|b| a.conflicts(b)))
    }

    pub fn writes(&self) -> bool {
        self.0.iter().any(|access| access.writes)
    }

    /// Returns `true` if the request may write one of these rows, in any table.
    pub fn writes_one_of(&self, dated: &DatedRows) -> bool {
        let is_dated = |rows: &Rows| match rows {
            Rows::One(id) => dated.contains(&id.partition_key, &id.row_key),
            Rows::All | Rows::Matching(_) => !dated.is_empty(),
        };
        self.0.iter().any(|access| access.writes && is_dated(&access.rows))
    }

    /// Returns `true` if a filter compares Timestamps.
    pub fn compares_timestamps(&self) -> bool {
        let compares = |access: &Access| matches!(&access.rows, Rows::Matching(filter) if has_timestamp(filter));
        self.0.iter().any(compares)
    }
}

impl Access {
    fn everything(writes: bool) -> Self {
        Self {
            table: None,
            rows: Rows::All,
            writes,
        }
    }

    fn rows(table: &str, rows: Rows, writes: bool) -> Self {
        Self {
            table: Some(table.to_lowercase()),
            rows,
            writes,
        }
    }

    fn conflicts(&self, other: &Self) -> bool {
        (self.writes || other.writes) && self.shares_table(other) && self.rows.overlap(&other.rows)
    }

    fn shares_table(&self, other: &Self) -> bool {
        self.table.is_none() || other.table.is_none() || self.table == other.table
    }
}

impl Rows {
    fn overlap(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::One(_), Self::One(_)) => self == other,
            (Self::One(id), Self::Matching(filter)) | (Self::Matching(filter), Self::One(id)) => {
                let range = KeyRange::of([filter]);
                !range.is_empty()
                    && *id >= RowId::new(range.start().0, range.start().1)
                    && !range.is_past(&id.partition_key, &id.row_key)
            }
            (Self::All, _) | (_, Self::All) | (Self::Matching(_), Self::Matching(_)) => true,
        }
    }
}

/// Returns the accesses of a request or of a part of a batch, or `None` if it cannot be parsed.
fn accesses(request: &Inbound<'_>) -> Option<Vec<Access>> {
    use OperationKind::{
        Batch, CreateTable, Delete, DeleteTable, Get, GetAccessPolicies, GetTable, Insert, InsertOrMerge,
        InsertOrReplace, ListTables, Merge, Query, Replace, SetAccessPolicies,
    };
    let row = |writes| match request.target.as_ref().ok()? {
        Target::Entity(table, id) => Some(Access::rows(table, Rows::One(id.clone()), writes)),
        _ => None,
    };
    let access = match request.kind()? {
        ListTables => Access::everything(false),
        GetTable | GetAccessPolicies => Access::rows(&request.table()?, Rows::All, false),
        CreateTable | DeleteTable | SetAccessPolicies => Access::rows(&request.table()?, Rows::All, true),
        Insert => Access::rows(&request.table()?, inserted(request.body)?, true),
        Get => row(false)?,
        Replace | InsertOrReplace | Merge | InsertOrMerge | Delete => row(true)?,
        Query => Access::rows(&request.table()?, matching(request), false),
        Batch => {
            let parts = request.batch()?.operations;
            let parts: Option<Vec<_>> = parts.iter().map(accesses).collect();
            return parts.map(|parts| parts.concat());
        }
        _ => return None,
    };
    Some(vec![access])
}

/// Returns the rows that a query can reach.
fn matching(query: &Inbound<'_>) -> Rows {
    let filter = query.parameter("$filter").and_then(|text| parse::parse_to(&text).ok());
    filter.map_or(Rows::All, Rows::Matching)
}

fn has_timestamp(filter: &Expression) -> bool {
    match filter {
        Expression::Comparison { name, .. } => name == "Timestamp",
        Expression::And(parts) | Expression::Or(parts) => parts.iter().any(has_timestamp),
        Expression::Not(inner) => has_timestamp(inner),
        Expression::Raw(text) => text.contains("Timestamp"),
    }
}

/// Returns the row that an insert adds.
fn inserted(body: &[u8]) -> Option<Rows> {
    #[derive(Deserialize)]
    struct Keys<'a> {
        #[serde(rename = "PartitionKey", borrow)]
        partition: Cow<'a, str>,
        #[serde(rename = "RowKey", borrow)]
        row: Cow<'a, str>,
    }
    let keys: Keys<'_> = serde_json::from_slice(body).ok()?;
    Some(Rows::One(RowId::new(keys.partition, keys.row)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footprint(method: &str, address: &str, body: &'static str) -> Footprint {
        let request = Request::builder()
            .method(method)
            .uri(format!("http://127.0.0.1:10002/devstoreaccount1/{address}"))
            .header("content-type", "multipart/mixed; boundary=b");
        Footprint::of(&request.body(Bytes::from_static(body.as_bytes())).unwrap())
    }

    #[test]
    fn rows_conflict_if_one_is_written() {
        let get = |row: &str| footprint("GET", &format!("Blogs(PartitionKey='a''b',RowKey='{row}')"), "");
        let put = footprint("PUT", "blogs(PartitionKey='a%27%27b',RowKey='1')", "{}");
        let insert = footprint("POST", "Blogs", r#"{"PartitionKey":"a'b","RowKey":"1"}"#);
        assert!(put.conflicts(&put) && put.conflicts(&get("1")) && insert.conflicts(&get("1")));
        assert!(put.conflicts(&insert));
        assert!(!get("1").conflicts(&get("1")) && !put.conflicts(&get("2")));
    }

    #[test]
    fn query_reads_the_range_of_its_filter() {
        let of = |filter: &str| footprint("GET", &format!("Blogs()?$filter={}", filter.replace(' ', "%20")), "");
        let put = footprint("PUT", "Blogs(PartitionKey='a',RowKey='5')", "{}");
        for filter in [
            "PartitionKey eq 'a'",
            "PartitionKey eq 'a' and RowKey lt '6'",
            "N gt 5",
            "nonsense",
        ] {
            assert!(of(filter).conflicts(&put), "{filter}");
        }
        for filter in [
            "PartitionKey eq 'b'",
            "PartitionKey eq 'a' and RowKey lt '5'",
            "PartitionKey gt 'b'",
        ] {
            assert!(!of(filter).conflicts(&put), "{filter}");
        }
        let after_surrogates = footprint("PUT", "Blogs(PartitionKey='a',RowKey='%EE%80%80')", "{}");
        assert!(of("PartitionKey eq 'a' and RowKey ge '%F0%9F%98%80'").conflicts(&after_surrogates));
        assert!(of("PartitionKey ge '%F0%9F%98%80'").conflicts(&footprint(
            "PUT",
            "Blogs(PartitionKey='%EE%80%80',RowKey='5')",
            "{}"
        )));
        assert!(!of("N gt 5").conflicts(&of("N gt 5")));
        assert!(of("N gt 5 or not (Timestamp lt datetime'2026-01-01T00:00:00Z')").compares_timestamps());
        assert!(!of("N gt 5").compares_timestamps() && !put.compares_timestamps());
    }

    #[test]
    fn operation_on_a_table_touches_all_of_it() {
        let put = footprint("PUT", "Blogs(PartitionKey='a',RowKey='5')", "{}");
        let create = |name: &'static str| footprint("POST", "Tables", name);
        assert!(create(r#"{"TableName":"blogs"}"#).conflicts(&put));
        assert!(!create(r#"{"TableName":"Other"}"#).conflicts(&put));
        assert!(footprint("PUT", "Blogs?comp=acl", "").conflicts(&put));
        assert!(footprint("GET", "Tables", "").conflicts(&create(r#"{"TableName":"Other"}"#)));
        assert!(
            footprint("GET", "Other?comp=other", "").conflicts(&put),
            "what cannot be read touches everything"
        );
    }

    #[test]
    fn batch_touches_the_rows_of_its_operations() {
        let body = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n\
            --c\r\nContent-Type: application/http\r\n\r\nPOST http://h/devstoreaccount1/Blogs HTTP/1.1\r\n\r\n{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\r\n\
            --c\r\nContent-Type: application/http\r\n\r\nDELETE http://h/devstoreaccount1/Blogs(PartitionKey='p',RowKey='2') HTTP/1.1\r\n\r\n\r\n\
            --c--\r\n--b--\r\n";
        let batch = footprint("POST", "$batch", body);
        let get = |row: &str| footprint("GET", &format!("Blogs(PartitionKey='p',RowKey='{row}')"), "");
        assert!(batch.conflicts(&get("1")) && batch.conflicts(&get("2")));
        assert!(!batch.conflicts(&get("3")));
        assert!(batch.writes() && !get("3").writes());
    }
}
