//! One operation as it was asked for, by a request of its own or inside of a batch.
//!
//! Owns [`Caller`], the verb (tunnelled or not), the conditions and the wishes about the answer. What is addressed is `address.rs`,
//! the options of the query string are `options.rs`.
//! Not confirmed: the code for a delete without If-Match (the status is documented); what a missing `Accept` does to an
//! operation without a body in its answer (nothing here); If-None-Match on a merge.
//!
//! Source: REST "Delete Entity", "Update Entity", "Merge Entity", "Payload format for Table service operations".

use std::borrow::Cow;

use http::HeaderMap;

use crate::codec::multipart::Message;
use crate::emulator::Settings;
use crate::emulator::access::grant::Grant;
use crate::emulator::request::address::{Resource, Site};
use crate::emulator::request::options::{Level, Options, Prefer, parameter};
use crate::emulator::rules::MAX_PAGE;
use crate::emulator::rules::refusal::{Refusal, Result};
use crate::emulator::store::Condition;
use crate::filter::expression::Expression;
use crate::filter::parse::parse_to;
use crate::model::datetime::DateTime;

/// Where headers come from.
pub(crate) trait Headers: Sync {
    /// A header's value; several of one name are joined with commas.
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

/// Who asks: of which account, with what rights, and when.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) site: &'a Site,
    pub(crate) grant: &'a Grant,
    pub(crate) settings: &'a Settings,
    pub(crate) now: DateTime,
    /// The protocol's version that is spoken.
    pub(crate) version: &'a str,
}

impl Caller<'_> {
    /// The most items of a page, where `top` are asked for.
    pub(crate) fn page_size(&self, top: Option<usize>) -> usize {
        let page_size = self.settings.page_size;
        let most = match self.site.rules.max_top {
            // Its pages may be as long as they are asked to be.
            None if page_size == MAX_PAGE => usize::MAX,
            _ => page_size,
        };
        top.unwrap_or(page_size).min(most)
    }
}

/// How an error is to be answered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ErrorForm {
    Json(Level, Option<Prefer>),
    Xml,
}

/// What the operations have in common, whatever they are sent in.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    pub(crate) headers: &'a dyn Headers,
    pub(crate) body: &'a [u8],
}

impl Request<'_> {
    /// How an error is to be answered: known even if nothing else of the request is.
    pub(crate) fn error_form(&self) -> ErrorForm {
        if self.parameter("comp").is_some() {
            return ErrorForm::Xml;
        }
        let accept = self.headers.header("accept");
        let level = accept
            .and_then(|accept| Level::parse(&accept).ok())
            .unwrap_or(Level::Minimal);
        ErrorForm::Json(level, self.prefer())
    }

    /// What an insert is to answer with; said of anything else it means nothing.
    fn prefer(&self) -> Option<Prefer> {
        let inserts = self.method == "POST" && self.headers.header("x-http-method").is_none();
        let prefer = self.headers.header("prefer").filter(|_| inserts)?;
        Prefer::parse(&prefer)
    }

    fn parameter(&self, name: &str) -> Option<String> {
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
    fn of(request: &Request<'_>) -> Result<Self> {
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
            // The service's own verb and the one of HTTP mean the same.
            "MERGE" | "PATCH" => Self::Merge,
            "DELETE" => Self::Delete,
            _ => return None,
        })
    }
}

/// An operation, read, which its sender may ask for. Which rows it may touch is looked at where they are known.
pub(crate) struct Call<'a> {
    pub(crate) caller: Caller<'a>,
    pub(crate) verb: Verb,
    pub(crate) resource: Resource,
    pub(crate) options: Options,
    pub(crate) prefer: Option<Prefer>,
    level: Option<Level>,
    request: &'a Request<'a>,
}

impl<'a> Call<'a> {
    pub(crate) fn parse(caller: Caller<'a>, request: &'a Request<'a>) -> Result<Self> {
        let verb = Verb::of(request)?;
        // Clients take an address of emulators for one of Storage.
        let takes_merge = caller.site.rules.takes_merge || caller.site.is_of_emulators();
        if !takes_merge && matches!(request.method, "MERGE" | "PATCH") {
            return Err(Refusal::METHOD_NOT_ALLOWED);
        }
        let (restype, comp) = (request.parameter("restype"), request.parameter("comp"));
        let whole = caller.site.resource(request.path)?;
        let resource = whole.part(restype.as_deref(), comp.as_deref())?;
        let is_conditional = request.headers.header("if-match").is_some();
        caller.grant.check(caller.site, &resource, verb, is_conditional)?;
        let options = Options::parse(request.query, caller.site.rules)?;
        let level = match (&options.format, request.headers.header("accept")) {
            // About the service itself it speaks XML, whatever is asked for.
            _ if comp.is_some() => None,
            (Some(format), _) => Some(Level::parse(format)?),
            (None, Some(accept)) => Some(Level::parse(&accept)?),
            (None, None) => None,
        };
        Ok(Self {
            caller,
            verb,
            resource,
            options,
            prefer: request.prefer(),
            level,
            request,
        })
    }

    pub(crate) fn site(&self) -> &'a Site {
        self.caller.site
    }

    /// The body of an operation that takes XML.
    pub(crate) fn xml(&self) -> &'a [u8] {
        self.request.body
    }

    /// The filter of a query, read.
    pub(crate) fn filter(&self) -> Result<Option<Expression>> {
        let parsed = self.options.filter.as_deref().map(parse_to).transpose();
        parsed.map_err(|(error, at)| {
            let refusal = self.site().rules.invalid_filter.clone();
            let refusal = refusal.unwrap_or_else(|| Refusal::from(error));
            refusal.because(format!("$filter: not understood from byte {at} on"))
        })
    }

    /// The form of an answer with a body. Without any wish it would be Atom, which is no longer spoken.
    pub(crate) fn level(&self) -> Result<Level> {
        self.level.ok_or(Refusal::ATOM_FORMAT_NOT_SUPPORTED)
    }

    /// The body, which must be JSON if it says what it is.
    pub(crate) fn json(&self) -> Result<&'a [u8]> {
        if let Some(content_type) = self.request.headers.header("content-type") {
            Level::parse(&content_type)?;
        }
        Ok(self.request.body)
    }

    /// What a write demands; `None` where nothing is said.
    pub(crate) fn condition(&self) -> Result<Option<Condition>> {
        let if_match = self.request.headers.header("if-match");
        if self.request.headers.header("if-none-match").is_some() {
            return Err(match (if_match, self.verb) {
                (Some(_), _) => Refusal::BOTH_CONDITIONS,
                (None, Verb::Delete) => Refusal::IF_NONE_MATCH_ON_DELETE,
                (None, Verb::Put) => Refusal::IF_NONE_MATCH_ON_PUT,
                (None, _) => Refusal::INVALID_INPUT,
            });
        }
        match if_match.as_deref().map(str::trim) {
            None => Ok(None),
            Some("*") => Ok(Some(Condition::Exists)),
            Some(etag) if is_well_formed(etag) => Ok(Some(Condition::Matches(etag.to_owned()))),
            Some(etag) => Err(Refusal::invalid_etag(etag)),
        }
    }
}

/// One ETag in quotes, weak or not. What stands between the quotes is not looked at: an unknown text is a version that
/// does not match (Azurite issue 1229, seen live).
fn is_well_formed(etag: &str) -> bool {
    let quoted = etag.strip_prefix("W/").unwrap_or(etag);
    quoted
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .is_some_and(|text| !text.contains('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_etag_stands_in_quotes_and_alone() {
        for good in [
            "\"x\"",
            "W/\"x\"",
            "W/\"datetime'2017-11-10T02%3A44%3A47.62Z'\"",
            "W/\"\"",
        ] {
            assert!(is_well_formed(good), "{good}");
        }
        for bad in ["", "x", "W/x", "\"", "W/\"a\", W/\"b\"", "w/\"x\"", "0x1"] {
            assert!(!is_well_formed(bad), "{bad}");
        }
    }

    #[test]
    fn verbs_are_tunnelled_through_post_alone() {
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
