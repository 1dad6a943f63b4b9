//! The settings of a client: setters that return a changed client.

use std::sync::Arc;
use std::time::Duration;

use azure_table_wire::account::profile::Profile;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::transport::Transport;
use azure_table_wire::transport::connection_limit;

use crate::client::effective_settings::{EffectiveSettings, Scope};
use crate::client::service::TableServiceClient;
use crate::client::table_handle::TableClient;
use crate::filter::access::AccessPath;
use crate::pipeline::Pipeline;
use crate::pipeline::location::LocationMode;
use crate::pipeline::observer::Observer;
use crate::pipeline::options::CallOptions;
use crate::pipeline::retry::RetryPolicy;

/// Settings. Each setter returns a new client that shares connections and credential with this one.
impl TableServiceClient {
    /// Sets the transport, for example one with a proxy, a wrapper or a test double.
    ///
    /// ```
    /// use azure_table::{AccountKey, Emulator, TableServiceClient};
    /// let emulator = Emulator::new().account("contoso", "AAECAwQFBgc=")?;
    /// let key = AccountKey::new("contoso", "AAECAwQFBgc=")?;
    /// let service = TableServiceClient::new("https://contoso.table.core.windows.net", key)?.transport(emulator);
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    #[doc(alias("HttpClientTransport", "HttpPipelineTransport"))]
    #[must_use]
    pub fn transport(&self, transport: impl Transport) -> Self {
        self.changed(|pipeline| set_transport(pipeline, transport))
    }

    /// Sets the service if the address does not reveal it, as with a custom domain of Cosmos DB or its emulator.
    #[must_use]
    pub fn with_profile(&self, profile: Profile) -> Self {
        self.changed(|pipeline| pipeline.endpoint = pipeline.endpoint.clone().with_profile(profile))
    }

    /// Sets a prefix for all table names, for a test or a tenant.
    ///
    /// [`table`](Self::table) and [`ensure_tables`](Self::ensure_tables) add the prefix.
    /// [`list_tables`](Self::list_tables) lists only tables with the prefix. Both return names without it. A table's
    /// own [`name`](crate::TableClient::name) includes it.
    ///
    /// A prefix is not a security boundary: a client without it can reach every table of the account.
    ///
    /// Choose prefixes so that none begins with another, ignoring case. Otherwise the client of `test1` lists the
    /// tables of `test12` as its own.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): no table name can begin with this prefix.
    pub fn prefixed(&self, prefix: &str) -> Result<Self> {
        let prefixed = self.in_namespace(prefix);
        // Checks the prefix alone. Three more letters make any prefix long enough.
        prefixed
            .full_name("abc")
            .map_err(|e| Error::invalid_input(format!("prefix of table names: {e}")))?;
        Ok(prefixed)
    }

    /// Rejects writes: each fails with [`InvalidInput`](crate::ErrorKind::InvalidInput) before it is sent.
    #[must_use]
    pub fn read_only(&self) -> Self {
        self.changed(|pipeline| pipeline.settings.is_read_only = true)
    }

    /// Limits the number of attempts in flight, across all tables and clones of the new client. 0 counts as 1.
    ///
    /// Further attempts wait, while the timeouts of their calls keep running. If no attempt ends for twice the
    /// `attempt_timeout`, for example because nothing polls the calls in flight, a waiting call fails with
    /// [`Timeout`](crate::ErrorKind::Timeout).
    #[must_use]
    pub fn max_in_flight(&self, attempts: usize) -> Self {
        self.changed(|pipeline| pipeline.settings.in_flight = Some(connection_limit::for_attempts(attempts)))
    }

    /// Sets the application name in front of this crate's name in the `User-Agent`, such as `orders/1.4`.
    ///
    /// The name appears in the service's logs. If it contains characters that a header cannot hold, every call fails
    /// with `InvalidInput` before it is sent.
    #[must_use]
    pub fn application_id(&self, id: &str) -> Self {
        self.changed(|pipeline| pipeline.settings.set_application_id(id))
    }

    /// Sets the whole `User-Agent`, in place of this crate's name. An empty text sends none.
    #[must_use]
    pub fn user_agent(&self, text: &str) -> Self {
        self.changed(|pipeline| pipeline.settings.set_user_agent(text.to_owned()))
    }

    /// Sets the protocol version of all requests, `x-ms-version`, such as `2020-12-06`.
    ///
    /// The default is 2019-02-02. With tokens it is 2020-12-06, or a later version if the operation needs one. A
    /// version older than the credential or the operation needs has no effect. Other operations behave the same in all
    /// versions below. A later version is sent as it is, but is not tested. Azure Table storage rejects an unknown
    /// version with 400 `InvalidHeaderValue`.
    ///
    /// | version | changes |
    /// |---|---|
    /// | 2019-02-02 | the service always echoes the request id |
    /// | 2020-12-06 | the service names the authority when it rejects a token |
    /// | 2025-07-05 | user delegation signatures for tables; access policies by token |
    ///
    /// Each call fails with `InvalidInput` if the text is not a date.
    ///
    /// Source: REST "Versioning for the Azure Storage services"; recordings of azure-data-tables.
    #[must_use]
    pub fn service_version(&self, version: &str) -> Self {
        self.changed(|pipeline| pipeline.settings.set_version(version.to_owned()))
    }

    /// Sets the default timeout of a call: all attempts and the waits between them.
    #[must_use]
    pub fn timeout(&self, timeout: Duration) -> Self {
        self.changed(|pipeline| pipeline.settings.defaults.get_mut().timeout = Some(timeout))
    }

    /// Sets the timeout of one attempt; 60 s by default.
    ///
    /// The service may work on a write for 30 s. With a shorter timeout, the client may abandon a write that the
    /// service still applies. [`settings`](Self::settings) warns about this.
    ///
    /// Source: REST "Setting timeouts for Table service operations".
    #[must_use]
    pub fn attempt_timeout(&self, timeout: Duration) -> Self {
        self.changed(|pipeline| pipeline.settings.defaults.get_mut().attempt_timeout = Some(timeout))
    }

    /// Returns a client that applies `options` to every call: see [`CallOptions`].
    #[must_use]
    pub fn with(&self, options: &CallOptions) -> Self {
        self.changed(|pipeline| {
            pipeline.settings.defaults = std::mem::take(&mut pipeline.settings.defaults).with(options);
        })
    }

    /// Rejects queries with this access path or a wider one.
    ///
    /// Each fails with [`InvalidInput`](crate::ErrorKind::InvalidInput) before it is sent. The error says why, and how
    /// to fix it. To allow a single query, call [`allow_table_scan`](crate::TableQuery::allow_table_scan) on it.
    ///
    /// A range of partitions is a [`PartitionRange`](AccessPath::PartitionRange), not a table scan, however wide it is.
    /// Deny `PartitionRange` too if that matters.
    ///
    /// ```
    /// use azure_table::{Emulator, ErrorKind, TableServiceClient};
    /// use azure_table::filter::AccessPath;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// let service = TableServiceClient::from_transport(Emulator::new()).deny_access(AccessPath::TableScan);
    /// let table = service.dynamic_table("Blogs")?;
    /// let error = table.query().all().await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidInput);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn deny_access(&self, path: AccessPath) -> Self {
        self.changed(|pipeline| pipeline.settings.denied = Some(path))
    }

    /// Sets the retry policy.
    ///
    /// The default is [`ExponentialRetry::default`](crate::ExponentialRetry) with a
    /// [`RetryBudget`](crate::retry::RetryBudget) per client.
    #[must_use]
    pub fn retry(&self, policy: impl RetryPolicy) -> Self {
        self.changed(|pipeline| pipeline.settings.defaults.get_mut().retry = Some(Arc::new(policy)))
    }

    /// Sets the location mode of reads: primary or secondary.
    #[must_use]
    pub fn location_mode(&self, mode: LocationMode) -> Self {
        self.changed(|pipeline| pipeline.settings.defaults.get_mut().location_mode = Some(mode))
    }

    /// Adds an observer that is notified of all calls.
    #[must_use]
    pub fn observer(&self, observer: impl Observer) -> Self {
        self.changed(|pipeline| pipeline.observers.add(observer))
    }

    /// Disables the clock correction of signed requests.
    ///
    /// By default, the client corrects its clock when the service rejects a request and the two clocks differ by 5
    /// minutes or more. It then signs with the service's time, starting with the retry of the rejected request.
    #[must_use]
    pub fn without_clock_correction(&self) -> Self {
        self.changed(|pipeline| pipeline.settings.keeps_clock = true)
    }

    /// Returns the effective settings of this client.
    pub fn settings(&self) -> EffectiveSettings {
        EffectiveSettings::of(&self.pipeline, Scope::Prefix(self.namespace().to_string()))
    }
}

impl<E> TableClient<E> {
    /// Sets the transport. Returns a new client of the table, because clones share the old transport.
    ///
    /// Use it if there is no [`TableServiceClient`], because the program has only the SAS URL of a table. For example,
    /// the server's certificate may be from a private authority:
    ///
    /// ```no_run
    /// use azure_table::transport::HttpTransport;
    /// use azure_table::{DynamicEntity, TableClient};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let transport = HttpTransport::builder().root_certificates(&std::fs::read("ca.pem")?).build()?;
    /// let sas_url = std::env::var("ORDERS_SAS_URL")?;
    /// let orders = TableClient::<DynamicEntity>::from_sas_url(&sas_url)?.transport(transport);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn transport(&self, transport: impl Transport) -> Self {
        self.changed(|pipeline| set_transport(pipeline, transport))
    }

    /// Returns the effective settings of this table.
    pub fn settings(&self) -> EffectiveSettings {
        EffectiveSettings::of(self.pipeline(), Scope::Table(self.name().to_string()))
    }
}

/// Sets the transport, and the service that it names, if any.
fn set_transport(pipeline: &mut Pipeline, transport: impl Transport) {
    if let Some(profile) = transport.profile() {
        pipeline.endpoint = pipeline.endpoint.clone().with_profile(profile);
    }
    pipeline.transport = Ok(Arc::new(transport));
}
