//! The effective settings of a client, to be read or logged.
//!
//! Defines [`EffectiveSettings`] and its text. `pipeline/settings.rs` has the settings themselves, and
//! `client/settings.rs` their setters.

use std::fmt::{self, Display};
use std::time::Duration;

use azure_table_wire::account::profile::Profile;
use azure_table_wire::transport::connection_limit::ConnectionLimit;

use crate::filter::access::AccessPath;
use crate::pipeline::Pipeline;
use crate::pipeline::hedge::Hedge;
use crate::pipeline::location::LocationMode;
use crate::pipeline::settings::WORKING_TIME;
use crate::pipeline::write_group::GroupStatistics;

/// The effective settings of a client or a table.
///
/// Returned by [`TableServiceClient::settings`](crate::TableServiceClient::settings) and
/// [`TableClient::settings`](crate::TableClient::settings). Its `Display` has one line per setting, for the log at the
/// start of a program. It holds no secrets: it shows the names of headers, not their values.
///
/// ```
/// use azure_table::{Emulator, TableServiceClient};
/// use std::time::Duration;
/// let service = TableServiceClient::from_transport(Emulator::new()).timeout(Duration::from_secs(90));
/// let settings = service.settings();
/// assert_eq!(settings.timeout(), Some(Duration::from_secs(90)));
/// println!("{settings}");
/// ```
#[derive(Clone, Debug)]
pub struct EffectiveSettings {
    endpoint: String,
    secondary: Option<String>,
    profile: Profile,
    account: Option<String>,
    credential: String,
    version: &'static str,
    user_agent: String,
    client_request_id: Option<String>,
    headers: Vec<String>,
    attempt_timeout: Duration,
    timeout: Option<Duration>,
    retry: String,
    max_in_flight: Option<usize>,
    max_connections: Option<usize>,
    location_mode: LocationMode,
    hedge: Hedge,
    shares_reads: bool,
    via_batch: bool,
    is_read_only: bool,
    denied: Option<AccessPath>,
    encrypts: bool,
    creates_missing_tables: bool,
    variant: Option<&'static str>,
    corrects_clock: bool,
    observers: String,
    has_context: bool,
    group: Option<GroupStatistics>,
    scope: Scope,
}

/// The tables that a client covers.
#[derive(Clone, Debug)]
pub(crate) enum Scope {
    /// All tables with this prefix.
    Prefix(String),
    Table(String),
}

impl EffectiveSettings {
    pub(crate) fn of(pipeline: &Pipeline, scope: Scope) -> Self {
        let (endpoint, settings, defaults) = (&pipeline.endpoint, &pipeline.settings, pipeline.settings.defaults.get());
        Self {
            endpoint: endpoint.base().to_owned(),
            secondary: endpoint.secondary().map(str::to_owned),
            profile: endpoint.profile(),
            account: endpoint.account().map(str::to_owned),
            credential: format!("{:?}", pipeline.credential),
            version: pipeline.credential.version(),
            user_agent: settings.user_agent().to_owned(),
            client_request_id: defaults.client_request_id.clone(),
            headers: defaults.headers.names().map(str::to_owned).collect(),
            attempt_timeout: settings.attempt_time(),
            timeout: defaults.timeout,
            retry: format!("{:?}", defaults.retry.as_ref().unwrap_or(&pipeline.retry)),
            max_in_flight: settings.in_flight.as_ref().map(ConnectionLimit::get),
            max_connections: pipeline
                .transport
                .as_ref()
                .ok()
                .and_then(|transport| Some(transport.connection_limit()?.get())),
            location_mode: defaults.location_mode.unwrap_or_default(),
            hedge: defaults.hedge.unwrap_or_else(Hedge::off),
            shares_reads: defaults.shared_reads.unwrap_or_default(),
            via_batch: defaults.via_batch,
            is_read_only: settings.is_read_only,
            denied: settings.denied,
            encrypts: settings.data_keys.is_some(),
            creates_missing_tables: settings.creates_missing_tables,
            variant: settings.variant.map(|variant| variant.name),
            corrects_clock: !settings.keeps_clock,
            observers: format!("{:?}", pipeline.observers),
            has_context: defaults.context.is_some(),
            group: settings.group.as_ref().map(|group| group.statistics()),
            scope,
        }
    }

    /// Returns the URL of the primary.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Returns the URL of the secondary. `None` if the account has none.
    pub fn secondary(&self) -> Option<&str> {
        self.secondary.as_deref()
    }

    /// Returns the service: Storage or Cosmos DB.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Returns the name of the account, or `None` if a custom domain hides it.
    pub fn account(&self) -> Option<&str> {
        self.account.as_deref()
    }

    /// Returns the credential as its `Debug` shows it.
    pub fn credential(&self) -> &str {
        &self.credential
    }

    /// Returns the timeout of one attempt.
    pub fn attempt_timeout(&self) -> Duration {
        self.attempt_timeout
    }

    /// Returns the timeout of a call with all its attempts. `None` without a limit.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Returns the retry policy as its `Debug` shows it.
    pub fn retry_policy(&self) -> &str {
        &self.retry
    }

    /// Returns the maximum number of concurrent attempts. `None` without a limit.
    pub fn max_in_flight(&self) -> Option<usize> {
        self.max_in_flight
    }

    /// Returns the maximum number of connections in use. `None` without a limit.
    pub fn max_connections(&self) -> Option<usize> {
        self.max_connections
    }

    /// Returns the location mode of reads.
    pub fn location_mode(&self) -> LocationMode {
        self.location_mode
    }

    /// Returns the hedging of reads.
    pub fn hedge(&self) -> Hedge {
        self.hedge
    }

    /// Returns `true` if equal reads of one entity share a request.
    pub fn shares_reads(&self) -> bool {
        self.shares_reads
    }

    /// Returns `true` if the client rejects writes.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Returns the limits and the counts of the group of a [grouped](crate::TableClient::grouped) table.
    ///
    /// `None` if its writes are not grouped.
    pub fn group(&self) -> Option<GroupStatistics> {
        self.group
    }

    /// Returns a warning for each setting with a surprising effect, one sentence each.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let ends = [("an attempt", Some(self.attempt_timeout)), ("a call", self.timeout)];
        let may_lose_writes = |end: &Duration| *end < WORKING_TIME && !self.is_read_only;
        ends.into_iter().filter_map(move |(what, end)| {
            let end = end.filter(may_lose_writes)?;
            Some(format!(
                "the service may work on a write for {WORKING_TIME:?}, but {what} ends after {end:?}: a write may be applied \
                 though its call failed"
            ))
        })
    }
}

impl Display for EffectiveSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn or<T: Display>(value: Option<T>, none: &str) -> String {
            value.map_or_else(|| none.to_owned(), |value| value.to_string())
        }
        let either = |is: bool, yes: &'static str, no: &'static str| if is { yes } else { no };
        let timeout = self.timeout.map(|timeout| format!("{timeout:?}"));
        let headers = (!self.headers.is_empty()).then(|| self.headers.join(", "));
        let rows = self.variant.map(|variant| format!("of the variant {variant}"));
        writeln!(f, "endpoint: {}", self.endpoint)?;
        writeln!(f, "secondary: {}", or(self.secondary.as_deref(), "none"))?;
        writeln!(f, "service: {}", self.profile)?;
        writeln!(f, "account: {}", or(self.account.as_deref(), "unknown"))?;
        writeln!(f, "credential: {}", self.credential)?;
        writeln!(f, "x-ms-version: {}", self.version)?;
        writeln!(f, "user agent: {}", self.user_agent)?;
        let id = or(self.client_request_id.as_deref(), "a new one for each call");
        writeln!(f, "client request id: {id}")?;
        writeln!(f, "headers: {}", or(headers, "none"))?;
        writeln!(f, "attempt timeout: {:?}", self.attempt_timeout)?;
        writeln!(f, "timeout: {}", or(timeout, "none"))?;
        writeln!(f, "retry policy: {}", self.retry)?;
        writeln!(f, "max in flight: {}", or(self.max_in_flight, "no limit"))?;
        writeln!(f, "max connections: {}", or(self.max_connections, "no limit"))?;
        writeln!(f, "location mode: {:?}", self.location_mode)?;
        writeln!(f, "hedged reads: {}", self.hedge)?;
        let reads = either(self.shares_reads, "shared", "a request each");
        writeln!(f, "reads of one entity: {reads}")?;
        let single = either(self.via_batch, "as batches", "as single requests");
        writeln!(f, "single operations: {single}")?;
        writeln!(f, "writes: {}", either(self.is_read_only, "rejected", "allowed"))?;
        let denied = self.denied.map(|path| format!("{path} or wider"));
        writeln!(f, "denied queries: {}", or(denied, "none"))?;
        writeln!(
            f,
            "encryption: {}",
            either(self.encrypts, "of marked properties", "none")
        )?;
        let missing = either(self.creates_missing_tables, "created by the first write", "not created");
        writeln!(f, "missing tables: {missing}")?;
        writeln!(f, "rows: {}", or(rows, "all"))?;
        let clock = either(self.corrects_clock, "corrected by the service's", "of this machine");
        writeln!(f, "clock of signatures: {clock}")?;
        writeln!(f, "observers: {}", self.observers)?;
        writeln!(f, "context: {}", either(self.has_context, "one for all calls", "none"))?;
        writeln!(f, "group of writes: {}", or(self.group, "none"))?;
        match &self.scope {
            Scope::Prefix(prefix) => write!(f, "table name prefix: {prefix:?}")?,
            Scope::Table(name) => write!(f, "table: {name}")?,
        }
        self.warnings()
            .try_for_each(|warning| write!(f, "\nwarning: {warning}"))
    }
}
