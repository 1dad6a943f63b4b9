//! Requests as they are received: the method, the target and the operation of a request or of a part of a batch.
//!
//! Defines [`Inbound`]. Faults are values: the emulator reports them in its order and with its codes, test doubles
//! treat a faulty request as an unknown operation. `inbound/target.rs` parses URLs, `inbound/batch.rs` the bodies of
//! batches.
//!
//! Source: REST "Payload format for Table service operations", "Merge Entity".

pub mod batch;
pub mod target;

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Uri};

use crate::codec::multipart::Message;
use crate::codec::url;
use crate::error::operation_kind::OperationKind;
use crate::request::inbound::target::{Paths, Target, TargetFault};

/// A parsed request, sent alone or inside a batch.
#[derive(Debug)]
pub struct Inbound<'r> {
    /// The method of the request line, which may tunnel another one.
    pub method: &'r str,
    pub query: &'r str,
    pub headers: Headers<'r>,
    pub body: &'r [u8],
    pub verb: Result<Verb, VerbFault>,
    pub target: Result<Target, TargetFault>,
    paths: Paths<'r>,
}

/// The headers of a request.
#[derive(Debug)]
pub enum Headers<'r> {
    Own(&'r HeaderMap),
    /// The headers of a part of a batch.
    Part(Message<'r>),
}

/// The method of an operation, tunnelled or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Get,
    Post,
    Put,
    Merge,
    Delete,
}

/// The fault of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerbFault {
    Unknown,
    UnknownTunnelled,
    /// Only `POST` tunnels other methods.
    NotInPost,
    SeveralTunnelled,
}

impl Headers<'_> {
    /// Returns a header's value. Several of the same name are joined with commas.
    pub fn get(&self, name: &str) -> Option<Cow<'_, str>> {
        let headers = match self {
            Self::Own(headers) => headers,
            Self::Part(message) => return message.header(name).map(Cow::Borrowed),
        };
        let mut values = headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()));
        let first = values.next()?;
        Some(values.fold(first, |all, next| format!("{all}, {next}").into()))
    }
}

impl Verb {
    fn of(method: &str, headers: &Headers<'_>) -> Result<Self, VerbFault> {
        let Some(tunnelled) = headers.get("x-http-method") else {
            return Self::named(method).ok_or(VerbFault::Unknown);
        };
        if method != "POST" {
            return Err(VerbFault::NotInPost);
        }
        if tunnelled.contains(',') {
            return Err(VerbFault::SeveralTunnelled);
        }
        Self::named(&tunnelled).ok_or(VerbFault::UnknownTunnelled)
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "GET" => Self::Get,
            "POST" => Self::Post,
            "PUT" => Self::Put,
            // The service's own method and HTTP's mean the same.
            "MERGE" | "PATCH" => Self::Merge,
            "DELETE" => Self::Delete,
            _ => return None,
        })
    }
}

impl<'r> Inbound<'r> {
    /// Parses a request to a service with these paths.
    pub fn at(paths: Paths<'r>, (method, uri): (&'r Method, &'r Uri), headers: &'r HeaderMap, body: &'r [u8]) -> Self {
        let url = (uri.path(), uri.query().unwrap_or_default());
        Self::parse(paths, (method.as_str(), url), Headers::Own(headers), body)
    }

    /// Parses a request of a client.
    pub fn of(request: &'r Request<Bytes>) -> Self {
        let paths = Paths::of_client(request.uri().path());
        Self::at(
            paths,
            (request.method(), request.uri()),
            request.headers(),
            request.body(),
        )
    }

    /// Parses a part of a batch. Returns `None` without a request line, otherwise its URL too.
    fn of_part(paths: Paths<'r>, part: Message<'r>) -> Option<(Self, &'r str)> {
        let (method, rest) = part.start_line.split_once(' ').filter(|_| part.has_headers())?;
        let (url, _version) = rest.rsplit_once(" HTTP/")?;
        // Absolute URLs and bare paths are both accepted (recorded).
        let path = match url.split_once("://") {
            Some((_, rest)) => &rest[rest.find('/')?..],
            None => url,
        };
        let path_and_query = path.split_once('?').unwrap_or((path, ""));
        let body = part.body;
        Some((
            Self::parse(paths, (method, path_and_query), Headers::Part(part), body),
            url,
        ))
    }

    fn parse(
        paths: Paths<'r>,
        (method, (path, query)): (&'r str, (&'r str, &'r str)),
        headers: Headers<'r>,
        body: &'r [u8],
    ) -> Self {
        let verb = Verb::of(method, &headers);
        Self {
            method,
            query,
            body,
            verb,
            target: Target::parse(path, query, verb == Ok(Verb::Get), paths),
            headers,
            paths,
        }
    }

    /// Returns the operation, or `None` for an unknown one. A ping is a list of tables.
    pub fn kind(&self) -> Option<OperationKind> {
        use OperationKind::*;
        let must_exist = self.headers.get("if-match").is_some();
        Some(match (self.target.as_ref().ok()?, self.verb.ok()?) {
            (Target::Batch, _) => Batch,
            (Target::Policies(_), Verb::Get) => GetAccessPolicies,
            (Target::Policies(_), _) => SetAccessPolicies,
            (Target::Properties, Verb::Get) => GetServiceProperties,
            (Target::Properties, Verb::Put) => SetServiceProperties,
            (Target::Statistics, Verb::Get) => GetServiceStatistics,
            (Target::DelegationKey, Verb::Post) => GetUserDelegationKey,
            (Target::Tables, Verb::Get) => ListTables,
            (Target::Tables, Verb::Post) => CreateTable,
            (Target::Table(_), Verb::Get) => GetTable,
            (Target::Table(_), Verb::Delete) => DeleteTable,
            (Target::Entities(_) | Target::TablesBelow(_), Verb::Get) => Query,
            (Target::Entities(_), Verb::Post) => Insert,
            (Target::Entity(..), Verb::Get) => Get,
            (Target::Entity(..), Verb::Put) if must_exist => Replace,
            (Target::Entity(..), Verb::Put) => InsertOrReplace,
            (Target::Entity(..), Verb::Merge) if must_exist => Merge,
            (Target::Entity(..), Verb::Merge) => InsertOrMerge,
            (Target::Entity(..), Verb::Delete) => Delete,
            _ => return None,
        })
    }

    /// Returns the table of the operation: for a batch, the table of its first operation; for a creation, the new
    /// table.
    pub fn table(&self) -> Option<String> {
        match (self.target.as_ref().ok()?, self.verb) {
            (Target::Batch, _) => self.batch()?.operations.first()?.table(),
            (Target::Tables, Ok(Verb::Post)) => {
                let body: serde_json::Value = serde_json::from_slice(self.body).ok()?;
                body.get("TableName")?.as_str().map(str::to_owned)
            }
            (Target::Table(table), _) => Some(table.clone()),
            (target, _) => target.table().map(str::to_owned),
        }
    }

    /// Returns a parameter of the query, or `None` if it is missing or unreadable.
    pub fn parameter(&self, name: &str) -> Option<String> {
        url::parameter(self.query, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_post_tunnels_other_methods() {
        let verb = |method: &str, tunnelled: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in tunnelled {
                headers.append("x-http-method", value.parse().unwrap());
            }
            Verb::of(method, &Headers::Own(&headers))
        };
        assert_eq!(verb("PATCH", &[]), Ok(Verb::Merge));
        assert_eq!(verb("POST", &["MERGE"]), Ok(Verb::Merge));
        assert_eq!(verb("PUT", &["MERGE"]), Err(VerbFault::NotInPost));
        assert_eq!(verb("POST", &["MERGE", "MERGE"]), Err(VerbFault::SeveralTunnelled));
        assert_eq!(verb("POST", &["BREW"]), Err(VerbFault::UnknownTunnelled));
        assert_eq!(verb("BREW", &[]), Err(VerbFault::Unknown));
    }

    /// Returns the kind and the table of a request to an account.
    fn of(
        method: &str,
        address: &str,
        headers: &[(&str, &str)],
        body: &'static str,
    ) -> (Option<OperationKind>, String) {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("https://a.table.core.windows.net/{address}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Bytes::from(body)).unwrap();
        let inbound = Inbound::of(&request);
        (inbound.kind(), inbound.table().unwrap_or_default())
    }

    #[test]
    fn request_shows_its_operation_and_table() {
        use OperationKind::*;
        let row = "T(PartitionKey='a%2Fb(',RowKey='%27%27')";
        let (any, merge) = (("if-match", "*"), ("x-http-method", "MERGE"));
        let key = "?restype=service&comp=userdelegationkey";
        let properties = "?restype=service&comp=properties";
        let statistics = "?restype=service&comp=stats";
        for (method, address, headers, kind, table) in [
            ("POST", "T", &[][..], Some(Insert), "T"),
            ("PUT", row, &[any], Some(Replace), "T"),
            ("PUT", row, &[], Some(InsertOrReplace), "T"),
            ("PATCH", row, &[any], Some(Merge), "T"),
            ("MERGE", row, &[], Some(InsertOrMerge), "T"),
            ("POST", row, &[merge], Some(InsertOrMerge), "T"),
            ("DELETE", row, &[any], Some(Delete), "T"),
            ("GET", row, &[], Some(Get), "T"),
            ("GET", "T()?$top=2", &[], Some(Query), "T"),
            ("POST", "Tables", &[], Some(CreateTable), "New"),
            ("GET", "Tables?$top=1", &[], Some(ListTables), ""),
            ("DELETE", "Tables('T')", &[], Some(DeleteTable), "T"),
            ("GET", "Tables('T')", &[], Some(GetTable), "T"),
            ("GET", "T?comp=acl", &[], Some(GetAccessPolicies), "T"),
            ("PUT", "T?comp=acl", &[], Some(SetAccessPolicies), "T"),
            ("GET", "T?comp=other", &[], None, ""),
            ("GET", statistics, &[], Some(GetServiceStatistics), ""),
            ("GET", properties, &[], Some(GetServiceProperties), ""),
            ("PUT", properties, &[], Some(SetServiceProperties), ""),
            ("POST", key, &[], Some(GetUserDelegationKey), ""),
            ("GET", "account/T/$batch(1)", &[], None, ""),
        ] {
            let expected = (kind, table.to_owned());
            assert_eq!(
                of(method, address, headers, r#"{"TableName":"New"}"#),
                expected,
                "{method} {address}"
            );
        }
    }

    #[test]
    fn batch_has_the_table_of_its_first_operation() {
        let body = "--b\r\nContent-Type: application/http\r\n\r\n\
            GET http://h/account/T(PartitionKey='p',RowKey='r') HTTP/1.1\r\nAccept: */*\r\n\r\n\r\n--b--\r\n";
        let headers = [("content-type", "multipart/mixed; boundary=b")];
        let (kind, table) = of("POST", "account/$batch", &headers, body);
        assert_eq!((kind, &*table), (Some(OperationKind::Batch), "T"));
    }
}
