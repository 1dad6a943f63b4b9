//! Who a request is from: whether it is signed with the key of its account.
//!
//! Owns SharedKey and SharedKeyLite as the service checks them, the age of a request included. The strings to sign are
//! `protocol/signature.rs`. Shared access signatures are `sas.rs`. Tokens are not known here: they fail like a wrong
//! signature.
//! Not confirmed: that an `Authorization` header decides where there is a shared access signature as well.
//!
//! Source: REST "Authorize with Shared Key".

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::request::Parts;

use crate::emulator::address::Site;
use crate::emulator::grant::Grant;
use crate::emulator::refusal::{Refusal, Result};
use crate::emulator::sas;
use crate::model::clock;
use crate::model::datetime::DateTime;
use crate::protocol::signature::{SigningKey, canonicalized_resource, shared_key, shared_key_lite};

/// How old a request may be on arrival.
const MAX_AGE: Duration = Duration::from_secs(15 * 60);

/// What a request to `site`, whose key is `key` if there is such an account, may do by its signature.
pub(crate) fn check(site: &Site, key: Option<&SigningKey>, head: &Parts) -> Result<Grant> {
    if !head.headers.contains_key("authorization")
        && let Some(signature) = sas::of(head.uri.query())
    {
        // The clock of Timestamps.
        return sas::check(&signature, site, key, head, DateTime::now());
    }
    if is_signed(site, key, head).unwrap_or(false) {
        Ok(Grant::everything())
    } else {
        Err(Refusal::AUTHENTICATION_FAILED)
    }
}

/// `None` where something is missing or unreadable.
fn is_signed(site: &Site, key: Option<&SigningKey>, head: &Parts) -> Option<bool> {
    let (scheme, credential) = text(&head.headers, "authorization")?.split_once(' ')?;
    let (account, signature) = credential.trim().split_once(':')?;
    // The documentation gives x-ms-date precedence; clients send both with one value, or one.
    let date = text(&head.headers, "x-ms-date").or_else(|| text(&head.headers, "date"))?;
    if account != site.account || !is_recent(date)? {
        return Some(false);
    }
    let resource = canonicalized_resource(account, head.uri.path(), head.uri.query());
    let string_to_sign = match scheme {
        "SharedKey" => {
            let header = |name| text(&head.headers, name).unwrap_or_default();
            shared_key(
                head.method.as_str(),
                header("content-md5"),
                header("content-type"),
                date,
                &resource,
            )
        }
        "SharedKeyLite" => shared_key_lite(date, &resource),
        _ => return None,
    };
    Some(key?.sign(&string_to_sign) == signature)
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Only old requests are refused; how far ahead a clock may be is not documented.
fn is_recent(date: &str) -> Option<bool> {
    let sent: SystemTime = httpdate::parse_http_date(date).ok()?;
    Some(clock::now().duration_since(sent).map_or(true, |age| age <= MAX_AGE))
}
