//! The request of a batch: its body, boundaries and headers.
//!
//! It sets the headers inside and around the body, which `write/batch_body.rs` writes. The rules are in `batch.rs`.

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::codec::odata::metadata_level::{MetadataLevel, accept};
use azure_table_wire::error::{Error, Result};
use azure_table_wire::request::http_request::{JSON, header_value, odata};
use azure_table_wire::value::guid::Guid;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request};

use crate::write::batch_body::BatchBody;
use crate::write::encoded_operation::OperationParts;

/// Creates the body of a batch of changes, with unique boundaries.
pub(crate) fn changes() -> BatchBody {
    BatchBody::from_changes(batch_boundary(), format!("changeset_{}", Guid::random()))
}

/// Returns a unique boundary of a batch.
pub(crate) fn batch_boundary() -> String {
    format!("batch_{}", Guid::random())
}

/// Builds the request around the body of a batch, and ends the body.
pub(crate) fn request(endpoint: &Endpoint, body: BatchBody) -> Result<Request<Bytes>> {
    post(endpoint, content_type(&body)?, body.finish().into())
}

/// Builds the request around the bytes of a batch.
pub(crate) fn post(endpoint: &Endpoint, content_type: HeaderValue, body: Bytes) -> Result<Request<Bytes>> {
    let mut request = odata(endpoint, Method::POST, "$batch", MetadataLevel::None)?;
    request.headers_mut().insert(CONTENT_TYPE, content_type);
    *request.body_mut() = body;
    Ok(request)
}

/// Returns the header that names the boundary of a batch.
pub(crate) fn content_type(body: &BatchBody) -> Result<HeaderValue> {
    header_value("Content-Type", format!("multipart/mixed; boundary={}", body.boundary()))
}

impl OperationParts<'_> {
    /// Returns the headers of a request inside a batch, and their number.
    pub(super) fn inner_headers(&self) -> Result<([(&'static str, &str); 5], usize)> {
        let mut headers = [("", ""); 5];
        headers[0] = ("Accept", accept(self.metadata));
        headers[1] = ("DataServiceVersion", "3.0");
        let mut count = 2;
        if !self.body.is_empty() {
            headers[count] = ("Content-Type", JSON);
            count += 1;
        }
        for (name, value) in self.headers.iter().flatten() {
            headers[count] = (spelled(name.as_str())?, value);
            count += 1;
        }
        Ok((headers, count))
    }
}

/// Returns a header's name as the documentation spells it. An emulator may compare it case-sensitively.
pub(crate) fn spelled(name: &str) -> Result<&'static str> {
    Ok(match name {
        "accept" => "Accept",
        "dataserviceversion" => "DataServiceVersion",
        "content-type" => "Content-Type",
        "if-match" => "If-Match",
        "prefer" => "Prefer",
        "x-http-method" => "X-HTTP-Method",
        other => {
            let why = format!("header {other:?} cannot be sent in a batch");
            return Err(Error::invalid_input(why));
        }
    })
}

/// Returns the text of a header's value.
pub(crate) fn text(value: &HeaderValue) -> Result<&str> {
    value
        .to_str()
        .map_err(|_| Error::invalid_input(format!("header value {value:?}: only ASCII can be sent in a batch")))
}
