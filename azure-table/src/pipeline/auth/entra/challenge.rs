//! The service's challenge for a token: the header `WWW-Authenticate`.
//!
//! This file parses it; `entra.rs` decides whether to trust it.
//!
//! A challenge does not choose the audience of a token. The service may name the tenant. As scope it may name its own
//! audience in any cloud, its own host, or the scope set by the user. Anything else would send tokens for other
//! services to any server at this URL.
//!
//! Source: RFC 9110 §11.6.1; the challenge of Azure Table storage as recorded (`authorization_uri`, `resource_id`,
//! bare); other services of Azure quote the values and put commas between them.

use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, Uri};

/// The maximum length of a tenant's name: the maximum of a DNS name.
const MAX_TENANT: usize = 253;

/// A challenge for a token.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// A GUID or a domain.
    pub(crate) tenant: Option<String>,
    /// The audience of the token, such as `https://storage.azure.com`.
    pub(crate) resource: Option<String>,
}

impl Challenge {
    /// Returns the first challenge for a token in the headers of a response.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let texts = headers.get_all(WWW_AUTHENTICATE).iter();
        texts.filter_map(|value| value.to_str().ok()).find_map(Self::parse)
    }

    fn parse(text: &str) -> Option<Self> {
        let (mut found, mut is_bearer, mut rest) = (None, false, text);
        while let Some((name, value, behind)) = next(rest) {
            rest = behind;
            let Some(value) = value else {
                is_bearer = name.eq_ignore_ascii_case("Bearer");
                continue;
            };
            if is_bearer {
                let challenge = found.get_or_insert(Self {
                    tenant: None,
                    resource: None,
                });
                match name.to_ascii_lowercase().as_str() {
                    "authorization_uri" => challenge.tenant = tenant(value),
                    "resource_id" => challenge.resource = resource(value),
                    _ => {}
                }
            }
        }
        found
    }
}

/// Returns the next scheme or `name=value`, and the rest of the text.
fn next(text: &str) -> Option<(&str, Option<&str>, &str)> {
    let is_separator = |c: char| matches!(c, ' ' | '\t' | ',');
    let text = text.trim_start_matches(is_separator);
    if text.is_empty() {
        return None;
    }
    let end = text.find(|c| is_separator(c) || c == '=').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let Some(rest) = rest.strip_prefix('=') else {
        return Some((name, None, rest));
    };
    let (value, rest) = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
        None => rest.split_at(rest.find(is_separator).unwrap_or(rest.len())),
    };
    Some((name, Some(value), rest))
}

fn resource(resource_id: &str) -> Option<String> {
    let resource = resource_id.trim_end_matches('/');
    (!resource.is_empty()).then(|| resource.to_owned())
}

/// Returns the first segment of the token endpoint's path, and ignores the rest of the URL.
///
/// The program that creates the credential decides which endpoint issues tokens, not the service.
fn tenant(authorization_uri: &str) -> Option<String> {
    let uri: Uri = authorization_uri.parse().ok()?;
    let tenant = uri.path().split('/').nth(1)?;
    let is_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.');
    // Rejects `.` and `..`, which would change the path for anyone who puts the name into a URL.
    let begins_and_ends = |c: char| c.is_ascii_alphanumeric();
    let is_good = (1..=MAX_TENANT).contains(&tenant.len())
        && tenant.bytes().all(is_name)
        && tenant.starts_with(begins_and_ends)
        && tenant.ends_with(begins_and_ends);
    is_good.then(|| tenant.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TENANT: &str = "72f988bf-86f1-41af-91ab-2d7cd011db47";

    #[test]
    fn bare_quoted_and_mixed_challenges_are_equivalent() {
        let uri = format!("https://login.microsoftonline.com/{TENANT}/oauth2/authorize");
        for text in [
            format!("Bearer authorization_uri={uri} resource_id=https://storage.azure.com"),
            format!("bearer Authorization_URI=\"{uri}\", Resource_Id=\"https://storage.azure.com/\""),
            format!("Bearer realm=\"a, b=c\",resource_id=https://storage.azure.com,authorization_uri={uri}"),
            format!(
                "Basic resource_id=x, Bearer authorization_uri={uri} resource_id=https://storage.azure.com, \
                 PoP resource_id=y"
            ),
        ] {
            let challenge = Challenge::parse(&text).unwrap();
            assert_eq!(challenge.tenant.as_deref(), Some(TENANT), "{text}");
            assert_eq!(
                challenge.resource.as_deref(),
                Some("https://storage.azure.com"),
                "{text}"
            );
        }
    }

    #[test]
    fn challenge_without_tenant_has_none() {
        for uri in [
            "https://login.microsoftonline.com",
            "https://login.microsoftonline.com/",
            "https://login.microsoftonline.com/a%2Fb/oauth2",
            "https://login.microsoftonline.com/../oauth2",
            "https://login.microsoftonline.com/./oauth2",
            "https://login.microsoftonline.com/-/oauth2",
            "https://login.microsoftonline.com/contoso.com./oauth2",
            "https://login.microsoftonline.com/a?b",
            "not a uri",
        ] {
            let challenge = Challenge::parse(&format!("Bearer authorization_uri=\"{uri}\"")).unwrap();
            let expected = uri.contains("/a?").then(|| "a".to_owned());
            assert_eq!(challenge.tenant, expected, "{uri}");
        }
        assert_eq!(Challenge::parse("Bearer resource_id=/").unwrap().resource, None);
        assert_eq!(Challenge::parse("Basic realm=x"), None);
        assert_eq!(Challenge::parse(""), None);
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_to_its_end(text in "[ -~]{0,60}") {
            let _ = Challenge::parse(&text);
            let _ = Challenge::parse(&format!("Bearer {text}"));
        }
    }
}
