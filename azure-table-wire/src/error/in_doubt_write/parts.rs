//! The facts about a write in doubt, as they are stored.

use std::cmp;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::value::clock::ClockReading;
use crate::value::datetime::DateTime;
use crate::value::etag::ETag;
use crate::value::guid::Guid;

/// The facts about a write in doubt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WriteParts {
    /// The account, or the host of a custom domain that hides it.
    pub account: Option<String>,
    /// The service, as telemetry names it: accounts of both services may have the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    pub operation: String,
    pub table: String,
    pub partition_key: String,
    pub rows: Vec<RowParts>,
    /// The start of the first attempt that may have been applied and the end of the last, by this machine's wall clock.
    pub started: DateTime,
    pub ended: DateTime,
    /// The seconds by which the service's clock was ahead, if a response showed them.
    pub ahead: Option<i64>,
    /// The same attempts, while the process runs.
    #[serde(skip)]
    pub here: Option<LostAttempts>,
}

/// A row of a write in doubt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RowParts {
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

/// The attempts of a write whose responses were lost, by both clocks of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostAttempts {
    /// The start of the first.
    pub first_sent: ClockReading,
    /// The end of the last.
    pub last_ended: ClockReading,
    pub count: u32,
}

impl LostAttempts {
    /// Returns the earlier attempts, followed by one that just ended: it started at `started` and took `elapsed`.
    pub fn followed_by(earlier: Option<Self>, started: SystemTime, elapsed: Duration) -> Self {
        let last_ended = ClockReading::now();
        let own = ClockReading {
            wall: started,
            monotonic: last_ended.monotonic - elapsed,
        };
        Self {
            first_sent: earlier.map_or(own, |earlier| earlier.first_sent),
            last_ended,
            count: 1 + earlier.map_or(0, |earlier| earlier.count),
        }
    }

    /// Returns these attempts and others of the same write.
    pub fn and(self, other: Self) -> Self {
        Self {
            first_sent: cmp::min_by_key(self.first_sent, other.first_sent, |at| at.monotonic),
            last_ended: cmp::max_by_key(self.last_ended, other.last_ended, |at| at.monotonic),
            count: self.count + other.count,
        }
    }
}
