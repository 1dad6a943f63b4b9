//! The in-process emulator and its setters.
//!
//! Defines [`Emulator`]: its setters, the inspection of its state, and the transport. The setters of accounts and
//! tokens are in `in_process/credentials.rs`, its tables in `in_process/contents.rs`, and the events of its observer in
//! `response/observer.rs`. `service.rs` passes a request through its stages.

mod adverse;
pub(crate) mod contents;
mod credentials;
pub(crate) mod injected_error;

#[cfg(feature = "durable")]
mod open;

use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use ::http::{Request, Response};
use azure_table_wire::account::endpoint::DEVELOPMENT_ACCOUNT;
use azure_table_wire::account::profile::Profile;
#[cfg(feature = "http")]
use azure_table_wire::account::signature::DEVELOPMENT_KEY;
use azure_table_wire::account::signature::SigningKey;
use azure_table_wire::error::Result;
use azure_table_wire::transport::{BoxFuture, Transport, TransportError};
use bytes::Bytes;

#[cfg(feature = "durable")]
use crate::durable::Durable;
use crate::load::ServiceLoad;
use crate::load::model::ServiceModel;
use crate::load::stamp::Stamp;
use crate::operations::seed::{self, SeededRow};
use crate::response::observer::{Observe, ResponseEvent, Seen};
use crate::rules::{COSMOS, MAX_PAGE};
use crate::service::Service;
use crate::settings::timestamp_skew::TimestampSkew;
use crate::settings::{Account, EmulatorClock, PageEnds, Settings};
use crate::snapshot::EmulatorSnapshot;
use crate::store::SharedStore;

/// A Table service in memory, optionally also on disk. Feature `emulator`.
///
/// A [`Transport`]: pass it to a client in place of the network. It has the account `devstoreaccount1` with its public
/// key, as all emulators do, and starts without tables. Clones are cheap and share the tables. A setter applies only to
/// the returned value and its clones.
///
/// It supports the operations of the live service:
///
/// - tables, entities, queries and batches
/// - service properties and statistics
/// - stored access policies
/// - CORS preflight requests
///
/// It checks the authorization of a request as the live service does:
///
/// - signatures with an account key
/// - shared access signatures of all kinds: for a table, with a policy, for an account, with a user delegation key
/// - tokens ([`token`](Self::token), [`token_audience`](Self::token_audience))
///
/// It answers without a delay, unless [`service_model`](Self::service_model) sets latencies, limits and queues. As a
/// [`Transport`] it yields to other tasks before it executes a request and before it returns the response, so the
/// requests of concurrent calls alternate. For example, of two calls that `join!` polls, both read a row before either
/// writes it.
/// `SeedEntities::seed` inserts rows without a client. [`snapshot`](Self::snapshot) and [`restore`](Self::restore) save
/// and restore the whole state, and `Emulator::open` (feature `emulator-durable`) keeps it in a folder.
/// [`observer`](Self::observer) reports the requests.
///
/// A query over many rows yields to other requests every few thousand comparisons, so it delays none of them by more
/// than about a millisecond. Its page still shows one state of the table: a batch entirely or not at all.
///
/// The URL of an account is `http://{host}/{account}`, as in other emulators. A host name as in the cloud works too,
/// whatever its suffix: `https://{account}.table.core.windows.net`. With `-secondary` after the account, the URL
/// addresses the read-only secondary ([`secondary_lag`](Self::secondary_lag)). At
/// `https://{account}.table.cosmos.azure.com`, and at every URL of [`Emulator::cosmos`], the service is Cosmos DB for
/// Table.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
/// let service = TableServiceClient::from_transport(Emulator::new());
/// let blogs = service.table::<DynamicEntity>("Blogs")?;
/// blogs.create_table().await?;
/// # Ok(())
/// # }
/// ```
///
/// Source: REST "Table service REST API"; recorded responses of live accounts.
///
#[doc = include_str!("unknowns.md")]
#[derive(Clone)]
pub struct Emulator {
    pub(crate) service: Service,
    pub(crate) observer: Option<Observe>,
    /// Keeps the folder open, if any.
    #[cfg(feature = "durable")]
    durable: Option<Arc<Durable>>,
}

impl Emulator {
    /// Creates a service without tables.
    pub fn new() -> Self {
        let development = Account {
            key: SigningKey::development(),
            #[cfg(feature = "http")]
            key_text: DEVELOPMENT_KEY.to_owned(),
        };
        let settings = Settings {
            accounts: BTreeMap::from([(DEVELOPMENT_ACCOUNT.to_owned(), development)]),
            page_size: MAX_PAGE,
            ..Settings::default()
        };
        Self {
            service: Service {
                store: SharedStore::default(),
                settings: Arc::new(settings),
                stamp: None,
            },
            observer: None,
            #[cfg(feature = "durable")]
            durable: None,
        }
    }

    /// Creates an emulator without tables that is Cosmos DB for Table at every URL.
    ///
    /// The known differences apply:
    ///
    /// - at host names, merges are accepted only if they are tunnelled through `POST`
    /// - table names are case-sensitive, and have up to 254 characters of any script
    /// - pages have rows in the order of their insertion
    /// - keys cannot be empty
    /// - a RowKey has at most 255 bytes, a batch 2 MiB
    /// - requests for service properties, statistics and access policies are rejected
    ///
    /// An [`Emulator::new`] behaves the same at a host name of Cosmos DB. A client recognizes the service by that host
    /// name too:
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// let emulator = Emulator::new().account("contoso", "AAECAwQFBgc=")?;
    /// let connection = "AccountName=contoso;AccountKey=AAECAwQFBgc=;\
    ///                   TableEndpoint=https://contoso.table.cosmos.azure.com:443/;";
    /// let service = TableServiceClient::from_connection_string(connection)?.transport(emulator);
    /// let blogs = service.dynamic_table("Blogs")?;
    /// blogs.create_table().await?;
    /// blogs.insert_or_merge(&DynamicEntity::new("p", "r")).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Source: "Azure Cosmos DB for Table: frequently asked questions"; recorded responses of live accounts.
    pub fn cosmos() -> Self {
        let mut cosmos = Self::new();
        cosmos.settings_mut().rules = Some(&COSMOS);
        cosmos
    }

    /// Sets the page size: at most `rows` rows or tables per page.
    ///
    /// `rows` is from 1 to 1000, the service's limit. A small size lets a test see many pages of few rows.
    #[must_use]
    pub fn page_size(mut self, rows: usize) -> Self {
        self.settings_mut().page_size = rows.clamp(1, MAX_PAGE);
        self
    }

    /// Sets the points at which pages of entities end early.
    ///
    /// Lists of tables are not affected.
    #[must_use]
    pub fn page_ends(mut self, ends: PageEnds) -> Self {
        self.settings_mut().page_ends = ends;
        self
    }

    /// Rejects protocol versions after the newest known one if `strict` is `true`, as the live service does.
    ///
    /// By default a request may name any later date as its `x-ms-version`, so that a new client works with an old
    /// emulator. The emulator then behaves like the newest known version. Dates before and between the known versions
    /// are rejected in either case. On Cosmos DB the version has no effect.
    ///
    /// Source: REST "Versioning for Azure Storage".
    #[must_use]
    pub fn strict_versions(mut self, strict: bool) -> Self {
        self.settings_mut().has_strict_versions = strict;
        self
    }

    /// Sets the clock.
    #[must_use]
    pub fn shared_clock(mut self, clock: EmulatorClock) -> Self {
        self.settings_mut().clock = clock;
        self
    }

    /// Returns the clock: the system's time, unless another one was set.
    pub fn clock(&self) -> &EmulatorClock {
        &self.settings().clock
    }

    /// Sets a random difference between the Timestamp of each write and the clock: up to `most`, earlier or later.
    ///
    /// In the service, Timestamps come from the clocks of many servers, and need not be in the order of the writes. A
    /// program that reads by Timestamp should allow for that, as `Changes` of `azure-table-patterns` does. By default
    /// Timestamps follow the clock. They never repeat in either case, so that no two versions share an ETag.
    ///
    /// The differences are drawn from `seed`, one for each entity of a batch. Rows of `SeedEntities::seed`
    /// and the header `Date` are not affected. The patterns `Leases` and `Queue` measure time from Timestamps, so their
    /// times are off by as much.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// use std::time::Duration;
    /// use azure_table::{DateTime, DynamicEntity, Emulator, TableServiceClient};
    /// let emulator = Emulator::new().timestamp_skew(Duration::from_secs(2), 17);
    /// let blogs = TableServiceClient::from_transport(emulator).dynamic_table("Blogs")?;
    /// blogs.create_table().await?;
    /// let stored = blogs.insert_returning(&DynamicEntity::new("Channel9", "1")).await?;
    /// assert!(stored.timestamp.abs_diff(DateTime::now()) < Duration::from_secs(3));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn timestamp_skew(mut self, most: Duration, seed: u64) -> Self {
        let skew = (!most.is_zero()).then(|| TimestampSkew::new(most, seed));
        self.settings_mut().timestamp_skew = skew;
        self
    }

    /// Sets the time that the deletion of a table takes, by the emulator's clock.
    ///
    /// During this time the service rejects a new table of the same name (`TableBeingDeleted`). A live deletion takes
    /// 40 seconds or more; the default here is zero.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// use std::time::Duration;
    /// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// const A_WHILE: Duration = Duration::from_secs(40);
    /// let emulator = Emulator::new().deletion_time(A_WHILE);
    /// let blogs = TableServiceClient::from_transport(emulator.clone()).table::<DynamicEntity>("Blogs")?;
    /// blogs.create_table().await?;
    /// blogs.delete_table().await?;
    /// assert_eq!(blogs.create_table().await.unwrap_err().code(), Some("TableBeingDeleted"));
    /// emulator.clock().advance(A_WHILE);
    /// blogs.create_table().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Source: REST "Delete Table".
    #[must_use]
    pub fn deletion_time(mut self, time: Duration) -> Self {
        self.settings_mut().deletion_time = time;
        self
    }

    /// Sets the lag of the secondary, by the emulator's clock.
    ///
    /// The secondary then shows the state from `lag` ago. Without a lag it shows the state of the primary. Writes
    /// before this call are in both locations. If clones have different lags, the shortest one applies: the secondary
    /// never returns to an earlier state.
    ///
    /// Source: REST "Get Table Service Stats".
    #[must_use]
    pub fn secondary_lag(mut self, lag: Duration) -> Self {
        self.settings_mut().secondary_lag = lag;
        if !lag.is_zero() {
            self.service.store.write().part_regions();
        }
        self
    }

    /// Sets latencies, limits and queues, by tokio's clock.
    ///
    /// The emulator then takes as long as the model says and rejects requests beyond its capacity.
    ///
    /// The modelled servers belong to the returned value and its clones. The original emulator shares the tables and
    /// still answers without a delay: use it to fill and inspect them.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # tokio::time::pause();
    /// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// use azure_table::emulator::ServiceModel;
    /// let at_once = Emulator::new();
    /// TableServiceClient::from_transport(at_once.clone()).dynamic_table("Blogs")?.create_table().await?;
    ///
    /// let emulator = at_once.service_model(ServiceModel::azure_storage_2010());
    /// let blogs = TableServiceClient::from_transport(emulator.clone()).dynamic_table("Blogs")?;
    /// let started = tokio::time::Instant::now();
    /// blogs.insert(&DynamicEntity::new("Channel9", "1")).await?;
    /// assert!((40..60).contains(&started.elapsed().as_millis()));
    /// assert_eq!(emulator.load_of("Blogs", "Channel9").accepted_entities, 1);
    /// # let _ = emulator.service_model(None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// `None` removes the model.
    ///
    /// Source: see [`ServiceModel`].
    #[must_use]
    pub fn service_model(mut self, model: impl Into<Option<ServiceModel>>) -> Self {
        self.service.stamp = model.into().map(|model| Arc::new(Stamp::new(model)));
        self
    }

    /// Returns the load on the servers since the [model](Self::service_model) was set.
    ///
    /// Without a model nothing is counted.
    pub fn load(&self) -> ServiceLoad {
        let stamp = self.service.stamp.as_deref();
        stamp.map(Stamp::load).unwrap_or_default()
    }

    /// Returns the load of one partition, in the tables of this name in all accounts and locations.
    pub fn load_of(&self, table: &str, partition_key: &str) -> ServiceLoad {
        let stamp = self.service.stamp.as_ref();
        stamp
            .map(|stamp| stamp.load_of(table, partition_key))
            .unwrap_or_default()
    }

    /// Returns the number of range splits of all servers ([`RangeSplits`](crate::RangeSplits)).
    pub fn range_splits(&self) -> u64 {
        self.service.stamp.as_ref().map_or(0, |stamp| stamp.splits())
    }

    /// Calls `observe` for each request that the returned value or a clone of it answers.
    ///
    /// The call happens before the response is sent, on the task that responds, so it should return quickly. A second
    /// observer replaces the first. Over HTTP it sees valid requests only; bytes that are not a request are not
    /// reported.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// use std::sync::{Arc, Mutex};
    /// use azure_table::{Emulator, TableServiceClient};
    /// let seen = Arc::new(Mutex::new(Vec::new()));
    /// let sink = Arc::clone(&seen);
    /// let emulator = Emulator::new().observer(move |request| sink.lock().unwrap().push(request.clone()));
    /// let blogs = TableServiceClient::from_transport(emulator).dynamic_table("Blogs")?;
    /// blogs.create_table().await?;
    /// blogs.create_table().await.unwrap_err();
    /// let seen = seen.lock().unwrap();
    /// assert_eq!((seen[0].method.as_str(), seen[0].status.unwrap().as_u16(), seen[0].code), ("POST", 204, None));
    /// assert_eq!(seen[1].code, Some("TableAlreadyExists"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn observer(mut self, observe: impl Fn(&ResponseEvent) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observe));
        self
    }

    /// Returns a copy of the whole state.
    ///
    /// The copy takes as much memory again.
    pub fn snapshot(&self) -> EmulatorSnapshot {
        EmulatorSnapshot::of(&self.service.store, self.settings().rules())
    }

    /// Replaces the whole state with the snapshot's, for all clones.
    ///
    /// Accounts and other settings stay. Later writes get Timestamps after all earlier ones, of this emulator and of
    /// the snapshot, so that an earlier ETag never matches a later entity.
    ///
    /// # Errors
    /// - [`InvalidInput`](azure_table_wire::error::ErrorKind::InvalidInput): the snapshot is from [Cosmos
    ///   DB](Self::cosmos) and the emulator is not, or vice versa. Nothing changes.
    /// - [`ServerFault`](azure_table_wire::error::ErrorKind::ServerFault): the change could not be stored in the
    ///   folder.
    pub fn restore(&self, snapshot: &EmulatorSnapshot) -> Result<()> {
        snapshot.restore_to(&self.service.store, self.settings().rules())
    }

    /// Responds to a request without yielding first, and reports the outcome to the observer.
    #[doc(hidden)]
    pub async fn exchange(&self, request: Request<Bytes>) -> std::result::Result<Response<Bytes>, TransportError> {
        let seen = self.seen(&request);
        let (response, fate) = self.service.serve(request).await;
        let mut outcome = fate.arrived(response);
        if let Some((seen, observe)) = seen {
            seen.show(observe, &outcome);
        }
        if let Ok(response) = &mut outcome {
            response.extensions_mut().extend(self.settings().extensions.clone());
        }
        outcome
    }

    /// Returns what the observer sees of a request, and the observer.
    pub(crate) fn seen(&self, request: &Request<Bytes>) -> Option<(Seen, &Observe)> {
        let rules = self.settings().rules_at(request.uri().host());
        let seen = |observe| (Seen::of(request, rules, self.clock().now()), observe);
        self.observer.as_ref().map(seen)
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.service.settings
    }

    fn settings_mut(&mut self) -> &mut Settings {
        Arc::make_mut(&mut self.service.settings)
    }
}

/// Lets other tasks run. Unlike tokio's `yield_now`, it also ends if an executor inside of a task polls it.
async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Inserts or replaces rows in a table: the method `seed` of azure-table.
#[doc(hidden)]
pub fn seed_rows(emulator: &Emulator, table: &str, rows: impl IntoIterator<Item = Result<SeededRow>>) -> Result<()> {
    seed::seed(&emulator.service.store, emulator.settings(), table, rows)
}

impl Default for Emulator {
    fn default() -> Self {
        Self::new()
    }
}

impl Transport for Emulator {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, std::result::Result<Response<Bytes>, TransportError>> {
        Box::pin(async {
            // Requests of concurrent calls alternate, as on a network: a call that reads and then writes may be overtaken
            // between the two.
            yield_once().await;
            let response = self.exchange(request).await;
            yield_once().await;
            response
        })
    }

    /// Returns the profile of Cosmos DB for an emulator built by [`cosmos`](Self::cosmos).
    ///
    /// Otherwise it is `None`, and the URL decides, as in the emulator itself.
    fn profile(&self) -> Option<Profile> {
        self.settings().rules.map(|rules| rules.profile)
    }

    fn opens_connections(&self) -> bool {
        false
    }
}

impl fmt::Debug for Emulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let accounts: Vec<&String> = self.settings().accounts.keys().collect();
        f.debug_struct("Emulator")
            .field("profile", &self.settings().rules().profile)
            .field("accounts", &accounts)
            .field("page_size", &self.settings().page_size)
            .field("page_ends", &self.settings().page_ends)
            .field("clock", &self.settings().clock)
            .field("adverse", &self.settings().adverse)
            .field("service_model", &self.service.stamp.as_ref().map(|stamp| stamp.model()))
            .finish_non_exhaustive()
    }
}
