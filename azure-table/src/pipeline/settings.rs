//! The settings of all calls of a client.
//!
//! Defines [`ClientSettings`], which the setters of the clients change.

use std::sync::Arc;
use std::time::Duration;

use azure_table_wire::error::Result;
use azure_table_wire::request::http_request::header_value;
use azure_table_wire::transport::connection_limit::ConnectionLimit;
use http::HeaderValue;

use crate::entity::variant_mark::MarkedVariant;
use crate::filter::access::AccessPath;
use crate::pipeline::encryption::DataKeys;
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
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientSettings {
    /// The `User-Agent` that begins with the application id, if one is set.
    user_agent: Option<String>,
    /// The options of all calls; the options of a table or a call override them.
    pub(crate) defaults: CallOptions,
    /// Signs requests with this machine's time even if the service's differs.
    pub(crate) keeps_clock: bool,
    /// The limit of concurrent attempts.
    pub(crate) in_flight: Option<ConnectionLimit>,
    pub(crate) is_read_only: bool,
    /// The access path from which queries are rejected before they are sent.
    pub(crate) denied: Option<AccessPath>,
    /// `true` if a write creates a missing table.
    pub(crate) creates_missing_tables: bool,
    /// The only variant of an enum of entities that the table's handle reads and writes.
    pub(crate) variant: Option<&'static MarkedVariant>,
    /// The variant that the enum of `variant` itself is. No call of such a handle is sent.
    pub(crate) outer_variant: Option<&'static MarkedVariant>,
    /// The group that single writes join.
    pub(crate) group: Option<Arc<dyn WriteGroup>>,
    /// The keys of encrypted properties.
    pub(crate) data_keys: Option<Arc<DataKeys>>,
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

    pub(crate) fn set_application_id(&mut self, id: &str) {
        self.user_agent = Some(format!("{id} {USER_AGENT}"));
    }

    pub(crate) fn user_agent(&self) -> &str {
        self.user_agent.as_deref().unwrap_or(USER_AGENT)
    }

    /// Returns the value of the `User-Agent` header.
    ///
    /// # Errors
    /// - `InvalidInput`: the application id cannot be a part of a header.
    pub(crate) fn user_agent_value(&self) -> Result<HeaderValue> {
        match &self.user_agent {
            None => Ok(HeaderValue::from_static(USER_AGENT)),
            Some(text) => header_value("application id", text),
        }
    }
}
