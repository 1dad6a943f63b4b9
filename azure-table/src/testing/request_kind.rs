//! What a request asks for, told from its method, address and headers alone.
//!
//! Owns [`RequestKind`]. Rules choose by it, records name it.

use bytes::Bytes;
use http::header::IF_MATCH;
use http::{Method, Request};

use crate::codec::url;

/// The operation that a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RequestKind {
    /// Insert an entity.
    Insert,
    /// Replace an entity that must exist.
    Replace,
    /// Merge into an entity that must exist; a patch too.
    Merge,
    /// Insert or replace an entity.
    InsertOrReplace,
    /// Insert or merge an entity.
    InsertOrMerge,
    /// Delete an entity.
    Delete,
    /// Read one entity.
    Get,
    /// Read a page of entities.
    Query,
    /// A transaction.
    Batch,
    /// Create a table.
    CreateTable,
    /// Delete a table.
    DeleteTable,
    /// Look whether there is a table.
    TableExists,
    /// Read a page of table names.
    ListTables,
    /// Anything else: properties, statistics, access policies.
    Other,
}

/// The kind of a request, and the table it is about.
pub(crate) fn of(request: &Request<Bytes>) -> (RequestKind, Option<String>) {
    let query = request.uri().query().unwrap_or_default();
    let names_component = query.split('&').any(|pair| pair.starts_with("comp="));
    let (method, path) = (method(request), request.uri().path());
    let resource = Resource::of(path);
    match resource {
        _ if names_component => (RequestKind::Other, resource.table()),
        Resource::Batch => (RequestKind::Batch, table_of_batch(request.body())),
        Resource::Tables if method == "POST" => (RequestKind::CreateTable, table_of_body(request.body())),
        Resource::Tables => (RequestKind::ListTables, None),
        Resource::Table(_) if method == "DELETE" => (RequestKind::DeleteTable, resource.table()),
        Resource::Table(_) => (RequestKind::TableExists, resource.table()),
        Resource::Rows(_) if method == "POST" => (RequestKind::Insert, resource.table()),
        Resource::Rows(_) => (RequestKind::Query, resource.table()),
        Resource::Row(_) => {
            let must_exist = request.headers().contains_key(IF_MATCH);
            let kind = match (method, must_exist) {
                ("GET", _) => RequestKind::Get,
                ("DELETE", _) => RequestKind::Delete,
                ("PUT", true) => RequestKind::Replace,
                ("PUT", false) => RequestKind::InsertOrReplace,
                ("PATCH" | "MERGE", true) => RequestKind::Merge,
                ("PATCH" | "MERGE", false) => RequestKind::InsertOrMerge,
                _ => RequestKind::Other,
            };
            (kind, resource.table())
        }
    }
}

/// The method, or the one that is tunnelled through `POST`.
fn method(request: &Request<Bytes>) -> &str {
    let tunnelled = request.headers().get("x-http-method").and_then(|v| v.to_str().ok());
    tunnelled
        .filter(|_| request.method() == Method::POST)
        .unwrap_or(request.method().as_str())
}

enum Resource<'a> {
    Batch,
    Tables,
    /// `Tables('…')`, the name still in the address's form.
    Table(&'a str),
    Rows(&'a str),
    Row(&'a str),
}

impl<'a> Resource<'a> {
    /// Of a path or a whole address. Nothing before a parenthesis holds one, and keys hold no slash that is not encoded.
    fn of(path: &'a str) -> Self {
        let (head, arguments) = path.split_once('(').unwrap_or((path, ""));
        let name = head.rsplit('/').next().unwrap_or_default();
        let arguments = arguments.trim_end_matches(')');
        match (name, arguments.is_empty()) {
            ("$batch", _) => Self::Batch,
            ("Tables", true) => Self::Tables,
            ("Tables", false) => Self::Table(arguments.trim_matches('\'')),
            (name, true) => Self::Rows(name),
            (name, false) => Self::Row(name),
        }
    }

    fn table(&self) -> Option<String> {
        match self {
            Self::Table(name) | Self::Rows(name) | Self::Row(name) => url::decode(name),
            Self::Batch | Self::Tables => None,
        }
    }
}

/// The table of a batch's first operation.
fn table_of_batch(body: &[u8]) -> Option<String> {
    let lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    let mut requests = lines.filter(|line| line.ends_with(b" HTTP/1.1"));
    let address = std::str::from_utf8(requests.next()?).ok()?.split(' ').nth(1)?;
    Resource::of(address).table()
}

/// The table that is to be made.
fn table_of_body(body: &[u8]) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    body.get("TableName")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_told_by_method_address_and_condition() {
        let of = |method: &str, address: &str, headers: &[&'static str], body: &'static str| {
            let mut request = Request::builder()
                .method(method)
                .uri(format!("https://a.table.core.windows.net/{address}"));
            for name in headers {
                request = request.header(*name, if *name == "x-http-method" { "MERGE" } else { "*" });
            }
            let (kind, table) = of(&request.body(Bytes::from(body)).unwrap());
            (kind, table.unwrap_or_default())
        };
        let row = "T(PartitionKey='a%2Fb(',RowKey='%27%27')";
        let on = |kind: RequestKind| (kind, "T".to_owned());
        let body = r#"{"TableName":"T"}"#;
        let batch = "--b\r\nContent-Type: x\r\n\r\nPUT http://h/account/T(PartitionKey='p',RowKey='r') HTTP/1.1\r\n";
        assert_eq!(of("POST", "T", &[], ""), on(RequestKind::Insert));
        assert_eq!(of("PUT", row, &["if-match"], ""), on(RequestKind::Replace));
        assert_eq!(of("PUT", row, &[], ""), on(RequestKind::InsertOrReplace));
        assert_eq!(of("PATCH", row, &["if-match"], ""), on(RequestKind::Merge));
        assert_eq!(of("MERGE", row, &[], ""), on(RequestKind::InsertOrMerge));
        assert_eq!(of("POST", row, &["x-http-method"], ""), on(RequestKind::InsertOrMerge));
        assert_eq!(of("DELETE", row, &["if-match"], ""), on(RequestKind::Delete));
        assert_eq!(of("GET", row, &[], ""), on(RequestKind::Get));
        assert_eq!(of("GET", "T()?$top=2", &[], ""), on(RequestKind::Query));
        assert_eq!(of("POST", "account/$batch", &[], batch), on(RequestKind::Batch));
        assert_eq!(of("POST", "Tables", &[], body), on(RequestKind::CreateTable));
        assert_eq!(of("DELETE", "Tables('T')", &[], ""), on(RequestKind::DeleteTable));
        assert_eq!(of("GET", "Tables('T')", &[], ""), on(RequestKind::TableExists));
        assert_eq!(of("GET", "Tables?$top=1", &[], "").0, RequestKind::ListTables);
        assert_eq!(of("GET", "T?comp=acl", &[], ""), on(RequestKind::Other));
        assert_eq!(of("GET", "?restype=service&comp=stats", &[], "").0, RequestKind::Other);
    }
}
