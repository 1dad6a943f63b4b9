//! What all requests have in common.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Request, Uri};

use crate::model::entity::MetadataLevel;
use crate::model::error::{Error, Result};
use crate::model::location::Location;
use crate::model::operation_kind::{Effect, OperationKind};
use crate::protocol::endpoint::Endpoint;
use crate::protocol::row_write::RowWrites;

/// The version of the protocol: the one that the official SDKs pin for account keys.
///
/// Source: REST "Versioning for Azure Storage".
pub(crate) const X_MS_VERSION: &str = "2019-02-02";
/// The first version whose tables challenge a request without a token: the one to ask for with tokens.
///
/// Source: REST "Authorize with Microsoft Entra ID"; seen live.
pub(crate) const TOKEN_VERSION: &str = "2020-12-06";

const DATA_SERVICE_VERSION: HeaderName = HeaderName::from_static("dataserviceversion");
pub(crate) const PREFER: HeaderName = HeaderName::from_static("prefer");
pub(crate) const X_HTTP_METHOD: HeaderName = HeaderName::from_static("x-http-method");

/// The first version in which a user delegation key signs for tables, and in which access policies were seen to take a token.
///
/// Source: REST "Create a user delegation SAS", "Authorize with Microsoft Entra ID"; a recorded answer.
pub(crate) const DELEGATION_VERSION: &str = "2025-07-05";

/// JSON bodies have exactly this type, which is also what is signed.
pub(crate) const JSON: &str = "application/json";
/// What the operations on the service and on access policies speak.
pub(crate) const XML: &str = "application/xml";

/// The operation's name and table, for errors; and whether sending it twice is the same as once.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) operation: OperationKind,
    pub(crate) table: Option<String>,
    /// PartitionKey and RowKey, where the request is about one entity.
    pub(crate) entity: Option<(String, String)>,
    pub(crate) effect: Effect,
    /// Where the request is addressed to.
    pub(crate) location: Location,
    /// The status of a refusal that is an answer in itself: of a `get` that finds nothing.
    pub(crate) expected: Option<u16>,
    /// What a write does to which rows, to find out whether it was applied.
    pub(crate) rows: RowWrites,
    /// The version that it needs of credentials that are tokens, if a newer one than they ask for.
    pub(crate) version_with_token: Option<&'static str>,
    /// Whether it is the only operation of a batch: see `enclosed.rs`.
    pub(crate) is_enclosed: bool,
    pub(crate) request: Request<Bytes>,
}

impl Call {
    pub(crate) fn new(operation: OperationKind, request: Request<Bytes>) -> Self {
        Self {
            operation,
            table: None,
            entity: None,
            effect: operation.effect(),
            location: Location::Primary,
            expected: operation.expected_status(),
            rows: RowWrites::None,
            version_with_token: None,
            is_enclosed: false,
            request,
        }
    }

    /// The same call, of operations that only read one entity each.
    pub(crate) fn of_reads(self) -> Self {
        Self {
            effect: Effect::Read,
            expected: OperationKind::Get.expected_status(),
            ..self
        }
    }

    pub(crate) fn in_table(self, table: &str) -> Self {
        Self {
            table: Some(table.to_owned()),
            ..self
        }
    }

    /// A call that is addressed to the second region, and to no other.
    pub(crate) fn in_secondary(self) -> Self {
        Self {
            location: Location::Secondary,
            ..self
        }
    }

    /// With a refusal that is an answer in itself.
    pub(crate) fn expecting(self, status: u16) -> Self {
        Self {
            expected: Some(status),
            ..self
        }
    }

    /// The operation; of a batch what all of its operations are, if they are alike.
    pub(crate) fn common_operation(&self) -> OperationKind {
        let mut kinds = self.rows.iter().map(|row| row.kind);
        match kinds.next() {
            Some(first) if kinds.all(|kind| kind == first) => first,
            _ => self.operation,
        }
    }

    /// Whether it is a batch.
    pub(crate) fn is_batch(&self) -> bool {
        self.operation == OperationKind::Batch
    }

    /// Whether the request sent twice has the same effect as sent once.
    ///
    /// Source: RFC 9110, section 9.2.2.
    pub(crate) fn is_idempotent(&self) -> bool {
        match self.effect {
            Effect::Read => true,
            Effect::Write if self.rows.is_empty() => self.operation.is_idempotent(),
            Effect::Write => self
                .rows
                .iter()
                .all(|row| row.kind.is_idempotent() && !row.facts.is_of_one_version),
        }
    }

    /// Whether its answer has answers inside.
    pub(crate) fn has_answers_inside(&self) -> bool {
        self.is_enclosed || self.is_batch()
    }

    /// With what it does to rows.
    pub(crate) fn writing(self, rows: RowWrites) -> Self {
        Self { rows, ..self }
    }

    /// With the version that a token needs for it.
    pub(crate) fn with_token_version(self, version: &'static str) -> Self {
        Self {
            version_with_token: Some(version),
            ..self
        }
    }

    pub(crate) fn at_entity(self, (partition_key, row_key): (&str, &str)) -> Self {
        Self {
            entity: Some((partition_key.to_owned(), row_key.to_owned())),
            ..self
        }
    }
}

impl MetadataLevel {
    /// The `Accept` header that asks for it.
    pub(crate) const fn accept(self) -> &'static str {
        match self {
            Self::None => "application/json;odata=nometadata",
            Self::Minimal => "application/json;odata=minimalmetadata",
        }
    }
}

/// A request with the headers that every OData operation has.
///
/// Source: REST "Setting the OData data service version headers", "Payload format for Table service operations".
pub(crate) fn odata(endpoint: &Endpoint, method: Method, path: &str, accept: &'static str) -> Result<Request<Bytes>> {
    let mut request = Request::new(Bytes::new());
    *request.method_mut() = method;
    *request.uri_mut() = endpoint.uri(path)?;
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    headers.insert(DATA_SERVICE_VERSION, HeaderValue::from_static("3.0"));
    Ok(request)
}

/// A request with the headers that every operation in XML has, and its body, if there is one.
///
/// Source: REST "Set Table Service Properties", "Set Table ACL".
pub(crate) fn xml(uri: Uri, method: Method, body: Option<Bytes>) -> Request<Bytes> {
    let mut request = Request::new(Bytes::new());
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    let xml = HeaderValue::from_static(XML);
    request.headers_mut().insert(ACCEPT, xml.clone());
    if let Some(body) = body {
        request.headers_mut().insert(CONTENT_TYPE, xml);
        *request.body_mut() = body;
    }
    request
}

/// Gives the request a JSON body.
pub(crate) fn set_json(request: &mut Request<Bytes>, body: Bytes) {
    request
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    *request.body_mut() = body;
}

/// A header value made of text from outside. What cannot be one is not shown: it may be a secret.
pub(crate) fn header_value(what: &str, text: &str) -> Result<HeaderValue> {
    HeaderValue::from_str(text)
        .map_err(|_| Error::invalid_input(format!("{what} has characters that no HTTP header can have")))
}
