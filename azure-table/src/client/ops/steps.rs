//! An operation of several requests: a closure over its steps.
//!
//! The timeout of the call covers all steps; its other options apply to each. For
//! [`request_text`](crate::operation::Call::request_text) the same closure runs until its first request. So nothing
//! happens before that: no wait, and no progress.

use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::transport::BoxFuture;
use azure_table_wire::transport::deadline::Deadline;
use bytes::Bytes;
use http::Response;

use crate::client::ops::start::start;
use crate::pipeline::Pipeline;
use crate::pipeline::observer::history::CallResponse;
use crate::pipeline::options::CallOptions;
use crate::write::operation_request::OperationRequest;

/// Runs the steps of an operation.
pub(crate) type RunSteps<T> = Box<dyn FnOnce(Steps) -> BoxFuture<'static, Result<T>> + Send>;

/// The context of the steps of an operation.
pub(crate) struct Steps {
    pipeline: Arc<Pipeline>,
    pub(crate) options: CallOptions,
    /// The timeout that was set on this call, not on the client or the table.
    pub(crate) own_timeout: Option<Duration>,
    /// Takes the text of the first request instead of sending it.
    first_request: Option<Arc<OnceLock<Result<String>>>>,
}

impl Steps {
    /// Creates steps whose timeout limits each of them.
    pub(crate) fn new(pipeline: &Arc<Pipeline>, own: &CallOptions) -> Self {
        // Every operation of several steps ends in a write, or reads after one.
        let options = pipeline.settings.defaults.clone().with(own).for_write();
        Self {
            own_timeout: own.get().timeout,
            pipeline: Arc::clone(pipeline),
            options,
            first_request: None,
        }
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.pipeline.endpoint
    }

    /// Lets the timeout limit all steps together, from now on.
    pub(crate) fn begun(mut self) -> Self {
        self.options = self.options.begun();
        self
    }

    /// Limits all steps together, besides the timeout of each.
    pub(crate) fn until(mut self, total_timeout: Duration) -> Self {
        if let Some(deadline) = Deadline::after("total_timeout", total_timeout) {
            self.options.end_at(deadline);
        }
        self
    }

    /// Sends one request and returns its output. `read_response` reads the response; its flag is `true` if an earlier
    /// attempt is in doubt.
    pub(crate) async fn call<T>(
        &self,
        request: Result<OperationRequest>,
        read_response: impl FnOnce(Response<Bytes>, bool) -> Result<T>,
    ) -> Result<T> {
        let request = request?;
        if let Some(first) = &self.first_request {
            let _ = first.set(self.pipeline.show(request, &self.options));
            return Err(Error::invalid_input("the request is shown, not sent"));
        }
        let CallResponse { end, call, .. } = start(&self.pipeline, request, self.options.clone()).await?;
        let read = (end.into_response()).and_then(|response| read_response(response, call.in_doubt.is_some()));
        read.map_err(|e| call.complete(e))
    }
}

/// Returns the first request as text: the steps run until they would send it.
///
/// # Errors
/// The error of steps that end before, or `InvalidInput` if they succeed without a request.
pub(crate) fn first_request<T>(pipeline: &Arc<Pipeline>, own: &CallOptions, run: RunSteps<T>) -> Result<String> {
    let text = Arc::new(OnceLock::new());
    let mut steps = Steps::new(pipeline, own);
    steps.first_request = Some(Arc::clone(&text));
    let mut running = run(steps);
    let ended = running.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    drop(running);
    match (Arc::into_inner(text).and_then(OnceLock::into_inner), ended) {
        (Some(text), _) => text,
        (None, Poll::Ready(Err(e))) => Err(e),
        (None, _) => Err(Error::invalid_input("nothing is sent")),
    }
}
