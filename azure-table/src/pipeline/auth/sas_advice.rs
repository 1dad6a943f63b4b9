//! Advice on why the service rejects a shared access signature.
//!
//! The service's error is the same for an expired signature as for a wrong one. The signature itself shows the
//! difference.
//!
//! Source: REST "SAS error codes".

use azure_table_wire::error::operation_kind::{self, OperationKind};
use azure_table_wire::sas::parameters::{self, SasParameters};
use azure_table_wire::value::datetime::DateTime;

use crate::account::sas_token::{self, SasToken};
use crate::pipeline::auth::{AuthorizationFailure, account_advice};

/// Returns advice about a rejection.
pub(crate) fn advice(token: &SasToken, failure: &AuthorizationFailure<'_>) -> Option<String> {
    // Cosmos DB uses another code for the same error.
    let code = if failure.is_unauthenticated() {
        "AuthenticationFailed"
    } else {
        failure.code()?
    };
    let now = failure.service_time().unwrap_or(failure.context.now);
    let now = DateTime::try_from(now).ok()?;
    of(&sas_token::parameters(token), code, failure.operation, now)
}

fn of(said: &SasParameters, code: &str, operation: OperationKind, now: DateTime) -> Option<String> {
    let value = |name| said.get(name);
    let time = |name| parameters::time(value(name));
    let code = match code {
        // Cosmos DB has this code for other rejections too, for example by its firewall.
        "Forbidden" if lacks_letters(value("sp"), operation) => "AuthorizationPermissionMismatch",
        code => code,
    };
    Some(match code {
        "AuthenticationFailed" => match (time("st"), time("se")) {
            (_, Some(end)) if end <= now => {
                format!("the shared access signature expired at {end}: create a new one")
            }
            (Some(start), _) if start > now => {
                format!("the shared access signature cannot be used before {start}: it is {now} by the service's clock")
            }
            _ if !value("si").is_empty() => format!(
                "the shared access signature is not valid: its stored access policy {:?} was revoked or changed or is \
                 younger than 30 s, or the signature was created with another key",
                value("si")
            ),
            _ if !value("skoid").is_empty() => format!(
                "the shared access signature is not valid: its user delegation key has expired (at {}) or was revoked, \
                 the identity of the key lost its roles, or it is for another account or table",
                value("ske")
            ),
            _ => "the shared access signature is not valid: it was created with a key that the account no longer has, \
                  or for another account or table, or it was changed in transit"
                .to_owned(),
        },
        "AuthorizationPermissionMismatch" if !value("skoid").is_empty() => format!(
            "the shared access signature allows {:?}, if the identity of its user delegation key has that permission \
             too: {} needs both",
            value("sp"),
            operation.name()
        ),
        "AuthorizationPermissionMismatch" => match operation_kind::facts(operation).sas_letters.first() {
            Some(needed) => {
                let name = operation.name();
                let needed = needed.chars().map(String::from).collect::<Vec<_>>().join(" and ");
                match (value("sp"), value("si")) {
                    ("", policy) if !policy.is_empty() => format!(
                        "the stored access policy {policy:?} of the shared access signature does not allow {name}, which \
                         needs {needed}"
                    ),
                    (allowed, _) => format!(
                        "the shared access signature allows {allowed:?}, {name} needs {needed}: create one with that \
                         permission"
                    ),
                }
            }
            None => format!(
                "the shared access signature allows {:?}: {} needs more",
                value("sp"),
                operation.name()
            ),
        },
        "AuthorizationResourceTypeMismatch" => format!(
            "the shared access signature is for the resource types {:?}: s is the service, c are tables, o are entities",
            value("srt")
        ),
        "AuthorizationServiceMismatch" => {
            format!(
                "the shared access signature is for the services {:?}, not for tables (t)",
                value("ss")
            )
        }
        "AuthorizationProtocolMismatch" => "the shared access signature is for https only".to_owned(),
        "AuthorizationSourceIPMismatch" => {
            format!("the shared access signature is for requests from {:?}", value("sip"))
        }
        "AuthorizationFailure" if has_range(said) => format!(
            "the shared access signature is for the keys from ({:?}, {:?}) to ({:?}, {:?}) of table {} (empty: no \
             limit), and the request is outside",
            value("spk"),
            value("srk"),
            value("epk"),
            value("erk"),
            value("tn")
        ),
        "AuthorizationFailure" if !value("tn").is_empty() => format!(
            "the shared access signature is for the entities of table {}: tables and their policies need an account \
             SAS or the account key",
            value("tn")
        ),
        "AuthorizationFailure" => {
            "no shared access signature allows this: it needs the account key, unless the account's \
                                   network rules block this client"
                .to_owned()
        }
        other => return account_advice(Some(other)),
    })
}

fn lacks_letters(allowed: &str, operation: OperationKind) -> bool {
    let needed = operation_kind::facts(operation).sas_letters;
    let is_allowed = |needed: &&str| needed.chars().all(|letter| allowed.contains(letter));
    !allowed.is_empty() && !needed.is_empty() && !needed.iter().any(is_allowed)
}

fn has_range(sas: &SasParameters) -> bool {
    ["spk", "srk", "epk", "erk"]
        .into_iter()
        .any(|name| !sas.get(name).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rejection_has_its_own_advice() {
        let now: DateTime = "2026-01-01T00:00:00Z".parse().unwrap();
        let advice = |sas: &str, code: &str| of(&SasParameters::parse(sas), code, OperationKind::Insert, now).unwrap();
        for (sas, code, words) in [
            (
                "se=2025-12-31T23:00:00Z",
                "AuthenticationFailed",
                "expired at 2025-12-31T23:00:00Z",
            ),
            (
                "st=2026-01-02&se=2027-01-01",
                "AuthenticationFailed",
                "before 2026-01-02T00:00:00Z",
            ),
            (
                "se=2027-01-01",
                "AuthenticationFailed",
                "a key that the account no longer has",
            ),
            ("si=daily", "AuthenticationFailed", "stored access policy \"daily\""),
            (
                "sp=r",
                "AuthorizationPermissionMismatch",
                "allows \"r\", insert needs a:",
            ),
            ("sp=r", "Forbidden", "allows \"r\", insert needs a:"),
            (
                "se=2027-01-01&skoid=x&ske=2025-12-31T00:00:00Z",
                "AuthenticationFailed",
                "user delegation key has expired (at 2025-12-31T00:00:00Z)",
            ),
            (
                "sp=a&skoid=x",
                "AuthorizationPermissionMismatch",
                "allows \"a\", if the identity of its user delegation key",
            ),
            (
                "si=daily",
                "AuthorizationPermissionMismatch",
                "policy \"daily\" of the shared access signature does not allow insert, which needs a",
            ),
            ("srt=s", "AuthorizationResourceTypeMismatch", "\"s\""),
            ("ss=b", "AuthorizationServiceMismatch", "\"b\""),
            ("spr=https", "AuthorizationProtocolMismatch", "https only"),
            ("sip=10.0.0.1", "AuthorizationSourceIPMismatch", "\"10.0.0.1\""),
            (
                "tn=t&spk=a&epk=b",
                "AuthorizationFailure",
                "from (\"a\", \"\") to (\"b\", \"\")",
            ),
            ("tn=t", "AuthorizationFailure", "entities of table t"),
            ("ss=t", "AuthorizationFailure", "account key"),
        ] {
            assert!(advice(sas, code).contains(words), "{}", advice(sas, code));
        }
        for sas in ["sp=raud", "si=daily"] {
            let sas = SasParameters::parse(sas);
            assert_eq!(
                of(&sas, "Forbidden", OperationKind::Insert, now),
                None,
                "of another cause"
            );
        }
    }
}
