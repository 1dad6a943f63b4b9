//! A Table service inside the process, for tests, examples and development.
//!
//! Owns [`Emulator`], which answers requests as Azure Table storage does; with features `emulator-http` and `emulator-https`
//! `EmulatorServer` does so on a port. It stands at the transport: the whole client runs, only the last step
//! is replaced. It keeps everything in memory, and answers at once unless it has a [`ServiceModel`].
//!
//! It imitates what was seen of the live service: statuses, codes, texts, headers, metadata levels, order, paging,
//! atomic batches, signatures, both regions, and what Cosmos DB does in another way. Each file names what it decided without having seen it live ("Not confirmed") and what
//! it leaves out. Layers: `pipeline::transport`, `protocol`, `filter`, `codec` and `model`, never the client.

mod access;
mod clock;
mod dispatch;
#[cfg(feature = "emulator-http")]
mod http;
mod load;
mod operations;
mod page_ends;
mod request;
mod response;
mod rules;
mod settings;
mod snapshot;
mod store;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use ::http::{Request, Response};
use bytes::Bytes;

use crate::emulator::load::Stamp;
use crate::emulator::rules::{COSMOS, MAX_PAGE};
use crate::emulator::settings::{Account, Settings};
use crate::emulator::store::Store;
use crate::model::error::{Error, Result};
use crate::pipeline::transport::{BoxFuture, Transport, TransportError};

use crate::protocol::endpoint::DEVELOPMENT_ACCOUNT;
use crate::protocol::profile::Profile;
#[cfg(feature = "emulator-http")]
use crate::protocol::signature::DEVELOPMENT_KEY;
use crate::protocol::signature::SigningKey;

pub use crate::emulator::clock::EmulatorClock;
#[cfg(feature = "emulator-https")]
pub use crate::emulator::http::ServerCertificate;
#[cfg(feature = "emulator-http")]
pub use crate::emulator::http::{EmulatorServer, RunningEmulator};
pub use crate::emulator::load::{RangeSplits, ServiceLoad, ServiceModel};
pub use crate::emulator::page_ends::PageEnds;
pub use crate::emulator::response::observer::AnsweredRequest;
pub use crate::emulator::snapshot::EmulatorSnapshot;

/// A Table service in memory. Feature `emulator`.
///
/// A [`Transport`]: give it to a client in place of the network. It has the account `devstoreaccount1` with its public
/// key, as all emulators do, and starts without tables. Clones are cheap and share the tables; what a `with_…` method
/// sets holds for the value it returns and its clones alone.
///
/// It offers what the live service does: tables, entities, queries and batches, the service's properties and statistics,
/// stored access policies, browsers' questions. Requests are checked as there: signatures with an account's key, shared access
/// signatures of all kinds (for a table, with a policy, for an account, with a key of Entra ID), tokens
/// ([`with_token`](Self::with_token)).
///
/// It answers at once, unless [`with_service_model`](Self::with_service_model) gives it latencies, limits and queues. Rows are put
/// into it in one line by [`seed`](Self::seed), all of it is kept and put back by [`snapshot`](Self::snapshot) and
/// [`restore`](Self::restore), and [`with_observer`](Self::with_observer) shows what was asked.
///
/// A query that looks at many rows lets other requests go first every few thousand comparisons, so that it delays none of them by
/// more than about a millisecond. Its page still shows one state of the table: of a batch all or nothing.
///
/// An account's address is `http://{host}/{account}`, as emulators have it, or a host name as in the cloud, whatever its ending:
/// `https://{account}.table.core.windows.net`. With `-secondary` behind the account it is the copy in the second region, which
/// can only be read ([`with_secondary_lag`](Self::with_secondary_lag)). At `https://{account}.table.cosmos.azure.com`, and
/// everywhere for [`Emulator::cosmos`], it is Cosmos DB for Table.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
/// let service = TableServiceClient::on(Emulator::new());
/// let blogs = service.table::<DynamicEntity>("Blogs")?;
/// blogs.create_table().await?;
/// # Ok(())
/// # }
/// ```
///
/// Source: REST "Table service REST API"; recorded answers of live accounts.
///
#[doc = include_str!("emulator/unknowns.md")]
#[derive(Clone)]
pub struct Emulator {
    store: Arc<RwLock<Store>>,
    settings: Arc<Settings>,
}

impl Emulator {
    /// A service without tables.
    pub fn new() -> Self {
        let development = Account {
            key: SigningKey::development(),
            #[cfg(feature = "emulator-http")]
            key_text: DEVELOPMENT_KEY.to_owned(),
        };
        Self {
            store: Arc::default(),
            settings: Arc::new(Settings {
                accounts: BTreeMap::from([(DEVELOPMENT_ACCOUNT.to_owned(), development)]),
                tokens: BTreeSet::new(),
                page_size: MAX_PAGE,
                page_ends: PageEnds::new(),
                clock: EmulatorClock::system(),
                deletion_time: Duration::ZERO,
                secondary_lag: Duration::ZERO,
                rules: None,
                stamp: None,
                observer: None,
            }),
        }
    }

    /// Cosmos DB for Table without tables, at any address.
    ///
    /// What is known to differ differs: at host names merges are taken only if they are tunnelled through `POST`, table names compare with
    /// case, keys cannot be empty, RowKeys have at most 255 bytes, batches 2 MiB, the service's properties, statistics and
    /// access policies are refused. An [`Emulator::new`] is the same where it is asked at a host name of Cosmos DB, by which a
    /// client knows it too:
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// let emulator = Emulator::new().with_account("contoso", "AAECAwQFBgc=")?;
    /// let connection = "AccountName=contoso;AccountKey=AAECAwQFBgc=;\
    ///                   TableEndpoint=https://contoso.table.cosmos.azure.com:443/;";
    /// let service = TableServiceClient::with_transport(connection, emulator)?;
    /// let blogs = service.dynamic_table("Blogs")?;
    /// blogs.create_table().await?;
    /// blogs.insert_or_merge(&DynamicEntity::new("p", "r")).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Source: "Azure Cosmos DB for Table: frequently asked questions"; recorded answers of live accounts.
    pub fn cosmos() -> Self {
        let mut cosmos = Self::new();
        Arc::make_mut(&mut cosmos.settings).rules = Some(&COSMOS);
        cosmos
    }

    /// The same service with one more account, or another key for an account it has.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — the name is empty or has other characters than ASCII letters,
    /// digits and hyphens, or the key is not base64.
    pub fn with_account(mut self, name: &str, key_base64: &str) -> Result<Self> {
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err(Error::invalid_input(format!(
                "account name {name:?}: it must have letters, digits and hyphens only"
            )));
        }
        let account = Account {
            key: SigningKey::from_base64(key_base64)
                .map_err(|e| Error::invalid_input(format!("key of account {name:?}: {e}")))?,
            #[cfg(feature = "emulator-http")]
            key_text: key_base64.trim().to_owned(),
        };
        Arc::make_mut(&mut self.settings)
            .accounts
            .insert(name.to_owned(), account);
        Ok(self)
    }

    /// The same service with pages of at most `rows` rows or tables (1 to 1000, which is the service's limit), so that
    /// a test sees many pages of few rows.
    #[must_use]
    pub fn with_page_size(mut self, rows: usize) -> Self {
        Arc::make_mut(&mut self.settings).page_size = rows.clamp(1, MAX_PAGE);
        self
    }

    /// The same service, which takes `token` as a token of Entra ID, at addresses with `https` alone, as the live service does
    /// (on a port so with feature `emulator-https`). It may do what the roles Storage Table
    /// Data Contributor and Storage Table Delegator may: all with tables and entities, and get keys for shared access
    /// signatures, but not touch the service's properties or access policies.
    ///
    /// Whoever shows another token, or none, is told where to get one (401, from version 2020-12-06 on), in the tenant
    /// `00000000-0000-0000-0000-000000000000`.
    ///
    /// Source: REST "Authorize with Microsoft Entra ID".
    #[must_use]
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.settings).tokens.insert(token.into());
        self
    }

    /// The same service with another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: EmulatorClock) -> Self {
        Arc::make_mut(&mut self.settings).clock = clock;
        self
    }

    /// The clock: the system's time, unless another one was given.
    pub fn clock(&self) -> &EmulatorClock {
        &self.settings.clock
    }

    /// The same service, which needs `time` to delete a table: for so long a new table of the name is refused
    /// (`TableBeingDeleted`). Live it takes 40 seconds and more; here none, unless it is said. By the emulator's clock.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// use std::time::Duration;
    /// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// const A_WHILE: Duration = Duration::from_secs(40);
    /// let emulator = Emulator::new().with_deletion_time(A_WHILE);
    /// let blogs = TableServiceClient::on(emulator.clone()).table::<DynamicEntity>("Blogs")?;
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
    pub fn with_deletion_time(mut self, time: Duration) -> Self {
        Arc::make_mut(&mut self.settings).deletion_time = time;
        self
    }

    /// The same service, whose second region shows the state of `lag` ago. By the emulator's clock.
    ///
    /// Without a lag it shows what the first region has. What was written before is in both regions. Of clones with several
    /// lags the shortest counts: a state that the second region has reached is never taken back.
    ///
    /// Source: REST "Get Table Service Stats".
    #[must_use]
    pub fn with_secondary_lag(mut self, lag: Duration) -> Self {
        Arc::make_mut(&mut self.settings).secondary_lag = lag;
        if !lag.is_zero() {
            self.store_mut().part_regions();
        }
        self
    }

    /// The same service, which takes as long as the model says and refuses what it has no room for; by tokio's clock.
    ///
    /// Its servers are those of the value it returns and its clones: the service before it shares the tables and still answers
    /// at once, which is the way to fill tables and to look at them.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # tokio::time::pause();
    /// use azure_table::{DynamicEntity, Emulator, ServiceModel, TableServiceClient};
    /// let at_once = Emulator::new();
    /// TableServiceClient::on(at_once.clone()).dynamic_table("Blogs")?.create_table().await?;
    ///
    /// let emulator = at_once.with_service_model(ServiceModel::in_2010());
    /// let blogs = TableServiceClient::on(emulator.clone()).dynamic_table("Blogs")?;
    /// let begun = tokio::time::Instant::now();
    /// blogs.insert(&DynamicEntity::new("Channel9", "1")).await?;
    /// assert!((40..60).contains(&begun.elapsed().as_millis()));
    /// assert_eq!(emulator.load_of("Blogs", "Channel9").accepted_entities, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Source: see [`ServiceModel`].
    #[must_use]
    pub fn with_service_model(mut self, model: ServiceModel) -> Self {
        Arc::make_mut(&mut self.settings).stamp = Some(Arc::new(Stamp::new(model)));
        self
    }

    /// What the servers were asked for and did since the [model](Self::with_service_model) was set; without one nothing is
    /// counted.
    pub fn load(&self) -> ServiceLoad {
        self.settings
            .stamp
            .as_ref()
            .map(|stamp| stamp.load())
            .unwrap_or_default()
    }

    /// The same of a partition, in the tables of this name in all accounts and regions.
    pub fn load_of(&self, table: &str, partition_key: &str) -> ServiceLoad {
        let stamp = self.settings.stamp.as_ref();
        stamp
            .map(|stamp| stamp.load_of(table, partition_key))
            .unwrap_or_default()
    }

    /// How often the range of a server was cut in two ([`RangeSplits`]).
    pub fn range_splits(&self) -> u64 {
        self.settings.stamp.as_ref().map_or(0, |stamp| stamp.splits())
    }

    /// Answers a request: at once, or when its turn has come.
    async fn process(&self, request: Request<Bytes>) -> Response<Bytes> {
        match &self.settings.stamp {
            None => dispatch::answer(self, request).await,
            // Boxed, so that the others need no room for it.
            Some(stamp) => Box::pin(load::answer(self, stamp, request)).await,
        }
    }

    /// The store, to be read. No change of it is left incomplete, also where a test's thread died in between.
    fn store(&self) -> RwLockReadGuard<'_, Store> {
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store, to be changed.
    fn store_mut(&self) -> RwLockWriteGuard<'_, Store> {
        self.store.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Emulator {
    fn default() -> Self {
        Self::new()
    }
}

impl Transport for Emulator {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, std::result::Result<Response<Bytes>, TransportError>> {
        Box::pin(async move { Ok(self.answer(request).await) })
    }

    /// Cosmos DB where it was made by [`cosmos`](Self::cosmos); else the address tells, as to the emulator itself.
    fn profile(&self) -> Option<Profile> {
        self.settings.rules.map(|rules| rules.profile)
    }
}

impl fmt::Debug for Emulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let accounts: Vec<&String> = self.settings.accounts.keys().collect();
        f.debug_struct("Emulator")
            .field("profile", &self.settings.rules().profile)
            .field("accounts", &accounts)
            .field("page_size", &self.settings.page_size)
            .field("page_ends", &self.settings.page_ends)
            .field("clock", &self.settings.clock)
            .field(
                "service_model",
                &self.settings.stamp.as_ref().map(|stamp| stamp.model()),
            )
            .finish_non_exhaustive()
    }
}
