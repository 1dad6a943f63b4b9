//! Headers that the caller adds to a request.
//!
//! Decides which headers a caller or a policy may set: not those that the client sets itself, nor those that would
//! change what an operation does.

use std::fmt;

use azure_table_wire::error::{Error, Result};
use azure_table_wire::request::http_request::header_value;
use http::HeaderMap;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, DATE, HOST, HeaderName, IF_MATCH, IF_NONE_MATCH, TRANSFER_ENCODING};

/// The caller's headers, with one value per name. `Debug` shows only the names, because a value may be a secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Headers(Vec<(String, String)>);

impl Headers {
    /// Sets a header. A later value replaces an earlier one.
    pub(crate) fn set(&mut self, name: String, value: String) {
        let is_same = |(known, _): &&mut (String, String)| known.eq_ignore_ascii_case(&name);
        match self.0.iter_mut().find(is_same) {
            Some(header) => *header = (name, value),
            None => self.0.push((name, value)),
        }
    }

    /// Sets headers, each as [`set`](Self::set) does.
    pub(crate) fn set_all(&mut self, others: Self) {
        for (name, value) in others.0 {
            self.set(name, value);
        }
    }

    /// Returns the headers of a request that a caller or a policy has set: only these are sensitive.
    pub(crate) fn from_caller(headers: &HeaderMap) -> Self {
        let own = headers.iter().filter(|(_, value)| value.is_sensitive());
        Self(
            own.filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
                .collect(),
        )
    }

    /// Adds the headers to those of the operation.
    pub(crate) fn add_to(&self, headers: &mut HeaderMap) -> Result<()> {
        self.0.iter().try_for_each(|(name, value)| put(headers, name, value))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// Sets a header of a request. A header that was set this way before is replaced.
pub(crate) fn put(headers: &mut HeaderMap, name: &str, value: &str) -> Result<()> {
    let known: HeaderName = name
        .parse()
        .map_err(|_| Error::invalid_input(format!("header {name:?}: not an HTTP header name")))?;
    // Only the caller's headers are sensitive, since their values may be secrets.
    let is_of_client = headers.get(&known).is_some_and(|own| !own.is_sensitive());
    if OWN.contains(&known) || is_of_client {
        return Err(Error::invalid_input(format!(
            "header {name}: the client sets it itself"
        )));
    }
    if let Some((_, why)) = REJECTED.iter().find(|(rejected, _)| *rejected == known) {
        return Err(Error::invalid_input(format!("header {name}: {why}")));
    }
    let mut value = header_value(&format!("header {name}: its value"), value)?;
    value.set_sensitive(true);
    headers.insert(known, value);
    Ok(())
}

/// Headers that the client sets for each attempt, or the operation where it needs them.
const OWN: [HeaderName; 11] = [
    AUTHORIZATION,
    CONTENT_LENGTH,
    DATE,
    HOST,
    TRANSFER_ENCODING,
    IF_MATCH,
    HeaderName::from_static("x-ms-date"),
    HeaderName::from_static("x-http-method"),
    HeaderName::from_static("prefer"),
    HeaderName::from_static("dataserviceversion"),
    HeaderName::from_static("maxdataserviceversion"),
];

/// Headers that no operation can have, with the reason.
const REJECTED: [(HeaderName, &str); 2] = [
    (IF_NONE_MATCH, "no operation expects a 304 response"),
    (
        HeaderName::from_static("content-md5"),
        "it would have to be signed, and the client's signatures do not include it",
    ),
];

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use crate::pipeline::options::CallOptions;

    #[test]
    fn the_clients_own_headers_cannot_be_set() {
        let added = |name: &str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("accept", HeaderValue::from_static("x"));
            let options = CallOptions::new().header(name, value);
            options.get().headers.add_to(&mut headers).map(|()| headers)
        };
        assert_eq!(added("X-Tenant", "7").unwrap()["x-tenant"], "7");
        for (name, value, why) in [
            ("Authorization", "x", "header Authorization: the client sets it itself"),
            ("accept", "x", "the client sets it itself"),
            ("If-Match", "*", "header If-Match: the client sets it itself"),
            ("x-http-method", "MERGE", "the client sets it itself"),
            ("Prefer", "return-content", "the client sets it itself"),
            ("DataServiceVersion", "2.0", "the client sets it itself"),
            ("MaxDataServiceVersion", "2.0", "the client sets it itself"),
            ("If-None-Match", "*", "header If-None-Match: no operation expects a 304"),
            (
                "Content-MD5",
                "SECRET",
                "header Content-MD5: it would have to be signed",
            ),
            ("a b", "x", "not an HTTP header name"),
            ("x-a", "SECRET\n", "header x-a: its value"),
            ("x-a", "SECRETé", "header x-a: its value"),
        ] {
            let text = added(name, value).unwrap_err().to_string();
            assert!(text.contains(why) && !text.contains("SECRET"), "{text}");
        }
    }

    #[test]
    fn a_callers_header_hides_its_value() {
        let options = CallOptions::new().header("x-tenant", "SECRET");
        let shown = format!("{options:?}");
        assert!(shown.contains("x-tenant") && !shown.contains("SECRET"), "{shown}");
        let mut headers = HeaderMap::new();
        options.get().headers.add_to(&mut headers).unwrap();
        assert!(headers["x-tenant"].is_sensitive());
    }
}
