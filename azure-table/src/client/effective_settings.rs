//! The effective settings of a client, to be read or logged.
//!
//! Defines [`EffectiveSettings`] and its text. `pipeline/settings.rs` has the settings themselves, and
//! `client/settings.rs` their setters.

use std::fmt::{self, Display};
use std::sync::Arc;
use std::time::Duration;

use azure_table_wire::account::profile::Profile;
use azure_table_wire::request::http_request::DELEGATION_VERSION;
use azure_table_wire::transport::connection_limit::ConnectionLimit;

use crate::pipeline::Pipeline;
use crate::pipeline::location::LocationMode;
use crate::pipeline::options::OptionValues;
use crate::pipeline::settings::WORKING_TIME;

/// The effective settings of a client or a table.
///
/// Returned by [`TableServiceClient::settings`](crate::TableServiceClient::settings) and
/// [`TableClient::settings`](crate::TableClient::settings). Log its `Display`, one line per setting, when your program
/// starts. It shows no secrets, and only the names of headers. The value is a view of the client and keeps its
/// connections open.
///
/// ```
/// use azure_table::{Emulator, TableServiceClient};
/// use std::time::Duration;
/// let service = TableServiceClient::from_transport(Emulator::new()).timeout(Duration::from_secs(90));
/// let settings = service.settings();
/// assert_eq!(settings.timeout(), Some(Duration::from_secs(90)));
/// println!("{settings}");
/// ```
#[derive(Clone)]
pub struct EffectiveSettings {
    pipeline: Arc<Pipeline>,
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
    pub(crate) fn of(pipeline: &Arc<Pipeline>, scope: Scope) -> Self {
        let pipeline = Arc::clone(pipeline);
        Self { pipeline, scope }
    }

    fn defaults(&self) -> &OptionValues {
        self.pipeline.settings.defaults.get()
    }

    /// Returns the URL of the primary.
    pub fn endpoint(&self) -> &str {
        self.pipeline.endpoint.base()
    }

    /// Returns the URL of the secondary, or `None` if the account has no secondary.
    pub fn secondary(&self) -> Option<&str> {
        self.pipeline.endpoint.secondary()
    }

    /// Returns the service: Storage or Cosmos DB.
    pub fn profile(&self) -> Profile {
        self.pipeline.endpoint.profile()
    }

    /// Returns the name of the account, or `None` if a custom domain hides it.
    pub fn account(&self) -> Option<&str> {
        self.pipeline.endpoint.account()
    }

    /// Returns the credential as its `Debug` shows it.
    pub fn credential(&self) -> String {
        format!("{:?}", self.pipeline.credential)
    }

    /// Returns the timeout of one attempt.
    pub fn attempt_timeout(&self) -> Duration {
        self.pipeline.settings.attempt_time()
    }

    /// Returns the timeout of a call with all its attempts, or `None` if unlimited.
    pub fn timeout(&self) -> Option<Duration> {
        self.defaults().timeout
    }

    /// Returns the retry policy as its `Debug` shows it.
    pub fn retry_policy(&self) -> String {
        format!("{:?}", self.defaults().retry.as_ref().unwrap_or(&self.pipeline.retry))
    }

    /// Returns the maximum number of concurrent attempts, or `None` if unlimited.
    pub fn max_in_flight(&self) -> Option<usize> {
        self.pipeline.settings.in_flight.as_ref().map(ConnectionLimit::get)
    }

    /// Returns the maximum number of connections in use, or `None` if unlimited.
    pub fn max_connections(&self) -> Option<usize> {
        let transport = self.pipeline.transport.as_ref().ok()?;
        Some(transport.connection_limit()?.get())
    }

    /// Returns the location mode of reads.
    pub fn location_mode(&self) -> LocationMode {
        self.defaults().location_mode.unwrap_or_default()
    }

    /// Returns `true` if the client rejects writes.
    pub fn is_read_only(&self) -> bool {
        self.pipeline.settings.is_read_only
    }

    /// Returns a warning for each setting with a surprising effect, one sentence each.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let ends = [("an attempt", Some(self.attempt_timeout())), ("a call", self.timeout())];
        let may_lose_writes = |end: &Duration| *end < WORKING_TIME && !self.is_read_only();
        ends.into_iter().filter_map(move |(what, end)| {
            let end = end.filter(may_lose_writes)?;
            Some(format!(
                "the service may work on a write for {WORKING_TIME:?}, but {what} ends after {end:?}: a write may be applied \
                 though its call failed"
            ))
        })
    }
}

impl fmt::Debug for EffectiveSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EffectiveSettings").field(&self.to_string()).finish()
    }
}

impl Display for EffectiveSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn or<T: Display>(value: Option<T>, none: &str) -> String {
            value.map_or_else(|| none.to_owned(), |value| value.to_string())
        }
        let either = |is: bool, yes: &'static str, no: &'static str| if is { yes } else { no };
        let (settings, defaults, credential) = (&self.pipeline.settings, self.defaults(), &self.pipeline.credential);
        let timeout = self.timeout().map(|timeout| format!("{timeout:?}"));
        let headers: Vec<&str> = defaults.headers.names().collect();
        let headers = (!headers.is_empty()).then(|| headers.join(", "));
        writeln!(f, "endpoint: {}", self.endpoint())?;
        writeln!(f, "secondary: {}", or(self.secondary(), "none"))?;
        writeln!(f, "service: {}", self.profile())?;
        writeln!(f, "account: {}", or(self.account(), "unknown"))?;
        writeln!(f, "credential: {credential:?}")?;
        let version = settings.version(credential.version());
        let untested = either(version > DELEGATION_VERSION, " (not tested)", "");
        writeln!(f, "x-ms-version: {version}{untested}")?;
        let agent = Some(settings.user_agent()).filter(|agent| !agent.is_empty());
        writeln!(f, "user agent: {}", or(agent, "none"))?;
        let id = or(defaults.client_request_id.as_deref(), "a new one for each call");
        writeln!(f, "client request id: {id}")?;
        writeln!(f, "headers: {}", or(headers, "none"))?;
        writeln!(f, "attempt timeout: {:?}", self.attempt_timeout())?;
        writeln!(f, "timeout: {}", or(timeout, "none"))?;
        writeln!(f, "retry policy: {}", self.retry_policy())?;
        writeln!(f, "max in flight: {}", or(self.max_in_flight(), "no limit"))?;
        writeln!(f, "max connections: {}", or(self.max_connections(), "no limit"))?;
        writeln!(f, "location mode: {:?}", self.location_mode())?;
        let single = either(defaults.via_batch, "as batches", "as single requests");
        writeln!(f, "single operations: {single}")?;
        writeln!(f, "writes: {}", either(self.is_read_only(), "rejected", "allowed"))?;
        let denied = settings.denied.map(|path| format!("{path} or wider"));
        writeln!(f, "denied queries: {}", or(denied, "none"))?;
        let missing = either(
            settings.creates_missing_tables,
            "created by the first write",
            "not created",
        );
        writeln!(f, "missing tables: {missing}")?;
        let clock = either(settings.keeps_clock, "of this machine", "corrected by the service's");
        writeln!(f, "clock of signatures: {clock}")?;
        writeln!(f, "observers: {:?}", self.pipeline.observers)?;
        writeln!(f, "policies: {:?}", defaults.policies)?;
        writeln!(
            f,
            "context: {}",
            either(defaults.context.is_some(), "one for all calls", "none")
        )?;
        match &self.scope {
            Scope::Prefix(prefix) => write!(f, "table name prefix: {prefix:?}")?,
            Scope::Table(name) => write!(f, "table: {name}")?,
        }
        self.warnings()
            .try_for_each(|warning| write!(f, "\nwarning: {warning}"))
    }
}
