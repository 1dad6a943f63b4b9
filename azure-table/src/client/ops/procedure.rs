//! An operation of several calls, as one builder that is a future.
//!
//! Owns boxing and polling, as `operation.rs` does for one call. The closure in a procedure's own file defines the
//! calls.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use azure_table_core::model::clock::Instant;
use azure_table_core::model::error::{ErrorInternals, Result};
use azure_table_core::model::operation_kind::OperationKind;
use azure_table_core::protocol::endpoint::Endpoint;
use azure_table_core::protocol::request::Call;
use azure_table_core::transport::BoxFuture;

use crate::client::ops::operation::{ended, start};
use crate::pipeline::Pipeline;
use crate::pipeline::history::Answer;
use crate::pipeline::options::CallOptions;

/// Steps that are not started, running or completed.
pub(crate) struct Procedure<S, T> {
    operation: OperationKind,
    /// The arguments, until it starts.
    pub(crate) wanted: Option<S>,
    /// The options of this call; they override those of the client.
    pub(crate) options: CallOptions,
    pipeline: Arc<Pipeline>,
    steps: fn(Steps, S) -> BoxFuture<'static, Result<T>>,
    running: Option<BoxFuture<'static, Result<T>>>,
}

/// The arguments of a procedure.
pub(crate) trait Begins {
    /// Returns the first call of its steps, for display.
    fn first(self, endpoint: &Endpoint) -> Result<Call>;
}

/// The context of the steps of a procedure.
pub(crate) struct Steps {
    pipeline: Arc<Pipeline>,
    options: CallOptions,
    /// The start of the first step.
    begun: Instant,
    /// The timeout of all steps.
    total: Option<Duration>,
    /// The timeout of each step.
    each: Option<Duration>,
    /// The timeout of this call alone.
    own_timeout: Option<Duration>,
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
            begun: Instant::now(),
        }
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.pipeline.endpoint
    }

    /// Returns the timeout that was set on this call, not on the client or the table.
    pub(crate) fn own_timeout(&self) -> Option<Duration> {
        self.own_timeout
    }

    /// Sets a deadline that is an argument of the operation and bounds all steps. The timeout in effect bounds each
    /// step.
    pub(crate) fn until(mut self, deadline: Duration) -> Self {
        (self.total, self.each) = (Some(deadline), self.options.get().timeout);
        self
    }

    fn time_of_step(&self) -> Option<Duration> {
        let left = self.total.map(|total| total.saturating_sub(self.begun.elapsed()));
        [left, self.each].into_iter().flatten().min()
    }

    /// Runs one call and returns its output. `answer` reads the response; its flag is `true` if an earlier attempt is
    /// in doubt.
    pub(crate) async fn call<T>(
        &self,
        call: Result<Call>,
        answer: impl FnOnce(http::Response<bytes::Bytes>, bool) -> Result<T>,
    ) -> Result<T> {
        let Answer { response, call, .. } = self.start(call?).await?;
        answer(response, call.in_doubt).map_err(|e| call.complete(e))
    }

    fn start(&self, call: Call) -> BoxFuture<'static, Result<Answer>> {
        let mut options = self.options.clone();
        options.get_mut().timeout = self.time_of_step();
        start(&self.pipeline, call, options)
    }
}

impl<S, T> Procedure<S, T> {
    pub(crate) fn new(
        operation: OperationKind,
        pipeline: &Arc<Pipeline>,
        wanted: S,
        steps: fn(Steps, S) -> BoxFuture<'static, Result<T>>,
    ) -> Self {
        Self {
            operation,
            wanted: Some(wanted),
            options: CallOptions::new(),
            pipeline: Arc::clone(pipeline),
            steps,
            running: None,
        }
    }

    /// Changes the arguments before the first step.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut S)) {
        if let Some(wanted) = &mut self.wanted {
            change(wanted);
        }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<T>> {
        if let Some(wanted) = self.wanted.take() {
            let steps = Steps::new(&self.pipeline, &mem::take(&mut self.options));
            self.running = Some((self.steps)(steps, wanted));
        }
        let Some(running) = &mut self.running else {
            return Poll::Ready(Err(ended()));
        };
        let polled = running.as_mut().poll(cx);
        if polled.is_ready() {
            self.running = None;
        }
        polled.map_err(|e| e.in_operation(self.operation, None))
    }
}

impl<S: Begins, T> Procedure<S, T> {
    /// Returns the first request as text.
    pub(crate) fn request(self) -> Result<String> {
        let first = |wanted: S| wanted.first(&self.pipeline.endpoint);
        let call = self.wanted.ok_or_else(ended).and_then(first);
        call.and_then(|call| self.pipeline.show(call, &effective(&self.pipeline, &self.options)))
            .map_err(|e| e.in_operation(self.operation, None))
    }
}

/// Returns the options of all calls of a procedure. All procedures end in a write.
fn effective(pipeline: &Pipeline, options: &CallOptions) -> CallOptions {
    pipeline.settings.defaults.clone().with(options).for_write()
}

impl<S, T> fmt::Debug for Procedure<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(self.operation.name()).finish_non_exhaustive()
    }
}

/// Turns a struct with the field `procedure: Procedure<…>` into a future with the setters of single calls. The timeout
/// covers all of its calls; the other options apply to each.
macro_rules! procedure {
    ($name:ident, $output:ty) => {
        $crate::pipeline::options::call_options!($name, procedure.options);

        impl $name {
            /// Returns its first request as text, without sending it: method and URL, headers, body.
            ///
            /// Further requests depend on the responses. The text does not contain the credential.
            ///
            /// # Errors
            /// Errors that awaiting it would return before anything is sent.
            pub fn request(self) -> azure_table_core::model::error::Result<::std::string::String> {
                self.procedure.request()
            }
        }

        impl ::std::future::Future for $name {
            type Output = azure_table_core::model::error::Result<$output>;

            fn poll(
                self: ::std::pin::Pin<&mut Self>,
                cx: &mut ::std::task::Context<'_>,
            ) -> ::std::task::Poll<Self::Output> {
                self.get_mut().procedure.poll(cx)
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.procedure.fmt(f)
            }
        }
    };
}
pub(crate) use procedure;
