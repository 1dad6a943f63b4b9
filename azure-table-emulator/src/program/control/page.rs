//! The page at the root of the control port, for people.
//!
//! Serves one file without external parts, under a policy that permits only its own script and style. The page contains
//! no data: it calls the other routes, with the token if there is one.

use std::sync::LazyLock;

use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use http::header::{CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY};
use sha2::{Digest as _, Sha256};

use crate::control::response::{HTML, with};

const PAGE: &str = include_str!("page.html");

/// The policy: the script and the style by their hashes, and requests to this port.
static POLICY: LazyLock<Option<HeaderValue>> = LazyLock::new(|| {
    let [script, style] = ["script", "style"].map(|name| STANDARD.encode(Sha256::digest(content(name))));
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).ok()
});

/// Returns the content of the only element with this name.
fn content(name: &str) -> &'static str {
    let begin = PAGE.split_once(&format!("<{name}>"));
    let content = begin.and_then(|(_, rest)| rest.split_once(&format!("</{name}>")));
    content.map_or("", |(content, _)| content)
}

pub(super) fn page() -> Response {
    let mut response = with(StatusCode::OK, HTML, Body::from(PAGE));
    let headers = response.headers_mut();
    if let Some(policy) = POLICY.clone() {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
