//! The settings of all calls of a client.
//!
//! Defines [`ClientSettings`], which the setters of the clients change.

use std::time::Duration;

use azure_table_wire::error::Result;
use azure_table_wire::request::http_request::{check_version, header_value};
use azure_table_wire::transport::connection_limit::ConnectionLimit;
use http::HeaderValue;

use crate::filter::access::AccessPath;
use crate::pipeline::options::CallOptions;

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
    /// The `User-Agent`, if another one is set. An empty one is not sent.
    user_agent: Option<String>,
    /// The `x-ms-version`, if one is set.
    version: Option<String>,
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
}

impl ClientSettings {
    /// Returns the timeout of an attempt whose call sets none.
    pub(crate) fn attempt_time(&self) -> Duration {
        self.defaults.get().attempt_timeout.unwrap_or(ATTEMPT_TIMEOUT)
    }

    pub(crate) fn set_application_id(&mut self, id: &str) {
        self.user_agent = Some(format!("{id} {USER_AGENT}"));
    }

    pub(crate) fn set_user_agent(&mut self, text: String) {
        self.user_agent = Some(text);
    }

    pub(crate) fn set_version(&mut self, version: String) {
        self.version = Some(version);
    }

    /// Returns the version to send: the one that is set, or the credential's `least` if that is later or none is set.
    pub(crate) fn version<'a>(&'a self, least: &'a str) -> &'a str {
        self.version.as_deref().unwrap_or(least).max(least)
    }

    /// Returns the value of `x-ms-version`.
    ///
    /// # Errors
    /// - `InvalidInput`: the version that is set is not a date.
    pub(crate) fn version_value(&self, least: &'static str) -> Result<HeaderValue> {
        let Some(version) = &self.version else {
            return Ok(HeaderValue::from_static(least));
        };
        check_version(version)?;
        header_value("service version", self.version(least))
    }

    pub(crate) fn user_agent(&self) -> &str {
        self.user_agent.as_deref().unwrap_or(USER_AGENT)
    }

    /// Returns the value of the `User-Agent` header, or `None` if it is not sent.
    ///
    /// # Errors
    /// - `InvalidInput`: the application id cannot be a part of a header.
    pub(crate) fn user_agent_value(&self) -> Result<Option<HeaderValue>> {
        match &self.user_agent {
            None => Ok(Some(HeaderValue::from_static(USER_AGENT))),
            Some(text) if text.is_empty() => Ok(None),
            Some(text) => header_value("application id or user agent", text).map(Some),
        }
    }
}
