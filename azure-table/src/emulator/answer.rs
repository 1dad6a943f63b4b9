//! Answers: an operation's outcome as an HTTP response, or as a part of a batch's.
//!
//! Owns status lines, headers and error bodies. Headers about the framing of a message (`Content-Length`,
//! `Transfer-Encoding`) are the server's business and missing in process.
//! Not confirmed: the headers of the front end's refusals besides a failed authentication.
//!
//! Source: REST "Status and error codes", "Performing entity group transactions"; recorded headers and error bodies.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, DATE, ETAG, HeaderName, HeaderValue, LOCATION, SERVER};
use http::{Response, StatusCode};

use crate::codec::text::seven_digits;
use crate::emulator::json::{name, text_member};
use crate::emulator::options::{Level, Prefer};
use crate::emulator::refusal::{RaisedBy, Refusal};
use crate::model::datetime::DateTime;
use crate::model::guid::Guid;

const SERVER_NAME: HeaderValue = HeaderValue::from_static("Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0");
const X_MS_VERSION: HeaderName = HeaderName::from_static("x-ms-version");
const X_MS_REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-request-id");
const X_MS_CLIENT_REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-client-request-id");
const X_MS_ERROR_CODE: HeaderName = HeaderName::from_static("x-ms-error-code");
const NOSNIFF: HeaderName = HeaderName::from_static("x-content-type-options");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
const DATA_SERVICE_ID: HeaderName = HeaderName::from_static("dataserviceid");

/// What every answer to a request says of it.
#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) id: Guid,
    pub(crate) time: DateTime,
    /// The protocol's version that was asked for.
    pub(crate) version: String,
    /// The caller's own id, where it is to be given back.
    pub(crate) client_request_id: Option<HeaderValue>,
}

/// An outcome in the terms of HTTP.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    pub(crate) content_type: String,
    pub(crate) etag: Option<String>,
    /// Where the created resource is.
    pub(crate) location: Option<String>,
    pub(crate) prefer: Option<Prefer>,
    /// Where the next page begins.
    pub(crate) next: Vec<(&'static str, String)>,
    /// For a refusal: who raised it, and its code.
    pub(crate) refused: Option<(RaisedBy, &'static str)>,
}

impl Answer {
    /// Success without a body.
    pub(crate) fn no_content() -> Self {
        Self::new(204, Vec::new(), String::new())
    }

    /// Success with JSON.
    pub(crate) fn json(status: u16, body: Vec<u8>, level: Level) -> Self {
        Self::new(status, body, level.content_type().to_owned())
    }

    pub(crate) fn new(status: u16, body: Vec<u8>, content_type: String) -> Self {
        Self {
            status,
            body,
            content_type,
            etag: None,
            location: None,
            prefer: None,
            next: Vec::new(),
            refused: None,
        }
    }

    /// A refusal: the error as JSON, in the form that the request gives to errors.
    pub(crate) fn refusal(refusal: &Refusal, (level, prefer): (Level, Option<Prefer>), trace: &Trace) -> Self {
        let message = format!(
            "{}\nRequestId:{}\nTime:{}",
            refusal.message,
            trace.id,
            seven_digits(trace.time)
        );
        let mut body = vec![b'{'];
        name(&mut body, "odata.error");
        body.push(b'{');
        text_member(&mut body, "code", refusal.code);
        name(&mut body, "message");
        body.push(b'{');
        text_member(&mut body, "lang", "en-US");
        text_member(&mut body, "value", &message);
        body.extend_from_slice(b"}}}");
        Self {
            prefer,
            refused: Some((refusal.raised_by, refusal.code)),
            ..Self::json(refusal.status, body, level)
        }
    }

    pub(crate) fn into_response(self, trace: &Trace) -> Response<Bytes> {
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        let mut put = |header: HeaderName, text: &str| {
            if let Ok(value) = HeaderValue::from_str(text) {
                headers.insert(header, value);
            }
        };
        put(DATE, &httpdate::fmt_http_date(crate::model::clock::now()));
        if let Some((RaisedBy::FrontEnd, code)) = self.refused {
            // Seen of a failed authentication: these headers and no others (live, 2026).
            put(X_MS_ERROR_CODE, code);
            put(CONTENT_TYPE, "application/json");
            *response.body_mut() = self.body.into();
            return response;
        }
        put(X_MS_REQUEST_ID, &trace.id.to_string());
        put(X_MS_VERSION, &trace.version);
        if !matches!(self.refused, Some((RaisedBy::Parsing, _))) {
            put(CACHE_CONTROL, "no-cache");
        }
        if !self.body.is_empty() {
            put(CONTENT_TYPE, &self.content_type);
        }
        if let Some(prefer) = self.prefer {
            put(PREFERENCE_APPLIED, prefer.name());
        }
        if let Some(location) = &self.location {
            put(LOCATION, location);
            if self.status == 204 {
                put(DATA_SERVICE_ID, location);
            }
        }
        if let Some(etag) = &self.etag {
            put(ETAG, etag);
        }
        for (header, token) in &self.next {
            put(HeaderName::from_static(header), token);
        }
        headers.insert(SERVER, SERVER_NAME);
        headers.insert(NOSNIFF, HeaderValue::from_static("nosniff"));
        if let Some(id) = &trace.client_request_id {
            headers.insert(X_MS_CLIENT_REQUEST_ID, id.clone());
        }
        *response.body_mut() = self.body.into();
        response
    }

    /// Appends the answer as the HTTP message that a part of a batch holds.
    pub(crate) fn write_part(&self, out: &mut Vec<u8>, content_id: Option<&str>) {
        let status = self.status();
        let mut head = format!(
            "HTTP/1.1 {} {}\r\n",
            self.status,
            status.canonical_reason().unwrap_or_default()
        );
        let mut line = |name: &str, value: &str| {
            for part in [name, ": ", value, "\r\n"] {
                head.push_str(part);
            }
        };
        if let Some(id) = content_id {
            line("Content-ID", id);
        }
        line("X-Content-Type-Options", "nosniff");
        line("Cache-Control", "no-cache");
        if let Some(prefer) = self.prefer {
            line("Preference-Applied", prefer.name());
        }
        let changed_without_content = self.status == 204 && self.location.is_none();
        line(
            "DataServiceVersion",
            if changed_without_content { "1.0;" } else { "3.0;" },
        );
        if let Some(location) = &self.location {
            line("Location", location);
            if self.status == 204 {
                line("DataServiceId", location);
            }
        }
        if let Some(etag) = &self.etag {
            line("ETag", etag);
        }
        for (header, token) in &self.next {
            line(header, token);
        }
        if !self.body.is_empty() {
            line("Content-Type", &self.content_type);
        }
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&self.body);
        out.extend_from_slice(b"\r\n");
    }

    fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}
