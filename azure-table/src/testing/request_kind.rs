//! The operation of a request, from its method, URL and headers alone.
//!
//! Maps a request to its [`OperationKind`], for the conditions of rules and the names in records.

use bytes::Bytes;
use http::header::IF_MATCH;
use http::{Method, Request};

use crate::codec::odata::path::{self, Resource};
use crate::codec::url;
use crate::model::operation_kind::OperationKind;

/// Returns the operation of a request, if it is one of the client's, and its table.
///
/// A ping is a list of tables.
pub(crate) fn of(request: &Request<Bytes>) -> (Option<OperationKind>, Option<String>) {
    use OperationKind::*;
    let query = request.uri().query().unwrap_or_default();
    let component = query.split('&').find_map(|pair| pair.strip_prefix("comp="));
    let (method, path) = (method(request), request.uri().path());
    let must_exist = request.headers().contains_key(IF_MATCH);
    let Some(resource) = resource_of(path) else {
        return (None, None);
    };
    let operation = match (&resource, component, method) {
        (_, Some("acl"), "GET") => GetAccessPolicies,
        (_, Some("acl"), "PUT") => SetAccessPolicies,
        (_, Some("properties"), "GET") => GetServiceProperties,
        (_, Some("properties"), "PUT") => SetServiceProperties,
        (_, Some("stats"), "GET") => GetServiceStatistics,
        (_, Some("userdelegationkey"), "POST") => GetUserDelegationKey,
        (_, Some(_), _) => return (None, table_of(resource)),
        (Resource::Batch, ..) => return (Some(Batch), table_of_batch(request.body())),
        (Resource::Tables, _, "POST") => return (Some(CreateTable), table_of_body(request.body())),
        (Resource::Tables, ..) => ListTables,
        (Resource::Table(_), _, "DELETE") => DeleteTable,
        (Resource::Table(_), ..) => GetTable,
        (Resource::Entities(_) | Resource::Service, _, "POST") => Insert,
        (Resource::Entities(_) | Resource::Service, ..) => Query,
        (Resource::Entity { .. }, _, "GET") => Get,
        (Resource::Entity { .. }, _, "DELETE") => Delete,
        (Resource::Entity { .. }, _, "PUT") if must_exist => Replace,
        (Resource::Entity { .. }, _, "PUT") => InsertOrReplace,
        (Resource::Entity { .. }, _, "PATCH" | "MERGE") if must_exist => Merge,
        (Resource::Entity { .. }, _, "PATCH" | "MERGE") => InsertOrMerge,
        (Resource::Entity { .. }, ..) => return (None, table_of(resource)),
    };
    (Some(operation), table_of(resource))
}

/// Returns the name of an operation in the texts of the test kit.
#[cfg(feature = "test-util")]
pub(crate) fn name(operation: Option<OperationKind>) -> String {
    operation.map_or_else(|| "Other".to_owned(), |operation| format!("{operation:?}"))
}

/// Returns the method, or the one tunnelled through `POST`.
fn method(request: &Request<Bytes>) -> &str {
    let tunnelled = request.headers().get("x-http-method").and_then(|v| v.to_str().ok());
    tunnelled
        .filter(|_| request.method() == Method::POST)
        .unwrap_or(request.method().as_str())
}

/// Returns the resource of a path or a URL.
fn resource_of(path: &str) -> Option<Resource> {
    let (_, below) = path::split(path);
    Resource::read(&url::decode(below.trim_start_matches('/'))?).ok()
}

/// Returns the table of a resource.
fn table_of(resource: Resource) -> Option<String> {
    match resource {
        Resource::Table(table) | Resource::Entities(table) | Resource::Entity { table, .. } => Some(table),
        Resource::Service | Resource::Batch | Resource::Tables => None,
    }
}

/// Returns the table of a batch's first operation.
fn table_of_batch(body: &[u8]) -> Option<String> {
    let lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    let mut requests = lines.filter(|line| line.ends_with(b" HTTP/1.1"));
    let address = std::str::from_utf8(requests.next()?).ok()?.split(' ').nth(1)?;
    table_of(resource_of(address)?)
}

/// Returns the table to be created.
fn table_of_body(body: &[u8]) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    body.get("TableName")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_shows_its_operation_and_table() {
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
        let on = |kind: OperationKind| (Some(kind), "T".to_owned());
        let body = r#"{"TableName":"T"}"#;
        let batch = "--b\r\nContent-Type: x\r\n\r\nPUT http://h/account/T(PartitionKey='p',RowKey='r') HTTP/1.1\r\n";
        assert_eq!(of("POST", "T", &[], ""), on(OperationKind::Insert));
        assert_eq!(of("PUT", row, &["if-match"], ""), on(OperationKind::Replace));
        assert_eq!(of("PUT", row, &[], ""), on(OperationKind::InsertOrReplace));
        assert_eq!(of("PATCH", row, &["if-match"], ""), on(OperationKind::Merge));
        assert_eq!(of("MERGE", row, &[], ""), on(OperationKind::InsertOrMerge));
        assert_eq!(
            of("POST", row, &["x-http-method"], ""),
            on(OperationKind::InsertOrMerge)
        );
        assert_eq!(of("DELETE", row, &["if-match"], ""), on(OperationKind::Delete));
        assert_eq!(of("GET", row, &[], ""), on(OperationKind::Get));
        assert_eq!(of("GET", "T()?$top=2", &[], ""), on(OperationKind::Query));
        assert_eq!(of("POST", "account/$batch", &[], batch), on(OperationKind::Batch));
        assert_eq!(of("POST", "Tables", &[], body), on(OperationKind::CreateTable));
        assert_eq!(of("DELETE", "Tables('T')", &[], ""), on(OperationKind::DeleteTable));
        assert_eq!(of("GET", "Tables('T')", &[], ""), on(OperationKind::GetTable));
        assert_eq!(of("GET", "T?comp=acl", &[], ""), on(OperationKind::GetAccessPolicies));
        assert_eq!(of("PUT", "T?comp=acl", &[], ""), on(OperationKind::SetAccessPolicies));
        assert_eq!(of("GET", "T?comp=other", &[], ""), (None, "T".to_owned()));
        let service = |method: &str, address: &str| {
            let (kind, table) = of(method, address, &[], "");
            assert_eq!(table, "");
            kind
        };
        assert_eq!(service("GET", "Tables?$top=1"), Some(OperationKind::ListTables));
        let statistics = service("GET", "?restype=service&comp=stats");
        assert_eq!(statistics, Some(OperationKind::GetServiceStatistics));
        let properties = "?restype=service&comp=properties";
        assert_eq!(service("GET", properties), Some(OperationKind::GetServiceProperties));
        assert_eq!(service("PUT", properties), Some(OperationKind::SetServiceProperties));
        let key = service("POST", "?restype=service&comp=userdelegationkey");
        assert_eq!(key, Some(OperationKind::GetUserDelegationKey));
    }
}
