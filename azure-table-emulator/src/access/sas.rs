//! Shared access signatures in the query of a request: their verification and the grant.
//!
//! Verifies the three kinds: for a table (`tn`), for an account (`ss`), and for a table by a user delegation key
//! (`skoid`). Checks their times, addresses and protocols, and applies the fields of a stored policy (`si`). The
//! strings to sign are in `sas/parameters.rs`; the permissions that each operation needs are in
//! `operations/grant.rs`.
//!
//! A user delegation key is an HMAC by the account's key over all of the key's parameters. Nothing is stored: the
//! parameters in a signature (`skoid` and so on) are enough to derive its key again. All tokens belong to one user,
//! whose object id is the tenant's id: zeros. Signatures for a table are accepted in all versions from 2012-02-12 on.
//! A changed policy takes effect immediately; live it takes up to 30 seconds. The server passes the source address of a
//! request as an extension, a `SocketAddr`. In process no address is known, and a restriction of addresses has no
//! effect.
//!
//! Not confirmed:
//!
//! - the order of the checks
//! - that a row key without its partition key, a repeated parameter, an `st` that cannot be read, or control characters
//!   fail like a wrong signature
//! - that the letters of an account's signature may have any order: the portal (`rwdlacupiyx`) and the SDKs
//!   (`rwdxylacuptfi`) write them differently
//! - IPv6 addresses
//! - the code for a field that is in the signature and in its policy (the status is documented)
//! - anything about signatures by a user delegation key beyond the documentation
//! - how a user-bound signature without its user's token fails (here like a wrong signature)
//!
//! Source: REST "Create a service SAS", "Create an account SAS", "Create a user delegation SAS", "Set Table ACL"; "SAS
//! error codes".

use std::net::SocketAddr;

use azure_table_wire::account::signature::SigningKey;
use azure_table_wire::sas::parameters::{
    SAS_PARAMETERS, SasParameters, account_string_to_sign, addresses, table_string_to_sign, time,
    user_delegation_string_to_sign,
};
use azure_table_wire::service::access_policy::StoredAccessPolicy;
use azure_table_wire::value::datetime::DateTime;
use http::request::Parts;

use crate::access::shared_key::{WRONG_SIGNATURE, in_words, no_account};
use crate::operations::documents::delegation_key_value;
use crate::operations::grant::{Grant, Rights, RowRange};
use crate::rules::service_error::{Result, ServiceError};
use crate::rules::version::{self, ACCOUNT_SIGNATURES, FIRST_SIGNATURES, USER_DELEGATION};
use crate::rules::{ServiceRules, TENANT};
use crate::settings::Settings;
use crate::store::Store;
use crate::store::row::RowId;
use crate::store::site::Site;

/// The letters of a table's permissions, in the required order.
const TABLE_LETTERS: &str = "raud";
/// The letters of an account's permissions for all services.
const ACCOUNT_LETTERS: &str = "rwdxylacupitf";

/// Returns the signature in a query, if any.
pub(crate) fn of(query: Option<&str>) -> Option<SasParameters> {
    let parameters = SasParameters::parse(query?);
    (!parameters.get("sig").is_empty()).then_some(parameters)
}

/// Returns `true` if a signature is for one Entra ID user, who must also send a token.
pub(crate) fn is_bound(sas: &SasParameters) -> bool {
    !sas.get("sduoid").is_empty()
}

/// Verifies a signature and returns its grant for a request at this time.
pub(crate) fn check(
    sas: &SasParameters,
    site: &Site,
    settings: &Settings,
    head: &Parts,
    (store, now): (&Store, DateTime),
) -> Result<Grant> {
    let failed = |why: &'static str| ServiceError::AUTHENTICATION_FAILED.because(why);
    let key = settings.key(&site.account);
    // Several accounts, none of them in the path of an emulator.
    let no_signer = || match site.is_of_emulators {
        true => "no account signed it".to_owned(),
        false => no_account(site),
    };
    let key = key.ok_or_else(|| ServiceError::AUTHENTICATION_FAILED.because(no_signer()))?;
    let kind =
        Kind::of(sas, settings.has_strict_versions).ok_or(failed("parameters that form no shared access signature"))?;
    if !kind.is_signed(sas, (&site.account, key), now) {
        return Err(failed(WRONG_SIGNATURE));
    }
    let has_range = ["spk", "srk", "epk", "erk"]
        .iter()
        .any(|name| !sas.get(name).is_empty());
    if has_range && !site.rules.takes_ranges {
        return Err(ServiceError::NO_RANGES);
    }
    let policy = match (kind, sas.get("si")) {
        (_, "") => Some(StoredAccessPolicy::new("")),
        (Kind::Table, id) => policy(store, site, sas.get("tn"), id),
        (Kind::Account | Kind::Delegated, _) => None,
    };
    let policy = policy.ok_or(failed("si: the table does not have this policy"))?;
    let allowed = Allowed::of(sas, policy, site.rules)?;
    allowed.check_time(now)?;
    if !kind.has(&allowed.letters) {
        return Err(failed("sp: letters that are unknown, repeated or in the wrong order"));
    }
    let grant = kind.grant(sas, allowed.letters);
    check_way(sas, head)?;
    if kind == Kind::Account && !sas.get("ss").contains('t') {
        return Err(ServiceError::SERVICE_MISMATCH);
    }
    Ok(grant)
}

/// Returns `true` if the key of an account signed the signature.
pub(super) fn is_signed_by(sas: &SasParameters, account: (&str, &SigningKey), now: DateTime) -> bool {
    Kind::of(sas, false).is_some_and(|kind| kind.is_signed(sas, account, now))
}

/// Checks that the signature permits the protocol and the source address of the request.
fn check_way(sas: &SasParameters, head: &Parts) -> Result<()> {
    match sas.get("spr") {
        "" | "https,http" => {}
        "https" if head.uri.scheme_str() == Some("https") => {}
        "https" => return Err(ServiceError::PROTOCOL_MISMATCH),
        _ => return Err(ServiceError::AUTHENTICATION_FAILED),
    }
    if !sas.get("sip").is_empty() {
        let (first, last) = addresses(sas.get("sip")).ok_or(ServiceError::AUTHENTICATION_FAILED)?;
        if let Some(peer) = head.extensions.get::<SocketAddr>() {
            let peer = peer.ip().to_canonical();
            if peer.is_ipv4() != first.is_ipv4() || !(first..=last).contains(&peer) {
                return Err(ServiceError::source_ip_mismatch(peer));
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Table,
    Account,
    /// For a table, by a user delegation key.
    Delegated,
}

impl Kind {
    /// Returns the kind of a signature, or `None` if the parameters do not form one.
    fn of(sas: &SasParameters, is_strict: bool) -> Option<Self> {
        let value = |name| sas.get(name);
        let is_known_version = value("sv") == FIRST_SIGNATURES || version::is_taken(value("sv"), is_strict);
        // Line ends separate the signed fields, so a line end inside a value would make them ambiguous.
        let is_cut = SAS_PARAMETERS
            .iter()
            .any(|name| sas.get(name).contains(char::is_control));
        if !is_known_version || is_repeated(sas) || is_cut {
            return None;
        }
        match (value("tn"), value("ss"), value("skoid")) {
            ("", services, "") if value("sv") >= ACCOUNT_SIGNATURES => {
                (is_set_of(services, "bqtf") && is_set_of(value("srt"), "sco")).then_some(Self::Account)
            }
            (_, "", key) if !value("tn").is_empty() => {
                let starts_within = !value("spk").is_empty() || value("srk").is_empty();
                let ends_within = !value("epk").is_empty() || value("erk").is_empty();
                let kind = match key {
                    "" => Self::Table,
                    _ if value("sv") < USER_DELEGATION => return None,
                    _ => Self::Delegated,
                };
                (starts_within && ends_within).then_some(kind)
            }
            _ => None,
        }
    }

    fn is_signed(self, sas: &SasParameters, (account, key): (&str, &SigningKey), now: DateTime) -> bool {
        let signature = sas.get("sig");
        match self {
            Self::Table => key.verify(&table_string_to_sign(sas, account, sas.get("tn")), signature),
            Self::Account => key.verify(&account_string_to_sign(sas, account), signature),
            Self::Delegated => {
                let to_sign = user_delegation_string_to_sign(sas, account, sas.get("tn"));
                delegation_key(sas, key, now).is_some_and(|key| key.verify(&to_sign, signature))
            }
        }
    }

    /// Returns `true` if the letters are permissions of this kind.
    fn has(self, letters: &str) -> bool {
        match self {
            Self::Account => is_set_of(letters, ACCOUNT_LETTERS),
            Self::Table | Self::Delegated => is_in_order(letters),
        }
    }

    fn grant(self, sas: &SasParameters, letters: String) -> Grant {
        let text = |name| sas.get(name).to_owned();
        match self {
            Self::Account => Grant::of(Rights::Account {
                types: text("srt"),
                letters,
            }),
            Self::Table | Self::Delegated => Grant {
                rights: Rights::Table {
                    table: text("tn"),
                    letters,
                },
                rows: RowRange {
                    start: RowId::new(sas.get("spk"), sas.get("srk")),
                    end: RowId::new(sas.get("epk"), sas.get("erk")),
                },
            },
        }
    }
}

/// Derives the key that a signature names. Returns `None` if that key is not valid now.
fn delegation_key(sas: &SasParameters, account: &SigningKey, now: DateTime) -> Option<SigningKey> {
    let (start, expiry) = (time(sas.get("skt"))?, time(sas.get("ske"))?);
    if now < start || now >= expiry || (sas.get("sks"), sas.get("sktid")) != ("t", TENANT) {
        return None;
    }
    let said = [
        sas.get("skoid").to_owned(),
        sas.get("sktid").to_owned(),
        start.to_string(),
        expiry.to_string(),
        sas.get("sks").to_owned(),
        sas.get("skv").to_owned(),
        sas.get("skdutid").to_owned(),
    ];
    SigningKey::from_base64(&delegation_key_value(&said, account)).ok()
}

/// Returns the table's policy with this name.
fn policy(store: &Store, site: &Site, table: &str, id: &str) -> Option<StoredAccessPolicy> {
    let policies = &store.table(site.replica(), table)?.policies;
    policies.iter().find(|policy| policy.id == id).cloned()
}

/// The times and permissions of a signature or of its policy.
struct Allowed {
    start: Option<DateTime>,
    expiry: DateTime,
    letters: String,
}

impl Allowed {
    fn of(sas: &SasParameters, policy: StoredAccessPolicy, rules: &ServiceRules) -> Result<Self> {
        let letters = policy.permissions.map(|letters| letters.to_string());
        // A fraction of a second is rejected on Storage (recorded in 2021, four of four).
        let time = |text: &str| time(text).filter(|_| !rules.has_storage_form || !text.contains('.'));
        let start = either(sas.get("st"), policy.start, time)?;
        let expiry = either(sas.get("se"), policy.expiry, time)?;
        let letters = either(sas.get("sp"), letters, |letters| Some(letters.to_owned()))?;
        Ok(Self {
            start,
            expiry: expiry.ok_or(ServiceError::AUTHENTICATION_FAILED.because("no se, and no policy that has one"))?,
            letters: letters.ok_or(ServiceError::AUTHENTICATION_FAILED.because("no sp, and no policy that has one"))?,
        })
    }

    fn check_time(&self, now: DateTime) -> Result<()> {
        let why = if let Some(early) = self.start.and_then(|start| start.duration_since(now).ok())
            && !early.is_zero()
        {
            format!("the signature becomes valid in {}", in_words(early))
        } else if let Ok(late) = now.duration_since(self.expiry) {
            format!("the signature expired {} ago", in_words(late))
        } else {
            return Ok(());
        };
        Err(ServiceError::AUTHENTICATION_FAILED.because(why))
    }
}

/// Returns a field of the signature or of its policy. Both together are an error.
///
/// A text that cannot be read is reported first (recorded of a time with six digits after its seconds, 2021).
///
/// Source: REST "Set Table ACL": a field in both is a bad request.
fn either<T>(said: &str, stored: Option<T>, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>> {
    let said = (!said.is_empty()).then(|| read(said).ok_or(ServiceError::AUTHENTICATION_FAILED));
    match (said.transpose()?, stored) {
        (Some(_), Some(_)) => Err(ServiceError::INVALID_QUERY_PARAMETER),
        (said, stored) => Ok(said.or(stored)),
    }
}

/// Returns `true` if a parameter of a signature is repeated, which would make it ambiguous.
fn is_repeated(sas: &SasParameters) -> bool {
    SAS_PARAMETERS
        .iter()
        .any(|name| sas.pairs().iter().filter(|(known, _)| known == name).count() > 1)
}

/// Returns `true` if the letters are a table's permissions, each at most once and in order.
fn is_in_order(letters: &str) -> bool {
    let mut left = TABLE_LETTERS.chars();
    !letters.is_empty() && letters.chars().all(|letter| left.any(|known| known == letter))
}

/// Returns `true` if the letters are not empty, all known, and each occurs once.
fn is_set_of(letters: &str, known: &str) -> bool {
    let mut left: Vec<char> = known.chars().collect();
    !letters.is_empty()
        && letters.chars().all(|letter| {
            left.iter()
                .position(|known| *known == letter)
                .map(|at| left.swap_remove(at))
                .is_some()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_known_and_unique() {
        for good in ["r", "raud", "au", "rd"] {
            assert!(is_in_order(good), "{good}");
        }
        for bad in ["", "ar", "rr", "raudr", "rx", "R", "ra ud"] {
            assert!(!is_in_order(bad), "{bad}");
        }
        for good in ["rwdlacupiyx", "rwdxylacupitf", "l"] {
            assert!(is_set_of(good, ACCOUNT_LETTERS), "{good}");
        }
        for bad in ["", "rwr", "z"] {
            assert!(!is_set_of(bad, ACCOUNT_LETTERS), "{bad}");
        }
    }
}
