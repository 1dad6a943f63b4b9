//! What all requests have in common.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Request};

use crate::model::entity::MetadataLevel;
use crate::model::error::{Error, Result};
use crate::protocol::endpoint::Endpoint;

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

/// The first version in which a user delegation key signs for tables.
///
/// Source: REST "Create a user delegation SAS".
pub(crate) const DELEGATION_VERSION: &str = "2025-07-05";

/// JSON bodies have exactly this type, which is also what is signed.
pub(crate) const JSON: &str = "application/json";
/// What the operations on the service and on access policies speak.
pub(crate) const XML: &str = "application/xml";

/// The operation's name and table, for errors; and whether sending it twice is the same as once.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) operation: &'static str,
    pub(crate) table: Option<String>,
    /// PartitionKey and RowKey, where the request is about one entity.
    pub(crate) entity: Option<(String, String)>,
    pub(crate) effect: Effect,
    /// The version that it needs of credentials that are tokens, if a newer one than they ask for.
    pub(crate) version_with_token: Option<&'static str>,
    pub(crate) request: Request<Bytes>,
}

impl Call {
    /// A call that only reads.
    pub(crate) fn read(operation: &'static str, request: Request<Bytes>) -> Self {
        Self {
            operation,
            table: None,
            entity: None,
            effect: Effect::Read,
            version_with_token: None,
            request,
        }
    }

    /// A call that writes.
    pub(crate) fn write(operation: &'static str, request: Request<Bytes>) -> Self {
        Self {
            effect: Effect::Write,
            ..Self::read(operation, request)
        }
    }

    pub(crate) fn in_table(self, table: &str) -> Self {
        Self {
            table: Some(table.to_owned()),
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

/// What repeating a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing: it only reads.
    Read,
    /// It writes: a repetition may fail or apply twice.
    Write,
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

/// Gives the request a JSON body.
pub(crate) fn set_json(request: &mut Request<Bytes>, body: Bytes) {
    request
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    *request.body_mut() = body;
}

/// A request of an operation that speaks XML: it is none of OData, and has no version of it.
///
/// Source: REST "Setting the OData data service version headers", "Get Table ACL", "Set Table Service Properties".
pub(crate) fn xml(endpoint: &Endpoint, method: Method, path: &str) -> Result<Request<Bytes>> {
    let mut request = Request::new(Bytes::new());
    *request.method_mut() = method;
    *request.uri_mut() = endpoint.uri(path)?;
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static(XML));
    Ok(request)
}

/// Gives the request an XML body.
pub(crate) fn set_xml(request: &mut Request<Bytes>, body: Bytes) {
    request
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(XML));
    *request.body_mut() = body;
}

/// A header value made of text from outside. What cannot be one is not shown: it may be a secret.
pub(crate) fn header_value(what: &str, text: &str) -> Result<HeaderValue> {
    HeaderValue::from_str(text)
        .map_err(|_| Error::invalid_input(format!("{what} has characters that no HTTP header can have")))
}
