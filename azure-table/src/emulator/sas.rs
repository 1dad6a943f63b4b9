//! Shared access signatures in the query of a request: whether one is good, and what it grants.
//!
//! Owns both kinds, for a table (`tn`) and for an account (`ss`), their times, addresses and protocols. The strings to
//! sign are `protocol/sas.rs`; which operation needs which right is `grant.rs`.
//! Offered are the versions from 2015-04-05 on, whose string to sign is that of today. Not offered: stored policies
//! (`si`), since there are none here, and signatures made with a key of Entra ID; both fail like a wrong signature.
//! Where a request comes from, the server says by an extension, a `SocketAddr`. In process there is none: a restriction
//! of addresses then lets it in.
//! Not confirmed: the order of the checks; that a row key without its partition key, a parameter given twice or an
//! `st` that cannot be read, or control characters, fail like a wrong signature; that the letters of an account's signature may have any order,
//! as the portal (`rwdlacupiyx`) and the SDKs (`rwdxylacuptfi`) write them differently; addresses in IPv6.
//!
//! Source: REST "Create a service SAS", "Create an account SAS"; "SAS error codes".

use std::net::SocketAddr;

use http::request::Parts;

use crate::emulator::address::Site;
use crate::emulator::grant::{Grant, Rights, Rows};
use crate::emulator::refusal::{Refusal, Result};
use crate::emulator::service::VERSIONS;
use crate::model::datetime::DateTime;
use crate::protocol::sas::{SasParameters, account_string_to_sign, addresses, table_string_to_sign, time};
use crate::protocol::signature::SigningKey;

/// The first version with the strings to sign of today.
const FIRST_VERSION: &str = "2015-04-05";
/// The letters of a table's permissions, in the order that is demanded.
const TABLE_LETTERS: &str = "raud";
/// The letters of an account's permissions for all services.
const ACCOUNT_LETTERS: &str = "rwdxylacupitf";

/// The signature in a query, if there is one.
pub(crate) fn of(query: Option<&str>) -> Option<SasParameters> {
    let parameters = SasParameters::parse(query?);
    (!parameters.get("sig").is_empty()).then_some(parameters)
}

/// What a signature grants to a request that comes now.
pub(crate) fn check(
    sas: &SasParameters,
    site: &Site,
    key: Option<&SigningKey>,
    head: &Parts,
    now: DateTime,
) -> Result<Grant> {
    let (grant, string_to_sign) = read(sas, &site.account).ok_or(Refusal::AUTHENTICATION_FAILED)?;
    let is_signed = key.is_some_and(|key| key.sign(&string_to_sign) == sas.get("sig"));
    if !is_signed || !is_valid_at(sas, now).unwrap_or(false) {
        return Err(Refusal::AUTHENTICATION_FAILED);
    }
    match sas.get("spr") {
        "" | "https,http" => {}
        "https" if head.uri.scheme_str() == Some("https") => {}
        "https" => return Err(Refusal::PROTOCOL_MISMATCH),
        _ => return Err(Refusal::AUTHENTICATION_FAILED),
    }
    if !sas.get("sip").is_empty() {
        let (first, last) = addresses(sas.get("sip")).ok_or(Refusal::AUTHENTICATION_FAILED)?;
        if let Some(peer) = head.extensions.get::<SocketAddr>() {
            let peer = peer.ip().to_canonical();
            if peer.is_ipv4() != first.is_ipv4() || !(first..=last).contains(&peer) {
                return Err(Refusal::source_ip_mismatch(peer));
            }
        }
    }
    if matches!(grant.rights, Rights::Account { .. }) && !sas.get("ss").contains('t') {
        return Err(Refusal::SERVICE_MISMATCH);
    }
    Ok(grant)
}

/// The grant, and what must be signed; `None` where the parameters are none of a signature.
fn read(sas: &SasParameters, account: &str) -> Option<(Grant, String)> {
    let value = |name| sas.get(name);
    let is_known_version = value("sv") >= FIRST_VERSION && VERSIONS.contains(&value("sv"));
    let has_policy = !value("si").is_empty();
    // What is signed is cut by line ends: with one in a value, it would not be clear where each ends.
    let is_cut = sas.pairs().iter().any(|(_, value)| value.contains(char::is_control));
    if !is_known_version || has_policy || is_repeated(sas) || is_cut {
        return None;
    }
    let text = |name| sas.get(name).to_owned();
    match (value("tn"), value("ss")) {
        (table, "") if !table.is_empty() => {
            let starts_within = !value("spk").is_empty() || value("srk").is_empty();
            let ends_within = !value("epk").is_empty() || value("erk").is_empty();
            if !starts_within || !ends_within || !is_in_order(value("sp")) {
                return None;
            }
            let grant = Grant {
                rights: Rights::Table {
                    table: text("tn"),
                    letters: text("sp"),
                },
                rows: Rows {
                    start_partition: text("spk"),
                    start_row: text("srk"),
                    end_partition: text("epk"),
                    end_row: text("erk"),
                },
            };
            Some((grant, table_string_to_sign(sas, account, table)))
        }
        ("", services) => {
            let is_well_formed = is_set_of(services, "bqtf")
                && is_set_of(value("srt"), "sco")
                && is_set_of(value("sp"), ACCOUNT_LETTERS);
            let grant = Grant {
                rights: Rights::Account {
                    types: text("srt"),
                    letters: text("sp"),
                },
                rows: Rows::default(),
            };
            is_well_formed.then(|| (grant, account_string_to_sign(sas, account)))
        }
        _ => None,
    }
}

/// Whether a parameter of a signature is there twice. It would not be clear which is meant.
fn is_repeated(sas: &SasParameters) -> bool {
    const NAMES: &[&str] = &[
        "sv", "tn", "sp", "st", "se", "sip", "spr", "si", "spk", "srk", "epk", "erk", "ss", "srt", "ses", "sig",
    ];
    NAMES
        .iter()
        .any(|name| sas.pairs().iter().filter(|(known, _)| known == name).count() > 1)
}

/// Whether the letters of a table's permissions are there once each and in order.
fn is_in_order(letters: &str) -> bool {
    let mut left = TABLE_LETTERS.chars();
    !letters.is_empty() && letters.chars().all(|letter| left.any(|known| known == letter))
}

/// Whether there are letters, all of them known and once each.
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

/// `None` where a time is missing or unreadable.
fn is_valid_at(sas: &SasParameters, now: DateTime) -> Option<bool> {
    let has_begun = match sas.get("st") {
        "" => true,
        start => time(start)? <= now,
    };
    Some(now < time(sas.get("se"))? && has_begun)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_known_and_single() {
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
