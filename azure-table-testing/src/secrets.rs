//! The parts of a request and its response that must not be kept.
//!
//! Defines [`Secrets`]. Only headers on a list of the protocol's headers are shown, so an unforeseen credential stays
//! hidden. The response is also searched for the credential, because a rejection may repeat it.

use azure_table_wire::codec::url;
use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderValue, SET_COOKIE, WWW_AUTHENTICATE};
use http::{HeaderMap, Request};

use crate::address::Address;

/// The replacement of a secret.
pub(crate) const HIDDEN: &str = "(hidden)";
/// The replacement of a secret in base64.
const HIDDEN_KEY: &str = "aGlkZGVu";
/// The minimum length of a secret that is searched for: a shorter one would match unrelated text.
const LEAST_SECRET: usize = 8;

/// The request headers whose values are kept.
const SHOWN: [&str; 20] = [
    "accept",
    "accept-charset",
    "content-length",
    "content-type",
    "dataserviceversion",
    "date",
    "host",
    "if-match",
    "if-none-match",
    "maxdataserviceversion",
    "origin",
    "prefer",
    "traceparent",
    "tracestate",
    "user-agent",
    "x-http-method",
    "x-ms-client-request-id",
    "x-ms-date",
    "x-ms-documentdb-table-session",
    "x-ms-version",
];

/// The secrets of one request.
pub(crate) struct Secrets {
    texts: Vec<String>,
    gives_key: bool,
}

impl Secrets {
    pub(crate) fn of(request: &Request<Bytes>, address: &Address) -> Self {
        let mut texts = Vec::new();
        for value in request.headers().get_all(AUTHORIZATION) {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            // The scheme and the account are not secret: `SharedKey account:signature`, `Bearer token`.
            let proof = value.split_once(' ').map_or(&*value, |(_, proof)| proof);
            let signature = proof.rsplit(':').next().unwrap_or_default();
            texts.extend([signature.to_owned(), proof.to_owned(), value.clone()]);
        }
        let signature = address.signature.as_deref();
        texts.extend(signature.map(str::to_owned));
        texts.extend(signature.and_then(url::decode));
        texts.retain(|text| text.len() >= LEAST_SECRET);
        // Percent-encoded as in a URL, and with a plus as JSON may escape it.
        let otherwise = texts.iter().flat_map(|text| {
            let [upper, lower] = ["\\u002B", "\\u002b"].map(|plus| text.replace('+', plus));
            [url::encode(text).to_string(), upper, lower]
        });
        let otherwise: Vec<String> = otherwise.collect();
        texts.extend(otherwise);
        // Of two texts with a common beginning, the longer one is searched for first.
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        let gives_key = address.query.split('&').any(|pair| pair == "comp=userdelegationkey");
        Self { texts, gives_key }
    }

    /// Returns the headers of the request without the values that may be secrets.
    pub(crate) fn of_request(&self, headers: &HeaderMap) -> HeaderMap {
        let is_shown = |name: &str, value: &HeaderValue| SHOWN.contains(&name) && !value.is_sensitive();
        self.headers(headers, is_shown)
    }

    /// Returns the headers of the response without the values that may be secrets.
    pub(crate) fn of_response(&self, headers: &HeaderMap) -> HeaderMap {
        let hidden = [SET_COOKIE, AUTHORIZATION];
        self.headers(headers, |name, value| {
            !hidden.iter().any(|it| it == name) && !value.is_sensitive()
        })
    }

    fn headers(&self, headers: &HeaderMap, is_shown: impl Fn(&str, &HeaderValue) -> bool) -> HeaderMap {
        let mut shown = HeaderMap::new();
        for (name, value) in headers {
            let text = String::from_utf8_lossy(value.as_bytes());
            let value = match is_shown(name.as_str(), value) {
                // A challenge may name the tenant, but no token.
                true if name != WWW_AUTHENTICATE || !self.is_in(&text) => HeaderValue::from_str(&self.hide(&text)).ok(),
                _ => None,
            };
            shown.append(name, value.unwrap_or_else(|| HeaderValue::from_static(HIDDEN)));
        }
        shown
    }

    fn is_in(&self, text: &str) -> bool {
        self.texts.iter().any(|secret| text.contains(secret))
    }

    pub(crate) fn hide(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.texts {
            if text.contains(secret) {
                text = text.replace(secret, HIDDEN);
            }
        }
        text
    }

    /// Returns a body without secrets. It is shared if it contains none.
    pub(crate) fn of_body(&self, body: &Bytes) -> Bytes {
        let Ok(text) = std::str::from_utf8(body) else {
            return in_texts(body, |text| {
                if self.gives_key {
                    self.hide(&without_key(text))
                } else {
                    self.hide(text)
                }
            });
        };
        let text = match self.gives_key {
            true => without_key(text),
            false if !self.is_in(text) => return body.clone(),
            false => text.to_owned(),
        };
        self.hide(&text).into()
    }
}

/// Cleans the texts of a body that is not UTF-8 as a whole, and keeps the bytes between them.
pub(crate) fn in_texts(body: &[u8], clean: impl Fn(&str) -> String) -> Bytes {
    let mut cleaned = Vec::with_capacity(body.len());
    for chunk in body.utf8_chunks() {
        cleaned.extend_from_slice(clean(chunk.valid()).as_bytes());
        cleaned.extend_from_slice(chunk.invalid());
    }
    cleaned.into()
}

/// Replaces the value of a user delegation key.
fn without_key(document: &str) -> String {
    const BEGIN: &str = "<Value>";
    let Some((before, rest)) = document.split_once(BEGIN) else {
        return document.to_owned();
    };
    let after = rest.find("</").map_or("", |end| &rest[end..]);
    format!("{before}{BEGIN}{HIDDEN_KEY}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credential_is_hidden_everywhere() {
        let uri = "https://a.table.core.windows.net/T?sv=1&sig=SIGNATURE%2Bone%3D";
        let mut request = Request::builder()
            .uri(uri)
            .header("authorization", "SharedKey a:SIGNATUREtwo=")
            .header("accept", "application/json")
            .header("x-own", "OWNSECRET");
        let mut sensitive = HeaderValue::from_static("PREFERSECRET");
        sensitive.set_sensitive(true);
        request.headers_mut().unwrap().insert("prefer", sensitive);
        let request = request.body(Bytes::new()).unwrap();
        let secrets = Secrets::of(&request, &Address::of(request.uri()));
        let shown = format!("{:?}", secrets.of_request(request.headers()));
        assert!(shown.contains("application/json") && shown.contains("x-own"), "{shown}");
        assert!(!shown.contains("SECRET") && !shown.contains("SIGNATURE"), "{shown}");
        let service_error = "The signature 'SIGNATUREtwo=' is not 'SIGNATURE%2Bone%3D' nor SIGNATURE+one=";
        assert_eq!(
            secrets.hide(service_error),
            "The signature '(hidden)' is not '(hidden)' nor (hidden)"
        );
        assert_eq!(
            secrets.hide(r"SIGNATURE\u002Bone= SIGNATUREtwo%3D"),
            "(hidden) (hidden)"
        );
        let echoing = HeaderMap::from_iter([
            (WWW_AUTHENTICATE, HeaderValue::from_static("Bearer SIGNATUREtwo=")),
            (SET_COOKIE, HeaderValue::from_static("COOKIE")),
        ]);
        let shown = format!("{:?}", secrets.of_response(&echoing));
        assert!(!shown.contains("SIGNATURE") && !shown.contains("COOKIE"), "{shown}");
        let body = Bytes::from_static(b"{}");
        assert_eq!(secrets.of_body(&body).as_ptr(), body.as_ptr(), "it is shared");
        let page = Bytes::from_static(b"caf\xe9 ?sig=SIGNATURE%2Bone%3D\xff");
        assert_eq!(secrets.of_body(&page).as_ref(), b"caf\xe9 ?sig=(hidden)\xff");
    }

    #[test]
    fn value_of_a_delegation_key_cannot_sign() {
        let uri = "https://a.table.core.windows.net/?restype=service&comp=userdelegationkey";
        let request = Request::builder().uri(uri).body(Bytes::new()).unwrap();
        let secrets = Secrets::of(&request, &Address::of(request.uri()));
        let body = Bytes::from_static(b"<Key><Id>1</Id><Value>S0VZ</Value></Key>");
        assert_eq!(secrets.of_body(&body), "<Key><Id>1</Id><Value>aGlkZGVu</Value></Key>");
    }
}
