//! The future that all calls are based on.
//!
//! It handles options, boxing and polling. A [`Spec`] holds only the request and the response, or the steps. The boxed
//! future is independent of both: it carries bytes, so that no entity type needs to be `'static` or `Send` and the loop
//! is compiled once.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::transport::BoxFuture;
use bytes::Bytes;
use http::Response;

use crate::account::table_name::TableName;
use crate::client::ops::start::{already_completed, start};
use crate::client::ops::steps::{RunSteps, Steps, first_request};
use crate::client::poll::task::Running;
use crate::pipeline::Pipeline;
use crate::pipeline::attempt_end::CallEnd;
use crate::pipeline::observer::Event;
use crate::pipeline::observer::history::CallResponse;
use crate::pipeline::options::CallOptions;
use crate::write::operation_request::OperationRequest;
use crate::write::row_write::WrittenRow;

/// The request of an operation and how to read its response, or the operation's steps.
pub(crate) trait Spec {
    /// The output of the call.
    type Output;

    /// Returns the request. Called once, on the first poll: invalid input is reported there, before anything is sent.
    fn request(&mut self, endpoint: &Endpoint, table: &str) -> Result<OperationRequest> {
        let _ = (endpoint, table);
        Err(already_completed())
    }

    /// Reads the output from a response of any status; `is_in_doubt` if an earlier attempt of the call may have been
    /// applied.
    fn read_response(&mut self, response: Response<Bytes>, is_in_doubt: bool) -> Result<Self::Output> {
        let _ = (response, is_in_doubt);
        Err(already_completed())
    }

    /// Returns the number of entities read.
    fn entities(&self, _: &Self::Output) -> usize {
        0
    }

    /// Returns the output of a write whose response was lost, and whose rows show that it was applied. Called only for
    /// operations whose call lists the rows it writes. `may_recur` if another attempt may still be applied.
    fn read_back(&mut self, rows: Vec<WrittenRow>, may_recur: bool) -> Result<Self::Output> {
        let _ = (rows, may_recur);
        Err(Error::invalid_response("the response was lost"))
    }

    /// Returns the steps of an operation of several requests. The call then has no request of its own.
    fn take_steps(&mut self) -> Option<RunSteps<Self::Output>> {
        None
    }
}

/// An operation that is not started, running or completed.
pub(crate) struct CallFuture<S: Spec> {
    kind: OperationKind,
    /// `None` for an operation on the whole account.
    table: Option<TableName>,
    pub(crate) spec: S,
    pub(crate) options: CallOptions,
    /// `true` if it runs on a spawned task.
    pub(crate) in_task: bool,
    pub(crate) pipeline: Arc<Pipeline>,
    state: State<S::Output>,
}

enum State<T> {
    Idle,
    Running(Running<CallResponse>),
    Steps(BoxFuture<'static, Result<T>>),
    Done,
}

impl<S: Spec> CallFuture<S> {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, kind: OperationKind, table: Option<&TableName>, spec: S) -> Self {
        Self {
            kind,
            table: table.cloned(),
            spec,
            options: pipeline.settings.defaults.clone(),
            in_task: false,
            pipeline: Arc::clone(pipeline),
            state: State::Idle,
        }
    }

    /// Creates a call of several requests. Its options are its own: the steps begin with those of the client.
    pub(crate) fn with_steps(pipeline: &Arc<Pipeline>, kind: OperationKind, spec: S) -> Self {
        Self {
            options: CallOptions::new(),
            ..Self::new(pipeline, kind, None, spec)
        }
    }

    /// Returns the same call, before it is sent, with another way to read its response.
    pub(crate) fn map_spec<T: Spec>(self, map: impl FnOnce(S) -> T) -> CallFuture<T> {
        CallFuture {
            kind: self.kind,
            table: self.table,
            spec: map(self.spec),
            options: self.options,
            in_task: self.in_task,
            pipeline: self.pipeline,
            state: State::Idle,
        }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<S::Output>> {
        if matches!(self.state, State::Idle) {
            match self.begin() {
                Ok(started) => self.state = started,
                Err(e) => {
                    self.state = State::Done;
                    return Poll::Ready(Err(self.named(e)));
                }
            }
        }
        let output = match &mut self.state {
            State::Running(running) => ready!(running.poll(cx)).and_then(|received| self.finish(received)),
            State::Steps(running) => ready!(running.as_mut().poll(cx)).map_err(|e| self.named(e)),
            State::Idle | State::Done => Err(self.named(already_completed())),
        };
        self.state = State::Done;
        Poll::Ready(output)
    }

    /// Starts the call.
    fn begin(&mut self) -> Result<State<S::Output>> {
        let options = mem::take(&mut self.options);
        if let Some(run) = self.spec.take_steps() {
            return Ok(State::Steps(run(Steps::new(&self.pipeline, &options))));
        }
        let request = self.request()?;
        let running = start(&self.pipeline, request, options);
        Ok(State::Running(Running::new(running, self.in_task)))
    }

    /// Reads the output of a call that was sent.
    fn finish(&mut self, received: CallResponse) -> Result<S::Output> {
        let CallResponse {
            end,
            call,
            rows,
            started,
        } = received;
        let output = match end {
            // Of a single lost attempt, nothing is in flight any more.
            CallEnd::ReadBack(rows) => self
                .spec
                .read_back(rows, call.in_doubt.is_some_and(|lost| lost.count > 1)),
            CallEnd::Responded(response) => self.spec.read_response(response, call.in_doubt.is_some()),
        };
        if let Ok(output) = &output {
            self.report_read(self.spec.entities(output));
        }
        output.map_err(|e| call.complete_write(e, &rows, started, &self.pipeline.endpoint))
    }

    /// Returns the request as text, the first one if there are several.
    pub(crate) fn request_text(mut self) -> Result<String> {
        let text = match self.spec.take_steps() {
            Some(run) => first_request(&self.pipeline, &self.options, run),
            None => self
                .request()
                .and_then(|request| self.pipeline.show(request, &self.options)),
        };
        text.map_err(|e| self.named(e))
    }

    fn request(&mut self) -> Result<OperationRequest> {
        let table = self.table.as_ref().map_or("", TableName::as_str);
        self.spec.request(&self.pipeline.endpoint, table)
    }

    fn report_read(&self, entities: usize) {
        if let (Some(table), 1..) = (&self.table, entities) {
            self.pipeline.observers.notify(&Event::Read {
                operation: self.kind.name(),
                table: table.as_str(),
                entities,
            });
        }
    }

    /// Adds the operation and the table to an error.
    fn named(&self, error: Error) -> Error {
        error.in_operation(self.kind, self.table.as_ref().map(TableName::as_str))
    }
}

impl<S: Spec> fmt::Debug for CallFuture<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Idle => "not sent",
            State::Running(_) | State::Steps(_) => "running",
            State::Done => "done",
        };
        f.debug_struct(self.kind.name())
            .field("table", &self.table.as_ref().map(TableName::as_str))
            .field("state", &state)
            .finish()
    }
}

/// Implements `Future` for a type with a [`CallFuture`] in `operation`, and adds the setters that all calls have.
macro_rules! call_future {
    ($name:ident $([$($parameter:ident),+])? -> $output:ty) => {
        $crate::pipeline::options::call_options!($name $([$($parameter),+])?, operation.options);

        impl$(<$($parameter),+>)? $name $(<$($parameter),+>)? {
            /// Returns the request as text, without sending it: method and URL, headers, body.
            ///
            /// If the call takes several requests, returns the first, because the others depend on responses. The text
            /// does not contain the credential.
            ///
            /// # Errors
            /// Returns errors that occur before the call sends anything, and `InvalidInput` if it sends nothing.
            pub fn request_text(self) -> azure_table_wire::error::Result<::std::string::String> {
                self.operation.request_text()
            }
        }

        impl$(<$($parameter),+>)? ::std::future::Future for $name $(<$($parameter),+>)? {
            type Output = azure_table_wire::error::Result<$output>;

            fn poll(
                self: ::std::pin::Pin<&mut Self>,
                cx: &mut ::std::task::Context<'_>,
            ) -> ::std::task::Poll<Self::Output> {
                self.get_mut().operation.poll(cx)
            }
        }

        impl$(<$($parameter),+>)? ::std::fmt::Debug for $name $(<$($parameter),+>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.operation.fmt(f)
            }
        }
    };
}
pub(crate) use call_future;
