//! The settings of an emulator: accounts and tokens, its clock, the ends of pages.
//!
//! Defines [`EmulatorClock`]. Everything time-dependent in the emulator reads it once per request:
//!
//! - Timestamps and ETags
//! - the age of a request, the times of signatures and policies
//! - the lag of the secondary
//! - the time at which a deleted table's name is available again
//!
//! The system's time comes from `value/clock.rs`.
//!
//! Defines [`PageEnds`], so that tests see every kind of page that the live service returns. The content of a page is
//! in `operations/query.rs`.
//!
//! `settings/timestamp_skew.rs` has the Timestamps of servers whose clocks differ, `settings/adverse.rs` the choices of
//! a service that does its worst.

pub(crate) mod adverse;
pub(crate) mod timestamp_skew;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use azure_table_wire::account::signature::SigningKey;
use azure_table_wire::value::datetime::DateTime;
use http::Extensions;

use crate::rules::{STORAGE, ServiceRules};
use crate::settings::adverse::Adverse;
use crate::settings::timestamp_skew::TimestampSkew;

/// The values set by the setters of an emulator.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    pub(crate) accounts: BTreeMap<String, Account>,
    /// The tokens of Entra ID that are accepted.
    pub(crate) tokens: BTreeSet<String>,
    /// The audiences whose tokens are all accepted, without a slash at the end.
    pub(crate) token_audiences: BTreeSet<String>,
    /// Requests of any age are accepted: clients sign with the system's time, and the clock may be far ahead.
    pub(crate) accepts_old_requests: bool,
    /// Each response in the process has them.
    pub(crate) extensions: Extensions,
    /// Only known versions of the protocol are accepted.
    pub(crate) has_strict_versions: bool,
    pub(crate) page_size: usize,
    pub(crate) page_ends: PageEnds,
    pub(crate) clock: EmulatorClock,
    /// The differences of Timestamps from the clock; `None` if they are the clock's.
    pub(crate) timestamp_skew: Option<TimestampSkew>,
    /// The time for which a deleted table's name stays unavailable.
    pub(crate) deletion_time: Duration,
    pub(crate) secondary_lag: Duration,
    /// The choices of a service that does its worst; `None` for one that does what is usual.
    pub(crate) adverse: Option<Adverse>,
    /// The rules at every URL; `None` if the URL decides.
    pub(crate) rules: Option<&'static ServiceRules>,
}

impl Settings {
    /// Returns the rules for a URL that names no service.
    pub(crate) fn rules(&self) -> &'static ServiceRules {
        self.rules_at(None)
    }

    /// Returns the rules for the URLs of this host.
    pub(crate) fn rules_at(&self, host: Option<&str>) -> &'static ServiceRules {
        self.rules.unwrap_or_else(|| host.map_or(&STORAGE, ServiceRules::at))
    }

    /// Returns the Timestamp of a write of a partition by its time. Each write has a later time than the previous one.
    pub(crate) fn timestamps<'a>(&'a self, partition_key: &str) -> impl Fn(DateTime) -> DateTime + use<'a> {
        let adverse = self.adverse.as_ref();
        let adverse = adverse.map(|adverse| (adverse, adverse.offset_of(partition_key)));
        move |time| match (adverse, &self.timestamp_skew) {
            (Some((adverse, offset)), _) => adverse.timestamp(time, offset),
            (None, Some(skew)) => skew.of(time),
            (None, None) => time,
        }
    }

    /// Returns the time that the deletion of a table takes.
    pub(crate) fn deletion_time(&self, rules: &ServiceRules) -> Duration {
        let slowest = self.adverse.as_ref().map(|_| rules.slow_deletion);
        slowest.unwrap_or_default().max(self.deletion_time)
    }

    pub(crate) fn key(&self, account: &str) -> Option<&SigningKey> {
        self.accounts.get(account).map(|account| &account.key)
    }
}

#[derive(Clone)]
pub(crate) struct Account {
    pub(crate) key: SigningKey,
    /// The key's text, for connection strings.
    #[cfg(feature = "http")]
    pub(crate) key_text: String,
}

/// The conditions that end a page of entities before it is full. Feature `emulator`.
///
/// A live page ends after five seconds, at the border of a range of partitions, or for undocumented reasons. So it may
/// have few rows or none without being the last.
///
/// With these conditions a test sets the end: after [a number of examined rows](Self::examined), at [a number of
/// bytes](Self::bytes), or [with each partition](Self::at_partitions). The first condition that applies ends the page.
/// `$top` and [`Emulator::page_size`](crate::Emulator::page_size) still apply.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// use azure_table::{DynamicEntity, Emulator, Filter, TableServiceClient};
/// use azure_table::emulator::PageEnds;
/// let emulator = Emulator::new().page_ends(PageEnds::new().examined(2));
/// let blogs = TableServiceClient::from_transport(emulator).dynamic_table("Blogs")?;
/// blogs.create_table().await?;
/// for row in ["1", "2", "3", "4", "5"] {
///     blogs.insert(&DynamicEntity::new("Channel9", row)).await?;
/// }
/// let filter = Filter::raw("RowKey ne '1' and RowKey ne '3' and RowKey ne '4'");
/// let mut pages = blogs.query().filter(filter).pages();
/// let mut rows = Vec::new();
/// while let Some(page) = pages.try_next().await? {
///     rows.push(page.items().len());
/// }
/// assert_eq!(rows, [1, 0, 1]);
/// # Ok(())
/// # }
/// ```
///
/// Source: REST "Query timeout and pagination".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageEnds {
    pub(crate) examined: Option<usize>,
    pub(crate) bytes: Option<usize>,
    pub(crate) at_partitions: bool,
}

impl PageEnds {
    /// Creates conditions that end no page before it is full.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends a page after this number of examined rows (at least 1), whether they match the filter or not.
    ///
    /// Pages of a filtered query are then short, or empty.
    #[must_use]
    pub fn examined(mut self, rows: usize) -> Self {
        self.examined = Some(rows.max(1));
        self
    }

    /// Ends a page before the row that would take the response body beyond `bytes` bytes, at most 4 MiB.
    ///
    /// A page has at least one row, however long it is. Without this condition a page ends at 4 MiB.
    #[must_use]
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// Ends a page at the end of each partition.
    ///
    /// The continuation token then names only a partition. On Cosmos DB a token is always a single text.
    #[must_use]
    pub fn at_partitions(mut self) -> Self {
        self.at_partitions = true;
        self
    }
}

/// The clock of an [`Emulator`](crate::Emulator). Feature `emulator`.
///
/// Clones share one clock. It runs with the system's time ([`system`](Self::system)) or is stopped
/// ([`fixed`](Self::fixed)), and can be moved in either case. Timestamps of rows never go back and never repeat,
/// whatever the clock does. The clock shows no time before 1970, which no `Date` header can express: an earlier time
/// counts as 1970-01-01T00:00:00Z. It stops in the year 9000, because later Timestamps could repeat.
///
/// Clients sign with the system's time. As in the service, a request older than 15 minutes by this clock is rejected.
/// To test expiry, use a shared access signature, or set the clock close to the system's time.
///
/// A client also compares this clock with the system's when it reads a lost write back. If they differ by over 30 s, it
/// finds out less: only a write id or an ETag shows whether the write was applied.
///
/// ```
/// use std::time::Duration;
/// use azure_table::{DateTime, Emulator};
/// use azure_table::emulator::EmulatorClock;
/// let clock = EmulatorClock::fixed("2030-01-01T00:00:00Z".parse::<DateTime>().unwrap());
/// let emulator = Emulator::new().shared_clock(clock.clone());
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(emulator.clock().now().to_string(), "2030-01-01T00:01:00Z");
/// ```
#[derive(Clone)]
pub struct EmulatorClock(Arc<Mutex<Time>>);

/// The latest time of a clock and of a stored row, in the year 9000. Each Timestamp is later than the previous one,
/// which keeps them unique. Beyond the greatest possible time, all rows would have the same ETag.
pub(crate) const LATEST: DateTime = DateTime::from_unix_seconds(221_845_392_000);

#[derive(Clone, Copy)]
enum Time {
    /// The system's time plus `ahead`.
    Running {
        ahead: Duration,
    },
    Standing(DateTime),
}

impl Time {
    fn standing(at: DateTime) -> Self {
        Self::Standing(at.clamp(DateTime::from_unix_seconds(0), LATEST))
    }
}

impl EmulatorClock {
    /// Creates a clock that shows the system's time.
    pub fn system() -> Self {
        Self::of(Time::Running { ahead: Duration::ZERO })
    }

    /// Creates a clock that is stopped at `at`, and changes only when it is moved.
    pub fn fixed(at: DateTime) -> Self {
        Self::of(Time::standing(at))
    }

    fn of(time: Time) -> Self {
        Self(Arc::new(Mutex::new(time)))
    }

    /// Returns the current time of the clock.
    pub fn now(&self) -> DateTime {
        match *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Time::Running { ahead } => (DateTime::now() + ahead).min(LATEST),
            Time::Standing(at) => at,
        }
    }

    /// Moves the clock forward. A running clock keeps running, ahead of the system's time.
    pub fn advance(&self, by: Duration) {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Time::Running { ahead } => *ahead = ahead.saturating_add(by),
            Time::Standing(at) => *at = (*at + by).min(LATEST),
        }
    }

    /// Moves the clock to `at`, forward or back, and stops it there.
    pub fn set(&self, at: DateTime) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Time::standing(at);
    }

    /// Moves the clock back to the system's time and lets it run.
    pub fn reset(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Time::Running { ahead: Duration::ZERO };
    }
}

impl Default for EmulatorClock {
    /// Returns a clock that shows the system's time.
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for EmulatorClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EmulatorClock({})", self.now())
    }
}
