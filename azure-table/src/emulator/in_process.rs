//! The emulator of one process, and its settings.
//!
//! Owns [`Emulator`]: the setters `with_…`, what is asked of the state from outside, and the transport. Which request
//! does what begins in `dispatch`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "emulator-http")]
use ::http::{HeaderMap, Method, Uri};
use ::http::{Request, Response};
use bytes::Bytes;

use crate::emulator::dispatch::Service;
use crate::emulator::load::ServiceLoad;
use crate::emulator::load::model::ServiceModel;
use crate::emulator::load::stamp::Stamp;
use crate::emulator::operations::seed;
use crate::emulator::response::observer::ResponseEvent;
use crate::emulator::response::observer::{Observe, Seen};
#[cfg(feature = "emulator-http")]
use crate::emulator::rules::refusal::Refusal;
use crate::emulator::rules::{COSMOS, MAX_PAGE};
use crate::emulator::settings::{Account, Settings};
use crate::emulator::settings::{EmulatorClock, PageEnds};
use crate::emulator::snapshot::EmulatorSnapshot;
use crate::emulator::store::SharedStore;
use crate::model::entity::TableEntity;
use crate::model::error::{Error, Result};
use crate::pipeline::transport::{BoxFuture, Transport, TransportError};
use crate::protocol::endpoint::DEVELOPMENT_ACCOUNT;
use crate::protocol::profile::Profile;
#[cfg(feature = "emulator-http")]
use crate::protocol::signature::DEVELOPMENT_KEY;
use crate::protocol::signature::SigningKey;

/// A Table service in memory. Feature `emulator`.
///
/// A [`Transport`]: give it to a client in place of the network. It has the account `devstoreaccount1` with its public
/// key, as all emulators do, and starts without tables. Clones are cheap and share the tables; what a `with_…` method
/// sets holds for the value it returns and its clones alone.
///
/// It offers what the live service does: tables, entities, queries and batches, the service's properties and
/// statistics, stored access policies, browsers' questions. Requests are checked as there: signatures with an account's
/// key, shared access signatures of all kinds (for a table, with a policy, for an account, with a key of Entra ID),
/// tokens ([`with_token`](Self::with_token)).
///
/// It answers at once, unless [`with_service_model`](Self::with_service_model) gives it latencies, limits and queues.
/// Rows are put into it in one line by [`seed`](Self::seed), all of it is kept and put back by
/// [`snapshot`](Self::snapshot) and [`restore`](Self::restore), and [`with_observer`](Self::with_observer) shows what
/// was asked.
///
/// A query that looks at many rows lets other requests go first every few thousand comparisons, so that it delays none
/// of them by more than about a millisecond. Its page still shows one state of the table: of a batch all or nothing.
///
/// An account's address is `http://{host}/{account}`, as emulators have it, or a host name as in the cloud, whatever
/// its ending: `https://{account}.table.core.windows.net`. With `-secondary` behind the account it is the copy in the
/// second region, which can only be read ([`with_secondary_lag`](Self::with_secondary_lag)). At
/// `https://{account}.table.cosmos.azure.com`, and everywhere for [`Emulator::cosmos`], it is Cosmos DB for Table.
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
#[doc = include_str!("unknowns.md")]
#[derive(Clone)]
pub struct Emulator {
    pub(crate) service: Service,
    observer: Option<Observe>,
}

impl Emulator {
    /// A service without tables.
    pub fn new() -> Self {
        let development = Account {
            key: SigningKey::development(),
            #[cfg(feature = "emulator-http")]
            key_text: DEVELOPMENT_KEY.to_owned(),
        };
        let settings = Settings {
            accounts: BTreeMap::from([(DEVELOPMENT_ACCOUNT.to_owned(), development)]),
            tokens: BTreeSet::new(),
            page_size: MAX_PAGE,
            page_ends: PageEnds::new(),
            clock: EmulatorClock::system(),
            deletion_time: Duration::ZERO,
            secondary_lag: Duration::ZERO,
            rules: None,
        };
        Self {
            service: Service {
                store: SharedStore::default(),
                settings: Arc::new(settings),
                stamp: None,
            },
            observer: None,
        }
    }

    /// Cosmos DB for Table without tables, at any address.
    ///
    /// What is known to differ differs: at host names merges are taken only if they are tunnelled through `POST`, table
    /// names compare with case, keys cannot be empty, RowKeys have at most 255 bytes, batches 2 MiB, the service's
    /// properties, statistics and access policies are refused. An [`Emulator::new`] is the same where it is asked at a
    /// host name of Cosmos DB, by which a client knows it too:
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// let emulator = Emulator::new().with_account("contoso", "AAECAwQFBgc=")?;
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
    /// Source: "Azure Cosmos DB for Table: frequently asked questions"; recorded answers of live accounts.
    pub fn cosmos() -> Self {
        let mut cosmos = Self::new();
        cosmos.settings_mut().rules = Some(&COSMOS);
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
        self.settings_mut().accounts.insert(name.to_owned(), account);
        Ok(self)
    }

    /// The same service with pages of at most `rows` rows or tables (1 to 1000, which is the service's limit), so that
    /// a test sees many pages of few rows.
    #[must_use]
    pub fn with_page_size(mut self, rows: usize) -> Self {
        self.settings_mut().page_size = rows.clamp(1, MAX_PAGE);
        self
    }

    /// The same service, whose pages of entities end where `ends` says. Lists of tables do not ask for it.
    #[must_use]
    pub fn with_page_ends(mut self, ends: PageEnds) -> Self {
        self.settings_mut().page_ends = ends;
        self
    }

    /// The same service, which takes `token` as a token of Entra ID, at addresses with `https` alone, as the live
    /// service does (on a port so with feature `emulator-https`). It may do what the roles Storage Table Data
    /// Contributor and Storage Table Delegator may: all with tables and entities, and get keys for shared access
    /// signatures, but not touch the service's properties or access policies.
    ///
    /// Whoever shows another token, or none, is told where to get one (401, from version 2020-12-06 on), in the tenant
    /// `00000000-0000-0000-0000-000000000000`.
    ///
    /// Source: REST "Authorize with Microsoft Entra ID".
    #[must_use]
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        self.settings_mut().tokens.insert(token.into());
        self
    }

    /// The same service with another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: EmulatorClock) -> Self {
        self.settings_mut().clock = clock;
        self
    }

    /// The clock: the system's time, unless another one was given.
    pub fn clock(&self) -> &EmulatorClock {
        &self.settings().clock
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
        self.settings_mut().deletion_time = time;
        self
    }

    /// The same service, whose second region shows the state of `lag` ago. By the emulator's clock.
    ///
    /// Without a lag it shows what the first region has. What was written before is in both regions. Of clones with
    /// several lags the shortest counts: a state that the second region has reached is never taken back.
    ///
    /// Source: REST "Get Table Service Stats".
    #[must_use]
    pub fn with_secondary_lag(mut self, lag: Duration) -> Self {
        self.settings_mut().secondary_lag = lag;
        if !lag.is_zero() {
            self.service.store.write().part_regions();
        }
        self
    }

    /// The same service, which takes as long as the model says and refuses what it has no room for; by tokio's clock.
    ///
    /// Its servers are those of the value it returns and its clones: the service before it shares the tables and still
    /// answers at once, which is the way to fill tables and to look at them.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # tokio::time::pause();
    /// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// use azure_table::emulator::ServiceModel;
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
        self.service.stamp = Some(Arc::new(Stamp::new(model)));
        self
    }

    /// What the servers were asked for and did since the [model](Self::with_service_model) was set; without one nothing
    /// is counted.
    pub fn load(&self) -> ServiceLoad {
        self.service
            .stamp
            .as_ref()
            .map(|stamp| stamp.load())
            .unwrap_or_default()
    }

    /// The same of a partition, in the tables of this name in all accounts and regions.
    pub fn load_of(&self, table: &str, partition_key: &str) -> ServiceLoad {
        let stamp = self.service.stamp.as_ref();
        stamp
            .map(|stamp| stamp.load_of(table, partition_key))
            .unwrap_or_default()
    }

    /// The number of range splits of all servers ([`RangeSplits`](crate::emulator::RangeSplits)).
    pub fn range_splits(&self) -> u64 {
        self.service.stamp.as_ref().map_or(0, |stamp| stamp.splits())
    }

    /// The same service, which shows `observe` each request that it answered through the value it returns and its
    /// clones.
    ///
    /// It is called before the answer leaves, on the task that answers: it should return soon. A second observer takes
    /// the place of the first. Over HTTP it sees what was a request; bytes that are none are not shown.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// use std::sync::{Arc, Mutex};
    /// use azure_table::{Emulator, TableServiceClient};
    /// let seen = Arc::new(Mutex::new(Vec::new()));
    /// let sink = Arc::clone(&seen);
    /// let emulator = Emulator::new().with_observer(move |request| sink.lock().unwrap().push(request.clone()));
    /// let blogs = TableServiceClient::on(emulator).dynamic_table("Blogs")?;
    /// blogs.create_table().await?;
    /// blogs.create_table().await.unwrap_err();
    /// let seen = seen.lock().unwrap();
    /// assert_eq!((seen[0].method.as_str(), seen[0].status.as_u16(), seen[0].code), ("POST", 204, None));
    /// assert_eq!(seen[1].code, Some("TableAlreadyExists"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_observer(mut self, observe: impl Fn(&ResponseEvent) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observe));
        self
    }

    /// Puts entities into a table of the account `devstoreaccount1`, and makes the table if it is not there. A row that
    /// is there is replaced. One call in a test, without a client; it takes no time, whatever the
    /// [model](Self::with_service_model).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// use azure_table::{Emulator, TableEntity, TableServiceClient};
    /// #[derive(TableEntity)]
    /// struct Blog {
    ///     #[table(partition_key)]
    ///     channel: String,
    ///     #[table(row_key)]
    ///     slug: String,
    ///     rating: i32,
    /// }
    /// let emulator = Emulator::new();
    /// emulator.seed("Blogs", (1..=3).map(|n| Blog { channel: "c".into(), slug: n.to_string(), rating: n }))?;
    /// let blogs = TableServiceClient::on(emulator).table::<Blog>("Blogs")?;
    /// assert_eq!(blogs.query().filter(Blog::RATING.ge(2)).all().await?.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — a name, key or value that the service would refuse; the
    /// entities before it are there then.
    pub fn seed<E: TableEntity>(&self, table: &str, entities: impl IntoIterator<Item = E>) -> Result<()> {
        seed::seed(&self.service.store, self.settings(), table, entities)
    }

    /// All that it remembers, as of now. It is a copy, and takes as much memory again.
    pub fn snapshot(&self) -> EmulatorSnapshot {
        EmulatorSnapshot::of(&self.service.store, self.settings().rules())
    }

    /// Forgets all that it remembers for what the snapshot has, for all clones. Accounts and other settings stay.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — the snapshot is of [Cosmos DB](Self::cosmos) and the emulator
    /// is not, or the other way round.
    pub fn restore(&self, snapshot: &EmulatorSnapshot) -> Result<()> {
        snapshot.restore_to(&self.service.store, self.settings().rules())
    }

    /// Answers a request, and shows it to whoever observes.
    pub(crate) async fn answer(&self, request: Request<Bytes>) -> Response<Bytes> {
        let Some(observe) = &self.observer else {
            return self.service.answer(request).await;
        };
        let seen = Seen::of(request.method(), request.uri(), self.clock().now());
        let response = self.service.answer(request).await;
        seen.show(observe, &response);
        response
    }

    /// The answer to a request whose body is not read.
    #[cfg(feature = "emulator-http")]
    pub(crate) fn refuse(&self, headers: &HeaderMap, refusal: &Refusal) -> Response<Bytes> {
        self.service.refuse(headers, refusal)
    }

    /// Shows an answer that was given without asking the service.
    #[cfg(feature = "emulator-http")]
    pub(crate) fn show(&self, method: &Method, uri: &Uri, response: &Response<Bytes>) {
        if let Some(observe) = &self.observer {
            Seen::of(method, uri, self.clock().now()).show(observe, response);
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.service.settings
    }

    fn settings_mut(&mut self) -> &mut Settings {
        Arc::make_mut(&mut self.service.settings)
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
        self.settings().rules.map(|rules| rules.profile)
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
            .field("service_model", &self.service.stamp.as_ref().map(|stamp| stamp.model()))
            .finish_non_exhaustive()
    }
}
