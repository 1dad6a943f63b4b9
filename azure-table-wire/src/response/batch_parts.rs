//! The parts of a batch's response, and the one that failed.
//!
//! `write/batch_response.rs` of azure-table assigns them to the operations of a batch.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Response};

use crate::codec::multipart::{HttpParts, Message};
use crate::error::Result;
use crate::response;

/// Adds the headers of a part.
pub fn add_headers(headers: &mut HeaderMap, message: &Message<'_>) {
    for (name, value) in message.headers() {
        // Nothing in this crate reads a header with an invalid name or value.
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            headers.insert(name, value);
        }
    }
}

/// The part of a batch's response for the operation that failed.
#[derive(Debug)]
pub struct PartError {
    pub status: u16,
    pub code: Option<String>,
    /// The message begins with the index of an operation.
    pub has_index: bool,
    pub headers: HeaderMap,
}

/// Returns the operation that failed, if any. It is the only part of the response then, as recorded from both services
/// and from Azurite.
pub fn part_error(response: &Response<Bytes>) -> Option<PartError> {
    let message = parts(response).ok()?.next()?.ok()?;
    let status = message.status().ok().filter(|status| *status >= 400)?;
    let header_code = message.header("x-ms-error-code");
    let error = response::error_of(status, header_code, message.header("content-type"), message.body, None);
    let mut headers = HeaderMap::new();
    add_headers(&mut headers, &message);
    Some(PartError {
        status,
        code: error.code().map(str::to_owned),
        has_index: error.batch_index().is_some(),
        headers,
    })
}

/// Returns the parts of the body that are responses.
pub fn parts(response: &Response<Bytes>) -> Result<HttpParts<'_>> {
    HttpParts::of(
        response.body(),
        response::header(response, CONTENT_TYPE).unwrap_or_default(),
    )
}
