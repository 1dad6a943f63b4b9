//! A write in doubt as a value that can be stored, and the judgement of stored rows against it.
//!
//! Defines [`Doubt`], its text and [`Resolution`]. `read_back.rs` defines the evidence of one row, here with a hash in
//! place of the written values. `client/ops/resolve_doubt.rs` reads the rows.

use std::any::Any;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::model::clock::Instant;
use crate::model::datetime::DateTime;
use crate::model::diagnostics::Diagnostics;
use crate::model::dynamic::DynamicEntity;
use crate::model::error::{Error, ErrorInternals, Result};
use crate::model::operation_kind::OperationKind;
use crate::protocol::doubt::parts::{DoubtParts, DoubtfulRow, doubtful, hash, is_plausible, seconds_ahead};
use crate::protocol::endpoint::Endpoint;
use crate::protocol::read_back::{Evidence, evidence, has_own_id, is_proof};
use crate::protocol::row_write::{RowWrite, WriteFacts};

mod parts;

/// The version of the text.
const VERSION: u32 = 1;
/// The time after which no request of a call is in flight any more. The service works on a write for 30 s at most; the
/// rest is for the network, which may deliver a request after its connection was abandoned.
///
/// Source: REST "Setting timeouts for Table service operations".
const MOST_IN_FLIGHT: Duration = Duration::from_secs(180);
/// The drift between two readings of the clocks, and the fraction that a `Date` omits.
const DRIFT: Duration = Duration::from_secs(2);

/// A write in doubt, with all that is needed to find out later whether it was applied.
///
/// [`Error::doubt`] returns it. Store it with serde, or as text ([`Display`](fmt::Display) and [`FromStr`]). Pass it to
/// `TableServiceClient::resolve_doubt`, even in another process.
///
/// It has the account and its service, the operation, the table, the keys of its rows, their ETags or write ids, the
/// names of merged properties, and times. It has a hash (SHA-256) of the values, with which a reader can test a guess.
/// It has no value and no credential.
///
/// ```
/// use azure_table::operation::{Doubt, Resolution};
/// use azure_table::testing::{Fault, FaultRule, Faults};
/// use azure_table::{Emulator, Guid, NoRetry, TableEntity, TableServiceClient};
///
/// #[derive(TableEntity)]
/// struct Payment {
///     #[table(partition_key)]
///     customer: String,
///     #[table(row_key)]
///     id: String,
///     cents: i64,
///     #[table(write_id)]
///     write: Option<Guid>,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let faults = Faults::new(Emulator::new());
/// let service = TableServiceClient::from_transport(faults.clone());
/// let payments = service.table::<Payment>("Payments")?;
/// payments.create_table().await?;
/// faults.add(FaultRule::new(Fault::LoseResponse).on_writes().first(1));
///
/// let payment = Payment { customer: "7".into(), id: "a".into(), cents: 995, write: None };
/// let error = payments.insert(&payment).retry(NoRetry).await.unwrap_err();
/// let stored: String = error.doubt().expect("the response was lost").to_string();
///
/// // Later, in another process:
/// let doubt: Doubt = stored.parse()?;
/// assert_eq!(service.resolve_doubt(&doubt).await?, Resolution::Applied);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Doubt {
    parts: Arc<DoubtParts>,
}

/// The text, as JSON inside of base64.
#[derive(Serialize)]
struct Versioned<'a> {
    version: u32,
    #[serde(flatten)]
    parts: &'a DoubtParts,
}

impl Doubt {
    /// Returns the name of the operation, such as `insert` or `batch`.
    pub fn operation(&self) -> &str {
        &self.parts.operation
    }

    /// Returns the table.
    pub fn table(&self) -> &str {
        &self.parts.table
    }

    /// Returns the PartitionKey and RowKey of each row that the write may have changed.
    ///
    /// A write of a grouped handle was sent in a batch, so its doubt is about all rows of this batch.
    pub fn keys(&self) -> impl Iterator<Item = (&str, &str)> {
        let partition_key = self.parts.partition_key.as_str();
        self.parts
            .rows
            .iter()
            .map(move |row| (partition_key, row.row_key.as_str()))
    }
}

/// Text of letters, digits, `-` and `_`.
impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versioned = Versioned {
            version: VERSION,
            parts: &self.parts,
        };
        let json = serde_json::to_vec(&versioned).map_err(|_| fmt::Error)?;
        f.write_str(&URL_SAFE_NO_PAD.encode(json))
    }
}

impl FromStr for Doubt {
    type Err = Error;

    /// Parses the text of [`Display`](fmt::Display).
    ///
    /// # Errors
    /// - `InvalidInput`: the text is not a doubt, or its format is of another version of this crate.
    fn from_str(text: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct OfVersion {
            version: u32,
        }

        let invalid = || Error::invalid_input("the text is not a write in doubt: pass the text that `Doubt` wrote");
        let json = URL_SAFE_NO_PAD.decode(text).map_err(|e| invalid().with_source(e))?;
        let OfVersion { version } = serde_json::from_slice(&json).map_err(|e| invalid().with_source(e))?;
        if version != VERSION {
            return Err(Error::invalid_input(format!(
                "a write in doubt of format {version}: this version of azure-table reads format {VERSION}; resolve it with \
                 the version that wrote it"
            )));
        }
        let parts: DoubtParts = serde_json::from_slice(&json).map_err(|e| invalid().with_source(e))?;
        match parts.rows.is_empty() {
            true => Err(invalid()),
            false => Ok(Self { parts: Arc::new(parts) }),
        }
    }
}

impl From<Doubt> for String {
    fn from(doubt: Doubt) -> Self {
        doubt.to_string()
    }
}

impl TryFrom<String> for Doubt {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl fmt::Debug for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Doubt")
            .field("operation", &self.parts.operation)
            .field("table", &self.parts.table)
            .field("keys", &self.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl Error {
    /// Returns the write in doubt as a value that can be stored, to find out later whether it was applied.
    ///
    /// `Some` for a write of rows whose error [may have been applied](Self::may_have_applied), a batch included.
    ///
    /// `None` if the error is not in doubt, or is about a table or the service. Also `None` if the client stopped
    /// waiting before the request ended: at the `total_timeout` or `finish` of a bulk, at the `timeout` of a grouped
    /// write, or when its runtime shuts down. Also `None` for the other rows of a grouped or bulk batch that failed at
    /// one row, and for a delete that was sent again alone: its doubt would be about the last request only.
    ///
    /// A method of several writes, such as a pattern's, returns the doubt of the write that failed. See its
    /// [`table`](Doubt::table) and [`keys`](Doubt::keys).
    pub fn doubt(&self) -> Option<Doubt> {
        let parts = self.parts();
        let doubt = parts.doubt.clone().filter(|_| parts.may_have_applied)?;
        let parts = doubt.downcast().ok()?;
        Some(Doubt { parts })
    }
}

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

/// Returns the facts about a write that failed, from its rows and the attempts of its call. `None` without rows.
///
/// `started` is the start of the call, and `ended` its end by both clocks of this machine.
#[doc(hidden)]
pub fn of_call<'a>(
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

/// The judgement of one doubt, row by row.
///
/// A batch is atomic, so one decisive row is enough. Without one, all rows together may show that it was applied.
#[doc(hidden)]
#[derive(Debug)]
pub struct Judge<'a> {
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
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ReadTime {
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
    pub fn new(doubt: &'a Doubt, endpoint: &Endpoint) -> Result<Self> {
        let doubt = &*doubt.parts;
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
    pub fn table(&self) -> &'a str {
        &self.doubt.table
    }

    /// Returns the keys of the rows to read, in the order in which they are judged: rows that alone decide come first.
    pub fn keys(&self) -> Vec<(&'a str, &'a str)> {
        let mut rows: Vec<&DoubtfulRow> = self.doubt.rows.iter().collect();
        rows.sort_by_key(|row| (row.write_id.is_none(), row.if_match.is_none(), row.is_delete));
        let partition_key = self.doubt.partition_key.as_str();
        rows.into_iter()
            .map(|row| (partition_key, row.row_key.as_str()))
            .collect()
    }

    /// Judges the row with this RowKey, as it was stored at `read`. Returns the resolution if the row decides.
    pub fn row(&mut self, row_key: &str, stored: Option<&DynamicEntity>, read: ReadTime) -> Option<Resolution> {
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
    pub fn end(self) -> Resolution {
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
                MOST_IN_FLIGHT.as_secs()
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
                latest: earlier(doubt.ended, ended)?.checked_add(MOST_IN_FLIGHT + DRIFT)?,
                is_over: since(ended) >= MOST_IN_FLIGHT,
                is_plausible: is_plausible(service, read.own) || is_plausible(service, by_monotonic),
            });
        }
        let ahead = doubt.ahead?;
        let by = Duration::from_secs(ahead.unsigned_abs());
        let shifted = |at: DateTime| match ahead < 0 {
            true => at.checked_sub(by),
            false => at.checked_add(by),
        };
        let latest = shifted(doubt.ended)?.checked_add(MOST_IN_FLIGHT + DRIFT)?;
        Some(Times {
            started: shifted(doubt.started)?.checked_sub(DRIFT)?,
            latest,
            is_over: now >= latest,
            // `seconds_ahead` ignored other dates.
            is_plausible: true,
        })
    }
}
