//! CORS: requests that browsers send for pages of other origins.
//!
//! Handles the preflight request, which needs no signature, and adds the headers to the response to the request itself.
//! The rules belong to the account (`operations/documents.rs`); the first matching one applies. The rules block no
//! request: the browser does. Not confirmed: the form of a rejection (JSON here); the exposed headers of an error, and
//! those that match a prefix; that a name at the end of a rule's list that the response does not have is still listed.
//!
//! Source: REST "Cross-Origin Resource Sharing (CORS) support for Azure Storage", "Preflight Table Request".

use azure_table_wire::request::inbound::{Headers, Inbound};
use azure_table_wire::service::service_properties::cors::CorsRule;
use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, HeaderName,
    HeaderValue, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, Response};

use crate::response::OperationResponse;
use crate::rules::service_error::{Result, ServiceError};

/// Matches everything.
const ANY: &str = "*";

/// Handles `OPTIONS` for any resource, whether it exists or not.
pub(crate) fn preflight(rules: &[CorsRule], headers: &Headers<'_>) -> Result<OperationResponse> {
    let required = |name: &str| headers.get(name).ok_or(ServiceError::NO_CORS_HEADER);
    let origin = required("origin")?;
    let method = required("access-control-request-method")?;
    let wanted = headers.get("access-control-request-headers").unwrap_or_default();
    let names = || wanted.split(',').map(str::trim).filter(|name| !name.is_empty());
    let rule = rules
        .iter()
        .filter(|rule| is_for(rule, &origin, &method))
        .find(|rule| names().all(|name| rule.allowed_headers.iter().any(|known| fits(known, name))))
        .ok_or(ServiceError::NO_CORS_RULE)?;
    let mut response = OperationResponse::set(200);
    response.more = vec![
        ("access-control-allow-origin", origin.into_owned()),
        ("access-control-allow-methods", method.into_owned()),
        ("access-control-max-age", rule.max_age.as_secs().to_string()),
        ("access-control-allow-credentials", "true".to_owned()),
    ];
    if !wanted.is_empty() {
        response
            .more
            .push(("access-control-allow-headers", wanted.into_owned()));
    }
    Ok(response)
}

/// Adds the CORS headers to a response.
pub(crate) fn add_headers(rules: &[CorsRule], request: &Inbound<'_>, response: &mut Response<Bytes>) {
    let (method, origin) = (request.method, request.headers.get("origin"));
    // A rule for any origin matches a read without an origin too: a cache may serve the response to a page that has one
    // (documented).
    let requested = origin.as_deref().or((method == "GET").then_some(ANY));
    let rule = requested.and_then(|origin| rules.iter().find(|rule| is_for(rule, origin, method)));
    let is_for_any = rule.is_some_and(|rule| rule.allowed_origins.iter().any(|known| known == ANY));
    let mut put = |header: HeaderName, text: &str| {
        if let Ok(value) = HeaderValue::from_str(text) {
            response.headers_mut().insert(header, value);
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
    let exposed = exposed(rule, response.headers());
    if let Ok(value) = HeaderValue::from_str(&exposed)
        && !exposed.is_empty()
    {
        response.headers_mut().insert(ACCESS_CONTROL_EXPOSE_HEADERS, value);
    }
}

/// The headers of responses as the service exposes them, in its order (recorded of four SDKs, 2021 and 2022).
const NAMES: [&str; 14] = [
    "x-ms-request-id",
    "x-ms-client-request-id",
    "Server",
    "x-ms-version",
    "X-Content-Type-Options",
    "Cache-Control",
    "x-ms-continuation-NextPartitionKey",
    "x-ms-continuation-NextRowKey",
    "x-ms-continuation-NextTableName",
    "ETag",
    "Content-Type",
    "Content-Length",
    "Date",
    "Transfer-Encoding",
];

/// Returns the names of a response's headers as the service exposes them. It always names both headers of the body's
/// length, and the media type only of JSON.
fn names(headers: &HeaderMap) -> Vec<&str> {
    let is_json = headers.contains_key(X_CONTENT_TYPE_OPTIONS);
    let is_named = |name: &&str| match *name {
        "Content-Length" | "Transfer-Encoding" => true,
        "Content-Type" => is_json,
        name => headers.contains_key(name),
    };
    let known = NAMES.into_iter().filter(is_named);
    let is_other = |name: &&str| !NAMES.iter().any(|known| known.eq_ignore_ascii_case(name)) && !is_of_cors(name);
    known
        .chain(headers.keys().map(HeaderName::as_str).filter(is_other))
        .collect()
}

fn is_of_cors(name: &str) -> bool {
    name.starts_with("access-control-") || name == "vary"
}

/// Returns the names of the headers that a rule exposes: the named headers and response headers matching its prefixes.
fn exposed(rule: &CorsRule, headers: &HeaderMap) -> String {
    let all = self::names(headers);
    let mut names: Vec<&str> = Vec::new();
    for known in &rule.exposed_headers {
        let named: Vec<&str> = if known.ends_with('*') {
            all.iter().copied().filter(|name| fits(known, name)).collect()
        } else {
            vec![known]
        };
        for name in named {
            if !names.iter().any(|earlier| earlier.eq_ignore_ascii_case(name)) {
                names.push(name);
            }
        }
    }
    names.join(",")
}

/// Returns `true` if a rule applies. The comparison of origins and methods is case-sensitive.
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
