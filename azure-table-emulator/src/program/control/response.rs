//! The responses of the control port: JSON, JSON lines, and errors.

use std::fmt::Display;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use serde::Serialize;

const JSON: &str = "application/json";
pub(super) const LINES: &str = "application/x-ndjson";
pub(super) const HTML: &str = "text/html; charset=utf-8";

/// An error response: its status, one line, and a header.
#[derive(Debug)]
pub(super) struct Rejection {
    status: StatusCode,
    why: String,
    header: Option<(HeaderName, &'static str)>,
}

#[derive(Serialize)]
struct ErrorJson<'a> {
    error: &'a str,
}

impl Rejection {
    pub(super) fn new(status: StatusCode, why: impl Display) -> Self {
        Self {
            status,
            why: why.to_string(),
            header: None,
        }
    }

    pub(super) fn bad_request(why: impl Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, why)
    }

    pub(super) fn not_found(why: impl Display) -> Self {
        Self::new(StatusCode::NOT_FOUND, why)
    }

    pub(super) fn unauthorized(why: &str) -> Self {
        Self {
            header: Some((WWW_AUTHENTICATE, "Bearer")),
            ..Self::new(StatusCode::UNAUTHORIZED, why)
        }
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let mut response = json_of(self.status, &ErrorJson { error: &self.why });
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

/// Converts an error of the library: an invalid request, or a folder that could not be written.
impl From<azure_table_wire::error::Error> for Rejection {
    fn from(error: azure_table_wire::error::Error) -> Self {
        let status = match error.kind() {
            azure_table_wire::error::ErrorKind::ServerFault => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::BAD_REQUEST,
        };
        Self::new(status, error)
    }
}

pub(super) fn json(value: &impl Serialize) -> Response {
    json_of(StatusCode::OK, value)
}

fn json_of(status: StatusCode, value: &impl Serialize) -> Response {
    let mut text = String::new();
    push_line(&mut text, value);
    with(status, JSON, Body::from(text))
}

/// Appends a value as a line of JSON.
pub(super) fn push_line(lines: &mut String, value: &impl Serialize) {
    // All values of this program can be serialized: the keys of all maps are text.
    lines.push_str(&serde_json::to_string(value).unwrap_or_default());
    lines.push('\n');
}

pub(super) fn lines(text: String) -> Response {
    with(StatusCode::OK, LINES, Body::from(text))
}

pub(super) fn nothing() -> Response {
    protected((StatusCode::NO_CONTENT, ()).into_response())
}

pub(super) fn with(status: StatusCode, content_type: &'static str, body: Body) -> Response {
    let content_type = HeaderValue::from_static(content_type);
    protected((status, [(CONTENT_TYPE, content_type)], body).into_response())
}

/// Adds headers that protect a response from caches and from pages of other sites.
fn protected(mut response: Response) -> Response {
    for (name, value) in [
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("x-content-type-options"), "nosniff"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
