//! The HTTP request of an operation: headers, versions and bodies that several operations share.
//!
//! Owns the requests in OData and in XML without what is asked of them. Addresses are `endpoint.rs`, calls
//! `request.rs`.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Request, Uri};

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

/// The headers of a request, without those that its caller adds.
const MOST_HEADERS: usize = 12;

const DATA_SERVICE_VERSION: HeaderName = HeaderName::from_static("dataserviceversion");
pub(crate) const PREFER: HeaderName = HeaderName::from_static("prefer");
pub(crate) const X_HTTP_METHOD: HeaderName = HeaderName::from_static("x-http-method");

/// The first version in which a user delegation key signs for tables, and in which access policies were seen to take a
/// token.
///
/// Source: REST "Create a user delegation SAS", "Authorize with Microsoft Entra ID"; a recorded answer.
pub(crate) const DELEGATION_VERSION: &str = "2025-07-05";

/// JSON bodies have exactly this type, which is also what is signed.
pub(crate) const JSON: &str = "application/json";
/// What the operations on the service and on access policies speak.
pub(crate) const XML: &str = "application/xml";

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
    // For those that every attempt adds, so that the map does not grow twice.
    headers.reserve(MOST_HEADERS);
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
pub(crate) fn header_value(what: &str, text: impl Into<String>) -> Result<HeaderValue> {
    let text = text.into();
    // Bytes beyond ASCII could be sent, but everyone would read them differently.
    let value = text
        .is_ascii()
        .then(|| HeaderValue::from_maybe_shared(Bytes::from(text)));
    value
        .and_then(std::result::Result::ok)
        .ok_or_else(|| Error::invalid_input(format!("{what} has characters that no HTTP header can have")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_values_are_visible_ascii() {
        assert_eq!(header_value("id", "a b~").unwrap(), "a b~");
        for text in ["é", "a\nb", "\u{7f}", "\0"] {
            let error = header_value("id", text).unwrap_err().to_string();
            assert_eq!(error, "id has characters that no HTTP header can have");
        }
    }
}
