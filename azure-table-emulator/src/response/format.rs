//! The format of a response: metadata level, preference, and the form of an error.
//!
//! Parses `Accept` and `Prefer`.
//!
//! Source: REST "Payload format for Table service operations".

use azure_table_wire::request::inbound::target::Target;
use azure_table_wire::request::inbound::{Inbound, Verb};

use crate::rules::ServiceRules;
use crate::rules::service_error::{Result, ServiceError};

/// The form of an error response.
#[derive(Clone, Debug, Default)]
pub(crate) struct ErrorForm {
    pub(crate) is_xml: bool,
    pub(crate) level: Level,
    /// Errors of tables and entities are XML too: the request writes, and accepts anything.
    pub(crate) is_data_xml: bool,
    /// The same for errors found before the request is parsed.
    pub(crate) is_front_end_xml: bool,
    /// The request names no metadata level.
    pub(crate) is_plain: bool,
    /// The request deletes, or has an If-Match.
    pub(crate) is_conditional: bool,
    pub(crate) prefer: Option<Prefer>,
}

impl ErrorForm {
    /// Returns the form of an error, which is known even if nothing else of the request is valid.
    pub(crate) fn of(request: &Inbound<'_>) -> Self {
        let accept = request.headers.get("accept");
        let level = accept.as_deref().and_then(|accept| Level::parse(accept).ok());
        let accepts_anything = accept.as_deref() == Some("*/*");
        let is_batch = request.target == Ok(Target::Batch);
        let is_change = matches!(request.verb, Ok(Verb::Put | Verb::Merge | Verb::Delete));
        Self {
            is_xml: is_xml(request),
            is_data_xml: accepts_anything && is_change,
            is_front_end_xml: accepts_anything && request.method != "GET" || accept.is_none() && is_batch,
            level: level.unwrap_or_default(),
            is_plain: level.is_some() && accept.as_deref().is_some_and(|accept| !accept.contains("odata=")),
            is_conditional: request.method == "DELETE" || request.headers.get("if-match").is_some(),
            prefer: Prefer::of(request),
        }
    }
}

/// Returns `true` if the response is XML: one about the service, or about access policies.
pub(crate) fn is_xml(request: &Inbound<'_>) -> bool {
    request.parameter("comp").is_some()
}

/// The amount of metadata in a response: types and URLs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    None,
    #[default]
    Minimal,
    Full,
}

impl Level {
    /// Parses `Accept` or `$format`: the first media type that the service supports.
    pub(crate) fn parse(accept: &str) -> Result<Self> {
        let mut service_error = ServiceError::MEDIA_TYPE_NOT_SUPPORTED;
        for range in accept.split(',') {
            match Self::from_media_type(range) {
                Ok(level) => return Ok(level),
                Err(why) => service_error = why,
            }
        }
        Err(service_error)
    }

    fn from_media_type(text: &str) -> Result<Self> {
        let mut parts = text.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        let is_one_of = |names: &[&str]| names.iter().any(|name| media_type.eq_ignore_ascii_case(name));
        if is_one_of(&["*/*", "application/*"]) {
            // The header of clients without a preference.
            return Ok(Self::Minimal);
        }
        if is_one_of(&["application/atom+xml", "application/xml", "atom"]) {
            return Err(ServiceError::ATOM_FORMAT_NOT_SUPPORTED);
        }
        if !is_one_of(&["application/json", "json"]) {
            return Err(ServiceError::MEDIA_TYPE_NOT_SUPPORTED);
        }
        match parts
            .find_map(|part| part.strip_prefix("odata="))
            .unwrap_or("minimalmetadata")
        {
            "nometadata" => Ok(Self::None),
            "minimalmetadata" => Ok(Self::Minimal),
            "fullmetadata" => Ok(Self::Full),
            "verbose" => Err(ServiceError::JSON_VERBOSE_FORMAT_NOT_SUPPORTED),
            _ => Err(ServiceError::MEDIA_TYPE_NOT_SUPPORTED),
        }
    }

    /// Returns the media type of a response at this level.
    pub(crate) fn media_type(self, rules: &ServiceRules) -> &'static str {
        let [none, minimal, full] = rules.media_types;
        match self {
            Self::None => none,
            Self::Minimal => minimal,
            Self::Full => full,
        }
    }
}

/// The preference for the response to a write: with or without the entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefer {
    Content,
    NoContent,
}

impl Prefer {
    /// Returns the `Prefer` of an insert, or of an update without content. Other operations ignore it.
    pub(crate) fn of(request: &Inbound<'_>) -> Option<Self> {
        let text = request.headers.get("prefer")?;
        let known = [Self::Content, Self::NoContent];
        let prefer = known.into_iter().find(|prefer| prefer.name() == text.trim())?;
        let is_applied = match request.verb {
            Ok(Verb::Post) => true,
            Ok(Verb::Put | Verb::Merge) => prefer == Self::NoContent,
            Ok(Verb::Get | Verb::Delete) | Err(_) => false,
        };
        is_applied.then_some(prefer)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Content => "return-content",
            Self::NoContent => "return-no-content",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_level_is_parsed_leniently() {
        for (accept, level) in [
            ("application/json", Ok(Level::Minimal)),
            ("application/json;odata=nometadata", Ok(Level::None)),
            ("application/json; odata=fullmetadata; streaming=true", Ok(Level::Full)),
            (
                "application/atom+xml, application/json;odata=nometadata",
                Ok(Level::None),
            ),
            ("*/*", Ok(Level::Minimal)),
            ("application/atom+xml", Err(ServiceError::ATOM_FORMAT_NOT_SUPPORTED)),
            (
                "application/json;odata=verbose",
                Err(ServiceError::JSON_VERBOSE_FORMAT_NOT_SUPPORTED),
            ),
            ("text/html", Err(ServiceError::MEDIA_TYPE_NOT_SUPPORTED)),
        ] {
            assert_eq!(Level::parse(accept), level, "{accept}");
        }
    }
}
