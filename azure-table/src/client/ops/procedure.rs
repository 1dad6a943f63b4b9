//! An operation of several calls, as one builder that is a future.
//!
//! It handles boxing and polling, as `operation.rs` does for one call. A procedure's own file holds its [`Arguments`],
//! which define the calls.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::Result;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::transport::BoxFuture;
use azure_table_wire::value::clock::Instant;

use crate::client::ops::call_future::{polled_again, start};
use crate::pipeline::Pipeline;
use crate::pipeline::observer::history::CallResponse;
use crate::pipeline::options::CallOptions;
use crate::write::call::Call;

/// Steps that are not started, running or completed. The timeout covers all of their calls; the other options apply to
/// each.
pub(crate) struct Procedure<A: Arguments> {
    /// The arguments, until it starts.
    arguments: Option<A>,
    /// The options of this call; they override the client's.
    pub(crate) options: CallOptions,
    pipeline: Arc<Pipeline>,
    running: Option<BoxFuture<'static, Result<A::Output>>>,
}

/// The arguments of a procedure.
pub(crate) trait Arguments: Send + 'static {
    /// The output of the procedure.
    type Output;

    const OPERATION: OperationKind;

    /// Returns the first call of its steps, for display.
    fn first(self, endpoint: &Endpoint) -> Result<Call>;

    /// Runs the steps.
    fn run(self, steps: Steps) -> impl Future<Output = Result<Self::Output>> + Send;
}

/// The context of the steps of a procedure.
pub(crate) struct Steps {
    pipeline: Arc<Pipeline>,
    options: CallOptions,
    /// The start of the first step.
    started: Instant,
    /// The timeout of all steps.
    total: Option<Duration>,
    /// The timeout of each step.
    each: Option<Duration>,
    /// The timeout that was set on this call, not on the client or the table.
    pub(crate) own_timeout: Option<Duration>,
}

impl Steps {
    /// Creates steps whose total timeout is the timeout in effect.
    fn new(pipeline: &Arc<Pipeline>, own: &CallOptions) -> Self {
        let options = effective(pipeline, own);
        Self {
            own_timeout: own.get().timeout,
            pipeline: Arc::clone(pipeline),
            total: options.get().timeout,
            each: None,
            options,
            started: Instant::now(),
        }
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.pipeline.endpoint
    }

    /// Sets a deadline that is an argument of the operation and bounds all steps. The timeout in effect bounds each
    /// step.
    pub(crate) fn until(mut self, deadline: Duration) -> Self {
        (self.total, self.each) = (Some(deadline), self.options.get().timeout);
        self
    }

    /// Returns the timeout that ends the next step first, and the rest of it.
    fn limit_of_step(&self) -> (Option<Duration>, Option<Duration>) {
        let left = self.total.map(|total| total.saturating_sub(self.started.elapsed()));
        match self.each {
            Some(each) if left.is_none_or(|left| each < left) => (self.each, self.each),
            _ => (self.total, left),
        }
    }

    /// Runs one call and returns its output. `read_response` reads the response; its flag is `true` if an earlier
    /// attempt is in doubt.
    pub(crate) async fn call<T>(
        &self,
        call: Result<Call>,
        read_response: impl FnOnce(http::Response<bytes::Bytes>, bool) -> Result<T>,
    ) -> Result<T> {
        let mut options = self.options.clone();
        let (whole, rest) = self.limit_of_step();
        options.leave(whole, rest);
        let CallResponse { response, call, .. } = start(&self.pipeline, call?, options).await?;
        read_response(response, call.in_doubt.is_some()).map_err(|e| call.complete(e))
    }
}

impl<A: Arguments> Procedure<A> {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, arguments: A) -> Self {
        Self {
            arguments: Some(arguments),
            options: CallOptions::new(),
            pipeline: Arc::clone(pipeline),
            running: None,
        }
    }

    /// Changes the arguments before the first step.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut A)) {
        if let Some(arguments) = &mut self.arguments {
            change(arguments);
        }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<A::Output>> {
        if let Some(arguments) = self.arguments.take() {
            let steps = Steps::new(&self.pipeline, &mem::take(&mut self.options));
            self.running = Some(Box::pin(arguments.run(steps)));
        }
        let Some(running) = &mut self.running else {
            return Poll::Ready(Err(polled_again()));
        };
        let polled = running.as_mut().poll(cx);
        if polled.is_ready() {
            self.running = None;
        }
        polled.map_err(|e| e.in_operation(A::OPERATION, None))
    }

    /// Returns the first request as text.
    pub(crate) fn request(self) -> Result<String> {
        let first = |arguments: A| arguments.first(&self.pipeline.endpoint);
        let call = self.arguments.ok_or_else(polled_again).and_then(first);
        call.and_then(|call| self.pipeline.show(call, &effective(&self.pipeline, &self.options)))
            .map_err(|e| e.in_operation(A::OPERATION, None))
    }
}

/// Returns the options of all calls of a procedure. All procedures end in a write.
fn effective(pipeline: &Pipeline, options: &CallOptions) -> CallOptions {
    pipeline.settings.defaults.clone().with(options).for_write()
}

impl<A: Arguments> fmt::Debug for Procedure<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(A::OPERATION.name()).finish_non_exhaustive()
    }
}
