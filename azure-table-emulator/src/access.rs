//! Callers: the checks of the front end, and the permissions that a signature or a token gives to a request.
//!
//! Decides which credential of a request applies, and where a token is rejected. `access/token.rs` decides which
//! tokens are valid, `access/account.rs` the account if the URL names none. Keys of accounts are in
//! `access/shared_key.rs`, shared access signatures in `access/sas.rs`, the permissions that each operation needs in
//! `operations/grant.rs`. Not confirmed: that an `Authorization` header takes precedence over a shared access
//! signature; the response to a token sent without TLS; that Cosmos DB names the token authority, as Storage does.
//!
//! Source: REST "Authorize with Shared Key", "Authorize with Microsoft Entra ID"; a recorded challenge.

pub(crate) mod account;
pub(crate) mod sas;
pub(crate) mod shared_key;
pub(crate) mod token;

use azure_table_wire::request::inbound::Inbound;
use azure_table_wire::value::datetime::DateTime;
use http::request::Parts;

use crate::access::shared_key::{header, no_account};
use crate::operations::Caller;
use crate::operations::grant::{Grant, Rights};
use crate::response::Trace;
use crate::response::format::is_xml;
use crate::rules::service_error::{Result, ServiceError};
use crate::rules::version::{self, CHALLENGES, TAKES_TOKENS};
use crate::rules::{MAX_BODY_BYTES, TENANT};
use crate::settings::Settings;
use crate::store::Store;
use crate::store::site::Site;

/// Performs the checks of the front end, and identifies the caller. A preflight request has no credential.
pub(crate) fn enter<'a>(
    (site, settings): (&'a Site, &'a Settings),
    head: &Parts,
    request: &Inbound<'_>,
    trace: &Trace,
    store: &Store,
) -> Result<Caller<'a>> {
    let caller = |grant| Caller { site, grant, settings };
    if site.rules.has_service_operations && request.method == "OPTIONS" {
        return Ok(caller(Grant::of(Rights::Preflight)));
    }
    if site.rules.checks_version && !version::is_taken(&trace.version, settings.has_strict_versions) {
        return Err(if version::is_date(&trace.version) {
            ServiceError::INVALID_HEADER_VALUE
        } else {
            ServiceError::UNREADABLE_VERSION
        });
    }
    if !site.rules.has_service_operations && is_xml(request) {
        return Err(ServiceError::NOT_SUPPORTED);
    }
    let grant = check(site, settings, head, &trace.version, (store, trace.time))?;
    if request.body.len() > MAX_BODY_BYTES {
        return Err(ServiceError::BODY_TOO_LARGE);
    }
    // A query in a batch is accepted (the tests of azure-storage-net).
    let reads = || request.method == "GET" || request.batch().is_some_and(|batch| batch.change_sets == 0);
    if site.is_secondary && !site.rules.writes_at_secondary && !reads() {
        return Err(ServiceError::WRITE_TO_SECONDARY);
    }
    Ok(caller(grant))
}

/// Authorizes a request to `site` by its signature or its token, and returns its permissions.
fn check(
    site: &Site,
    settings: &Settings,
    head: &Parts,
    version: &str,
    (store, now): (&Store, DateTime),
) -> Result<Grant> {
    let key = settings.key(&site.account);
    let authorization = header(&head.headers, "authorization");
    let token = authorization.and_then(|text| text.strip_prefix("Bearer "));
    match (sas::of(head.uri.query()), authorization, token) {
        (Some(signature), _, Some(token)) if sas::is_bound(&signature) => {
            check_token(site, settings, token.trim(), (version, now))?;
            if signature.get("sduoid") != TENANT {
                return Err(
                    ServiceError::AUTHENTICATION_FAILED.because("the signature is for another user than the token")
                );
            }
            sas::check(&signature, site, settings, head, (store, now))
        }
        (Some(signature), None, _) if !sas::is_bound(&signature) => {
            sas::check(&signature, site, settings, head, (store, now))
        }
        (_, _, Some(token)) => {
            check_token(site, settings, token.trim(), (version, now)).map(|()| Grant::of(Rights::Token))
        }
        (_, None, _) if version >= CHALLENGES => Err(ServiceError::NO_AUTHENTICATION),
        (_, None, _) if site.rules.has_storage_form => Err(ServiceError::NO_AUTHORIZATION.because("no Authorization")),
        _ => shared_key::check(site, key, head, (!settings.accepts_old_requests).then_some(now))
            .map(|()| Grant::of(Rights::Key))
            .map_err(|fault| {
                let is_cosmos = !site.rules.has_storage_form;
                let to_sign = fault.to_sign.as_deref().filter(|_| is_cosmos);
                let service_error = to_sign.map_or(ServiceError::AUTHENTICATION_FAILED, ServiceError::wrong_signature);
                service_error.because(fault.why)
            }),
    }
}

fn check_token(site: &Site, settings: &Settings, token: &str, (version, now): (&str, DateTime)) -> Result<()> {
    let failed = |why: &'static str| Err(ServiceError::AUTHENTICATION_FAILED.because(why));
    if settings.key(&site.account).is_none() {
        return match site.is_of_emulators {
            true => failed("a token needs the account in the path"),
            false => Err(ServiceError::AUTHENTICATION_FAILED.because(no_account(site))),
        };
    }
    if !site.is_https {
        return failed("a token, but no HTTPS");
    }
    if version < TAKES_TOKENS {
        return failed("a token, and an x-ms-version that is older than tokens");
    }
    if settings.tokens.contains(token) {
        return Ok(());
    }
    let why = match token::is_well_formed(token) {
        false if version >= CHALLENGES => return Err(ServiceError::MALFORMED_AUTHORIZATION),
        false => "a token of several words".into(),
        true => match token::fault(token, &settings.token_audiences, now) {
            None => return Ok(()),
            Some(token::Fault::Audience(audience)) if !site.rules.has_storage_form => {
                let accepted = settings.token_audiences.iter().cloned().collect::<Vec<_>>().join(", ");
                return Err(ServiceError::other_audience(&audience, &accepted));
            }
            Some(fault) => fault.why(),
        },
    };
    Err(if version >= CHALLENGES {
        ServiceError::INVALID_TOKEN.because(why)
    } else {
        ServiceError::AUTHENTICATION_FAILED.because(why)
    })
}
