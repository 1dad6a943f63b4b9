//! Requests: the message of one operation, sent alone or inside a batch.
//!
//! Owns the method (tunnelled or not) and the form of errors. Accounts and resources are in `site.rs`, the
//! query string in `request/options.rs`, JSON bodies in `request/body.rs`, positions in a table in
//! `request/continuation.rs`. Permissions are checked elsewhere.
//!
//! Source: REST "Payload format for Table service operations", "Merge Entity".

pub(crate) mod body;
pub(crate) mod continuation;
pub(crate) mod options;

use std::borrow::Cow;

use http::HeaderMap;

use crate::codec::multipart::Message;
use crate::emulator::request::options::{Level, Prefer, parameter};
use crate::emulator::rules::refusal::{Refusal, Result};

/// The headers of a message.
pub(crate) trait Headers: Sync {
    /// Returns a header's value. Several of the same name are joined with commas.
    fn header(&self, name: &str) -> Option<Cow<'_, str>>;
}

impl Headers for HeaderMap {
    fn header(&self, name: &str) -> Option<Cow<'_, str>> {
        let mut values = self
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()));
        let first = values.next()?;
        Some(values.fold(first, |all, next| format!("{all}, {next}").into()))
    }
}

impl Headers for Message<'_> {
    fn header(&self, name: &str) -> Option<Cow<'_, str>> {
        Message::header(self, name).map(Cow::Borrowed)
    }
}

/// The form of an error response.
#[derive(Clone, Debug)]
pub(crate) enum ErrorForm {
    Json(JsonForm),
    Xml,
}

/// The form of JSON that a request accepts.
#[derive(Clone, Debug)]
pub(crate) struct JsonForm {
    pub(crate) level: Level,
    /// The header as it was sent.
    pub(crate) accept: Option<String>,
    /// The request names no metadata level.
    pub(crate) is_plain: bool,
    /// The request deletes, or has an If-Match.
    pub(crate) is_conditional: bool,
    pub(crate) prefer: Option<Prefer>,
}

impl Default for JsonForm {
    fn default() -> Self {
        Self {
            level: Level::Minimal,
            accept: None,
            is_plain: false,
            is_conditional: false,
            prefer: None,
        }
    }
}

/// The message of an operation, sent alone or inside a batch.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    pub(crate) headers: &'a dyn Headers,
    pub(crate) body: &'a [u8],
}

impl Request<'_> {
    /// Returns the form of an error, which is known even if nothing else of the request is valid.
    pub(crate) fn error_form(&self) -> ErrorForm {
        if self.is_xml() {
            return ErrorForm::Xml;
        }
        let accept = self.headers.header("accept");
        let level = accept.as_deref().and_then(|accept| Level::parse(accept).ok());
        ErrorForm::Json(JsonForm {
            level: level.unwrap_or(Level::Minimal),
            is_plain: level.is_some() && accept.as_deref().is_some_and(|accept| !accept.contains("odata=")),
            accept: accept.map(Cow::into_owned),
            is_conditional: self.method == "DELETE" || self.headers.header("if-match").is_some(),
            prefer: self.prefer(),
        })
    }

    /// Returns `true` if the response is XML: one about the service, or about access policies.
    pub(crate) fn is_xml(&self) -> bool {
        self.parameter("comp").is_some()
    }

    /// Returns the `Prefer` of an insert, or of an update without content. Other operations ignore it.
    pub(crate) fn prefer(&self) -> Option<Prefer> {
        let prefer = Prefer::parse(&self.headers.header("prefer")?)?;
        let is_applied = match Verb::of(self) {
            Ok(Verb::Post) => true,
            Ok(Verb::Put | Verb::Merge) => prefer == Prefer::NoContent,
            Ok(Verb::Get | Verb::Delete) | Err(_) => false,
        };
        is_applied.then_some(prefer)
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        parameter(self.query, name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
    Put,
    Merge,
    Delete,
}

impl Verb {
    pub(crate) fn of(request: &Request<'_>) -> Result<Self> {
        let Some(tunnelled) = request.headers.header("x-http-method") else {
            return Self::named(request.method).ok_or(Refusal::UNSUPPORTED_VERB);
        };
        if request.method != "POST" {
            return Err(Refusal::X_METHOD_NOT_USING_POST);
        }
        if tunnelled.contains(',') {
            return Err(Refusal::X_METHOD_INCORRECT_COUNT);
        }
        Self::named(&tunnelled).ok_or(Refusal::X_METHOD_INCORRECT_VALUE)
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "GET" => Self::Get,
            "POST" => Self::Post,
            "PUT" => Self::Put,
            // The service's own method and the one of HTTP mean the same.
            "MERGE" | "PATCH" => Self::Merge,
            "DELETE" => Self::Delete,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_post_tunnels_other_methods() {
        let verb = |method: &str, tunnelled: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in tunnelled {
                headers.append("x-http-method", value.parse().unwrap());
            }
            Verb::of(&Request {
                method,
                path: "",
                query: "",
                headers: &headers,
                body: b"",
            })
        };
        assert_eq!(verb("PATCH", &[]), Ok(Verb::Merge));
        assert_eq!(verb("POST", &["MERGE"]), Ok(Verb::Merge));
        assert_eq!(verb("PUT", &["MERGE"]), Err(Refusal::X_METHOD_NOT_USING_POST));
        assert_eq!(
            verb("POST", &["MERGE", "MERGE"]),
            Err(Refusal::X_METHOD_INCORRECT_COUNT)
        );
        assert_eq!(verb("POST", &["BREW"]), Err(Refusal::X_METHOD_INCORRECT_VALUE));
        assert_eq!(verb("BREW", &[]), Err(Refusal::UNSUPPORTED_VERB));
    }
}
