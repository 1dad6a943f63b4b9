//! Who a request is from: whether it is signed with the key of its account, or shows a token that is known.
//!
//! Owns SharedKey and SharedKeyLite as the service checks them, the age of a request included, and tokens of Entra ID in a
//! test's way: what [`Emulator::with_token`](crate::Emulator::with_token) names is good, all else is not. The strings to sign
//! are `protocol/signature.rs`. Shared access signatures are `sas.rs`.
//! Not confirmed: that an `Authorization` header decides where there is a shared access signature as well; the answer to a
//! token that came without TLS, or that is not known; that Cosmos DB says where to get a token, as Storage does.
//!
//! Source: REST "Authorize with Shared Key", "Authorize with Microsoft Entra ID"; a recorded challenge.

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
use crate::protocol::profile::Profile;
use crate::protocol::signature::{SigningKey, canonicalized_resource, shared_key, shared_key_lite};

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
                return Err(Refusal::AUTHENTICATION_FAILED);
            }
            sas::check(&signature, site, key, head, (store, now))
        }
        (Some(signature), None, _) if !sas::is_bound(&signature) => {
            sas::check(&signature, site, key, head, (store, now))
        }
        (_, _, Some(token)) => check_token(site, settings, token.trim(), version).map(|()| Grant::of(Rights::Token)),
        (_, None, _) if version >= CHALLENGES => Err(Refusal::NO_AUTHENTICATION),
        _ if is_signed(site, key, head, now).unwrap_or(false) => Ok(Grant::of(Rights::Key)),
        _ => Err(Refusal::AUTHENTICATION_FAILED),
    }
}

fn check_token(site: &Site, settings: &Settings, token: &str, version: &str) -> Result<()> {
    if !site.is_https || version < TAKES_TOKENS || settings.key(&site.account).is_none() {
        return Err(Refusal::AUTHENTICATION_FAILED);
    }
    match settings.tokens.contains(token) {
        true => Ok(()),
        false if version >= CHALLENGES => Err(Refusal::INVALID_TOKEN),
        false => Err(Refusal::AUTHENTICATION_FAILED),
    }
}

/// `None` where something is missing or unreadable.
fn is_signed(site: &Site, key: Option<&SigningKey>, head: &Parts, now: DateTime) -> Option<bool> {
    let (scheme, credential) = text(&head.headers, "authorization")?.split_once(' ')?;
    let (account, signature) = credential.trim().split_once(':')?;
    // The documentation gives x-ms-date precedence; clients send both with one value, or one.
    let date = text(&head.headers, "x-ms-date").or_else(|| text(&head.headers, "date"))?;
    if account != site.account || !is_recent(date, now)? {
        return Some(false);
    }
    let header = |name| text(&head.headers, name).unwrap_or_default();
    let to_sign = |path: &str| {
        let resource = canonicalized_resource(account, path, head.uri.query());
        match scheme {
            "SharedKey" => Some(shared_key(
                head.method.as_str(),
                header("content-md5"),
                header("content-type"),
                date,
                &resource,
            )),
            "SharedKeyLite" => Some(shared_key_lite(date, &resource)),
            _ => None,
        }
    };
    let key = key?;
    let is_of = |path: &str| to_sign(path).is_some_and(|to_sign| key.verify(&to_sign, signature));
    let path = head.uri.path();
    Some(is_of(path) || site.primary_path(path).is_some_and(|path| is_of(&path)))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Only old requests are refused; how far ahead a clock may be is not documented.
fn is_recent(date: &str, now: DateTime) -> Option<bool> {
    let sent = DateTime::try_from(httpdate::parse_http_date(date).ok()?).ok()?;
    Some(now.duration_since(sent).map_or(true, |age| age <= MAX_AGE))
}
