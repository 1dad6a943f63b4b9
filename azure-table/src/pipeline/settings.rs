//! The settings of all calls of a client.
//!
//! Owns [`ClientSettings`], which the setters of the clients change.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use azure_table_core::filter::access::AccessPath;
use azure_table_core::model::error::Result;
use azure_table_core::model::variant_mark::MarkedVariant;
use azure_table_core::protocol::http_request::header_value;
use http::HeaderValue;
use tokio::sync::Semaphore;

use crate::pipeline::options::CallOptions;
use crate::pipeline::write_group::WriteGroup;

/// The default timeout of one attempt. The service processes a request for at most 30 s; the rest is for the transfer
/// of the response.
///
/// Source: REST "Setting timeouts for Table service operations".
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(60);

/// The minimum timeout of an attempt that writes: the service may process it for that long.
pub(crate) const WORKING_TIME: Duration = Duration::from_secs(30);

/// The `User-Agent` of each request.
const USER_AGENT: &str = concat!("azure-table/", env!("CARGO_PKG_VERSION"));

/// The settings of a client.
#[derive(Clone, Debug)]
pub(crate) struct ClientSettings {
    pub(crate) user_agent: Cow<'static, str>,
    /// The options of all calls; those of a table or a call override them.
    pub(crate) defaults: CallOptions,
    /// Signs requests with the service's time if this machine's is wrong.
    pub(crate) corrects_clock: bool,
    pub(crate) in_flight: Option<InFlight>,
    pub(crate) is_read_only: bool,
    /// The access path from which queries are rejected before they are sent.
    pub(crate) denied: Option<AccessPath>,
    /// A write creates a missing table.
    pub(crate) creates_missing_tables: bool,
    /// The only variant of an enum of entities that the table's handle reads and writes.
    pub(crate) variant: Option<&'static MarkedVariant>,
    /// The variant that the enum of `variant` itself is. No call of such a handle is sent.
    pub(crate) outer_variant: Option<&'static MarkedVariant>,
    /// The group that single writes join.
    pub(crate) group: Option<Arc<dyn WriteGroup>>,
}

/// A limit of concurrent attempts.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    pub(crate) limit: usize,
    pub(crate) slots: Arc<Semaphore>,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            user_agent: Cow::Borrowed(USER_AGENT),
            defaults: CallOptions::default(),
            corrects_clock: true,
            in_flight: None,
            is_read_only: false,
            denied: None,
            creates_missing_tables: false,
            variant: None,
            outer_variant: None,
            group: None,
        }
    }
}

impl ClientSettings {
    /// Returns the timeout of an attempt whose call sets none.
    pub(crate) fn attempt_time(&self) -> Duration {
        self.defaults.get().attempt_timeout.unwrap_or(ATTEMPT_TIMEOUT)
    }

    /// Checks that the handle can write its rows.
    pub(crate) fn check_variant(&self) -> Result<()> {
        match (self.variant, self.outer_variant) {
            (Some(variant), Some(outer)) => Err(variant.within(outer)),
            _ => Ok(()),
        }
    }

    pub(crate) fn with_application_id(mut self, id: &str) -> Self {
        self.user_agent = Cow::Owned(format!("{id} {USER_AGENT}"));
        self
    }

    /// Returns the value of the `User-Agent` header.
    pub(crate) fn user_agent_value(&self) -> Result<HeaderValue> {
        match &self.user_agent {
            Cow::Borrowed(text) => Ok(HeaderValue::from_static(text)),
            Cow::Owned(text) => header_value("application id", text),
        }
    }

    pub(crate) fn with_in_flight(mut self, limit: usize) -> Self {
        // A limit of 0 would never send anything.
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS);
        self.in_flight = Some(InFlight {
            limit,
            slots: Arc::new(Semaphore::new(limit)),
        });
        self
    }
}
