//! CORS: requests that browsers send for pages of other origins.
//!
//! Owns the preflight request, which needs no signature, and the headers of the response to the request itself. The
//! rules belong to the account (`operations/documents.rs`); the first matching one applies. The rules block no request:
//! the browser does. Not confirmed: the form of a rejection (JSON here); that `*` among exposed headers stands for all
//! headers of the response; that a name at the end of a rule's list that the response does not have is still listed.
//!
//! Source: REST "Cross-Origin Resource Sharing (CORS) support for Azure Storage", "Preflight Table Request".

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, HeaderName,
    HeaderValue, VARY,
};
use http::{HeaderMap, Response};

use crate::emulator::request::Headers as _;
use crate::emulator::response::Answer;
use crate::emulator::rules::refusal::{Refusal, Result};
use crate::protocol::service_properties::cors::CorsRule;

/// Matches everything.
const ANY: &str = "*";

/// Handles `OPTIONS` for any resource, whether it exists or not.
pub(crate) fn preflight(rules: &[CorsRule], headers: &HeaderMap) -> Result<Answer> {
    let required = |name: &str| headers.header(name).ok_or(Refusal::NO_CORS_HEADER);
    let origin = required("origin")?;
    let method = required("access-control-request-method")?;
    let wanted = headers.header("access-control-request-headers").unwrap_or_default();
    let names = || wanted.split(',').map(str::trim).filter(|name| !name.is_empty());
    let rule = rules
        .iter()
        .filter(|rule| is_for(rule, &origin, &method))
        .find(|rule| names().all(|name| rule.allowed_headers.iter().any(|known| fits(known, name))))
        .ok_or(Refusal::NO_CORS_RULE)?;
    let mut answer = Answer::set(200);
    answer.more = vec![
        ("access-control-allow-origin", origin.into_owned()),
        ("access-control-allow-methods", method.into_owned()),
        ("access-control-max-age", rule.max_age.as_secs().to_string()),
        ("access-control-allow-credentials", "true".to_owned()),
    ];
    if !wanted.is_empty() {
        answer.more.push(("access-control-allow-headers", wanted.into_owned()));
    }
    Ok(answer)
}

/// Adds the CORS headers to a response.
pub(crate) fn add_headers(rules: &[CorsRule], method: &str, request: &HeaderMap, answer: &mut Response<Bytes>) {
    let origin = request.header("origin");
    // A rule for any origin matches a read without an origin too: a cache may serve the response to a page that has one
    // (documented).
    let asked = origin.as_deref().or((method == "GET").then_some(ANY));
    let rule = asked.and_then(|origin| rules.iter().find(|rule| is_for(rule, origin, method)));
    let is_for_any = rule.is_some_and(|rule| rule.allowed_origins.iter().any(|known| known == ANY));
    let mut put = |header: HeaderName, text: &str| {
        if let Ok(value) = HeaderValue::from_str(text) {
            answer.headers_mut().insert(header, value);
        }
    };
    // Browsers do not cache responses to other methods, so those omit the header (documented, and recorded).
    if method == "GET" && !rules.is_empty() && !is_for_any {
        put(VARY, "Origin");
    }
    let Some(rule) = rule else {
        return;
    };
    match origin {
        Some(origin) if !is_for_any => {
            put(ACCESS_CONTROL_ALLOW_ORIGIN, &origin);
            put(ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
        }
        _ => put(ACCESS_CONTROL_ALLOW_ORIGIN, ANY),
    }
    let exposed = exposed(rule, answer.headers());
    if let Ok(value) = HeaderValue::from_str(&exposed)
        && !exposed.is_empty()
    {
        answer.headers_mut().insert(ACCESS_CONTROL_EXPOSE_HEADERS, value);
    }
}

/// Returns the names of the headers that a rule exposes: those that it names, and those of the response that match its
/// prefixes.
fn exposed(rule: &CorsRule, headers: &HeaderMap) -> String {
    let mut names: Vec<&str> = Vec::new();
    for known in &rule.exposed_headers {
        let begins = headers.keys().map(HeaderName::as_str).filter(|name| fits(known, name));
        let named: Vec<&str> = match known.ends_with('*') {
            true => begins.collect(),
            false => vec![known],
        };
        for name in named {
            if !names.iter().any(|earlier| earlier.eq_ignore_ascii_case(name)) {
                names.push(name);
            }
        }
    }
    names.join(",")
}

/// Returns `true` if a rule applies. Origins are case-sensitive, methods are compared as they are.
fn is_for(rule: &CorsRule, origin: &str, method: &str) -> bool {
    rule.allowed_origins.iter().any(|known| known == ANY || known == origin)
        && rule.allowed_methods.iter().any(|known| known == method)
}

/// Returns `true` if a header's name matches an entry of a rule: completely, or by its prefix.
fn fits(known: &str, name: &str) -> bool {
    match known.strip_suffix('*') {
        Some(beginning) => name
            .get(..beginning.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(beginning)),
        None => known.eq_ignore_ascii_case(name),
    }
}
