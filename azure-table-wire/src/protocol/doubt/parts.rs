//! The facts about a write in doubt, as they are stored.
//!
//! Defines [`DoubtParts`], the facts of a row and of an attempt, and the hash of an entity. `doubt.rs` has the public
//! type, its text and the judgement.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::codec::json::read;
use crate::model::clock::Instant;
use crate::model::datetime::DateTime;
use crate::model::diagnostics::Attempt;
use crate::model::dynamic::DynamicEntity;
use crate::model::edm::EdmValue;
use crate::model::entity::{MetadataLevel, ReadEntity};
use crate::model::etag::ETag;
use crate::model::guid::Guid;
use crate::model::operation_kind::OperationKind;
use crate::protocol::read_back::MOST_CLOCK_ERROR;
use crate::protocol::row_write::RowWrite;

/// The longest attempt whose response shows the service's clock.
const MOST_ELAPSED: Duration = Duration::from_secs(2);

/// The facts about a write in doubt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct DoubtParts {
    /// The account, or the host of a custom domain that hides it.
    pub(super) account: Option<String>,
    /// The service, as telemetry names it: accounts of both services may have the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) service: Option<String>,
    pub(super) operation: String,
    pub(super) table: String,
    pub(super) partition_key: String,
    pub(super) rows: Vec<DoubtfulRow>,
    /// The start of the call and its end, by the clock of this machine.
    pub(super) started: DateTime,
    pub(super) ended: DateTime,
    /// The seconds by which the service's clock was ahead, if a response showed them.
    pub(super) ahead: Option<i64>,
    /// The same two times, while the process runs.
    #[serde(skip)]
    pub(super) here: Option<(Instant, Instant)>,
}

/// A row of a write in doubt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct DoubtfulRow {
    pub(super) row_key: String,
    pub(super) is_delete: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) write_id: Option<Guid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) if_match: Option<ETag>,
    /// Only the write id shows that it was applied.
    pub(super) needs_write_id: bool,
    /// Its write id alone shows that its batch was applied. Absent: an earlier call may have sent the same id.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_unshared: bool,
    /// The hash of the written properties, unless it has a write id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hash: Option<String>,
    /// The names of the written properties, if others are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) merged: Option<Vec<String>>,
}

/// Returns the seconds by which the service's clock was ahead at the end of an attempt.
///
/// A slow response says little about the clock, and one without an id may come from a proxy. A date that is far off is
/// wrong, or this machine's clock is.
pub(super) fn seconds_ahead(attempt: &Attempt) -> Option<i64> {
    attempt.request_id().filter(|_| attempt.elapsed() <= MOST_ELAPSED)?;
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
    difference <= MOST_CLOCK_ERROR
}

/// Returns the facts about a write of a row.
pub(super) fn doubtful(row: &RowWrite<'_>) -> DoubtfulRow {
    let keeps_others = matches!(row.kind, OperationKind::Merge | OperationKind::InsertOrMerge);
    let read = || read::entity(row.body, MetadataLevel::Minimal, None, DynamicEntity::read).ok();
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
