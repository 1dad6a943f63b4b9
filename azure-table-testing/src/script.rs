//! Responses in an exact order, without a service.
//!
//! An unexpected request gets a 501, and the test panics later: a panic inside the transport could occur in a task that
//! nobody joins. The client does not retry a 501, which leaves no write in doubt. `finish`, or the drop of the script,
//! reports it to the test.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::request::inbound::Inbound;
use azure_table_wire::transport::{BoxFuture, Transport, TransportError};
use bytes::Bytes;
use http::{Request, Response, StatusCode};

use crate::exchange;
use crate::fault::Fault;
use crate::verdict::{self, Verdict};

/// A [`Transport`] without a service: the expected requests in order, and the outcome of each. Feature `test-util`.
///
/// An outcome is a [`ResponseTemplate`](crate::ResponseTemplate) or a [`Fault`]. Nothing is stored: a fault
/// that applies a request applies nothing, and the response is an empty 204. Each attempt is a request, so each retry
/// needs its own step. Clones share one script.
///
/// A request that does not match the next step gets 501 `NotExpected`, which the client does not retry. It fails the
/// test, and so does an expected request that never comes. Either [`finish`](Self::finish) or the drop of the last
/// clone reports the failure. The message names the actual and the expected requests.
///
/// ```
/// use std::time::Duration;
/// use azure_table::operation::OperationKind;
/// use azure_table::testing::{EntityResponse as _, Fault, ResponseTemplate, Script};
/// use azure_table::{DynamicEntity, TableServiceClient};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// # tokio::time::pause();
/// let row = DynamicEntity::new("Channel9", "1");
/// let script = Script::new()
///     .then(OperationKind::Get, ResponseTemplate::server_busy(Duration::from_secs(3)))
///     .then(OperationKind::Get, Fault::Reset)
///     .then(OperationKind::Get, ResponseTemplate::row(&row))
///     .then(OperationKind::Query, ResponseTemplate::page([] as [&DynamicEntity; 0]).continuation("Channel9", "2"))
///     .then(OperationKind::Query, ResponseTemplate::page([&row]));
/// let blogs = TableServiceClient::from_transport(script.clone()).dynamic_table("Blogs")?;
///
/// assert!(blogs.get(("Channel9", "1")).await?.is_some());       // after two failures
/// assert_eq!(blogs.query().all().await?.len(), 1);              // an empty page is not always the last
/// script.finish();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Script {
    open: Arc<Open>,
}

/// The shared state. It reports the remaining steps to the test when it is dropped.
#[derive(Default)]
struct Open(Mutex<State>);

#[derive(Default)]
struct State {
    steps: VecDeque<Step>,
    /// The number of requests so far.
    requests: usize,
    verdict: Verdict,
}

#[derive(Clone)]
struct Step {
    /// `None` means any kind.
    kind: Option<OperationKind>,
    outcome: Fault,
}

impl Script {
    /// Creates a script that expects no request.
    pub fn new() -> Self {
        Self::default()
    }

    /// Expects one more request, of this kind.
    ///
    /// Its outcome is a [`ResponseTemplate`](crate::ResponseTemplate) or a [`Fault`].
    #[must_use]
    pub fn then(self, kind: OperationKind, outcome: impl Into<Fault>) -> Self {
        self.and(Some(kind), outcome.into())
    }

    /// Expects one more request, of any kind.
    #[must_use]
    pub fn then_any(self, outcome: impl Into<Fault>) -> Self {
        self.and(None, outcome.into())
    }

    fn and(self, kind: Option<OperationKind>, outcome: Fault) -> Self {
        self.open.state().steps.push_back(Step { kind, outcome });
        self
    }

    /// Returns the number of requests, including unexpected ones.
    pub fn requests(&self) -> usize {
        self.open.state().requests
    }

    /// Fails the test if an unexpected request was received, or an expected one was not.
    ///
    /// Call it at the end of the code under test.
    ///
    /// # Panics
    /// Panics if an unexpected request was received, or an expected one was not.
    #[track_caller]
    pub fn finish(&self) {
        let text = self.open.state().tell();
        verdict::fail(text);
    }
}

impl Open {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn tell(&mut self) -> Option<String> {
        let number = self.requests;
        let steps = self.steps.iter().enumerate();
        let missing: Vec<String> = steps
            .map(|(i, step)| format!("request {}, {}", number + i + 1, step.name()))
            .collect();
        self.verdict.tell("the script", &missing)
    }

    /// Returns the outcome of a request, or why it is unexpected. An unexpected one uses up no step.
    fn next(&mut self, request: &Request<Bytes>) -> Result<Fault, String> {
        self.requests += 1;
        let inbound = Inbound::of(request);
        let kind = inbound.kind();
        match self.steps.front() {
            Some(step) if step.kind.is_none_or(|expected| Some(expected) == kind) => {}
            other => {
                let expected = other.map_or("no further request".to_owned(), Step::name);
                let of = inbound.table().map(|table| format!(" of {table}")).unwrap_or_default();
                return Err(format!(
                    "request {} is {}{of}, expected {expected}",
                    self.requests,
                    exchange::name(kind)
                ));
            }
        }
        let step = self.steps.pop_front();
        step.map(|step| step.outcome).ok_or_else(String::new)
    }
}

impl Step {
    fn name(&self) -> String {
        self.kind.map_or("any request".to_owned(), |kind| format!("{kind:?}"))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let text = self.state().tell();
        verdict::fail_in_drop(text);
    }
}

impl Transport for Script {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let next = {
                let mut state = self.open.state();
                match state.next(&request) {
                    Ok(outcome) => outcome,
                    Err(why) => return state.verdict.reject(why),
                }
            };
            next.happen(&Nothing, request).await
        })
    }

    fn opens_connections(&self) -> bool {
        false
    }
}

/// The transport behind a script: accepts everything and does nothing.
#[derive(Debug)]
struct Nothing;

impl Transport for Nothing {
    fn send(&self, _: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let mut done = Response::new(Bytes::new());
        *done.status_mut() = StatusCode::NO_CONTENT;
        Box::pin(async { Ok(done) })
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.open.state();
        f.debug_struct("Script")
            .field("requests", &state.requests)
            .field("left", &state.steps.len())
            .finish_non_exhaustive()
    }
}
