//! Reads of the same entity that share a request.
//!
//! Defines [`SharedReads`], which lets equal reads of a client share requests. At most one request is in flight for
//! equal reads. A read that starts meanwhile waits for the next request, which all waiting reads share. It never joins
//! the request in flight, whose response may be older than the caller's own last write. So each read returns a state of
//! the entity between its start and its end, like a separate request.
//!
//! A request runs on a task as long as a caller waits for it: see `shared_fetch.rs`.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azure_table_wire::error::diagnostics::{Attempt, Diagnostics};
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::transport::deadline::Deadline;
use azure_table_wire::value::clock::Instant;
use http::Uri;
use http::header::{ACCEPT, HeaderValue};
use tokio::runtime::{self, Handle};

use crate::key::key_texts::KeyTexts;
use crate::pipeline::Pipeline;
use crate::pipeline::hedge::HedgeIdentity;
use crate::pipeline::location::LocationMode;
use crate::pipeline::observer::context::OperationContext;
use crate::pipeline::observer::history::CallResponse;
use crate::pipeline::options::headers::Headers;
use crate::pipeline::options::{CallOptions, OptionValues};
use crate::pipeline::shared_fetch::{Outcome, Receiver, WeakReceiver, own};
use crate::write::call::Call;

/// A request as one of its callers sees it: its outcome, and its attempts so far.
type Joined = (Receiver<CallResponse>, OperationContext);

/// The waiting reads of a client.
///
/// A key has an entry while its request is in flight or about to be sent. The value is the next request, if a caller
/// waits for one.
#[derive(Default)]
pub(crate) struct SharedReads(Mutex<HashMap<ReadKey, Option<NextRead>>>);

/// A request that is not sent yet.
struct NextRead {
    pipeline: Arc<Pipeline>,
    call: Call,
    options: CallOptions,
    outcome: Outcome<CallResponse>,
    /// Records the attempts for all callers.
    attempts: OperationContext,
    /// Lives as long as one of its callers.
    receiver: WeakReceiver<CallResponse>,
}

/// Reads with equal keys send the same request in the same way.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ReadKey {
    /// Tasks of another runtime may never run.
    runtime: runtime::Id,
    /// The account, the table, the entity and the `$select`.
    uri: Uri,
    accept: Option<HeaderValue>,
    attempt_timeout: Option<Duration>,
    client_request_id: Option<String>,
    headers: Headers,
    /// The address of the policy.
    retry: Option<usize>,
    hedge: Option<HedgeIdentity>,
    via_batch: bool,
    /// Their addresses.
    policies: Vec<usize>,
}

impl Pipeline {
    /// Returns `true` if a call may share its request: a read of one entity from the primary, with the option set.
    pub(crate) fn shares(&self, call: &Call, options: &CallOptions) -> bool {
        options.get().shared_reads == Some(true)
            && call.operation == OperationKind::Get
            && self.mode(call, options) == LocationMode::PrimaryOnly
            // A handle that sends nothing returns its own error.
            && self.settings.check_variant().is_ok()
    }

    /// Runs a call that shares its request.
    pub(crate) async fn run_shared(self: &Arc<Self>, mut call: Call, options: CallOptions) -> Result<CallResponse> {
        let Ok(runtime) = Handle::try_current() else {
            return self.run(&mut call, &options).await;
        };
        let started = Instant::now();
        let deadline = Deadline::new(options.get().timeout);
        let (outcome, attempts) = self.shared_reads.join(self, &call, &options, &runtime);
        let result = match deadline.limit(outcome).await {
            Some(Ok(outcome)) => own(&outcome),
            // The runtime of the task has shut down, or the task panicked.
            Some(Err(_)) => return self.run(&mut call, &options.since(started)).await,
            None => Err(timed_out(&call, attempts.diagnostics())),
        };
        if let Some(context) = &options.get().context {
            for attempt in attempts.attempts() {
                context.add(attempt);
            }
        }
        result
    }
}

/// Returns the timeout error of a caller, with the attempts that have ended.
fn timed_out(call: &Call, diagnostics: Diagnostics) -> Error {
    let error = Error::new(
        ErrorKind::Timeout,
        "the `timeout` of the call ended while it waited for a request that it shares with other reads",
    );
    let last = diagnostics.attempts().last();
    let mut error = error.in_operation(call.operation, call.table.as_deref());
    let parts = error.parts_mut();
    parts.attempts = last.map_or(0, Attempt::number);
    parts.client_request_id = last.map(|attempt| attempt.client_request_id().to_owned());
    parts.diagnostics = diagnostics;
    match call.entity.as_deref().map(KeyTexts::pair) {
        Some((partition_key, row_key)) => error.at_entity(partition_key, row_key),
        None => error,
    }
}

impl SharedReads {
    /// Joins the next request for the entity. Starts a task that sends it if none is in flight.
    fn join(
        self: &Arc<Self>,
        pipeline: &Arc<Pipeline>,
        call: &Call,
        options: &CallOptions,
        runtime: &Handle,
    ) -> Joined {
        let key = ReadKey::new(call, options, runtime);
        let mut waiting = self.lock();
        let next = waiting.get(&key).and_then(Option::as_ref);
        if let Some(joined) = next.and_then(NextRead::join) {
            return joined;
        }
        let (next, joined) = NextRead::new(pipeline, call, options);
        // All callers of that request are gone: replace it.
        let before = waiting.insert(key.clone(), Some(next));
        drop(waiting);
        if before.is_none() {
            let (reads, is_over) = (Arc::clone(self), false);
            runtime.spawn(Lane { reads, key, is_over }.run());
        }
        joined
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ReadKey, Option<NextRead>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shows no keys.
impl fmt::Debug for SharedReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedReads({} in flight)", self.lock().len())
    }
}

/// The consecutive requests for one key.
struct Lane {
    reads: Arc<SharedReads>,
    key: ReadKey,
    /// The key's entry was removed. A later entry belongs to another task.
    is_over: bool,
}

impl Lane {
    async fn run(mut self) {
        while let Some(next) = self.next() {
            next.run().await;
        }
    }

    /// Takes the next request. Removes the key's entry if no caller waits.
    fn next(&mut self) -> Option<NextRead> {
        let mut waiting = self.reads.lock();
        let next = waiting.get_mut(&self.key).and_then(Option::take);
        if next.is_none() {
            waiting.remove(&self.key);
            self.is_over = true;
        }
        next
    }
}

/// Removes the entry if the task ends early with its runtime. The entry would block all later reads of the key.
impl Drop for Lane {
    fn drop(&mut self) {
        if !self.is_over {
            let removed = self.reads.lock().remove(&self.key);
            drop(removed);
        }
    }
}

impl NextRead {
    /// Creates a request with its first caller.
    fn new(pipeline: &Arc<Pipeline>, call: &Call, options: &CallOptions) -> (Self, Joined) {
        let mut options = options.clone();
        let attempts = OperationContext::new();
        // Timeout and context are each caller's own.
        let own = options.get_mut();
        (own.timeout, own.context) = (None, Some(attempts.clone()));
        let (outcome, received) = Outcome::channel();
        let next = Self {
            pipeline: Arc::clone(pipeline),
            call: call.clone(),
            options,
            outcome,
            attempts: attempts.clone(),
            receiver: received.downgrade(),
        };
        (next, (received, attempts))
    }

    /// Joins the request, unless all its callers are gone.
    fn join(&self) -> Option<Joined> {
        Some((self.receiver.as_ref()?.upgrade()?, self.attempts.clone()))
    }

    /// Sends the request if a caller waits for it. Cancels it once no caller waits.
    async fn run(mut self) {
        let reading = self.pipeline.run(&mut self.call, &self.options);
        self.outcome.run(reading).await;
    }
}

impl ReadKey {
    fn new(call: &Call, options: &CallOptions, runtime: &Handle) -> Self {
        // A new option is part of the key unless it is each caller's own.
        let OptionValues {
            timeout: _,
            whole_timeout: _,
            attempt_timeout,
            client_request_id,
            headers,
            context: _,
            retry,
            // All of these read from the primary.
            location_mode: _,
            hedge,
            pinned: _,
            via_batch,
            is_for_write: _,
            // Writes only.
            earlier: _,
            shared_reads: _,
            policies,
        } = options.get();
        Self {
            runtime: runtime.id(),
            uri: call.request.uri().clone(),
            accept: call.request.headers().get(ACCEPT).cloned(),
            attempt_timeout: *attempt_timeout,
            client_request_id: client_request_id.clone(),
            headers: headers.clone(),
            retry: retry.as_ref().map(|retry| Arc::as_ptr(retry).addr()),
            hedge: hedge.as_ref().map(|hedge| hedge.identity()),
            via_batch: *via_batch,
            policies: policies.addresses(),
        }
    }
}
