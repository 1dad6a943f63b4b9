//! Who a request is from: whether it is signed with the key of its account, or shows a token that is known.
//!
//! Owns SharedKey and SharedKeyLite as the service checks them, the age of a request included, and tokens of Entra ID in a
//! test's way: what [`Emulator::with_token`](crate::Emulator::with_token) names is good, all else is not. The strings to sign
//! are `protocol/signature.rs`. Shared access signatures are `sas.rs`.
//! Not confirmed: that an `Authorization` header decides where there is a shared access signature as well; the answer to a
//! token that came without TLS, or that is not known; that Cosmos DB says where to get a token, as Storage does.
//!
//! Source: REST "Authorize with Shared Key", "Authorize with Microsoft Entra ID"; a recorded challenge.

use std::borrow::Cow;
use std::time::Duration;

use http::HeaderMap;
use http::request::Parts;

use crate::emulator::Settings;
use crate::emulator::address::Site;
use crate::emulator::grant::{Grant, Rights};
use crate::emulator::refusal::{Refusal, Result};
use crate::emulator::sas;
use crate::emulator::store::Store;
use crate::model::datetime::DateTime;
use crate::model::error_text::Shown;
use crate::protocol::profile::Profile;
use crate::protocol::signature::{SigningKey, canonicalized_resource, shared_key, shared_key_lite};

/// Why a signature is refused that can be read, of whatever kind.
pub(crate) const WRONG_SIGNATURE: &str = "the signature is not one by the account's key";
const UNKNOWN_TOKEN: &str = "a token that the emulator was not told";
/// How old a request may be on arrival.
const MAX_AGE: Duration = Duration::from_secs(15 * 60);
/// From this version on who shows nothing is told where to get a token.
const CHALLENGES: &str = "2020-12-06";
/// The first version in which a token is taken.
///
/// Source: REST "Authorize with Microsoft Entra ID".
const TAKES_TOKENS: &str = "2017-11-09";
/// The tenant of all tokens, and their user's object id.
pub(crate) const TENANT: &str = "00000000-0000-0000-0000-000000000000";

/// Where to get a token, as the service writes it.
pub(crate) fn challenge(profile: Profile) -> String {
    let resource = match profile {
        Profile::Storage => "https://storage.azure.com",
        Profile::Cosmos => "https://cosmos.azure.com",
    };
    format!(
        "Bearer authorization_uri=https://login.microsoftonline.com/{TENANT}/oauth2/authorize resource_id={resource}"
    )
}

/// What a request to `site` may do by its signature or its token.
pub(crate) fn check(
    site: &Site,
    settings: &Settings,
    head: &Parts,
    version: &str,
    (store, now): (&Store, DateTime),
) -> Result<Grant> {
    let key = settings.key(&site.account);
    let authorization = text(&head.headers, "authorization");
    let token = authorization.and_then(|text| text.strip_prefix("Bearer "));
    match (sas::of(head.uri.query()), authorization, token) {
        (Some(signature), _, Some(token)) if sas::is_bound(&signature) => {
            check_token(site, settings, token.trim(), version)?;
            if signature.get("sduoid") != TENANT {
                return Err(Refusal::AUTHENTICATION_FAILED.because("the signature is for another user than the token"));
            }
            sas::check(&signature, site, key, head, (store, now))
        }
        (Some(signature), None, _) if !sas::is_bound(&signature) => {
            sas::check(&signature, site, key, head, (store, now))
        }
        (_, _, Some(token)) => check_token(site, settings, token.trim(), version).map(|()| Grant::of(Rights::Token)),
        (_, None, _) if version >= CHALLENGES => Err(Refusal::NO_AUTHENTICATION),
        _ => check_signature(site, key, head, now)
            .map(|()| Grant::of(Rights::Key))
            .map_err(|why| Refusal::AUTHENTICATION_FAILED.because(why)),
    }
}

/// Why there is no key to look at a signature with.
pub(crate) fn no_account(site: &Site) -> String {
    format!("no account {}", Shown(&site.account))
}

fn check_token(site: &Site, settings: &Settings, token: &str, version: &str) -> Result<()> {
    let failed = |why: &'static str| Err(Refusal::AUTHENTICATION_FAILED.because(why));
    if settings.key(&site.account).is_none() {
        return Err(Refusal::AUTHENTICATION_FAILED.because(no_account(site)));
    }
    if !site.is_https {
        return failed("a token, but no HTTPS");
    }
    if version < TAKES_TOKENS {
        return failed("a token, and an x-ms-version before there were any");
    }
    match settings.tokens.contains(token) {
        true => Ok(()),
        false if version >= CHALLENGES => Err(Refusal::INVALID_TOKEN.because(UNKNOWN_TOKEN)),
        false => failed(UNKNOWN_TOKEN),
    }
}

/// Fails with the reason, which shows nothing of the header: where an account should be may stand a key.
fn check_signature(
    site: &Site,
    key: Option<&SigningKey>,
    head: &Parts,
    now: DateTime,
) -> std::result::Result<(), Cow<'static, str>> {
    let key = key.ok_or_else(|| no_account(site))?;
    let authorization = text(&head.headers, "authorization").ok_or("no Authorization")?;
    let (scheme, credential) = authorization
        .split_once(' ')
        .filter(|(scheme, _)| ["SharedKey", "SharedKeyLite"].contains(scheme))
        .ok_or("Authorization is neither SharedKey nor SharedKeyLite")?;
    let (account, signature) = credential
        .trim()
        .split_once(':')
        .ok_or("Authorization is not ACCOUNT:SIGNATURE")?;
    if account != site.account {
        return Err("Authorization names another account than the address".into());
    }
    // The documentation gives x-ms-date precedence; clients send both with one value, or one.
    let date = text(&head.headers, "x-ms-date")
        .or_else(|| text(&head.headers, "date"))
        .ok_or("no x-ms-date")?;
    check_date(date, now)?;
    let header = |name| text(&head.headers, name).unwrap_or_default();
    let is_of = |path: &str| {
        let resource = canonicalized_resource(account, path, head.uri.query());
        let to_sign = match scheme {
            "SharedKey" => shared_key(
                head.method.as_str(),
                header("content-md5"),
                header("content-type"),
                date,
                &resource,
            ),
            _ => shared_key_lite(date, &resource),
        };
        key.verify(&to_sign, signature)
    };
    let path = head.uri.path();
    let is_signed = is_of(path) || site.primary_path(path).is_some_and(|path| is_of(&path));
    is_signed.then_some(()).ok_or(WRONG_SIGNATURE.into())
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Only old requests are refused; how far ahead a clock may be is not documented.
fn check_date(date: &str, now: DateTime) -> std::result::Result<(), Cow<'static, str>> {
    let sent = httpdate::parse_http_date(date).ok();
    let sent = sent.and_then(|time| DateTime::try_from(time).ok());
    let sent = sent.ok_or("x-ms-date cannot be read")?;
    match now.duration_since(sent) {
        Ok(age) if age > MAX_AGE => Err(format!("x-ms-date is {} old", in_words(age)).into()),
        _ => Ok(()),
    }
}

/// A length of time as a person says it.
pub(crate) fn in_words(time: Duration) -> String {
    let minutes = time.as_secs() / 60;
    let (count, unit) = match minutes {
        0 => (time.as_secs(), "second"),
        1..60 => (minutes, "minute"),
        60..1_440 => (minutes / 60, "hour"),
        1_440..1_051_200 => (minutes / 1_440, "day"),
        _ => (minutes / 525_600, "year"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}
