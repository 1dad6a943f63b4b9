//! The headers of a response that an error or an attempt keeps.
//!
//! Errors are logged, so an error keeps only headers that are known to hold neither keys nor secrets. A continuation
//! token holds keys, and a challenge or a redirect may hold more. An attempt keeps all headers except those that may
//! hold a secret, and only for callers that read them.

use std::fmt;

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

/// Headers of credentials and challenges.
const SECRET: [&str; 9] = [
    "authorization",
    "authentication-info",
    "cookie",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "set-cookie",
    "set-cookie2",
    "www-authenticate",
];
/// The parameter of a URL that is the signature of a shared access signature.
const SIGNATURE: &[u8] = b"sig=";

/// Headers of a response, and its clock. `Debug` shows only the names, since a value may have keys.
#[doc(hidden)]
#[derive(Clone, Default)]
pub struct ResponseHeaders {
    kept: Vec<(HeaderName, HeaderValue)>,
    pub clock_skew_seconds: Option<i64>,
}

impl ResponseHeaders {
    /// Keeps only the headers that errors show.
    pub fn of(headers: &HeaderMap, clock_skew_seconds: Option<i64>) -> Self {
        Self::only(headers, clock_skew_seconds, |name, _| KEPT.contains(&name))
    }

    /// Keeps the headers that hold no secret: neither a credential nor a URL with a signature.
    pub fn without_secrets(headers: &HeaderMap) -> Self {
        Self::only(headers, None, |name, value| {
            !SECRET.contains(&name) && !value.windows(SIGNATURE.len()).any(|part| part == SIGNATURE)
        })
    }

    fn only(headers: &HeaderMap, clock_skew_seconds: Option<i64>, is_kept: impl Fn(&str, &[u8]) -> bool) -> Self {
        let mut kept = Vec::with_capacity(headers.len());
        let only = headers
            .iter()
            .filter(|(name, value)| is_kept(name.as_str(), value.as_bytes()));
        kept.extend(only.map(|(name, value)| (name.clone(), value.clone())));
        Self {
            kept,
            clock_skew_seconds,
        }
    }

    /// Returns the value of a kept header.
    pub fn get(&self, name: &str) -> Option<&str> {
        let is_named = |(known, _): &&(HeaderName, HeaderValue)| known.as_str().eq_ignore_ascii_case(name);
        self.kept.iter().find(is_named)?.1.to_str().ok()
    }

    /// Returns the kept headers whose values are text.
    #[cfg(feature = "azure-core-1")]
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let kept = self.kept.iter();
        kept.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
    }
}

impl fmt::Debug for ResponseHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.kept.iter().map(|(name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_never_kept() {
        let mut headers = HeaderMap::new();
        for name in SECRET {
            headers.insert(name, HeaderValue::from_static("SECRET"));
        }
        headers.insert("location", HeaderValue::from_static("https://h/T?sv=1&sig=SECRET"));
        headers.insert("x-ms-session-token", HeaderValue::from_static("0:1#2"));
        headers.insert("x-own", HeaderValue::from_static("KEY"));
        let all = ResponseHeaders::without_secrets(&headers);
        assert_eq!(
            (all.get("X-MS-Session-Token"), all.get("x-own")),
            (Some("0:1#2"), Some("KEY"))
        );
        assert_eq!(all.kept.len(), 2);
        let of_error = ResponseHeaders::of(&headers, None);
        assert_eq!(of_error.kept.len(), 0);
        let shown = format!("{all:?} {of_error:?}");
        assert!(!shown.contains("SECRET") && !shown.contains("KEY"), "{shown}");
    }
}
