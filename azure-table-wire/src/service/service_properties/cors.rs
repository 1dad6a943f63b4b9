//! CORS rules: requests that browsers send for pages of other origins.
//!
//! Defines [`CorsRule`], its limits and its element. Not confirmed: the service's limit of 2 KiB for all rules
//! together, which is not checked here since it is not documented how it counts.
//!
//! Source: REST "Cross-Origin Resource Sharing (CORS) support for Azure Storage".

use std::time::Duration;

use crate::codec::xml::Element;
use crate::error::{Error, Result, ValueError};

/// The maximum number of origins in a rule, and of full header names in a list.
const MAX_CORS_NAMES: usize = 64;
/// The maximum number of header prefixes in a list, such as `x-ms-meta*`.
const MAX_CORS_PREFIXES: usize = 2;
/// The maximum length of an origin or a header, in characters.
const MAX_CORS_TEXT: usize = 256;
/// The verbs that a rule can name. `PATCH` is newer than the others. The management API lists `CONNECT` and `TRACE`
/// too.
const CORS_METHODS: &[&str] = &[
    "CONNECT", "DELETE", "GET", "HEAD", "MERGE", "PATCH", "POST", "OPTIONS", "PUT", "TRACE",
];

/// A CORS rule: allows requests that a browser sends for a page of another origin.
///
/// Values cannot contain commas, the list separator.
///
/// ```
/// use std::time::Duration;
/// use azure_table::service::CorsRule;
/// let rule = CorsRule {
///     allowed_headers: vec!["x-ms-*".into(), "content-type".into()],
///     max_age: Duration::from_secs(3_600),
///     ..CorsRule::new(["https://contoso.com"], ["GET", "POST"])
/// };
/// assert_eq!(rule.allowed_methods, ["GET", "POST"]);
/// ```
///
/// Source: REST "Cross-Origin Resource Sharing (CORS) support for Azure Storage".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CorsRule {
    /// The allowed origins: 1 to 64 of at most 256 characters, such as `https://contoso.com`, or `*` for any.
    pub allowed_origins: Vec<String>,
    /// The allowed methods: at least one of `CONNECT`, `DELETE`, `GET`, `HEAD`, `MERGE`, `OPTIONS`, `PATCH`, `POST`,
    /// `PUT`, `TRACE`.
    pub allowed_methods: Vec<String>,
    /// The allowed request headers, or `*` for any.
    ///
    /// At most 64 names and 2 prefixes (`x-ms-meta*`), each of at most 256 characters.
    pub allowed_headers: Vec<String>,
    /// The response headers that the page may read, with the limits of `allowed_headers`.
    pub exposed_headers: Vec<String>,
    /// The time for which the browser may cache the response to a preflight request.
    ///
    /// Whole seconds up to 2,147,483,647; a fraction is dropped.
    pub max_age: Duration,
}

impl CorsRule {
    /// Creates a rule for simple requests, which allows and exposes no headers and caches nothing.
    pub fn new<O: Into<String>, M: Into<String>>(
        origins: impl IntoIterator<Item = O>,
        methods: impl IntoIterator<Item = M>,
    ) -> Self {
        Self {
            allowed_origins: origins.into_iter().map(Into::into).collect(),
            allowed_methods: methods.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    pub(super) fn element(&self) -> Element {
        let list = |name, items: &[String]| Element::of_text(name, items.join(","));
        // The order of the service's responses. It accepts any (recorded from four SDKs, 2021 and 2022).
        Element::new("CorsRule").with([
            list("AllowedMethods", &self.allowed_methods),
            list("AllowedOrigins", &self.allowed_origins),
            list("AllowedHeaders", &self.allowed_headers),
            list("ExposedHeaders", &self.exposed_headers),
            Element::of_text("MaxAgeInSeconds", self.max_age.as_secs()),
        ])
    }

    pub(super) fn read(element: &Element) -> Result<Self, ValueError> {
        let list = |name| {
            let items = element.child(name).map_or("", Element::text).split(',');
            items
                .map(str::trim)
                .filter(|item| !item.is_empty())
                .map(str::to_owned)
                .collect()
        };
        Ok(Self {
            allowed_origins: list("AllowedOrigins"),
            allowed_methods: list("AllowedMethods"),
            allowed_headers: list("AllowedHeaders"),
            exposed_headers: list("ExposedHeaders"),
            max_age: Duration::from_secs(element.number("MaxAgeInSeconds")?.unwrap_or_default().into()),
        })
    }

    pub(super) fn check(&self) -> Result<()> {
        let invalid = |why: String| Err(Error::invalid_input(format!("CORS rule: {why}")));
        if self.allowed_origins.is_empty() || self.allowed_methods.is_empty() {
            return invalid("it needs at least one origin and one method".to_owned());
        }
        if let Some(method) = self
            .allowed_methods
            .iter()
            .find(|method| !CORS_METHODS.contains(&method.as_str()))
        {
            return invalid(format!(
                "method {method:?}, it must be one of {}",
                CORS_METHODS.join(", ")
            ));
        }
        for (what, items, may_be_prefixes) in [
            ("allowed origins", &self.allowed_origins, false),
            ("allowed headers", &self.allowed_headers, true),
            ("exposed headers", &self.exposed_headers, true),
        ] {
            let is_prefix = |name: &&String| may_be_prefixes && name.len() > 1 && name.ends_with('*');
            let prefixes = items.iter().filter(is_prefix).count();
            if items.len() - prefixes > MAX_CORS_NAMES {
                let found = items.len() - prefixes;
                return invalid(format!("{found} {what}, more than the limit of {MAX_CORS_NAMES}"));
            }
            if prefixes > MAX_CORS_PREFIXES {
                return invalid(format!(
                    "{prefixes} {what} with * at their end, more than the limit of {MAX_CORS_PREFIXES}"
                ));
            }
            for item in items {
                let length = item.chars().count();
                if length > MAX_CORS_TEXT {
                    return invalid(format!(
                        "one of the {what} has {length} characters, more than the limit of {MAX_CORS_TEXT}"
                    ));
                }
                let is_text = |c: char| c != ',' && !c.is_control() && !c.is_whitespace();
                if item.is_empty() || !item.chars().all(is_text) {
                    return invalid(format!("{item:?} in {what}: it must be one word without commas"));
                }
            }
        }
        let seconds = self.max_age.as_secs();
        if i32::try_from(seconds).is_err() {
            return invalid(format!("{seconds} seconds of age, more than the limit of {}", i32::MAX));
        }
        Ok(())
    }
}

/// Returns `true` if a list of the rule is longer than its limit.
pub fn has_too_many_names(rule: &CorsRule) -> bool {
    let too_many = |names: &[String]| {
        let prefixes = names
            .iter()
            .filter(|name| name.len() > 1 && name.ends_with('*'))
            .count();
        prefixes > MAX_CORS_PREFIXES || names.len() - prefixes > MAX_CORS_NAMES
    };
    rule.allowed_origins.len() > MAX_CORS_NAMES || too_many(&rule.allowed_headers) || too_many(&rule.exposed_headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_is_checked_at_its_limits() {
        let names = |count: usize| (0..count).map(|n| format!("h{n}")).collect::<Vec<_>>();
        let prefixes = |count: usize| (0..count).map(|n| format!("h{n}*")).collect::<Vec<_>>();
        let of_origins = |origins: Vec<String>| CorsRule::new(origins, ["GET"]);
        let of_headers = |allowed_headers: Vec<String>| CorsRule {
            allowed_headers,
            ..CorsRule::new(["*"], ["GET"])
        };
        let of_exposed = |exposed_headers: Vec<String>| CorsRule {
            exposed_headers,
            ..CorsRule::new(["*"], ["GET"])
        };
        let of_age = |seconds| CorsRule {
            max_age: Duration::from_secs(seconds),
            ..CorsRule::new(["*"], ["GET"])
        };
        for (rule, is_taken) in [
            (of_origins(vec!["o".repeat(256)]), true),
            (of_origins(vec!["o".repeat(257)]), false),
            (of_origins(names(64)), true),
            (of_origins(names(65)), false),
            (of_headers([names(64), prefixes(2)].concat()), true),
            (of_headers([names(65), prefixes(2)].concat()), false),
            (of_headers(prefixes(3)), false),
            (of_headers(vec!["*".to_owned()]), true),
            (of_exposed([names(64), prefixes(2)].concat()), true),
            (of_exposed(prefixes(3)), false),
            (of_headers(vec![String::new()]), false),
            (of_headers(vec!["a,b".to_owned()]), false),
            (of_age(2_147_483_647), true),
            (of_age(2_147_483_648), false),
        ] {
            assert_eq!(rule.check().is_ok(), is_taken, "{:?}", rule.check());
        }
    }
}
