//! The settings of an emulator: accounts and tokens, its clock, where pages end.
//!
//! Owns [`EmulatorClock`]: everything in the emulator that depends on the time asks it, once for each request:
//! Timestamps and ETags, the age of a request, the times of signatures and policies, how far the second region is, when
//! a deleted table's name is free again. The way to the system's time is `model/clock.rs`. Owns [`PageEnds`], so that
//! tests meet every kind of page that the live service gives; what a page holds is `operations/query.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::emulator::rules::{Rules, STORAGE};
use crate::model::datetime::DateTime;
use crate::protocol::signature::SigningKey;

/// The settings that the methods `with_…` of an emulator make.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) accounts: BTreeMap<String, Account>,
    /// The tokens of Entra ID that are good.
    pub(crate) tokens: BTreeSet<String>,
    pub(crate) page_size: usize,
    pub(crate) page_ends: PageEnds,
    pub(crate) clock: EmulatorClock,
    /// For how long a deleted table's name is not free.
    pub(crate) deletion_time: Duration,
    pub(crate) secondary_lag: Duration,
    /// The rules at every address; `None` where the address tells.
    pub(crate) rules: Option<&'static Rules>,
}

impl Settings {
    /// The rules at an address that tells nothing.
    pub(crate) fn rules(&self) -> &'static Rules {
        self.rules.unwrap_or(&STORAGE)
    }

    pub(crate) fn key(&self, account: &str) -> Option<&SigningKey> {
        self.accounts.get(account).map(|account| &account.key)
    }
}

#[derive(Clone)]
pub(crate) struct Account {
    pub(crate) key: SigningKey,
    /// Needed for connection strings.
    #[cfg(feature = "emulator-http")]
    pub(crate) key_text: String,
}

/// Where a page of entities ends before it is full. Feature `emulator`.
///
/// Live a page ends after five seconds, at the border of a range of partitions, or for reasons that are not told, so
/// that it may have few rows or none and still not be the last. Here it ends where a test says: after [rows that were
/// looked at](Self::examined), at [a number of bytes](Self::bytes), or [with each partition](Self::at_partitions).
/// Whatever comes first counts, as do `$top` and [`Emulator::with_page_size`](crate::Emulator::with_page_size).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// use azure_table::{DynamicEntity, Emulator, Filter, TableServiceClient};
/// use azure_table::emulator::PageEnds;
/// let emulator = Emulator::new().with_page_ends(PageEnds::new().examined(2));
/// let blogs = TableServiceClient::on(emulator).dynamic_table("Blogs")?;
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
    /// Nowhere before a page is full.
    pub fn new() -> Self {
        Self::default()
    }

    /// After so many rows that the service looked at, whether the filter takes them or not (1 at least): pages of a
    /// filtered query are short, or empty.
    #[must_use]
    pub fn examined(mut self, rows: usize) -> Self {
        self.examined = Some(rows.max(1));
        self
    }

    /// Before the row with which the body of the answer would have more than `bytes` bytes. A page has one row at
    /// least, however long it is.
    #[must_use]
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// Where a partition ends. The position of the next page then names a partition alone (on Cosmos DB a position is
    /// one text in any case).
    #[must_use]
    pub fn at_partitions(mut self) -> Self {
        self.at_partitions = true;
        self
    }
}

/// The time of an [`Emulator`](crate::Emulator). Feature `emulator`.
///
/// Clones are one clock. It begins as the system's time ([`system`](Self::system)) or stands still
/// ([`fixed`](Self::fixed)), and can be moved in either case. Timestamps of rows never go back and never repeat,
/// whatever the clock does.
///
/// Clients sign with the system's time: a request older than 15 minutes by this clock is refused, as the service does.
/// To test what expires use a shared access signature, or set the clock close to the system's time.
///
/// ```
/// use std::time::Duration;
/// use azure_table::{DateTime, Emulator};
/// use azure_table::emulator::EmulatorClock;
/// let clock = EmulatorClock::fixed("2030-01-01T00:00:00Z".parse::<DateTime>().unwrap());
/// let emulator = Emulator::new().with_clock(clock.clone());
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(emulator.clock().now().to_string(), "2030-01-01T00:01:00Z");
/// ```
#[derive(Clone)]
pub struct EmulatorClock(Arc<Mutex<Time>>);

#[derive(Clone, Copy)]
enum Time {
    /// The system's time, and so much more.
    Running {
        ahead: Duration,
    },
    Standing(DateTime),
}

impl EmulatorClock {
    /// The system's time.
    pub fn system() -> Self {
        Self::of(Time::Running { ahead: Duration::ZERO })
    }

    /// A clock that stands still until it is moved.
    pub fn fixed(at: DateTime) -> Self {
        Self::of(Time::Standing(at))
    }

    fn of(time: Time) -> Self {
        Self(Arc::new(Mutex::new(time)))
    }

    /// What it shows.
    pub fn now(&self) -> DateTime {
        match *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Time::Running { ahead } => DateTime::now() + ahead,
            Time::Standing(at) => at,
        }
    }

    /// Moves it forward. A running clock goes on running, ahead of the system's time.
    pub fn advance(&self, by: Duration) {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Time::Running { ahead } => *ahead = ahead.saturating_add(by),
            Time::Standing(at) => *at += by,
        }
    }

    /// Moves it to `at`, forward or back, where it stands still.
    pub fn set(&self, at: DateTime) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Time::Standing(at);
    }
}

impl Default for EmulatorClock {
    /// The system's time.
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for EmulatorClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EmulatorClock({})", self.now())
    }
}
