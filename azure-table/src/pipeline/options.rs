//! The options of a call.
//!
//! Owns [`CallOptions`], and its setters on every builder of a call.
//!
//! The options are a box that most calls do not have, so builders and streams stay small. A write decides on the
//! primary: a read that a write depends on carries `for_write`, which only `Pipeline::mode` reads.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use http::header::{
    AUTHORIZATION, CONTENT_LENGTH, DATE, HOST, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH, TRANSFER_ENCODING,
};

use crate::model::clock::Instant;
use crate::model::error::{Error, Result};
use crate::model::location::Location;
use crate::pipeline::context::OperationContext;
use crate::pipeline::location::LocationMode;
use crate::pipeline::retry::RetryPolicy;

/// Options of a call.
///
/// Set on a client or a table they apply to all its calls, set on a call to that call only. They are validated when the
/// request is created.
///
/// ```
/// use azure_table::{CallOptions, Emulator, NoRetry, TableServiceClient};
/// use std::time::Duration;
/// let quick = CallOptions::new().timeout(Duration::from_secs(2)).retry(NoRetry);
/// let table = TableServiceClient::on(Emulator::new()).dynamic_table("Blogs")?;
/// let quick_table = table.with(&quick);
/// let one_quick_get = table.get(("Channel9", "1")).with(&quick);
/// # Ok::<(), azure_table::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "options have no effect until they are set on a client, a table or a call"]
pub struct CallOptions {
    /// Most calls have none: builders and streams that hold one stay small.
    values: Option<Box<OptionValues>>,
}

/// The options that are set.
#[derive(Clone, Debug)]
pub(crate) struct OptionValues {
    /// The longest time for the whole call, all attempts and waits included.
    pub(crate) timeout: Option<Duration>,
    /// The time of one attempt.
    pub(crate) attempt_timeout: Option<Duration>,
    /// The caller's own id of the call.
    pub(crate) client_request_id: Option<String>,
    /// Headers besides those that the operation has.
    pub(crate) headers: Headers,
    /// Where the story of the call is written.
    pub(crate) context: Option<OperationContext>,
    pub(crate) retry: Option<Arc<dyn RetryPolicy>>,
    pub(crate) location_mode: Option<LocationMode>,
    /// Where a query goes on that began there.
    pub(crate) pinned: Option<Location>,
    /// Whether operations on one entity are sent as batches.
    pub(crate) via_batch: bool,
    /// Whether a write depends on what the call reads.
    pub(crate) is_for_write: bool,
}

/// The caller's headers: one value for each name. `Debug` shows their names alone: what is in one may be a secret.
#[derive(Clone, Default)]
pub(crate) struct Headers(Vec<(String, String)>);

impl Headers {
    /// Sets a header. A later value replaces an earlier one.
    pub(crate) fn set(&mut self, name: String, value: String) {
        let is_same = |(known, _): &&mut (String, String)| known.eq_ignore_ascii_case(&name);
        match self.0.iter_mut().find(is_same) {
            Some(header) => *header = (name, value),
            None => self.0.push((name, value)),
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

static NONE: OptionValues = OptionValues {
    timeout: None,
    attempt_timeout: None,
    client_request_id: None,
    headers: Headers(Vec::new()),
    context: None,
    retry: None,
    location_mode: None,
    pinned: None,
    via_batch: false,
    is_for_write: false,
};

impl CallOptions {
    /// Creates options with none set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same for a call that is a later part of one which began then: its time goes on.
    pub(crate) fn since(&self, begun: Instant) -> Self {
        let mut options = self.clone();
        if let Some(timeout) = self.get().timeout {
            options.set(|values| values.timeout = Some(timeout.saturating_sub(begun.elapsed())));
        }
        options
    }

    /// The same for a read that a write depends on: the primary answers it, whatever the location mode. The secondary
    /// lags behind, and a write that is decided on its rows undoes what was written since.
    pub(crate) fn for_write(mut self) -> Self {
        self.set(|values| values.is_for_write = true);
        self
    }

    pub(crate) fn get(&self) -> &OptionValues {
        self.values.as_deref().unwrap_or(&NONE)
    }

    pub(crate) fn set(&mut self, set: impl FnOnce(&mut OptionValues)) {
        set(self.values.get_or_insert_with(|| Box::new(NONE.clone())));
    }

    /// Limits the time of a call: all its attempts and the waits between them. Of a stream it bounds each page, of a
    /// bulk each batch; `total_timeout` of their builders bounds the whole, as
    /// [`TableQuery::total_timeout`](crate::TableQuery::total_timeout) does. The client sends it along, so that the
    /// service stops working when the caller stops waiting. No limit by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.set(|values| values.timeout = Some(timeout));
        self
    }

    /// The time of one attempt; 60 s by default. The service may work on a write for 30 s: with less, a write may be
    /// given up and applied all the same.
    ///
    /// Source: REST "Setting timeouts for Table service operations".
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.set(|values| values.attempt_timeout = Some(timeout));
        self
    }

    /// Who decides whether a failed attempt is followed by another.
    pub fn retry(mut self, policy: impl RetryPolicy) -> Self {
        self.set(|values| values.retry = Some(Arc::new(policy)));
        self
    }

    /// Sets the location that reads are sent to. Reads that a write depends on are sent to the primary in any mode.
    pub fn location_mode(mut self, mode: LocationMode) -> Self {
        self.set(|values| values.location_mode = Some(mode));
        self
    }

    /// The caller's own id of a call, sent as `x-ms-client-request-id`; else one is made. It stands in the service's
    /// logs and in errors. At most 1,024 visible ASCII characters, else the call fails before it is sent.
    pub fn client_request_id(mut self, id: impl Into<String>) -> Self {
        self.set(|values| values.client_request_id = Some(id.into()));
        self
    }

    /// Sets an additional header of each attempt. A later value replaces an earlier one of the same name: that of a
    /// call replaces the table's, that of a table the client's. Headers that the client sets itself, and those that
    /// would change what an operation does, fail the call before it is sent. The value never shows in `Debug`, errors
    /// or traces.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.set(|values| values.headers.set(name.into(), value.into()));
        self
    }

    /// Where the story of a call is written, to be read afterwards: its attempts, their ids and what they cost.
    pub fn context(mut self, context: &OperationContext) -> Self {
        self.set(|values| values.context = Some(context.clone()));
        self
    }

    /// Sends each operation on one entity as a batch of its own: its keys stand in the body of the request then, not in
    /// its address. For keys that make the address too long, or hold a `%` that something on the way does not let pass.
    /// What comes of a call is the same, its errors and what is found out about a lost write included. Queries and all
    /// other calls are sent as they are.
    ///
    /// Such reads are POST requests and ask the primary in any location mode. Not confirmed: such reads of Cosmos DB.
    ///
    /// ```
    /// use azure_table::{CallOptions, DynamicEntity, Emulator, TableServiceClient};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// let table = TableServiceClient::on(Emulator::new()).dynamic_table("Blogs")?;
    /// # table.create_table().await?;
    /// let long = "漢".repeat(1_000); // 9,000 characters of an address
    /// table.insert(&DynamicEntity::new(&long, "100%")).via_batch().await?;
    /// assert!(table.get((&long, "100%")).via_batch().await?.is_some());
    ///
    /// let table = table.with(&CallOptions::new().via_batch()); // for all of them
    /// table.delete((&long, "100%")).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Source: REST "Performing entity group transactions".
    pub fn via_batch(mut self) -> Self {
        self.set(|values| values.via_batch = true);
        self
    }

    /// Returns these options, overridden by those that `other` has. Headers are merged by name.
    pub fn with(mut self, other: &Self) -> Self {
        let Some(other) = &other.values else { return self };
        let other = OptionValues::clone(other);
        self.set(|values| {
            for (name, value) in other.headers.0 {
                values.headers.set(name, value);
            }
            values.timeout = other.timeout.or(values.timeout);
            values.attempt_timeout = other.attempt_timeout.or(values.attempt_timeout);
            values.client_request_id = other.client_request_id.or(values.client_request_id.take());
            values.context = other.context.or(values.context.take());
            values.retry = other.retry.or(values.retry.take());
            values.location_mode = other.location_mode.or(values.location_mode);
            values.pinned = other.pinned.or(values.pinned);
            values.via_batch |= other.via_batch;
            values.is_for_write |= other.is_for_write;
        });
        self
    }

    /// Adds the caller's headers to those of the operation.
    pub(crate) fn add_headers(&self, headers: &mut HeaderMap) -> Result<()> {
        for (name, value) in &self.get().headers.0 {
            let known: HeaderName = name
                .parse()
                .map_err(|_| Error::invalid_input(format!("header {name:?}: this is no name of an HTTP header")))?;
            if OWN.contains(&known) || headers.contains_key(&known) {
                return Err(Error::invalid_input(format!(
                    "header {name}: the client sets it itself"
                )));
            }
            if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == known) {
                return Err(Error::invalid_input(format!("header {name}: {why}")));
            }
            // What is in it may be a secret.
            let mut value = HeaderValue::from_str(value).map_err(|_| {
                Error::invalid_input(format!("header {name}: its value has characters that none can have"))
            })?;
            value.set_sensitive(true);
            headers.append(known, value);
        }
        Ok(())
    }
}

/// Headers that are made anew for each attempt, or by the operation where it needs them.
const OWN: [HeaderName; 11] = [
    AUTHORIZATION,
    CONTENT_LENGTH,
    DATE,
    HOST,
    TRANSFER_ENCODING,
    IF_MATCH,
    HeaderName::from_static("x-ms-date"),
    HeaderName::from_static("x-http-method"),
    HeaderName::from_static("prefer"),
    HeaderName::from_static("dataserviceversion"),
    HeaderName::from_static("maxdataserviceversion"),
];

/// Headers that no operation has, and why there cannot be one.
const REFUSED: [(HeaderName, &str); 2] = [
    (IF_NONE_MATCH, "an answer to it is none that an operation expects"),
    (
        HeaderName::from_static("content-md5"),
        "it would have to be signed, and the client's signatures leave it out",
    ),
];

/// Gives a builder the setters of [`CallOptions`], which it has at `$options`.
macro_rules! call_options {
    ($name:ident $([$($parameter:ident $(: $bound:path)?),+])?, $($options:ident).+) => {
        impl$(<$($parameter $(: $bound)?),+>)? $name $(<$($parameter),+>)? {
            /// Overrides the options of this call with those set in `options`.
            ///
            /// Headers are merged by name. See [`CallOptions`](crate::CallOptions).
            pub fn with(mut self, options: &$crate::pipeline::options::CallOptions) -> Self {
                self.$($options).+ = ::std::mem::take(&mut self.$($options).+).with(options);
                self
            }

            /// See [`CallOptions::timeout`](crate::CallOptions::timeout).
            pub fn timeout(mut self, timeout: ::std::time::Duration) -> Self {
                self.$($options).+.set(|values| values.timeout = Some(timeout));
                self
            }

            /// See [`CallOptions::attempt_timeout`](crate::CallOptions::attempt_timeout).
            pub fn attempt_timeout(mut self, timeout: ::std::time::Duration) -> Self {
                self.$($options).+.set(|values| values.attempt_timeout = Some(timeout));
                self
            }

            /// See [`CallOptions::retry`](crate::CallOptions::retry).
            pub fn retry(mut self, policy: impl $crate::pipeline::retry::RetryPolicy) -> Self {
                self.$($options).+.set(|values| values.retry = Some(::std::sync::Arc::new(policy)));
                self
            }

            /// See [`CallOptions::location_mode`](crate::CallOptions::location_mode).
            pub fn location_mode(mut self, mode: $crate::pipeline::location::LocationMode) -> Self {
                self.$($options).+.set(|values| values.location_mode = Some(mode));
                self
            }

            /// See [`CallOptions::client_request_id`](crate::CallOptions::client_request_id).
            pub fn client_request_id(mut self, id: impl ::std::convert::Into<::std::string::String>) -> Self {
                self.$($options).+.set(|values| values.client_request_id = Some(id.into()));
                self
            }

            /// See [`CallOptions::header`](crate::CallOptions::header).
            pub fn header(
                mut self,
                name: impl ::std::convert::Into<::std::string::String>,
                value: impl ::std::convert::Into<::std::string::String>,
            ) -> Self {
                self.$($options).+.set(|values| values.headers.set(name.into(), value.into()));
                self
            }

            /// See [`CallOptions::context`](crate::CallOptions::context).
            pub fn context(mut self, context: &$crate::pipeline::context::OperationContext) -> Self {
                self.$($options).+.set(|values| values.context = Some(context.clone()));
                self
            }
        }
    };
}
pub(crate) use call_options;

/// Gives a builder of calls on one entity the setter of [`CallOptions::via_batch`].
macro_rules! via_batch {
    ($name:ident $([$($parameter:ident),+])?, $($options:ident).+) => {
        impl$(<$($parameter),+>)? $name $(<$($parameter),+>)? {
            /// See [`CallOptions::via_batch`](crate::CallOptions::via_batch).
            pub fn via_batch(mut self) -> Self {
                self.$($options).+.set(|values| values.via_batch = true);
                self
            }
        }
    };
}
pub(crate) use via_batch;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_own_headers_cannot_be_set() {
        let added = |name: &str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("accept", HeaderValue::from_static("x"));
            let options = CallOptions::new().header(name, value);
            options.add_headers(&mut headers).map(|()| headers)
        };
        assert_eq!(added("X-Tenant", "7").unwrap()["x-tenant"], "7");
        for (name, value, why) in [
            ("Authorization", "x", "header Authorization: the client sets it itself"),
            ("accept", "x", "the client sets it itself"),
            ("If-Match", "*", "header If-Match: the client sets it itself"),
            ("x-http-method", "MERGE", "the client sets it itself"),
            ("Prefer", "return-content", "the client sets it itself"),
            ("DataServiceVersion", "2.0", "the client sets it itself"),
            ("MaxDataServiceVersion", "2.0", "the client sets it itself"),
            ("If-None-Match", "*", "header If-None-Match: an answer to it is none"),
            (
                "Content-MD5",
                "SECRET",
                "header Content-MD5: it would have to be signed",
            ),
            ("a b", "x", "no name of an HTTP header"),
            ("x-a", "SECRET\n", "header x-a: its value"),
        ] {
            let text = added(name, value).unwrap_err().to_string();
            assert!(text.contains(why) && !text.contains("SECRET"), "{text}");
        }
    }

    #[test]
    fn a_callers_header_hides_its_value() {
        let options = CallOptions::new().header("x-tenant", "SECRET");
        let shown = format!("{options:?}");
        assert!(shown.contains("x-tenant") && !shown.contains("SECRET"), "{shown}");
        let mut headers = HeaderMap::new();
        options.add_headers(&mut headers).unwrap();
        assert!(headers["x-tenant"].is_sensitive());
    }
}
