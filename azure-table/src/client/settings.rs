//! The settings of a client: setters that return a changed client.

use std::sync::Arc;
use std::time::Duration;

use crate::client::effective_settings::{EffectiveSettings, Scope};
use crate::client::service::TableServiceClient;
use crate::client::table::TableClient;
use crate::filter::access::AccessPath;
use crate::model::error::{Error, Result};
use crate::model::name::TableName;
use crate::pipeline::location::LocationMode;
use crate::pipeline::observer::Observer;
use crate::pipeline::options::CallOptions;
use crate::pipeline::retry::RetryPolicy;
use crate::pipeline::transport::Transport;
use crate::protocol::profile::Profile;

/// Each gives another client; both share connections and credential.
impl TableServiceClient {
    /// Over another way to the network: a transport with a proxy, a wrapper, a double in a test.
    ///
    /// ```
    /// use azure_table::{AccountKey, Emulator, TableServiceClient};
    /// let emulator = Emulator::new().with_account("contoso", "AAECAwQFBgc=")?;
    /// let key = AccountKey::new("contoso", "AAECAwQFBgc=")?;
    /// let service = TableServiceClient::new("https://contoso.table.core.windows.net", key)?.transport(emulator);
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    #[must_use]
    pub fn transport(&self, transport: impl Transport) -> Self {
        self.changed(|pipeline| {
            if let Some(profile) = transport.profile() {
                pipeline.endpoint = pipeline.endpoint.clone().with_profile(profile);
            }
            pipeline.transport = Arc::new(transport);
        })
    }

    /// As a client of this service, where the address does not tell: a custom domain of Cosmos DB, or its emulator.
    #[must_use]
    pub fn with_profile(&self, profile: Profile) -> Self {
        self.changed(|pipeline| pipeline.endpoint = pipeline.endpoint.clone().with_profile(profile))
    }

    /// With a prefix on the names of all tables, for a test or a tenant: [`table`](Self::table) and
    /// [`ensure_tables`](Self::ensure_tables) add it, [`list_tables`](Self::list_tables) shows only the tables that
    /// have it; what they tell leaves it out. A table's own [`name`](crate::TableClient::name) is the whole.
    ///
    /// A prefix orders names and is no boundary: the credential reaches all tables of the account, by a client without
    /// the prefix. None must be the beginning of another, in any case of letters: the client of `test1` lists the
    /// tables of `test12` as its own.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — no table's name can begin so.
    pub fn prefixed(&self, prefix: &str) -> Result<Self> {
        let prefixed = self.in_namespace(prefix);
        // Whatever follows, these must be good. Three more letters make any prefix long enough.
        TableName::new(format!("{}abc", prefixed.namespace()))
            .map_err(|e| Error::invalid_input(format!("prefix of table names: {e}")))?;
        Ok(prefixed)
    }

    /// Without writes: each fails before it is sent.
    #[must_use]
    pub fn read_only(&self) -> Self {
        self.changed(|pipeline| pipeline.settings.is_read_only = true)
    }

    /// With at most so many attempts on their way at once, over all tables and clones of the new client; further ones
    /// wait, and their calls' time runs. At least one.
    #[must_use]
    pub fn max_in_flight(&self, attempts: usize) -> Self {
        self.changed(|pipeline| pipeline.settings = pipeline.settings.clone().with_in_flight(attempts))
    }

    /// With a name of the application before this crate's in the `User-Agent`, such as `orders/1.4`: it stands in the
    /// service's logs. Characters that no header can have fail each call before it is sent.
    #[must_use]
    pub fn application_id(&self, id: &str) -> Self {
        self.changed(|pipeline| pipeline.settings = pipeline.settings.clone().with_application_id(id))
    }

    /// With a longest time for each call that says none itself: all attempts and the waits between them.
    #[must_use]
    pub fn timeout(&self, timeout: Duration) -> Self {
        self.changed(|pipeline| pipeline.settings.defaults.set(|values| values.timeout = Some(timeout)))
    }

    /// With another time for one attempt; 60 s by default. The service may work on a write for 30 s: with less, a write
    /// may be given up and applied all the same, which [`settings`](Self::settings) warns of.
    ///
    /// Source: REST "Setting timeouts for Table service operations".
    #[must_use]
    pub fn attempt_timeout(&self, timeout: Duration) -> Self {
        self.changed(|pipeline| {
            pipeline
                .settings
                .defaults
                .set(|values| values.attempt_timeout = Some(timeout))
        })
    }

    /// Returns a client that applies `options` to every call: see [`CallOptions`].
    #[must_use]
    pub fn with(&self, options: &CallOptions) -> Self {
        self.changed(|pipeline| {
            pipeline.settings.defaults = std::mem::take(&mut pipeline.settings.defaults).with(options);
        })
    }

    /// Without queries that read so much of a table, or more: each fails before it is sent, and says why and what to
    /// write instead. A call may still ask for it, by [`allow_table_scan`](crate::TableQuery::allow_table_scan). A
    /// range of partitions is one however wide it is: deny [`PartitionRange`](AccessPath::PartitionRange) where that
    /// matters.
    ///
    /// ```
    /// use azure_table::{Emulator, ErrorKind, TableServiceClient};
    /// use azure_table::filter::AccessPath;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// let service = TableServiceClient::on(Emulator::new()).deny(AccessPath::TableScan);
    /// let table = service.dynamic_table("Blogs")?;
    /// let error = table.query().all().await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidInput);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn deny(&self, path: AccessPath) -> Self {
        self.changed(|pipeline| pipeline.settings.denied = Some(path))
    }

    /// With another decision about retries. By default [`ExponentialRetry::default`](crate::ExponentialRetry) decides,
    /// on a [`RetryBudget`](crate::retry::RetryBudget) of this client.
    #[must_use]
    pub fn retry(&self, policy: impl RetryPolicy) -> Self {
        self.changed(|pipeline| {
            pipeline
                .settings
                .defaults
                .set(|values| values.retry = Some(Arc::new(policy)))
        })
    }

    /// With another copy of the data for reads.
    #[must_use]
    pub fn location_mode(&self, mode: LocationMode) -> Self {
        self.changed(|pipeline| {
            pipeline
                .settings
                .defaults
                .set(|values| values.location_mode = Some(mode))
        })
    }

    /// With someone more who hears what all calls do.
    #[must_use]
    pub fn observer(&self, observer: impl Observer) -> Self {
        self.changed(|pipeline| pipeline.observers.add(observer))
    }

    /// Without a correction of the time that requests are signed with. By default, once the service refuses a request
    /// whose time is 5 minutes or more from its own, requests are signed with the service's time, that one once more
    /// included.
    #[must_use]
    pub fn without_clock_correction(&self) -> Self {
        self.changed(|pipeline| pipeline.settings.corrects_clock = false)
    }

    /// Returns the effective settings of this client.
    pub fn settings(&self) -> EffectiveSettings {
        EffectiveSettings::of(&self.pipeline, Scope::Prefix(self.namespace().to_string()))
    }
}

impl<E> TableClient<E> {
    /// Returns the effective settings of this table.
    pub fn settings(&self) -> EffectiveSettings {
        EffectiveSettings::of(self.pipeline(), Scope::Table(self.name().to_string()))
    }
}
