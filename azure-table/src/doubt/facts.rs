//! The facts about a write that failed, from its rows and its attempts; the hash of an entity.

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::Error;
use azure_table_wire::error::diagnostics::{Attempt, Diagnostics};
use azure_table_wire::error::doubt::parts::{DoubtParts, DoubtfulRow};
use azure_table_wire::error::doubt::parts_of;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::value::clock::Instant;
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::edm::EdmValue;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::entity::dynamic::DynamicEntity;
use crate::entity::read_json;
use crate::entity::table_entity::ReadEntity;
use crate::write::row_write::RowWrite;

/// The maximum difference between the client's and the service's clock.
///
/// Source: REST "Authorize with Shared Key": the service rejects a request more than 15 minutes after its time.
pub(crate) const MAX_CLOCK_ERROR: Duration = Duration::from_secs(15 * 60);

/// The time after which no request of a call is in flight any more. The service works on a write for 30 s at most; the
/// rest is for the network, which may deliver a request after its connection was abandoned.
///
/// Source: REST "Setting timeouts for Table service operations".
pub(super) const MAX_IN_FLIGHT: Duration = Duration::from_secs(180);

/// The longest attempt whose response shows the service's clock.
const MAX_ELAPSED: Duration = Duration::from_secs(2);

/// The attempts of a write that may have been applied, or may still be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AmbiguousAttempts {
    /// The start of the first, by both clocks of this machine.
    pub(crate) first_sent: (SystemTime, Instant),
    /// The end of the last.
    pub(crate) last_ended: Instant,
}

impl AmbiguousAttempts {
    /// Returns the attempts of the call that failed with this error, if it is in doubt.
    pub(crate) fn from_error(error: &Error) -> Option<Self> {
        let doubt = error.doubt()?;
        let parts = parts_of(&doubt);
        let (started, last_ended) = parts.here?;
        Some(Self {
            first_sent: (SystemTime::try_from(parts.started).ok()?, started),
            last_ended,
        })
    }

    /// Returns these attempts, followed by one that just ended.
    pub(crate) fn followed_by(earlier: Option<Self>, started: SystemTime, elapsed: Duration) -> Self {
        let now = Instant::now();
        let own = (started, now.checked_sub(elapsed).unwrap_or(now));
        Self {
            first_sent: earlier.map_or(own, |earlier| earlier.first_sent),
            last_ended: now,
        }
    }

    /// Returns these attempts and others of the same write.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            first_sent: self.first_sent.min(other.first_sent),
            last_ended: self.last_ended.max(other.last_ended),
        }
    }

    /// Returns `true` if a request may still reach the service.
    pub(crate) fn is_in_flight(&self) -> bool {
        self.last_ended.elapsed() < MAX_IN_FLIGHT
    }
}

/// Returns the facts about a write that failed, from its rows and the attempts of its call. `None` without rows.
///
/// `started` is the start of the call, and `ended` its end by both clocks of this machine.
pub(crate) fn of_call<'a>(
    endpoint: &Endpoint,
    operation: OperationKind,
    table: Option<&str>,
    rows: impl Iterator<Item = RowWrite<'a>>,
    (started, ended): (Instant, (SystemTime, Instant)),
    diagnostics: &Diagnostics,
) -> Option<Arc<dyn Any + Send + Sync>> {
    let mut rows = rows.peekable();
    let partition_key = rows.peek()?.partition_key.to_owned();
    let (now, ended) = ended;
    let began = now.checked_sub(ended.saturating_duration_since(started))?;
    let ahead = diagnostics.attempts().iter().rev().find_map(seconds_ahead);
    let (account, service) = endpoint.place();
    Some(Arc::new(DoubtParts {
        account: Some(account.to_owned()),
        service: Some(service.to_owned()),
        operation: operation.name().to_owned(),
        table: table?.to_owned(),
        partition_key,
        rows: rows.map(|row| doubtful(&row)).collect(),
        started: DateTime::try_from(began).ok()?,
        ended: DateTime::try_from(now).ok()?,
        ahead,
        here: Some((started, ended)),
    }))
}

/// Returns the seconds by which the service's clock was ahead at the end of an attempt.
///
/// A slow response says little about the clock, and one without an id may come from a proxy. A date that is far off is
/// wrong, or this machine's clock is.
pub(super) fn seconds_ahead(attempt: &Attempt) -> Option<i64> {
    attempt.request_id().filter(|_| attempt.elapsed() <= MAX_ELAPSED)?;
    let (own, service) = (attempt.started_at() + attempt.elapsed(), attempt.service_time()?);
    if !is_plausible(service, own) {
        return None;
    }
    let seconds = |duration: Duration| i64::try_from(duration.as_secs()).ok();
    match service.duration_since(own) {
        Ok(ahead) => seconds(ahead),
        Err(behind) => seconds(behind.duration()).map(|seconds| -seconds),
    }
}

/// Returns `true` if the clocks differ by no more than the service tolerates for a request.
pub(super) fn is_plausible(service: SystemTime, own: SystemTime) -> bool {
    let difference = service.duration_since(own).unwrap_or_else(|e| e.duration());
    difference <= MAX_CLOCK_ERROR
}

/// Returns the facts about a write of a row.
pub(super) fn doubtful(row: &RowWrite<'_>) -> DoubtfulRow {
    let keeps_others = matches!(row.kind, OperationKind::Merge | OperationKind::InsertOrMerge);
    let read = || read_json::entity(row.body, MetadataLevel::Minimal, None, DynamicEntity::read).ok();
    let sent = (row.kind != OperationKind::Delete && row.write_id.is_none())
        .then(read)
        .flatten();
    let merged: Option<Vec<String>> = sent
        .as_ref()
        .filter(|_| keeps_others)
        .map(|sent| sent.properties.keys().cloned().collect());
    DoubtfulRow {
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
