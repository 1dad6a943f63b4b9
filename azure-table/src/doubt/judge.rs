//! The judgement of a write in doubt by its stored rows.
//!
//! [`Judge`] compares rows with the facts of a write: during its call (`read_back.rs`), or later with those of a stored
//! doubt, whose rows `client/ops/resolve_doubt.rs` reads.
//!
//! A row is ours if it has the content that we wrote and was not last written before our first attempt, by the
//! service's clock. With a write id, a row is ours if it has that id. For a write under an ETag, and for an insert
//! inside `modify`, only the id counts: two writers that increment the same counter write the same content, and only
//! one of them succeeded.
//!
//! A batch is atomic, so one of its rows with our id shows that all were applied, even if others have replaced or
//! deleted the rest. However, an earlier call may have applied an operation that is sent again, with the same id. Only
//! the id of an operation that no other call has sent therefore counts for the other rows.
//!
//! A row that still has the ETag of our condition shows that nothing of ours was applied so far, whatever the clocks
//! say. So does a row that is clearly older than the call, unless another row of the batch has our id: older by
//! `MAX_CLOCK_DIFFERENCE` with other content, or by `MAX_CLOCK_ERROR` with ours. Everything else is inconclusive: a
//! missing row may have been deleted since, and a newer one may have replaced ours.
//!
//! A row shows what is stored now. While a request may be in flight, the write is not applied only if that request
//! can no longer succeed: the row changed before our first attempt and we required its old ETag, or the caller knows a
//! rejection that shows the same (`is_over`). A missing row, or one of another writer, rules nothing out for a write
//! without an ETag: a third writer may delete or insert it before the request arrives.

use std::time::{Duration, SystemTime};

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::doubt::parts::{DoubtParts, DoubtfulRow};
use azure_table_wire::error::doubt::{Doubt, parts_of};
use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::clock::Instant;
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::edm::EdmValue;

use crate::doubt::facts::{MAX_CLOCK_ERROR, MAX_IN_FLIGHT, hash, is_plausible};
use crate::entity::dynamic::DynamicEntity;

/// The maximum difference between the clocks of the service: a Timestamp comes from another one than a `Date`.
///
/// It is not documented.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(30);
/// The drift between two readings of the clocks, and the fraction that a `Date` omits.
const DRIFT: Duration = Duration::from_secs(2);

/// The outcome of a write in doubt, as far as its stored rows show it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resolution {
    /// The write was applied. Other writes may have changed its rows since.
    Applied,
    /// The write was not applied, and will not be: no request of it can succeed any more.
    NotApplied,
    /// The stored rows do not settle it. The text says why, in one sentence.
    Unknown(String),
}

impl Resolution {
    /// `None` if the stored rows do not show it.
    pub(crate) fn is_applied(&self) -> Option<bool> {
        match self {
            Self::Applied => Some(true),
            Self::NotApplied => Some(false),
            Self::Unknown(_) => None,
        }
    }
}

/// The conclusion from one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// This write wrote the row.
    Ours,
    /// The row was last written before our first attempt.
    Untouched,
    Nothing,
}

/// The judgement of one write, row by row.
///
/// A batch is atomic, so one decisive row is enough. Without one, all rows together may show that it was applied.
#[derive(Debug, Default)]
pub(crate) struct Judge<'a> {
    partition_key: &'a str,
    rows: &'a [DoubtfulRow],
    /// The rows that show that the write was applied, by their content.
    ours: usize,
    /// `true` if a row shows that the write had not been applied when the row was read.
    is_untouched: bool,
    /// `true` if no request of the write can be applied any more.
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
#[derive(Debug)]
pub(crate) struct Times {
    /// The start of the call, or earlier.
    pub(super) started: DateTime,
    /// The time after which none of its requests is applied any more: a later row belongs to another write. `None`
    /// during the call.
    pub(super) latest: Option<DateTime>,
    /// `true` if none of its requests can be applied any more.
    pub(super) is_over: bool,
    /// `true` if the date is near this machine's clock. If the date is wrong, the row of this very write may look old.
    pub(super) is_plausible: bool,
}

impl<'a> Judge<'a> {
    /// Creates the judge of a write of these rows.
    pub(crate) fn new(partition_key: &'a str, rows: &'a [DoubtfulRow]) -> Self {
        Self {
            partition_key,
            rows,
            ..Self::default()
        }
    }

    /// Judges a row as it was stored when it was read. `times` are `None` if no clock of the service is known.
    ///
    /// Returns the resolution if the row decides.
    pub(crate) fn row(
        &mut self,
        row: &DoubtfulRow,
        stored: Option<&DynamicEntity>,
        times: Option<&Times>,
    ) -> Option<Resolution> {
        let is_kept = stored.is_some_and(|stored| row.if_match.is_some() && stored.etag == row.if_match);
        let found = if is_kept {
            Evidence::Untouched
        } else {
            evidence(row, stored, times)
        };
        match found {
            // An id is stronger evidence than any clock.
            Evidence::Ours if row.write_id.is_some() && row.is_unshared => return Some(Resolution::Applied),
            Evidence::Ours => {
                self.has_own_id |= row.write_id.is_some();
                self.ours += 1;
            }
            // Decides before the comparison of contents: an upsert with content that another client wrote as well looks
            // like ours.
            Evidence::Untouched => {
                self.is_untouched = true;
                // A row that changed before the write began never has the required ETag again.
                let is_ruled_out = !is_kept && row.if_match.is_some();
                self.is_over |= is_ruled_out || times.is_some_and(|times| times.is_over);
                // Another row may have an id, which no clock outweighs.
                let decides = is_kept || self.rows.iter().all(|row| row.write_id.is_none());
                return (self.is_over && decides).then_some(Resolution::NotApplied);
            }
            Evidence::Nothing => {
                // It shows that nothing was applied, unless it was inserted since.
                self.is_left |= row.is_delete && stored.is_some();
                let why = self.reason(row, stored, times.is_some());
                self.why.get_or_insert(why);
            }
        }
        None
    }

    /// Returns the resolution after all rows.
    pub(crate) fn end(self) -> Resolution {
        let written = self.rows.iter().filter(|row| !row.is_delete).count();
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
        let key = (self.partition_key, &row.row_key);
        match stored {
            None if row.is_delete => format!("the row {key:?} is missing, which does not show who deleted it"),
            None => format!("the row {key:?} is missing: it was never written, or it was deleted since"),
            Some(stored) if has_content(row, stored) => format!(
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
}

/// Returns the conclusion from the stored row of a write.
pub(super) fn evidence(row: &DoubtfulRow, stored: Option<&DynamicEntity>, times: Option<&Times>) -> Evidence {
    let Some(stored) = stored else { return Evidence::Nothing };
    let is_id = |value: &EdmValue| row.write_id.is_some_and(|id| *value == EdmValue::Guid(id));
    if stored.properties.values().any(is_id) {
        return Evidence::Ours;
    }
    // Without times only an id decides.
    let Some(times) = times else { return Evidence::Nothing };
    let untouched = if times.is_plausible {
        Evidence::Untouched
    } else {
        Evidence::Nothing
    };
    let is_older = |by: Duration| {
        let started = times.started.checked_sub(by);
        stored.timestamp.is_some_and(|written| Some(written) < started)
    };
    if is_older(MAX_CLOCK_ERROR) {
        return untouched;
    }
    let is_in_time = |latest: DateTime| stored.timestamp.is_some_and(|written| written <= latest);
    let is_same = times.latest.is_none_or(is_in_time) && has_content(row, stored);
    match (is_older(Duration::ZERO), is_same) {
        // Slightly older, and with our content: either it was there before, or the time of the response does not come
        // from the rows. This is inconclusive.
        (true, true) => Evidence::Nothing,
        (true, false) if is_older(MAX_CLOCK_DIFFERENCE) => untouched,
        (false, true) if row.write_id.is_none() && !row.needs_write_id => Evidence::Ours,
        (true | false, _) => Evidence::Nothing,
    }
}

/// Returns `true` if the row has the content that a write leaves: a merge keeps other properties.
fn has_content(row: &DoubtfulRow, stored: &DynamicEntity) -> bool {
    row.hash.is_some() && hash(stored, row.merged.as_deref()) == row.hash
}

/// Returns the facts of a doubt that a client of this endpoint can resolve.
///
/// # Errors
/// - `InvalidInput`: the write was sent to another account or service, or the endpoint belongs to a secondary.
pub(crate) fn resolvable<'a>(doubt: &'a Doubt, endpoint: &Endpoint) -> Result<&'a DoubtParts> {
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
    Ok(doubt)
}

/// Returns the rows to read, in the order in which they are judged: rows that alone decide come first.
pub(crate) fn rows_to_read(doubt: &DoubtParts) -> Vec<&DoubtfulRow> {
    let mut rows: Vec<&DoubtfulRow> = doubt.rows.iter().collect();
    rows.sort_by_key(|row| (row.write_id.is_none(), row.if_match.is_none(), row.is_delete));
    rows
}

/// Returns the times of the write. `None` in another process, if no response showed the service's clock.
pub(crate) fn times(doubt: &DoubtParts, read: ReadTime) -> Option<Times> {
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
            latest: Some(earlier(doubt.ended, ended)?.checked_add(MAX_IN_FLIGHT + DRIFT)?),
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
        latest: Some(latest),
        is_over: now >= latest,
        // `seconds_ahead` ignored other dates.
        is_plausible: true,
    })
}
