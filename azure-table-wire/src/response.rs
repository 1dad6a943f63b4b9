//! Error responses in all their forms.
//!
//! It parses error bodies, and the headers that all responses share. Source: REST "Status and error codes" and forms
//! seen from Storage and Cosmos DB.
//!
//! External input is bounded: 64 MiB per response, 1,024 members per entity, 64 levels of skipped JSON, 16 levels and
//! 4,096 elements of XML, 100 levels of a filter, 1,000 characters of an error text. Each limit is far above what the
//! service sends. Input beyond a limit is an error and is never truncated. An unreadable continuation header is an
//! error too: the listing would otherwise end early without notice.

#[cfg(feature = "azure-core-1")]
mod azure_core_error;
#[doc(hidden)]
pub mod batch_parts;
#[doc(hidden)]
pub mod http_date;
#[doc(hidden)]
pub mod masked_keys;

use std::time::SystemTime;

use bytes::Bytes;
use http::header::{AsHeaderName, CONTENT_TYPE, DATE, ETAG, HeaderName};
use http::{HeaderMap, Response, StatusCode};
use serde::Deserialize;

use crate::codec::xml;
use crate::error::{Error, ErrorKind, Result};

const X_MS_REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-request-id");
const X_MS_REQUEST_CHARGE: HeaderName = HeaderName::from_static("x-ms-request-charge");

/// The text that HTTP.sys sends, in HTML, for a URL that it rejects.
const INVALID_URL: &str = "Bad Request - Invalid URL";
/// The beginning of Cosmos DB's text about a wrong signature, whose code `Forbidden` also means a missing permission or
/// a firewall.
///
/// Source: recordings of azure-data-tables (2020 and 2021).
const WRONG_SIGNATURE: &str = "The input authorization token can't serve the request";
/// The maximum number of characters of an unexpected response that an error shows.
const EXCERPT: usize = 80;

#[derive(Deserialize)]
struct ErrorBody {
    #[serde(rename = "odata.error")]
    error: ODataError,
}

#[derive(Deserialize)]
struct ODataError {
    code: String,
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    value: String,
}

/// Returns the response if it has an expected status, otherwise its error.
#[inline]
pub fn expect(response: Response<Bytes>, expected: &[StatusCode]) -> Result<Response<Bytes>> {
    if expected.contains(&response.status()) {
        Ok(response)
    } else {
        Err(error(&response))
    }
}

/// Returns the error that a response reports.
pub fn error(response: &Response<Bytes>) -> Error {
    let (status, code) = (response.status().as_u16(), header(response, "x-ms-error-code"));
    let content_type = header(response, CONTENT_TYPE);
    error_of(status, code, content_type, response.body(), request_id(response))
}

/// Returns the error for the status, error code header and body of a response, or of one part of a batch.
pub fn error_of(
    status: u16,
    header_code: Option<&str>,
    content_type: Option<&str>,
    body: &[u8],
    request_id: Option<String>,
) -> Error {
    // A byte order mark or white space around the JSON is ignored.
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start_matches('\u{feff}').trim();
    let said = match serde_json::from_slice::<ErrorBody>(text.as_bytes()) {
        Ok(body) => Some((body.error.code, body.error.message.map(|message| message.value))),
        Err(_) => xml::error(text),
    };
    if let Some((code, message)) = said {
        let (index, message) = message.as_deref().map(split_message).unzip();
        let is_wrong_signature = code == "Forbidden" && message.is_some_and(|text| text.starts_with(WRONG_SIGNATURE));
        // The string to sign has several lines.
        let message = message.map(|text| match text.split_once(" Server used") {
            Some((said, _)) if is_wrong_signature => said,
            _ => text,
        });
        let error = Error::of_response(
            status,
            Some(without_signatures(&code)),
            message.map(without_signatures),
            request_id,
        )
        .at_batch_index(index.flatten());
        // Cosmos DB rejects the 101st token as if it were a wrong one (azure-sdk-for-net issue 47191).
        let is_limit = message.is_some_and(|message| message.to_ascii_lowercase().contains("aad token limit"));
        return match status {
            401 if is_limit => error.with_kind(ErrorKind::Throttled),
            403 if is_wrong_signature => error.with_kind(ErrorKind::Unauthenticated),
            _ => error,
        };
    }
    if is_address_rejected(status, text) {
        let said = (status == 400).then(|| INVALID_URL.to_owned());
        return Error::of_response(status, None, said, request_id);
    }
    let error = Error::of_response(status, header_code.map(without_signatures), None, request_id);
    match text {
        _ if header_code.is_some() => error,
        "" if error.cause_kind() == ErrorKind::InvalidResponse => {
            error.with_message("no error code, so the response is not from a Table service: check the endpoint")
        }
        "" => error,
        text => error.with_message(strange(content_type, text)),
    }
}

/// Returns `true` if a server in front of the Table service rejected the URL: HTTP.sys in HTML, others without a body.
pub fn rejects_address(response: &Response<Bytes>) -> bool {
    let status = response.status().as_u16();
    matches!(status, 400 | 414 | 431) && is_address_rejected(status, &String::from_utf8_lossy(response.body()))
}

fn is_address_rejected(status: u16, text: &str) -> bool {
    // A JSON body comes from the service itself.
    let is_of_service = text.trim_start_matches('\u{feff}').trim_start().starts_with('{');
    match status {
        414 | 431 => !is_of_service,
        400 => !is_of_service && text.contains(INVALID_URL),
        _ => false,
    }
}

/// Returns the body of a response that should be a JSON object.
pub fn json(response: &Response<Bytes>) -> Result<&[u8]> {
    let body: &[u8] = response.body();
    if is_json_object(body) {
        return Ok(body);
    }
    let content_type = header(response, CONTENT_TYPE);
    let text = String::from_utf8_lossy(body);
    Err(
        Error::invalid_response(strange(content_type, text.trim_start_matches('\u{feff}').trim_start()))
            .with_status(response.status().as_u16())
            .with_request_id(request_id(response)),
    )
}

/// Returns `true` if a body starts like a JSON object, ignoring a byte order mark and white space.
pub fn is_json_object(body: &[u8]) -> bool {
    let text = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    text.trim_ascii_start().starts_with(b"{")
}

/// Returns `true` if the service reports a missing entity, and not a missing table.
pub fn is_missing_entity(error: &Error) -> bool {
    matches!(
        error.parts().code.as_deref(),
        Some("ResourceNotFound" | "EntityNotFound")
    )
}

fn strange(content_type: Option<&str>, text: &str) -> String {
    format!(
        "not a response of a Table service (content type {}, begins with {:?}): check the endpoint",
        content_type.unwrap_or("none"),
        without_signatures(text).chars().take(EXCERPT).collect::<String>(),
    )
}

/// Returns response text without the signatures in it: it may repeat the request's URL.
pub fn without_signatures(text: &str) -> String {
    // A page may repeat the URL as a part of another one, encoded once or twice more.
    const NAME: &str = "sig";
    let is_signature = |c: char| c.is_ascii_alphanumeric() || matches!(c, '%' | '+' | '/' | '=');
    let mut parts = text.split(NAME);
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push_str(NAME);
        let is_mark = |mark: &&str| {
            part.get(..mark.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(mark))
        };
        let mark = ["=", "%3d", "%253d"].into_iter().find(is_mark);
        match mark {
            Some(mark) => {
                shown.push_str(&part[..mark.len()]);
                shown.push('…');
                shown.push_str(part[mark.len()..].trim_start_matches(is_signature));
            }
            None => shown.push_str(part),
        }
    }
    shown
}

/// Splits a batch's message into the index that it starts with and the text. Drops the RequestId and Time lines
/// (Storage) or the ActivityId line (Cosmos DB).
fn split_message(message: &str) -> (Option<usize>, &str) {
    let end = ["\nRequestId:", "\nRequestID:", "\nActivityId:"]
        .iter()
        .filter_map(|mark| message.find(mark))
        .min();
    let message = message[..end.unwrap_or(message.len())].trim();
    match message.split_once(':') {
        Some((digits, rest)) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            (digits.parse().ok(), rest.trim_start())
        }
        _ => (None, message),
    }
}

/// Returns the service's id of the request.
pub fn request_id(response: &Response<Bytes>) -> Option<String> {
    header(response, X_MS_REQUEST_ID).map(str::to_owned)
}

/// Returns the service's time.
pub fn date(headers: &HeaderMap) -> Option<SystemTime> {
    http_date::parsed(headers.get(DATE)?)
}

/// Returns the cost of the request, in request units of Cosmos DB.
pub fn request_charge(headers: &HeaderMap) -> Option<f64> {
    headers.get(X_MS_REQUEST_CHARGE)?.to_str().ok()?.trim().parse().ok()
}

/// Returns the text of the ETag header.
pub fn etag(response: &Response<Bytes>) -> Option<&str> {
    header(response, ETAG)
}

/// Returns the text of a header.
pub fn header(response: &Response<Bytes>, name: impl AsHeaderName) -> Option<&str> {
    response.headers().get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn storage(message: &str) -> Error {
        let body = serde_json::json!({"odata.error": {"code": "X", "message": {"lang": "en-US", "value": message}}});
        error_of(400, None, None, body.to_string().as_bytes(), None)
    }

    #[test]
    fn signatures_in_a_text_are_hidden_also_if_they_are_encoded_again() {
        for (text, shown) in [
            ("?sv=1&sig=SECRET%3D&x", "?sv=1&sig=…&x"),
            ("x%26sig%3dSECRET y", "x%26sig%3d… y"),
            ("x%2526sig%253DSECRET%25253D", "x%2526sig%253D…"),
            ("a sign, sig", "a sign, sig"),
            ("sig§", "sig§"),
        ] {
            assert_eq!(without_signatures(text), shown);
        }
    }

    #[test]
    fn token_limit_is_reported_as_throttling() {
        let body =
            r#"{"odata.error":{"code":"Unauthorized","message":{"value":"Exceeded allowed aad token limit of 100"}}}"#;
        let error = error_of(401, None, None, body.as_bytes(), None);
        assert_eq!(error.kind(), ErrorKind::Throttled);
        let other = body.replace("aad token limit of 100", "patience");
        assert_eq!(
            error_of(401, None, None, other.as_bytes(), None).kind(),
            ErrorKind::Unauthenticated
        );
    }

    #[test]
    fn wrong_signature_of_cosmos_db_is_no_missing_permission() {
        let error = |text: &str| {
            let body = serde_json::json!({"odata.error": {"code": "Forbidden", "message": {"value": text}}});
            error_of(403, None, None, body.to_string().as_bytes(), None)
        };
        let text = "The input authorization token can't serve the request. Please check that the expected payload is \
                    built as per the protocol, and check the key being used.";
        let wrong = error(&format!(
            "{text} Server used the following payload to sign: 'GET\n\n\nSat, 1\n/a/b'\r\nActivityId: x, y\n"
        ));
        assert_eq!(
            (wrong.kind(), wrong.code(), wrong.service_message()),
            (ErrorKind::Unauthenticated, Some("Forbidden"), Some(text))
        );
        assert_eq!(error("Blocked by the firewall.").kind(), ErrorKind::Forbidden);
    }

    #[test]
    fn echoed_signature_is_not_shown() {
        let error = |body: &str| error_of(403, None, Some("text/plain"), body.as_bytes(), None).to_string();
        let odata = r#"{"odata.error":{"code":"X","message":{"value":"no ?se=1&sig=SECRET%3D&sv=2 here"}}}"#;
        assert!(error(odata).contains("no ?se=1&sig=…&sv=2 here"), "{}", error(odata));
        let strange = error("Cannot GET /T()?sig=SECRET/+=");
        assert!(strange.contains("sig=…") && !strange.contains("SECRET"), "{strange}");
    }

    #[test]
    fn message_excludes_request_id_time_and_index() {
        let error = storage("3:The specified entity already exists.\nRequestId:a\nTime:b");
        assert_eq!(error.service_message(), Some("The specified entity already exists."));
        assert_eq!(error.batch_index(), Some(3));
        let error = storage("Time: it is.\r\nActivityId: x, y\n\nRequestID:z\n");
        assert_eq!(
            (error.service_message(), error.batch_index()),
            (Some("Time: it is."), None)
        );
    }

    #[test]
    fn html_response_is_named_as_such() {
        let html = b"<html><body>It works!</body></html>";
        let error = error_of(404, None, Some("text/html"), html, None);
        assert_eq!(error.kind(), ErrorKind::InvalidResponse);
        assert!(
            error.to_string().contains("text/html") && error.to_string().contains("It works!"),
            "{error}"
        );
        let error = error_of(404, None, None, b"", None);
        assert_eq!(
            (error.kind(), &*error.to_string()),
            (
                ErrorKind::InvalidResponse,
                "the server answered 404: no error code, so the response is not from a Table service: check the endpoint"
            )
        );
    }

    #[test]
    fn body_may_be_missing_or_have_byte_order_mark() {
        assert_eq!(
            error_of(503, None, None, b"", None).to_string(),
            "the server answered 503"
        );
        let error = error_of(403, Some("AuthenticationFailed"), None, b"<x/>", None);
        assert_eq!(error.service_message(), None);
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::Unauthenticated, Some("AuthenticationFailed"))
        );
        let body = "\u{feff}{\"odata.error\":{\"code\":\"X\"}}\r\n";
        assert_eq!(error_of(400, None, None, body.as_bytes(), None).code(), Some("X"));
    }
}
