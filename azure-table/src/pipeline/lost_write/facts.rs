//! The facts about a write in doubt: of each row, and of the whole call; the hash of an entity.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::diagnostics::{Attempt, Diagnostics};
use azure_table_wire::error::in_doubt_write::parts::{LostAttempts, RowParts, WriteParts};
use azure_table_wire::error::in_doubt_write::{InDoubtWrite, parts_of};
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::edm::EdmValue;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::entity::dynamic::DynamicEntity;
use crate::entity::read_json;
use crate::entity::table_entity::ReadEntity;
use crate::pipeline::lost_write::sent_time::DRIFT;
use crate::pipeline::skew::seconds_between;
use crate::write::row_write::RowWrite;

/// The longest attempt whose response shows the service's clock.
const MAX_ELAPSED: Duration = Duration::from_secs(2);

/// Returns the facts about a write, from its rows and its attempts. `None` without rows.
pub(crate) fn of_call<'a>(
    endpoint: &Endpoint,
    operation: OperationKind,
    table: Option<&str>,
    rows: impl Iterator<Item = RowWrite<'a>>,
    attempts: LostAttempts,
    diagnostics: &Diagnostics,
) -> Option<Arc<dyn Any + Send + Sync>> {
    let mut rows = rows.peekable();
    let partition_key = rows.peek()?.partition_key.to_owned();
    let (account, service) = endpoint.place();
    let ahead = diagnostics.attempts().iter().rev().find_map(seconds_ahead);
    Some(Arc::new(WriteParts {
        account: Some(account.to_owned()),
        service: Some(service.to_owned()),
        operation: operation.name().to_owned(),
        table: table?.to_owned(),
        partition_key,
        rows: rows.map(|row| of_row(&row)).collect(),
        started: DateTime::try_from(attempts.first_sent.wall).ok()?,
        ended: DateTime::try_from(attempts.last_ended.wall).ok()?,
        ahead: ahead.filter(|_| !was_clock_set(attempts)),
        here: Some(attempts),
    }))
}

/// Returns `true` if the wall clock was set during the attempts. Another process could then not tell which of its two
/// times is right.
fn was_clock_set(attempts: LostAttempts) -> bool {
    let LostAttempts {
        first_sent, last_ended, ..
    } = attempts;
    let elapsed = last_ended.monotonic.saturating_duration_since(first_sent.monotonic);
    let expected = first_sent.wall.checked_add(elapsed).unwrap_or(first_sent.wall);
    seconds_between(expected, last_ended.wall).unsigned_abs() > DRIFT.as_secs()
}

/// Returns the seconds by which the service's clock was ahead at the end of an attempt.
///
/// A slow response says little about the clock, and one without an id may come from a proxy.
fn seconds_ahead(attempt: &Attempt) -> Option<i64> {
    attempt.request_id().filter(|_| attempt.elapsed() <= MAX_ELAPSED)?;
    Some(seconds_between(
        attempt.started_at() + attempt.elapsed(),
        attempt.service_time()?,
    ))
}

/// Returns the facts about a write of a row.
pub(crate) fn of_row(row: &RowWrite<'_>) -> RowParts {
    let keeps_others = matches!(row.kind, OperationKind::Merge | OperationKind::InsertOrMerge);
    let read = || read_json::entity(row.body, MetadataLevel::Minimal, None, DynamicEntity::read).ok();
    let sent = (row.kind != OperationKind::Delete && row.write_id.is_none())
        .then(read)
        .flatten();
    let merged: Option<Vec<String>> = sent
        .as_ref()
        .filter(|_| keeps_others)
        .map(|sent| sent.properties.keys().cloned().collect());
    RowParts {
        row_key: row.row_key.to_owned(),
        is_delete: row.kind == OperationKind::Delete,
        write_id: row.write_id,
        if_match: row.if_match.cloned(),
        needs_write_id: row.facts.needs_write_id,
        is_unshared: row.facts.is_unshared,
        // A merge of nothing leaves no trace.
        hash: sent
            .filter(|sent| !(keeps_others && sent.properties.is_empty()))
            .and_then(|sent| hash(&sent, merged.as_deref())),
        merged,
    }
}

/// Returns the facts of a write that a client of this endpoint can resolve.
///
/// # Errors
/// - `InvalidInput`: the write was sent to another account or service, or the endpoint belongs to a secondary.
pub(crate) fn resolvable<'a>(write: &'a InDoubtWrite, endpoint: &Endpoint) -> Result<&'a WriteParts> {
    let write = parts_of(write);
    let (own, own_service) = endpoint.place();
    let (sent, service) = (write.account.as_deref(), write.service.as_deref());
    let (sent, service) = (sent.unwrap_or(own), service.unwrap_or(own_service));
    if !sent.eq_ignore_ascii_case(own) || service != own_service {
        return Err(Error::invalid_input(format!(
            "the write was sent to the account {sent} ({service}), and this client is of {own} ({own_service}): \
             resolve it with a client of {sent} ({service})"
        )));
    }
    // A row that the secondary does not have yet looks like one that was never written.
    if endpoint.primary_of_secondary().is_some() {
        return Err(Error::invalid_input(
            "the address of this client belongs to the secondary, which lags behind: resolve a write in doubt with \
             a client of the primary",
        ));
    }
    Ok(write)
}

/// Returns the hash of an entity's properties, or of those with these names. `None` if one of the names is absent.
///
/// Equal values have equal hashes: NaN equals NaN, and zero has no sign.
pub(super) fn hash(entity: &DynamicEntity, names: Option<&[String]>) -> Option<String> {
    let mut hash = Sha256::new();
    let mut add = |name: &str, value: &EdmValue| {
        let value = match value {
            EdmValue::Double(value) if value.is_nan() => "NaN".to_owned(),
            EdmValue::Double(value) if *value == 0.0 => "0".to_owned(),
            value => serde_json::to_string(value).unwrap_or_default(),
        };
        for text in [name, &value] {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        }
    };
    match names {
        Some(names) => {
            for name in names {
                add(name, entity.properties.get(name)?);
            }
        }
        None => entity.properties.iter().for_each(|(name, value)| add(name, value)),
    }
    Some(URL_SAFE_NO_PAD.encode(hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(properties: &[(&str, EdmValue)]) -> DynamicEntity {
        let mut entity = DynamicEntity::new("p", "r");
        for (name, value) in properties {
            entity.insert(*name, value.clone());
        }
        entity
    }

    #[test]
    fn hash_distinguishes_names_types_and_values() {
        let of = |properties: &[(&str, EdmValue)]| hash(&entity(properties), None).unwrap();
        let all = [
            of(&[]),
            of(&[("A", 1.into())]),
            of(&[("B", 1.into())]),
            of(&[("A", 1_i64.into())]),
            of(&[("A", 1.0.into())]),
            of(&[("A", "1".into())]),
            of(&[("A", true.into())]),
            of(&[("A", 1.into()), ("B", 1.into())]),
            of(&[("A", "x".into()), ("B", "y".into())]),
            of(&[("A", "xB".into()), ("", "y".into())]),
        ];
        for (n, one) in all.iter().enumerate() {
            assert!(!all[n + 1..].contains(one), "{n}");
        }
    }

    #[test]
    fn equal_values_have_equal_hashes() {
        let of = |value: f64| hash(&entity(&[("D", value.into())]), None);
        assert_eq!(of(f64::NAN), of(-f64::NAN));
        assert_eq!(of(0.0), of(-0.0));
        assert_ne!(of(1.5), of(-1.5));
    }

    #[test]
    fn hash_of_some_properties_ignores_the_others() {
        let names = ["A".to_owned()];
        let merged = hash(&entity(&[("A", 1.into())]), Some(&names));
        assert_eq!(hash(&entity(&[("A", 1.into()), ("B", 2.into())]), Some(&names)), merged);
        assert_eq!(hash(&entity(&[("B", 2.into())]), Some(&names)), None);
    }
}
