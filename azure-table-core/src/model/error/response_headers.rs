//! The headers of a response that an error keeps.
//!
//! Owns the list of those that are known to hold neither keys nor secrets. All others are dropped: a continuation has
//! keys, a challenge or a redirection may have more.

use http::{HeaderMap, HeaderName, HeaderValue};

/// Headers that are known to be harmless.
const KEPT: [&str; 13] = [
    "date",
    "server",
    "via",
    "content-type",
    "retry-after",
    "x-ms-version",
    "x-ms-error-code",
    "x-ms-request-id",
    "x-ms-client-request-id",
    "x-ms-retry-after-ms",
    "x-ms-substatus",
    "x-ms-activity-id",
    "x-ms-request-charge",
];

/// The harmless headers of a response, and its clock.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct ResponseHeaders {
    kept: Vec<(HeaderName, HeaderValue)>,
    pub clock_skew_seconds: Option<i64>,
}

impl ResponseHeaders {
    /// Keeps the headers of a response that errors show.
    pub fn of(headers: &HeaderMap, clock_skew_seconds: Option<i64>) -> Self {
        let is_kept = |(name, _): &(&HeaderName, &HeaderValue)| KEPT.contains(&name.as_str());
        let kept = headers.iter().filter(is_kept);
        Self {
            kept: kept.map(|(name, value)| (name.clone(), value.clone())).collect(),
            clock_skew_seconds,
        }
    }

    /// Returns the value of a kept header.
    pub fn get(&self, name: &str) -> Option<&str> {
        let is_named = |(known, _): &&(HeaderName, HeaderValue)| known.as_str().eq_ignore_ascii_case(name);
        self.kept.iter().find(is_named)?.1.to_str().ok()
    }
}
