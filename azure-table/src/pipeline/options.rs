//! The options of a call.
//!
//! Defines [`CallOptions`], and `with` and `timeout` of every call builder.
//!
//! The options are stored behind a pointer, and most calls have none, so builders and streams stay small. A read that a
//! write depends on carries `for_write`, so that the write decides on the primary's rows; only `Pipeline::mode` reads
//! that flag.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use azure_table_wire::error::in_doubt_write::parts::LostAttempts;
use azure_table_wire::transport::deadline::Deadline;
use azure_table_wire::value::location::Location;

use crate::pipeline::location::LocationMode;
use crate::pipeline::observer::context::OperationContext;
use crate::pipeline::options::headers::Headers;
use crate::pipeline::options::policy::{Policies, RequestPolicy};
use crate::pipeline::retry::RetryPolicy;
use crate::write::operation_request::OperationRequest;

pub(crate) mod headers;
pub(crate) mod policy;

/// Options of a call.
///
/// Options set on a client or a table apply to all its calls. Options set on a call apply to that call only. They are
/// validated when the request is created.
///
/// ```
/// use azure_table::{CallOptions, Emulator, NoRetry, TableServiceClient};
/// use std::time::Duration;
/// let quick = CallOptions::new().timeout(Duration::from_secs(2)).retry(NoRetry);
/// let table = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
/// let quick_table = table.with(&quick);
/// let one_quick_get = table.get(("Channel9", "1")).with(&quick);
/// # Ok::<(), azure_table::Error>(())
/// ```
#[doc(alias("TableRequestOptions", "TableClientOptions"))]
#[derive(Clone, Debug, Default)]
#[must_use = "options have no effect until they are set on a client, a table or a call"]
pub struct CallOptions {
    /// `None` for most calls, so that the builders and streams that hold the options stay small. Shared with the calls
    /// that set none of their own.
    values: Option<Arc<OptionValues>>,
}

/// The options that are set.
#[derive(Clone, Debug, Default)]
pub(crate) struct OptionValues {
    /// The timeout of the whole call, including all attempts and waits.
    pub(crate) timeout: Option<Duration>,
    /// The end of the whole that the call is a part of.
    pub(crate) deadline: Option<Deadline>,
    /// The timeout of one attempt.
    pub(crate) attempt_timeout: Option<Duration>,
    /// The caller's own id for the call.
    pub(crate) client_request_id: Option<String>,
    /// Headers in addition to the operation's.
    pub(crate) headers: Headers,
    /// The context that records the attempts of the call.
    pub(crate) context: Option<OperationContext>,
    pub(crate) retry: Option<Arc<dyn RetryPolicy>>,
    pub(crate) location_mode: Option<LocationMode>,
    /// The location that a continued query started at.
    pub(crate) pinned: Option<Location>,
    /// Sends operations on one entity as batches.
    pub(crate) via_batch: bool,
    /// Set if a write depends on what the call reads.
    pub(crate) is_for_write: bool,
    /// The attempts of an earlier call that sent the same write.
    pub(crate) earlier: Option<LostAttempts>,
    pub(crate) policies: Policies,
}

static NONE: LazyLock<OptionValues> = LazyLock::new(OptionValues::default);

impl CallOptions {
    /// Creates options with none set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins the timeout, which then limits all calls with these options together.
    pub(crate) fn begun(mut self) -> Self {
        if let Some(deadline) = self.deadline() {
            let values = self.get_mut();
            (values.timeout, values.deadline) = (None, Some(deadline));
        }
        self
    }

    /// Ends calls with these options at the deadline.
    pub(crate) fn end_at(&mut self, deadline: Deadline) {
        let values = self.get_mut();
        values.deadline = Some(values.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
    }

    /// Returns the end of a call that begins now.
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        let values = self.get();
        let own = values.timeout.and_then(|timeout| Deadline::after("timeout", timeout));
        match (own, values.deadline) {
            (Some(own), Some(whole)) => Some(whole.min(own)),
            (own, whole) => own.or(whole),
        }
    }

    /// Returns these options for a read that a write depends on: from the primary, in any location mode. The secondary
    /// lags behind, and a write decided on its rows would undo what was written since.
    pub(crate) fn for_write(mut self) -> Self {
        self.get_mut().is_for_write = true;
        self
    }

    /// Returns these options for a part of a call whose policies have run: with the headers that they set.
    pub(crate) fn within(mut self, call: &OperationRequest) -> Self {
        if !self.get().policies.is_empty() {
            let values = self.get_mut();
            values.policies.is_within_call = true;
            values.headers.set_all(Headers::from_caller(call.request.headers()));
        }
        self
    }

    /// Returns these options for a call that sends the write of an earlier call again.
    pub(crate) fn after(mut self, earlier: Option<LostAttempts>) -> Self {
        if earlier.is_some() {
            self.get_mut().earlier = earlier;
        }
        self
    }

    pub(crate) fn get(&self) -> &OptionValues {
        self.values.as_deref().unwrap_or(&NONE)
    }

    /// Returns the options to change. It takes no closure, because each setter of each builder would compile its own
    /// copy.
    pub(crate) fn get_mut(&mut self) -> &mut OptionValues {
        Arc::make_mut(self.values.get_or_insert_default())
    }

    /// Sets the timeout of a call, including all its attempts and the waits between them.
    ///
    /// For a stream it limits each page, for a bulk each batch. Their `total_timeout` limits the whole, as
    /// [`TableQuery::total_timeout`](crate::TableQuery::total_timeout) does. On Azure Table storage, the client sends
    /// the timeout along, so that the service stops working when the caller stops waiting. No limit by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.get_mut().timeout = Some(timeout);
        self
    }

    /// Sets the timeout of one attempt; 60 s by default.
    ///
    /// The service may work on a write for 30 s. With a shorter timeout, the client may abandon a write that the
    /// service still applies.
    ///
    /// Source: REST "Setting timeouts for Table service operations".
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.get_mut().attempt_timeout = Some(timeout);
        self
    }

    /// Sets the policy that decides whether a failed attempt is retried.
    pub fn retry(mut self, policy: impl RetryPolicy) -> Self {
        self.get_mut().retry = Some(Arc::new(policy));
        self
    }

    /// Sets the location that reads are sent to.
    ///
    /// Reads that a write depends on go to the primary in any mode.
    pub fn location_mode(mut self, mode: LocationMode) -> Self {
        self.get_mut().location_mode = Some(mode);
        self
    }

    /// Sets the caller's own id for a call, sent as `x-ms-client-request-id`.
    ///
    /// By default the client generates one. The id appears in the service's logs and in errors. It has at most 1,024
    /// visible ASCII characters; otherwise the call fails before it is sent.
    pub fn client_request_id(mut self, id: impl Into<String>) -> Self {
        self.get_mut().client_request_id = Some(id.into());
        self
    }

    /// Sets an additional header of each attempt.
    ///
    /// A later value replaces an earlier one of the same name: a call's value replaces the table's, and a table's the
    /// client's. The call fails before it is sent if the client sets the header itself, or if the header would change
    /// what an operation does. The value never appears in `Debug`, errors or traces.
    ///
    /// On Cosmos DB, a read can send the session token of an earlier response, `x-ms-session-token`. It is not
    /// confirmed that the gateway of the Table API honors it.
    ///
    /// ```
    /// use azure_table::telemetry::OperationContext;
    /// use azure_table::{CallOptions, DynamicEntity, Emulator, TableServiceClient};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// let table = TableServiceClient::from_transport(Emulator::cosmos()).dynamic_table("Blogs")?;
    /// table.create_table().await?;
    /// let write = OperationContext::new();
    /// table.insert(&DynamicEntity::new("Channel9", "1")).with(&CallOptions::new().context(&write)).await?;
    /// let mut read = table.get(("Channel9", "1"));
    /// if let Some(token) = write.attempts().last().and_then(|attempt| attempt.header("x-ms-session-token")) {
    ///     read = read.with(&CallOptions::new().header("x-ms-session-token", token));
    /// }
    /// assert!(read.await?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.get_mut().headers.set(name.into(), value.into());
        self
    }

    /// Adds a policy, which runs before and after each request: see [`RequestPolicy`].
    ///
    /// Policies run in the order in which they are added: the client's, then the table's, then the call's.
    pub fn policy(mut self, policy: impl RequestPolicy) -> Self {
        self.get_mut().policies.add(Arc::new(policy));
        self
    }

    /// Records the attempts of a call in `context`, with their ids and costs, to be read afterwards.
    pub fn context(mut self, context: &OperationContext) -> Self {
        self.get_mut().context = Some(context.clone());
        self
    }

    /// Sends each operation on one entity as a batch of its own.
    ///
    /// Its keys are then in the body of the request, not in its URL. Use it for keys that make the URL too long, or
    /// that contain a `%` that a proxy rejects. The outcome of a call is the same, including its errors and the
    /// reconciliation of a lost write. Queries and all other calls are sent as usual.
    ///
    /// Reads in a batch are POST requests and go to the primary, because no secondary is confirmed to accept them. A
    /// read whose [`location_mode`](Self::location_mode) is [`SecondaryOnly`](LocationMode::SecondaryOnly) fails with
    /// `InvalidInput`; the other modes still apply to queries. Reads in a batch are not confirmed on Cosmos DB either.
    ///
    /// ```
    /// use azure_table::{CallOptions, DynamicEntity, Emulator, TableServiceClient};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// let table = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
    /// # table.create_table().await?;
    /// let long = "漢".repeat(1_000); // 9,000 characters of an address
    /// let batched = CallOptions::new().via_batch();
    /// table.insert(&DynamicEntity::new(&long, "100%")).with(&batched).await?;
    /// assert!(table.get((&long, "100%")).with(&batched).await?.is_some());
    ///
    /// let table = table.with(&batched); // for all calls
    /// table.delete((&long, "100%")).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Source: REST "Performing entity group transactions".
    pub fn via_batch(mut self) -> Self {
        self.get_mut().via_batch = true;
        self
    }

    /// Returns these options, overridden by those set in `other`.
    ///
    /// Headers are merged by name.
    pub fn with(mut self, other: &Self) -> Self {
        let Some(other) = &other.values else { return self };
        if self.values.is_none() {
            self.values = Some(Arc::clone(other));
            return self;
        }
        let values = self.get_mut();
        // Names every option, so that a new one is not forgotten here.
        let OptionValues {
            timeout,
            deadline,
            attempt_timeout,
            client_request_id,
            headers,
            context,
            retry,
            location_mode,
            pinned,
            via_batch,
            is_for_write,
            earlier,
            policies,
        } = OptionValues::clone(other);
        if timeout.is_some() || deadline.is_some() {
            (values.timeout, values.deadline) = (timeout, deadline);
        }
        values.attempt_timeout = attempt_timeout.or(values.attempt_timeout);
        values.client_request_id = client_request_id.or(values.client_request_id.take());
        values.headers.set_all(headers);
        values.context = context.or(values.context.take());
        values.retry = retry.or(values.retry.take());
        values.location_mode = location_mode.or(values.location_mode);
        values.pinned = pinned.or(values.pinned);
        values.via_batch |= via_batch;
        values.is_for_write |= is_for_write;
        values.earlier = earlier.or(values.earlier.take());
        values.policies.add_all(policies);
        self
    }
}

/// Adds `with` and `timeout` to a builder that holds its [`CallOptions`] at `$options`.
macro_rules! call_options {
    ($name:ident $(<$life:lifetime>)? $([$($parameter:ident $(: $bound:path)?),+])?, $($options:ident).+) => {
        impl<$($life,)? $($($parameter $(: $bound)?),+)?> $name<$($life,)? $($($parameter),+)?> {
            /// Overrides the options of this call with those set in `options`.
            ///
            /// Headers are merged by name. See [`CallOptions`](crate::CallOptions).
            pub fn with(mut self, options: &$crate::pipeline::options::CallOptions) -> Self {
                self.$($options).+ = ::std::mem::take(&mut self.$($options).+).with(options);
                self
            }

            /// Sets the timeout of this call. See [`CallOptions::timeout`](crate::CallOptions::timeout).
            pub fn timeout(mut self, timeout: ::std::time::Duration) -> Self {
                self.$($options).+.get_mut().timeout = Some(timeout);
                self
            }
        }
    };
}
pub(crate) use call_options;
