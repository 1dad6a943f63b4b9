//! Answers in an exact order, without a service.
//!
//! What a test did not expect is a 501, then a panic: a panic inside a transport may be of a task that nobody joins.
//! The client does not retry a 501, which leaves no write in doubt, and the test hears of it from `finish` or when the
//! double is dropped.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{Request, Response, StatusCode};

use crate::model::operation_kind::OperationKind;
use crate::pipeline::transport::{BoxFuture, Transport, TransportError};
use crate::testing::fault::Fault;
use crate::testing::request_kind;
use crate::testing::verdict::{self, Verdict};

/// A [`Transport`] without a service behind it: which requests come, in this order, and what each gets. Feature
/// `test-util`.
///
/// What it gets is an [`ResponseTemplate`](crate::testing::ResponseTemplate) or a [`Fault`]. Nothing is stored: where a fault lets a
/// request be applied, what is applied is nothing, and its answer an empty 204. Attempts are requests, so what is
/// repeated after an answer stands here once more. Clones are one.
///
/// A request that is not the next one of the script gets 501 `NotExpected`, which is not tried again, and fails the
/// test, as does one that does not come: when [`finish`](Self::finish) is called, or else when the last clone is
/// dropped. Both name what came and what was expected.
///
/// ```
/// use std::time::Duration;
/// use azure_table::operation::OperationKind;
/// use azure_table::testing::{ResponseTemplate, Fault, Script};
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
/// let blogs = TableServiceClient::on(script.clone()).dynamic_table("Blogs")?;
///
/// assert!(blogs.get(("Channel9", "1")).await?.is_some());       // after two failures
/// assert_eq!(blogs.query().all().await?.len(), 1);              // an empty page is not the last one
/// script.finish();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Script {
    open: Arc<Open>,
}

/// Tells the test of what is left when it goes.
#[derive(Default)]
struct Open(Mutex<State>);

#[derive(Default)]
struct State {
    steps: VecDeque<Step>,
    /// How many requests came.
    requests: usize,
    verdict: Verdict,
}

#[derive(Clone)]
struct Step {
    /// None: any.
    kind: Option<OperationKind>,
    outcome: Fault,
}

impl Script {
    /// Expects no request.
    pub fn new() -> Self {
        Self::default()
    }

    /// Expects one more request, of this kind, which gets an [`ResponseTemplate`](crate::testing::ResponseTemplate) or a [`Fault`].
    #[must_use]
    pub fn then(self, kind: OperationKind, outcome: impl Into<Fault>) -> Self {
        self.and(Some(kind), outcome.into())
    }

    /// Expects one more request, whatever it is.
    #[must_use]
    pub fn then_any(self, outcome: impl Into<Fault>) -> Self {
        self.and(None, outcome.into())
    }

    fn and(self, kind: Option<OperationKind>, outcome: Fault) -> Self {
        self.open.state().steps.push_back(Step { kind, outcome });
        self
    }

    /// How many requests came, those that were not expected included.
    pub fn requests(&self) -> usize {
        self.open.state().requests
    }

    /// Fails the test if a request came that was not expected, or one that was expected did not. Call it where the code
    /// under test is done.
    ///
    /// # Panics
    /// One of both is so.
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

    /// What a request gets, or why it is not expected. One that is not does not use up a step.
    fn next(&mut self, request: &Request<Bytes>) -> Result<Fault, String> {
        self.requests += 1;
        let (kind, table) = request_kind::of(request);
        match self.steps.front() {
            Some(step) if step.kind.is_none_or(|expected| Some(expected) == kind) => {}
            other => {
                let expected = other.map_or("no further request".to_owned(), Step::name);
                let of = table.map(|table| format!(" of {table}")).unwrap_or_default();
                return Err(format!(
                    "request {} is {}{of}, expected was {expected}",
                    self.requests,
                    request_kind::name(kind)
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
                    Err(why) => return state.verdict.refuse(why),
                }
            };
            next.happen(&Nothing, request).await
        })
    }
}

/// What stands behind a script: takes everything and does nothing.
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
