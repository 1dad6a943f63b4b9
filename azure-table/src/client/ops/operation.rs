//! The operation that all builders are based on.
//!
//! Owns options, boxing and polling. A builder's own file holds only its request and its response, as a [`Spec`]. The
//! boxed future knows neither: it carries bytes, so that no entity type needs to be `'static` or `Send` and the loop is
//! compiled once.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use azure_table_core::model::clock::Instant;
use azure_table_core::model::error::{Error, ErrorInternals, Result};
use azure_table_core::model::operation_kind::{Effect, OperationKind};
use azure_table_core::protocol::endpoint::Endpoint;
use azure_table_core::protocol::operation::TableOperation;
use azure_table_core::protocol::profile::ProfileInternals;
use azure_table_core::protocol::read_back::WrittenRow;
use azure_table_core::protocol::request::Call;
use azure_table_core::protocol::table_result::TableResult;
use azure_table_core::protocol::{batch_answer, tables};
use azure_table_core::transport::BoxFuture;
use bytes::Bytes;
use http::Response;

use crate::client::task::Running;
use crate::pipeline::Pipeline;
use crate::pipeline::history::Answer;
use crate::pipeline::observer::Event;
use crate::pipeline::options::CallOptions;
use crate::pipeline::write_group::WriteGroup;

/// The request of an operation, and the reading of its response.
pub(crate) trait Spec {
    /// The output of the call.
    type Output;

    /// Returns the operation and the table, for errors before there is a request.
    fn subject(&self) -> (OperationKind, Option<&str>);

    /// Returns the request. Called once, on the first poll: invalid input is reported there, before anything is sent.
    fn call(&mut self, endpoint: &Endpoint) -> Result<Call>;

    /// Reads the output from a response of any status; `is_in_doubt` if an earlier attempt of the call may have been
    /// applied.
    fn answer(&mut self, response: Response<Bytes>, is_in_doubt: bool) -> Result<Self::Output>;

    /// Returns the number of entities read.
    fn entities(_: &Self::Output) -> usize {
        0
    }

    /// Takes the write that a group may send with others, or `None` for any other call.
    fn take_write(&mut self) -> Option<TableOperation> {
        None
    }

    /// Returns the output of a write that a group has sent.
    fn written(&mut self, result: Result<TableResult>) -> Result<Self::Output> {
        Err(result.err().unwrap_or_else(ended))
    }

    /// Returns the output of a write whose response was lost, and whose rows show that it was applied. Called only for
    /// operations whose call lists the rows it writes.
    fn applied(&mut self, rows: Vec<WrittenRow>) -> Result<Self::Output> {
        let _ = rows;
        Err(Error::invalid_response("the response was lost"))
    }
}

/// An operation that is not started, running or completed.
pub(crate) struct Operation<S> {
    pub(crate) spec: S,
    pub(crate) options: CallOptions,
    /// `true` if it runs on a spawned task.
    pub(crate) in_task: bool,
    pub(crate) pipeline: Arc<Pipeline>,
    state: State,
}

enum State {
    Idle,
    Running(Running<Answer>),
    /// Accepted by the group of the handle.
    Grouped(BoxFuture<'static, Result<TableResult>>),
    Done,
}

/// The result of a poll that is ready.
#[expect(clippy::large_enum_variant, reason = "nearly all are answers, and none is kept")]
enum Polled {
    Begin,
    Answered(Result<Answer>),
    Written(Result<TableResult>),
    Ended,
}

// What does not depend on the operation is here, so that it is compiled once.
impl State {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Polled> {
        let (before, found) = match mem::replace(self, Self::Done) {
            Self::Idle => return Poll::Ready(Polled::Begin),
            Self::Done => return Poll::Ready(Polled::Ended),
            Self::Running(mut running) => {
                let found = running.poll(cx).map(Polled::Answered);
                (Self::Running(running), found)
            }
            Self::Grouped(mut write) => {
                let found = write.as_mut().poll(cx).map(Polled::Written);
                (Self::Grouped(write), found)
            }
        };
        if found.is_pending() {
            *self = before;
        }
        found
    }

    /// Gives a write to the group of the handle.
    fn grouped(
        pipeline: &Pipeline,
        group: &Arc<dyn WriteGroup>,
        write: TableOperation,
        options: CallOptions,
    ) -> Result<Self> {
        pipeline.settings.check_variant()?;
        let write = Arc::clone(group).write(write, options, pipeline.settings.creates_missing_tables)?;
        Ok(Self::Grouped(write))
    }

    fn running(pipeline: &Arc<Pipeline>, call: Call, options: CallOptions, in_task: bool) -> Self {
        let running = start(pipeline, call, options);
        Self::Running(match in_task {
            true => Running::in_task(running),
            false => Running::Here(running),
        })
    }
}

impl<S: Spec> Operation<S> {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, spec: S) -> Self {
        Self {
            spec,
            options: pipeline.settings.defaults.clone(),
            in_task: false,
            pipeline: Arc::clone(pipeline),
            state: State::Idle,
        }
    }

    /// Sets the options, which already contain those of the client.
    pub(crate) fn of_options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    /// Returns the same call with another reading of its response.
    pub(crate) fn map_spec<T: Spec>(self, map: impl FnOnce(S) -> T) -> Operation<T> {
        Operation {
            spec: map(self.spec),
            options: self.options,
            in_task: self.in_task,
            pipeline: self.pipeline,
            state: self.state,
        }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<S::Output>> {
        loop {
            let output = match ready!(self.state.poll(cx)) {
                Polled::Begin => match self.begin() {
                    Ok(begun) => {
                        self.state = begun;
                        continue;
                    }
                    Err(e) => Err(self.refused(e)),
                },
                Polled::Answered(Ok(answer)) => self.answered(answer),
                Polled::Answered(Err(e)) => Err(e),
                Polled::Written(result) => self.spec.written(result).map_err(|e| self.refused(e)),
                Polled::Ended => Err(self.refused(ended())),
            };
            return Poll::Ready(output);
        }
    }

    /// Starts the call.
    fn begin(&mut self) -> Result<State> {
        let options = mem::take(&mut self.options);
        if let Some(group) = &self.pipeline.settings.group
            && let Some(write) = self.spec.take_write()
        {
            return State::grouped(&self.pipeline, group, write, options);
        }
        let call = self.spec.call(&self.pipeline.endpoint)?;
        Ok(State::running(&self.pipeline, call, options, self.in_task))
    }

    /// Reads the output of a call that was sent.
    fn answered(&mut self, answer: Answer) -> Result<S::Output> {
        let Answer {
            response,
            call,
            applied,
        } = answer;
        let output = match applied {
            Some(rows) => self.spec.applied(rows),
            None => self.spec.answer(response, call.in_doubt),
        };
        if let Ok(output) = &output {
            self.tell_read(S::entities(output));
        }
        output.map_err(|e| call.complete(e))
    }

    /// Returns the request as text.
    pub(crate) fn request(mut self) -> Result<String> {
        let call = self.spec.call(&self.pipeline.endpoint);
        call.and_then(|call| self.pipeline.show(call, &self.options))
            .map_err(|e| self.refused(e))
    }

    fn tell_read(&self, entities: usize) {
        let (operation, table) = self.spec.subject();
        if let (Some(table), 1..) = (table, entities) {
            self.pipeline.observers.notify(&Event::Read {
                operation: operation.name(),
                table,
                entities,
            });
        }
    }

    fn refused(&self, error: Error) -> Error {
        let (operation, table) = self.spec.subject();
        error.in_operation(operation, table)
    }
}

/// Returns the error of a call that is polled after it completed, as in a loop around `select!`. Returning `Pending`
/// would hang silently.
pub(crate) fn ended() -> Error {
    Error::invalid_input("the call has already completed: create a new one")
}

/// Returns the call as a future that owns all it needs.
pub(crate) fn start(
    pipeline: &Arc<Pipeline>,
    mut call: Call,
    options: CallOptions,
) -> BoxFuture<'static, Result<Answer>> {
    let pipeline = Arc::clone(pipeline);
    if pipeline.settings.creates_missing_tables && call.effect == Effect::Write {
        return run_and_make_table(pipeline, call, options);
    }
    if pipeline.shares(&call, &options) {
        return run_shared(pipeline, call, options);
    }
    Box::pin(async move { pipeline.run(&mut call, &options).await })
}

/// Runs a call that shares its request. Apart from the code of other calls, because few clients need it.
#[cold]
fn run_shared(pipeline: Arc<Pipeline>, call: Call, options: CallOptions) -> BoxFuture<'static, Result<Answer>> {
    Box::pin(async move { pipeline.run_shared(call, options).await })
}

/// Runs the call. If its table is missing, creates the table and repeats the call; the first one applied nothing.
///
/// Apart from the code of other calls, because few clients need it.
#[cold]
fn run_and_make_table(
    pipeline: Arc<Pipeline>,
    mut call: Call,
    options: CallOptions,
) -> BoxFuture<'static, Result<Answer>> {
    Box::pin(async move {
        let begun = Instant::now();
        let mut again = call.clone();
        let rules = pipeline.endpoint.profile().rules();
        let answer = pipeline.run(&mut call, &options).await?;
        let table = match &again.table {
            Some(table) if batch_answer::table_is_missing(&answer.response, again.operation, rules) => table,
            _ => return Ok(answer),
        };
        let mut create = tables::create_if_not_exists(&pipeline.endpoint, table)?;
        let Answer { response, call, .. } = pipeline.run(&mut create, &options.since(begun)).await?;
        tables::created_or_existed(response, call.in_doubt).map_err(|e| call.complete(e))?;
        pipeline.run(&mut again, &options.since(begun)).await
    })
}

impl<S: Spec> fmt::Debug for Operation<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (operation, table) = self.spec.subject();
        let state = match self.state {
            State::Idle => "not sent",
            State::Running(_) | State::Grouped(_) => "running",
            State::Done => "done",
        };
        f.debug_struct(operation.name())
            .field("table", &table)
            .field("state", &state)
            .finish()
    }
}

/// Turns a struct with the field `operation: Operation<…>` into a future with the setters that all builders have.
macro_rules! operation {
    ($name:ident $([$($parameter:ident $(: $bound:path)?),+])?, $output:ty) => {
        $crate::pipeline::options::call_options!($name $([$($parameter $(: $bound)?),+])?, operation.options);

        impl$(<$($parameter $(: $bound)?),+>)? $name $(<$($parameter),+>)? {
            /// Returns the request as text, without sending it: method and URL, headers, body.
            ///
            /// The text does not contain the credential.
            ///
            /// # Errors
            /// Errors that awaiting it would return before anything is sent.
            pub fn request(self) -> azure_table_core::model::error::Result<::std::string::String> {
                self.operation.request()
            }
        }

        impl$(<$($parameter $(: $bound)?),+>)? ::std::future::Future for $name $(<$($parameter),+>)? {
            type Output = azure_table_core::model::error::Result<$output>;

            fn poll(
                self: ::std::pin::Pin<&mut Self>,
                cx: &mut ::std::task::Context<'_>,
            ) -> ::std::task::Poll<Self::Output> {
                self.get_mut().operation.poll(cx)
            }
        }

        impl$(<$($parameter $(: $bound)?),+>)? ::std::fmt::Debug for $name $(<$($parameter),+>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.operation.fmt(f)
            }
        }
    };
}
pub(crate) use operation;
