//! Authorization by SharedKey and SharedKeyLite, with the checks of the service, including the age of a request.
//!
//! The strings to sign are in `account/signature.rs`.
//!
//! Source: REST "Authorize with Shared Key".

use std::borrow::Cow;
use std::time::Duration;

use azure_table_wire::account::signature::{SigningKey, canonicalized_resource, shared_key, shared_key_lite};
use azure_table_wire::error::error_text::Shown;
use azure_table_wire::value::datetime::DateTime;
use http::HeaderMap;
use http::request::Parts;

use crate::store::site::Site;

/// The reason for rejecting a readable signature, of any kind.
pub(crate) const WRONG_SIGNATURE: &str = "the signature does not match the account's key";
/// The maximum age of a request on arrival.
const MAX_AGE: Duration = Duration::from_secs(15 * 60);
/// Returns the reason for a rejection because no account has the name.
pub(crate) fn no_account(site: &Site) -> String {
    format!("no account {}", Shown(&site.account))
}

/// A rejection of a signature.
pub(crate) struct Fault {
    /// Quotes nothing from the header, because a client may have put a key in the account's place.
    pub(crate) why: Cow<'static, str>,
    /// The string that a valid signature would sign, if the signature is readable.
    pub(crate) to_sign: Option<String>,
}

impl<T: Into<Cow<'static, str>>> From<T> for Fault {
    fn from(why: T) -> Self {
        Self {
            why: why.into(),
            to_sign: None,
        }
    }
}

/// Checks the signature, and the age of the request if `now` is given.
pub(crate) fn check(
    site: &Site,
    key: Option<&SigningKey>,
    head: &Parts,
    now: Option<DateTime>,
) -> std::result::Result<(), Fault> {
    let authorization = header(&head.headers, "authorization").ok_or("no Authorization")?;
    let (scheme, credential) =
        credential(authorization).ok_or("Authorization is neither SharedKey nor SharedKeyLite")?;
    let (account, signature) = credential
        .split_once(':')
        .ok_or("Authorization is not ACCOUNT:SIGNATURE")?;
    let key = key.ok_or_else(|| match account == site.account || !site.is_of_emulators {
        true => no_account(site).into(),
        false => Cow::from("neither Authorization nor the address names an account"),
    })?;
    if account != site.account {
        return Err("Authorization names another account than the address".into());
    }
    // The documentation gives x-ms-date precedence. Clients send both with the same value, or only one.
    let date = header(&head.headers, "x-ms-date")
        .or_else(|| header(&head.headers, "date"))
        .ok_or("no x-ms-date")?;
    if let Some(now) = now {
        check_date(date, now)?;
    }
    let signed = |name| header(&head.headers, name).unwrap_or_default();
    let to_sign = |path: &str| {
        let resource = canonicalized_resource(account, path, head.uri.query());
        match scheme {
            "SharedKey" => shared_key(
                head.method.as_str(),
                signed("content-md5"),
                signed("content-type"),
                date,
                resource,
            )
            .concat(),
            _ => shared_key_lite(date, resource).concat(),
        }
    };
    let is_of = |path: &str| key.verify(&to_sign(path), signature);
    let path = head.uri.path();
    let is_signed = is_of(path) || site.primary_path(path).is_some_and(|path| is_of(&path));
    if is_signed {
        Ok(())
    } else {
        Err(Fault {
            to_sign: Some(to_sign(path)),
            ..WRONG_SIGNATURE.into()
        })
    }
}

/// Returns the scheme and the credential of a SharedKey authorization.
fn credential(authorization: &str) -> Option<(&str, &str)> {
    let (scheme, credential) = authorization.split_once(' ')?;
    let is_shared_key = ["SharedKey", "SharedKeyLite"].contains(&scheme);
    is_shared_key.then(|| (scheme, credential.trim()))
}

/// Returns the account that a SharedKey authorization names.
pub(super) fn account(authorization: &str) -> Option<&str> {
    let (account, _) = credential(authorization)?.1.split_once(':')?;
    Some(account)
}

pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Rejects requests that are too old. How far ahead a client's clock may be is not documented, so a date in the future
/// passes.
fn check_date(date: &str, now: DateTime) -> std::result::Result<(), Cow<'static, str>> {
    let sent = httpdate::parse_http_date(date).ok();
    let sent = sent.and_then(|time| DateTime::try_from(time).ok());
    let sent = sent.ok_or("x-ms-date cannot be read")?;
    match now.duration_since(sent) {
        Ok(age) if age > MAX_AGE => Err(format!("x-ms-date is {} old", in_words(age)).into()),
        _ => Ok(()),
    }
}

/// Formats a duration for a person to read.
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
