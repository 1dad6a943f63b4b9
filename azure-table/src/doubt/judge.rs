//! The judgement of stored rows against a write in doubt.
//!
//! Defines [`Judge`] and [`Resolution`]. `read_back.rs` defines the evidence of one row, here with a hash in place of
//! the written values. `client/ops/resolve_doubt.rs` reads the rows.

use std::time::{Duration, SystemTime};

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::doubt::parts::{DoubtParts, DoubtfulRow};
use azure_table_wire::error::doubt::{Doubt, parts_of};
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::clock::Instant;
use azure_table_wire::value::datetime::DateTime;

use crate::doubt::facts::{hash, is_plausible};
use crate::doubt::read_back::{Evidence, evidence, has_own_id, is_proof};
use crate::entity::dynamic::DynamicEntity;
use crate::write::row_write::{RowWrite, WriteFacts};

/// The time after which no request of a call is in flight any more. The service works on a write for 30 s at most; the
/// rest is for the network, which may deliver a request after its connection was abandoned.
///
/// Source: REST "Setting timeouts for Table service operations".
const MAX_IN_FLIGHT: Duration = Duration::from_secs(180);
/// The drift between two readings of the clocks, and the fraction that a `Date` omits.
const DRIFT: Duration = Duration::from_secs(2);

/// The result of `TableServiceClient::resolve_doubt`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resolution {
    /// The write was applied. Other writes may have changed its rows since.
    Applied,
    /// The write was not applied, and will not be: none of its requests is in flight any more.
    NotApplied,
    /// The stored rows do not show it, with the reason in one sentence.
    Unknown(String),
}

/// The judgement of one doubt, row by row.
///
/// A batch is atomic, so one decisive row is enough. Without one, all rows together may show that it was applied.
#[derive(Debug)]
pub(crate) struct Judge<'a> {
    doubt: &'a DoubtParts,
    /// The rows that show that the write was applied, by their content.
    ours: usize,
    /// `true` if a row shows that the write had not been applied when the row was read.
    is_untouched: bool,
    /// `true` if no request of the write is in flight any more.
    is_over: bool,
    /// `true` if a row has the id of its write, perhaps by an earlier call.
    has_own_id: bool,
    /// `true` if a row that the write deletes exists.
    is_left: bool,
    /// The reason why the rows show nothing.
    why: Option<String>,
}

/// The time at which a row was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadTime {
    /// By the service's clock, if the response has a date.
    pub service: Option<SystemTime>,
    /// By both clocks of this machine.
    pub own: SystemTime,
    pub monotonic: Instant,
}

/// The times of a write by the service's clock, as far as they are known.
struct Times {
    /// The start of the call, or earlier.
    started: DateTime,
    /// The time after which none of its requests is applied any more: a later row belongs to another write.
    latest: DateTime,
    /// `true` if none of its requests can be in flight any more.
    is_over: bool,
    /// `true` if the date is near this machine's clock. If the date is wrong, the row of this very write may look old.
    is_plausible: bool,
}

impl<'a> Judge<'a> {
    /// Creates the judge of a doubt.
    ///
    /// # Errors
    /// - `InvalidInput`: the write was sent to another account or service, or the endpoint belongs to a secondary.
    pub(crate) fn new(doubt: &'a Doubt, endpoint: &Endpoint) -> Result<Self> {
        let doubt = parts_of(doubt);
        let (own, own_service) = endpoint.place();
        let (sent, service) = (doubt.account.as_deref(), doubt.service.as_deref());
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
        Ok(Self {
            doubt,
            ours: 0,
            is_untouched: false,
            is_over: false,
            has_own_id: false,
            is_left: false,
            why: None,
        })
    }

    /// Returns the table.
    pub(crate) fn table(&self) -> &'a str {
        &self.doubt.table
    }

    /// Returns the keys of the rows to read, in the order in which they are judged: rows that alone decide come first.
    pub(crate) fn keys(&self) -> Vec<(&'a str, &'a str)> {
        let mut rows: Vec<&DoubtfulRow> = self.doubt.rows.iter().collect();
        rows.sort_by_key(|row| (row.write_id.is_none(), row.if_match.is_none(), row.is_delete));
        let partition_key = self.doubt.partition_key.as_str();
        rows.into_iter()
            .map(|row| (partition_key, row.row_key.as_str()))
            .collect()
    }

    /// Judges the row with this RowKey, as it was stored at `read`. Returns the resolution if the row decides.
    pub(crate) fn row(&mut self, row_key: &str, stored: Option<&DynamicEntity>, read: ReadTime) -> Option<Resolution> {
        let row = self.doubt.rows.iter().find(|row| row.row_key == row_key)?;
        let times = self.times(read);
        let write = RowWrite {
            kind: match (row.is_delete, &row.merged) {
                (true, _) => OperationKind::Delete,
                (false, Some(_)) => OperationKind::Merge,
                (false, None) => OperationKind::Replace,
            },
            partition_key: &self.doubt.partition_key,
            row_key,
            body: &[],
            write_id: row.write_id,
            if_match: row.if_match.as_ref(),
            facts: WriteFacts {
                is_echoed: false,
                needs_write_id: row.needs_write_id || times.is_none(),
                is_unshared: row.is_unshared,
            },
        };
        let is_in_time = |stored: &DynamicEntity| {
            let times = times.as_ref();
            times.is_some_and(|times| stored.timestamp.is_some_and(|written| written <= times.latest))
        };
        let has_content = |stored: &DynamicEntity| {
            is_in_time(stored) && row.hash.is_some() && hash(stored, row.merged.as_deref()) == row.hash
        };
        let is_kept = stored.is_some_and(|stored| row.if_match.is_some() && stored.etag == row.if_match);
        let found = match (&times, is_kept) {
            (_, true) => Evidence::Untouched,
            (Some(times), false) => match evidence(&write, stored, times.started, has_content) {
                Evidence::Untouched if !times.is_plausible => Evidence::Nothing,
                found => found,
            },
            // Only an id decides without times: no row is older than the beginning of time.
            (None, false) => evidence(&write, stored, DateTime::MIN, has_content),
        };
        match found {
            found if is_proof(&write, &found) => return Some(Resolution::Applied),
            Evidence::Ours => {
                self.has_own_id |= has_own_id(&write, &found);
                self.ours += 1;
            }
            Evidence::Untouched => {
                self.is_untouched = true;
                self.is_over = times.as_ref().is_some_and(|times| times.is_over);
                // Another row may have an id, which no clock outweighs.
                let decides = is_kept || self.doubt.rows.iter().all(|row| row.write_id.is_none());
                return (self.is_over && decides).then_some(Resolution::NotApplied);
            }
            Evidence::Nothing => {
                self.is_left |= row.is_delete && stored.is_some();
                let why = self.reason(row, stored, times.is_some());
                self.why.get_or_insert(why);
            }
        }
        None
    }

    /// Returns the resolution after all rows.
    pub(crate) fn end(self) -> Resolution {
        let written = self.doubt.rows.iter().filter(|row| !row.is_delete).count();
        match self.is_untouched {
            true if self.has_own_id => Resolution::Unknown(
                "some of its rows have its ids, which an earlier call with the same operations may have written"
                    .to_owned(),
            ),
            true if self.is_over => Resolution::NotApplied,
            true => Resolution::Unknown(format!(
                "not applied so far, but a request may still be in flight: resolve it {} s after the error; another \
                 process cannot tell if no response came",
                MAX_IN_FLIGHT.as_secs()
            )),
            false if written > 0 && self.ours == written && !self.is_left => Resolution::Applied,
            false => Resolution::Unknown(self.why.unwrap_or_default()),
        }
    }

    fn reason(&self, row: &DoubtfulRow, stored: Option<&DynamicEntity>, has_times: bool) -> String {
        let key = (&self.doubt.partition_key, &row.row_key);
        match stored {
            None if row.is_delete => format!("the row {key:?} is missing, which does not show who deleted it"),
            None => format!("the row {key:?} is missing: it was never written, or it was deleted since"),
            Some(stored) if row.hash.is_some() && hash(stored, row.merged.as_deref()) == row.hash => format!(
                "the row {key:?} has the written content, and another write may have left the same; \
                 add a `write_id` field to distinguish them"
            ),
            Some(_) if row.write_id.is_some() => {
                format!("the row {key:?} has the id of another write, which may have come after this one")
            }
            Some(_) if !has_times => format!(
                "the row {key:?} has other content, which may be older or newer: no response showed the service's clock \
                 to another process"
            ),
            Some(_) => format!("the row {key:?} has other content, which may have been written after this write"),
        }
    }

    /// Returns the times of the write. `None` in another process, if no response showed the service's clock.
    fn times(&self, read: ReadTime) -> Option<Times> {
        let doubt = self.doubt;
        let service = read.service?;
        let now = DateTime::try_from(service).ok()?;
        if let Some((started, ended)) = doubt.here {
            // Uses differences of one clock, so that neither clock needs to be right. The monotonic clock stops while
            // the machine sleeps, and the wall clock may be set: the earlier time is on the safe side.
            let own = DateTime::try_from(read.own).ok()?;
            let since = |at: Instant| read.monotonic.saturating_duration_since(at);
            let earlier = |wall: DateTime, at: Instant| now.checked_sub(own.abs_diff(wall).max(since(at)));
            let by_monotonic = SystemTime::try_from(doubt.ended).ok()?.checked_add(since(ended))?;
            return Some(Times {
                started: earlier(doubt.started, started)?.checked_sub(DRIFT)?,
                latest: earlier(doubt.ended, ended)?.checked_add(MAX_IN_FLIGHT + DRIFT)?,
                is_over: since(ended) >= MAX_IN_FLIGHT,
                is_plausible: is_plausible(service, read.own) || is_plausible(service, by_monotonic),
            });
        }
        let ahead = doubt.ahead?;
        let by = Duration::from_secs(ahead.unsigned_abs());
        let shifted = |at: DateTime| {
            if ahead < 0 {
                at.checked_sub(by)
            } else {
                at.checked_add(by)
            }
        };
        let latest = shifted(doubt.ended)?.checked_add(MAX_IN_FLIGHT + DRIFT)?;
        Some(Times {
            started: shifted(doubt.started)?.checked_sub(DRIFT)?,
            latest,
            is_over: now >= latest,
            // `seconds_ahead` ignored other dates.
            is_plausible: true,
        })
    }
}
