//! The responses of the control port: JSON, JSON lines, and errors.

use std::convert::Infallible;
use std::fmt::Display;

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use http::{Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use serde::Serialize;

/// The body of a response: complete, or a stream of lines.
pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;
pub(super) type Answer = Result<Response<Body>, Refused>;

const JSON: &str = "application/json";
pub(super) const LINES: &str = "application/x-ndjson";
pub(super) const HTML: &str = "text/html; charset=utf-8";

/// An error, as its status and one line.
#[derive(Debug)]
pub(super) struct Refused {
    status: StatusCode,
    why: String,
    header: Option<(HeaderName, &'static str)>,
}

#[derive(Serialize)]
struct ErrorJson<'a> {
    error: &'a str,
}

impl Refused {
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

    pub(super) fn method(method: &http::Method, path: &str, allowed: &'static str) -> Self {
        Self {
            header: Some((ALLOW, allowed)),
            ..Self::new(
                StatusCode::METHOD_NOT_ALLOWED,
                format_args!("{method} {path}: the methods are {allowed}"),
            )
        }
    }

    pub(super) fn response(&self) -> Response<Body> {
        let mut response = json_of(self.status, &ErrorJson { error: &self.why });
        if let Some((name, value)) = &self.header {
            response
                .headers_mut()
                .insert(name.clone(), HeaderValue::from_static(value));
        }
        response
    }
}

/// Converts an error of the library: an invalid request, or a folder that could not be written.
impl From<azure_table::Error> for Refused {
    fn from(error: azure_table::Error) -> Self {
        let status = match error.kind() {
            azure_table::ErrorKind::ServerFault => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::BAD_REQUEST,
        };
        Self::new(status, error)
    }
}

pub(super) fn json(value: &impl Serialize) -> Answer {
    Ok(json_of(StatusCode::OK, value))
}

fn json_of(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    let mut text = String::new();
    push_line(&mut text, value);
    with(status, JSON, Full::new(text.into()).boxed_unsync())
}

/// Appends a value as a line of JSON.
pub(super) fn push_line(lines: &mut String, value: &impl Serialize) {
    // All values of this program can be JSON: no map has keys other than text.
    lines.push_str(&serde_json::to_string(value).unwrap_or_default());
    lines.push('\n');
}

pub(super) fn lines(text: impl Into<Bytes>) -> Answer {
    Ok(with(StatusCode::OK, LINES, Full::new(text.into()).boxed_unsync()))
}

pub(super) fn nothing() -> Answer {
    let mut response = Response::new(Full::default().boxed_unsync());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(protected(response))
}

pub(super) fn with(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let content_type = HeaderValue::from_static(content_type);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    protected(response)
}

/// Adds headers that protect a response from caches and from pages of other sites.
fn protected(mut response: Response<Body>) -> Response<Body> {
    for (name, value) in [
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("x-content-type-options"), "nosniff"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
