//! Tokens of Entra ID: single tokens, or every token for an audience.
//!
//! Checks the form of a JWT, its audience and its times. Signatures are not verified, so that a test can create its own
//! tokens, or use real ones without the keys of their issuer. `access.rs` decides when a token is required. Errors show
//! no part of a token and no claim other than its audience and its age.
//!
//! Source: RFC 6750 "Bearer token usage"; RFC 7519 "JSON Web Token"; recordings of azure-data-tables,
//! `list_tables_with_invalid_credential` (2024) and `error_handling` (2026).

use std::borrow::Cow;
use std::collections::BTreeSet;

use azure_table_wire::error::error_text::Shown;
use azure_table_wire::value::datetime::DateTime;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::access::shared_key::in_words;

/// Returns `true` if text has the form of a token: one word of the allowed characters.
pub(super) fn is_well_formed(token: &str) -> bool {
    let word = token.trim_end_matches('=');
    !word.is_empty()
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte))
}

/// The claims that are checked.
struct Claims {
    aud: Audience,
    exp: f64,
    nbf: Option<f64>,
}

/// One audience, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

/// The reason why a token is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is for this audience.
    Audience(String),
    Other(Cow<'static, str>),
}

impl Fault {
    pub(super) fn why(self) -> Cow<'static, str> {
        match self {
            Self::Audience(audience) => format!("a token for another audience, {}", Shown(&audience)).into(),
            Self::Other(why) => why,
        }
    }
}

impl<T: Into<Cow<'static, str>>> From<T> for Fault {
    fn from(why: T) -> Self {
        Self::Other(why.into())
    }
}

/// Returns the reason why a token is not valid for any of `audiences` now, or `None` if it is.
pub(super) fn fault(token: &str, audiences: &BTreeSet<String>, now: DateTime) -> Option<Fault> {
    if audiences.is_empty() {
        return Some("a token that the emulator does not know".into());
    }
    let claims = match claims(token) {
        Ok(claims) => claims,
        Err(why) => return Some(why.into()),
    };
    let audiences_of_token = match &claims.aud {
        Audience::One(audience) => std::slice::from_ref(audience),
        Audience::Several(audiences) => audiences,
    };
    if !audiences_of_token
        .iter()
        .any(|audience| audiences.contains(canonical(audience)))
    {
        return Some(Fault::Audience(audiences_of_token.first().cloned().unwrap_or_default()));
    }
    // Saturating casts: a time out of range never passes.
    if let Ok(late) = now.duration_since(DateTime::from_unix_seconds(claims.exp as i64)) {
        return Some(format!("the token expired {} ago", in_words(late)).into());
    }
    match claims.nbf.map(|begin| DateTime::from_unix_seconds(begin as i64)) {
        Some(begin) if begin > now => Some("the token is not valid yet".into()),
        _ => None,
    }
}

/// Returns an audience without the trailing slash that some clients add.
pub(crate) fn canonical(audience: &str) -> &str {
    audience.trim_end_matches('/')
}

fn claims(token: &str) -> Result<Claims, Cow<'static, str>> {
    let parts: Vec<&str> = token.split('.').collect();
    let [head, claims, signature] = parts[..] else {
        return Err(format!("a token that is not a JWT: it has {} of 3 parts", parts.len()).into());
    };
    let read = |part: &str, what: &str| {
        let bytes = URL_SAFE_NO_PAD.decode(part);
        bytes.map_err(|_| format!("a token that is not a JWT: its {what} is not base64url"))
    };
    let object = |part: &str, what: &str| {
        let json = serde_json::from_slice::<Map<String, Value>>(&read(part, what)?);
        json.map_err(|_| format!("a token that is not a JWT: its {what} is not a JSON object"))
    };
    let (head, mut claims) = (object(head, "header")?, object(claims, "payload")?);
    read(signature, "signature")?;
    if !head.get("alg").is_some_and(Value::is_string) {
        return Err("a token without alg in its header".into());
    }
    let aud = claims.remove("aud").ok_or("a token without aud")?;
    let time = |name: &str| match claims.get(name) {
        None => Ok(None),
        Some(time) => {
            let seconds = time.as_f64();
            seconds.map(Some).ok_or(format!("a token whose {name} is not a number"))
        }
    };
    Ok(Claims {
        aud: serde_json::from_value(aud).map_err(|_| "a token whose aud is neither a text nor a list of texts")?,
        exp: time("exp")?.ok_or("a token without exp")?,
        nbf: time("nbf")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(claims: &str) -> String {
        token_of(r#"{"alg":"none"}"#, claims)
    }

    fn token_of(head: &str, claims: &str) -> String {
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        format!("{}.{}.{}", part(head), part(claims), part("x"))
    }

    #[test]
    fn tokens_are_checked_by_audience_and_times() {
        let audiences = BTreeSet::from(["https://storage.azure.com".to_owned()]);
        let now = DateTime::from_unix_seconds(1_000);
        let fault = |token: &str| super::fault(token, &audiences, now).map(Fault::why);
        for good in [
            r#"{"aud":"https://storage.azure.com","exp":1001}"#,
            r#"{"aud":"https://storage.azure.com/","exp":1001.5,"nbf":1000}"#,
            r#"{"aud":["other","https://storage.azure.com"],"exp":9e99,"oid":"x"}"#,
        ] {
            assert_eq!(fault(&token(good)), None, "{good}");
        }
        for (bad, why) in [
            (
                r#"{"aud":"https://vault.azure.net","exp":1001}"#,
                "another audience, \"https://vault.azure.net\"",
            ),
            (
                r#"{"aud":"https://storage.azure.com","exp":1000}"#,
                "expired 0 seconds ago",
            ),
            (
                r#"{"aud":"https://storage.azure.com","exp":1001,"nbf":1001}"#,
                "not valid yet",
            ),
            (r#"{"aud":"https://storage.azure.com"}"#, "without exp"),
            (
                r#"{"aud":"https://storage.azure.com","exp":"1001"}"#,
                "exp is not a number",
            ),
            (
                r#"{"aud":"https://storage.azure.com","exp":1001,"nbf":"0"}"#,
                "nbf is not a number",
            ),
            (r#"{"exp":1001}"#, "without aud"),
            (r#"{"aud":1,"exp":1001}"#, "aud is neither a text nor"),
            ("[]", "payload is not a JSON object"),
        ] {
            assert!(fault(&token(bad)).unwrap().contains(why), "{bad}");
        }
        let without_algorithm = token_of("{}", r#"{"aud":"https://storage.azure.com","exp":1001}"#);
        assert_eq!(fault(&without_algorithm).unwrap(), "a token without alg in its header");
        for text in ["", "a", "a.b", "a.b.c", "e30.e30.a", "e30.W10.e30", "...."] {
            assert!(fault(text).unwrap().contains("not a JWT: it"), "{text}");
        }
    }

    #[test]
    fn token_must_be_one_word() {
        for good in ["good", "a.b-c_d~e+f/g==", &token("{}")] {
            assert!(is_well_formed(good), "{good}");
        }
        for bad in ["", "=", "fake token credential", "é", "a=b"] {
            assert!(!is_well_formed(bad), "{bad}");
        }
    }
}
