//! The facts about a write in doubt, as they are stored.

use serde::{Deserialize, Serialize};

use crate::value::clock::Instant;
use crate::value::datetime::DateTime;
use crate::value::etag::ETag;
use crate::value::guid::Guid;

/// The facts about a write in doubt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DoubtParts {
    /// The account, or the host of a custom domain that hides it.
    pub account: Option<String>,
    /// The service, as telemetry names it: accounts of both services may have the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    pub operation: String,
    pub table: String,
    pub partition_key: String,
    pub rows: Vec<DoubtfulRow>,
    /// The start of the call and its end, by the clock of this machine.
    pub started: DateTime,
    pub ended: DateTime,
    /// The seconds by which the service's clock was ahead, if a response showed them.
    pub ahead: Option<i64>,
    /// The same two times, while the process runs.
    #[serde(skip)]
    pub here: Option<(Instant, Instant)>,
}

/// A row of a write in doubt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DoubtfulRow {
    pub row_key: String,
    pub is_delete: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_id: Option<Guid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_match: Option<ETag>,
    /// Only the write id shows that it was applied.
    pub needs_write_id: bool,
    /// Its write id alone shows that its batch was applied. Absent: an earlier call may have sent the same id.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unshared: bool,
    /// The hash of the written properties, unless it has a write id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The names of the written properties, if others are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Vec<String>>,
}
