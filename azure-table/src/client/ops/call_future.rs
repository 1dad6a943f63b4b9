//! The operation that all builders are based on.
//!
//! It handles options, boxing and polling. A builder's own file holds only its request and its response, as a [`Spec`].
//! The boxed future is independent of both: it carries bytes, so that no entity type needs to be `'static` or `Send`
//! and the loop is compiled once.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::operation_kind::{Effect, OperationKind};
use azure_table_wire::error::{Error, Result};
use azure_table_wire::transport::BoxFuture;
use azure_table_wire::value::clock::Instant;
use bytes::Bytes;
use http::Response;

use crate::account::table_name::TableName;
use crate::client::task::Running;
use crate::doubt::read_back::WrittenRow;
use crate::pipeline::Pipeline;
use crate::pipeline::observer::Event;
use crate::pipeline::observer::history::CallResponse;
use crate::pipeline::options::CallOptions;
use crate::request::tables;
use crate::write::batch_response;
use crate::write::call::Call;

/// The request of an operation, and the reading of its response.
pub(crate) trait Spec {
    /// The output of the call.
    type Output;

    /// Returns the request. Called once, on the first poll: invalid input is reported there, before anything is sent.
    fn call(&mut self, endpoint: &Endpoint, table: &str) -> Result<Call>;

    /// Reads the output from a response of any status; `is_in_doubt` if an earlier attempt of the call may have been
    /// applied.
    fn read_response(&mut self, response: Response<Bytes>, is_in_doubt: bool) -> Result<Self::Output>;

    /// Returns the number of entities read.
    fn entities(_: &Self::Output) -> usize {
        0
    }

    /// Returns the output of a write whose response was lost, and whose rows show that it was applied. Called only for
    /// operations whose call lists the rows it writes.
    fn read_back(&mut self, rows: Vec<WrittenRow>) -> Result<Self::Output> {
        let _ = rows;
        Err(Error::invalid_response("the response was lost"))
    }
}

/// An operation that is not started, running or completed.
pub(crate) struct CallFuture<S> {
    kind: OperationKind,
    /// `None` for an operation on the whole account.
    table: Option<TableName>,
    pub(crate) spec: S,
    pub(crate) options: CallOptions,
    /// `true` if it runs on a spawned task.
    pub(crate) in_task: bool,
    pub(crate) pipeline: Arc<Pipeline>,
    state: State,
}

enum State {
    Idle,
    Running(Running<CallResponse>),
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

    /// Sets the options, which already contain the client's.
    pub(crate) fn of_options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    /// Returns the same call with another reading of its response.
    pub(crate) fn map_spec<T: Spec>(self, map: impl FnOnce(S) -> T) -> CallFuture<T> {
        CallFuture {
            kind: self.kind,
            table: self.table,
            spec: map(self.spec),
            options: self.options,
            in_task: self.in_task,
            pipeline: self.pipeline,
            state: self.state,
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
            _ => Err(self.named(polled_again())),
        };
        self.state = State::Done;
        Poll::Ready(output)
    }

    /// Starts the call.
    fn begin(&mut self) -> Result<State> {
        let options = mem::take(&mut self.options);
        let call = self.call()?;
        let running = start(&self.pipeline, call, options);
        Ok(State::Running(Running::new(running, self.in_task)))
    }

    /// Reads the output of a call that was sent.
    fn finish(&mut self, received: CallResponse) -> Result<S::Output> {
        let CallResponse {
            response,
            call,
            applied,
            rows,
            started,
        } = received;
        let output = match applied {
            Some(rows) => self.spec.read_back(rows),
            None => self.spec.read_response(response, call.in_doubt.is_some()),
        };
        if let Ok(output) = &output {
            self.report_read(S::entities(output));
        }
        output.map_err(|e| call.complete_write(e, &rows, started, &self.pipeline.endpoint))
    }

    /// Returns the request as text.
    pub(crate) fn request(mut self) -> Result<String> {
        let call = self.call();
        call.and_then(|call| self.pipeline.show(call, &self.options))
            .map_err(|e| self.named(e))
    }

    fn call(&mut self) -> Result<Call> {
        let table = self.table.as_ref().map_or("", TableName::as_str);
        self.spec.call(&self.pipeline.endpoint, table)
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

/// A call whose request is complete when its builder is created.
pub(crate) struct Prepared<T> {
    /// Taken when it is sent.
    call: Option<Result<Call>>,
    read: fn(Response<Bytes>, bool) -> Result<T>,
}

impl<T> Prepared<T> {
    pub(crate) fn new(call: Result<Call>, read: fn(Response<Bytes>, bool) -> Result<T>) -> Self {
        let call = Some(call);
        Self { call, read }
    }
}

impl<T> Spec for Prepared<T> {
    type Output = T;

    fn call(&mut self, _: &Endpoint, _: &str) -> Result<Call> {
        self.call.take().unwrap_or_else(|| Err(polled_again()))
    }

    fn read_response(&mut self, response: Response<Bytes>, is_in_doubt: bool) -> Result<T> {
        (self.read)(response, is_in_doubt)
    }
}

/// Returns the error of a call that is polled after it completed, as in a loop around `select!`. Returning `Pending`
/// would hang silently.
pub(crate) fn polled_again() -> Error {
    Error::invalid_input("the call has already completed: create a new one")
}

/// Returns the call as a future that owns all it needs.
pub(crate) fn start(
    pipeline: &Arc<Pipeline>,
    mut call: Call,
    options: CallOptions,
) -> BoxFuture<'static, Result<CallResponse>> {
    let pipeline = Arc::clone(pipeline);
    if pipeline.settings.creates_missing_tables && call.effect == Effect::Write {
        return run_and_make_table(pipeline, call, options);
    }
    Box::pin(async move { pipeline.run(&mut call, &options).await })
}

/// Runs the call. If its table is missing, creates the table and repeats the call.
///
/// This is a separate function because few clients need its code.
#[cold]
fn run_and_make_table(
    pipeline: Arc<Pipeline>,
    mut call: Call,
    options: CallOptions,
) -> BoxFuture<'static, Result<CallResponse>> {
    Box::pin(async move {
        let started = Instant::now();
        let mut again = call.clone();
        let rules = pipeline.endpoint.profile().rules();
        let received = pipeline.run(&mut call, &options).await?;
        let table = match &again.table {
            Some(table) if batch_response::table_is_missing(&received.response, again.operation, rules) => table,
            _ => return Ok(received),
        };
        let earlier = received.call.in_doubt;
        let mut create = tables::create_if_not_exists(&pipeline.endpoint, table)?;
        let options = options.within(&call);
        let CallResponse { response, call, .. } = pipeline.run(&mut create, &options.since(started)).await?;
        tables::created_or_existed(response, call.in_doubt.is_some()).map_err(|e| call.complete(e))?;
        pipeline.run(&mut again, &options.since(started).after(earlier)).await
    })
}

impl<S> fmt::Debug for CallFuture<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Idle => "not sent",
            State::Done => "done",
            _ => "running",
        };
        f.debug_struct(self.kind.name())
            .field("table", &self.table.as_ref().map(TableName::as_str))
            .field("state", &state)
            .finish()
    }
}

/// Defines a builder that is a future, with the setters that all builders have. `$inner` is an [`Operation`] or a
/// `Procedure`.
macro_rules! operation {
    (
        $(#[$doc:meta])+
        $name:ident $([$($parameter:ident $(= $default:ident)?),+])? -> $output:ty, $inner:ty
    ) => {
        $(#[$doc])+
        #[must_use = "nothing is sent until it is awaited"]
        pub struct $name $(<$($parameter $(= $default)?),+>)? {
            operation: $inner,
        }

        $crate::pipeline::options::call_options!($name $([$($parameter),+])?, operation.options);

        impl$(<$($parameter),+>)? $name $(<$($parameter),+>)? {
            /// Returns the request as text, without sending it: method and URL, headers, body.
            ///
            /// If there are several requests, returns the first: the others depend on the responses. The text does not
            /// contain the credential.
            ///
            /// # Errors
            /// Errors that awaiting it would return before anything is sent.
            pub fn request_text(self) -> azure_table_wire::error::Result<::std::string::String> {
                self.operation.request()
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
pub(crate) use operation;
