//! The page at the root of the control port, for people.
//!
//! Delivers one file without external parts, under a policy that permits only its own script and style. The page
//! contains no data: it calls the other routes, with the token if there is one.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY};
use http::{Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use sha2::{Digest as _, Sha256};

use crate::control::answer::{self, Body, HTML};

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

pub(super) fn page() -> Response<Body> {
    let page = Full::new(Bytes::from_static(PAGE.as_bytes()));
    let mut response = answer::with(StatusCode::OK, HTML, page.boxed_unsync());
    let headers = response.headers_mut();
    if let Some(policy) = POLICY.clone() {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
