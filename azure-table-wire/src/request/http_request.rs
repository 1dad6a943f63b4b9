//! The parts of HTTP requests that several operations share: headers, versions and bodies.
//!
//! It builds the frame of OData and XML requests. Addresses are in `endpoint.rs`; calls are the client's.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Request, Uri};

use crate::account::endpoint::Endpoint;
use crate::codec::odata::metadata_level::{MetadataLevel, accept};
use crate::error::error_text::Shown;
use crate::error::{Error, Result};

/// The protocol version that the official SDKs pin for account keys.
///
/// Source: REST "Versioning for Azure Storage".
pub const X_MS_VERSION: &str = "2019-02-02";
/// The first version that answers a request without a token with a challenge; used with tokens.
///
/// Source: REST "Authorize with Microsoft Entra ID"; seen live.
pub const TOKEN_VERSION: &str = "2020-12-06";

/// Checks the form of a version: a date.
pub fn check_version(version: &str) -> Result<()> {
    let is_date = version.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    if is_date && version.len() == 10 {
        return Ok(());
    }
    let version = Shown(version);
    let why = format!("service version {version}: it is not a date such as {X_MS_VERSION}");
    Err(Error::invalid_input(why))
}

/// The number of headers that a request reserves capacity for, without those that its caller adds.
const MAX_HEADERS: usize = 12;

const DATA_SERVICE_VERSION: HeaderName = HeaderName::from_static("dataserviceversion");
pub const PREFER: HeaderName = HeaderName::from_static("prefer");
pub const X_HTTP_METHOD: HeaderName = HeaderName::from_static("x-http-method");

/// The first version in which user delegation keys sign for tables, and in which access policies were seen to accept a
/// token.
///
/// Source: REST "Create a user delegation SAS", "Authorize with Microsoft Entra ID"; a recorded answer.
pub const DELEGATION_VERSION: &str = "2025-07-05";

/// The content type of JSON bodies. Requests are signed with exactly this text.
pub const JSON: &str = "application/json";
/// The content type of operations on the service and on access policies.
pub const XML: &str = "application/xml";

/// Builds a request with the headers that every OData operation has.
///
/// Source: REST "Setting the OData data service version headers", "Payload format for Table service operations".
pub fn odata(endpoint: &Endpoint, method: Method, path: &str, metadata: MetadataLevel) -> Result<Request<Bytes>> {
    let mut request = Request::new(Bytes::new());
    *request.method_mut() = method;
    *request.uri_mut() = endpoint.uri(path)?;
    let headers = request.headers_mut();
    // Reserves room for the headers that every attempt adds, so that the map grows once.
    headers.reserve(MAX_HEADERS);
    headers.insert(ACCEPT, HeaderValue::from_static(accept(metadata)));
    headers.insert(DATA_SERVICE_VERSION, HeaderValue::from_static("3.0"));
    Ok(request)
}

/// Builds a request with the headers that every operation in XML has, and its body, if any.
///
/// Source: REST "Set Table Service Properties", "Set Table ACL".
pub fn xml(uri: Uri, method: Method, body: Option<Bytes>) -> Request<Bytes> {
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

/// Sets a JSON body.
pub fn set_json(request: &mut Request<Bytes>, body: Bytes) {
    request
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    *request.body_mut() = body;
}

/// Converts external text to a header value. The error does not show the text, which may be a secret.
pub fn header_value(what: &str, text: impl Into<String>) -> Result<HeaderValue> {
    let text = text.into();
    // Bytes beyond ASCII could be sent, but recipients would decode them differently.
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
