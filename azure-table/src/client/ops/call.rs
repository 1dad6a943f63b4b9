//! The future of nearly every operation: its result is a type parameter.
//!
//! The clients' methods return it. Builders with further setters have their own types.

use std::marker::PhantomData;
use std::sync::Arc;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::Result;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::value::etag::ETag;
use bytes::Bytes;
use http::Response;

use crate::account::table_name::TableName;
use crate::client::ops::call_future::{CallFuture, Spec, call_future};
use crate::client::ops::start::already_completed;
use crate::client::ops::steps::{RunSteps, Steps};
use crate::client::ops::write_spec::{Rejected, WriteSpec};
use crate::pipeline::Pipeline;
use crate::pipeline::options::CallOptions;
use crate::write::operation::TableOperation;
use crate::write::operation_request::OperationRequest;
use crate::write::row_write::WrittenRow;
use crate::write::table_result::TableResult;

/// An operation that is sent when it is awaited, and returns a `T`.
///
/// Set options before you await it: [`timeout`](Self::timeout), or [`with`](Self::with) for all others. You can spawn,
/// join and store calls, and collect calls of one type in a `Vec`. Dropping a call cancels it.
///
/// A write that can check the stored ETag is a `Call<T, Conditional>`, with the methods [`if_match`](Call::if_match)
/// and [`unconditionally`](Call::unconditionally).
///
/// ```
/// use std::time::Duration;
///
/// use azure_table::operation::Call;
/// use azure_table::{DynamicEntity, ETag, Emulator, TableServiceClient};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let blogs = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
/// blogs.create_table().timeout(Duration::from_secs(5)).await?;
/// let inserts: Vec<Call<ETag>> = ["1", "2"]
///     .map(|id| blogs.insert(&DynamicEntity::new("Channel9", id)))
///     .into();
/// for insert in inserts {
///     let etag = insert.await?;
///     println!("{etag}");
/// }
/// blogs.delete(("Channel9", "1")).unconditionally().await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until it is awaited"]
pub struct Call<T, C = ()> {
    operation: CallFuture<Step<T>>,
    condition: PhantomData<fn() -> C>,
}

call_future!(Call[T, C] -> T);

/// Marks a [`Call`] whose write can check the ETag of the stored entity: [`Call::if_match`].
#[derive(Debug)]
pub enum Conditional {}

impl<T> Call<T, Conditional> {
    /// Requires that the stored entity has this ETag.
    ///
    /// Otherwise the call fails with [`ConditionNotMet`](crate::ErrorKind::ConditionNotMet). A malformed ETag fails
    /// with [`InvalidInput`](crate::ErrorKind::InvalidInput) before anything is sent.
    pub fn if_match(self, etag: ETag) -> Self {
        self.change(|operation| operation.if_match(etag))
    }

    /// Requires only that the entity exists, whatever its ETag.
    pub fn unconditionally(self) -> Self {
        self.change(TableOperation::unconditionally)
    }

    fn change(mut self, change: impl FnOnce(TableOperation) -> TableOperation) -> Self {
        if let Step::Write(write) = &mut self.operation.spec {
            write.change(change);
        }
        self
    }
}

impl<T, C> Call<T, C> {
    fn of(operation: CallFuture<Step<T>>) -> Self {
        Self {
            operation,
            condition: PhantomData,
        }
    }

    /// A write of one entity, and the function that reads its result.
    pub(crate) fn write(
        pipeline: &Arc<Pipeline>,
        table: &TableName,
        operation: TableOperation,
        read: fn(TableResult) -> Result<T>,
    ) -> Self {
        let write = WriteSpec::new(operation, read);
        Self::of(CallFuture::new(pipeline, write.kind(), Some(table), Step::Write(write)))
    }

    /// Sets the error status that is a regular result of the write, and the function that reads it.
    pub(crate) fn or(mut self, status: u16, rejected: Rejected<T>) -> Self {
        if let Step::Write(write) = &mut self.operation.spec {
            write.expect(status, rejected);
        }
        self
    }

    /// Any operation with one request.
    pub(crate) fn spec(
        pipeline: &Arc<Pipeline>,
        kind: OperationKind,
        table: Option<&TableName>,
        spec: impl Spec<Output = T> + Send + 'static,
    ) -> Self {
        Self::of(CallFuture::new(pipeline, kind, table, Step::Other(Box::new(spec))))
    }

    /// A complete request, and the function that reads its response.
    pub(crate) fn request<R>(
        pipeline: &Arc<Pipeline>,
        kind: OperationKind,
        table: Option<&TableName>,
        request: Result<OperationRequest>,
        read: R,
    ) -> Self
    where
        T: 'static,
        R: FnMut(Response<Bytes>, bool) -> Result<T> + Send + 'static,
    {
        let request = Some(request);
        Self::spec(pipeline, kind, table, Prepared { request, read })
    }

    /// Several requests.
    pub(crate) fn steps<F>(
        pipeline: &Arc<Pipeline>,
        kind: OperationKind,
        run: impl FnOnce(Steps) -> F + Send + 'static,
    ) -> Self
    where
        T: 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let run: RunSteps<T> = Box::new(move |steps| Box::pin(run(steps.begun())));
        Self::of(CallFuture::with_steps(
            pipeline,
            kind,
            Step::Other(Box::new(Several(Some(run)))),
        ))
    }

    /// Sets the options, which already contain the client's.
    pub(crate) fn with_own_options(mut self, options: CallOptions) -> Self {
        self.operation.options = options;
        self
    }
}

/// The kinds of calls. A write is not boxed, so that its output need not be `'static`.
enum Step<T> {
    Write(WriteSpec<T>),
    Other(Box<dyn Spec<Output = T> + Send>),
}

impl<T> Step<T> {
    fn spec(&mut self) -> &mut dyn Spec<Output = T> {
        match self {
            Self::Write(write) => write,
            Self::Other(spec) => &mut **spec,
        }
    }
}

impl<T> Spec for Step<T> {
    type Output = T;

    fn request(&mut self, endpoint: &Endpoint, table: &str) -> Result<OperationRequest> {
        self.spec().request(endpoint, table)
    }

    fn read_response(&mut self, response: Response<Bytes>, is_in_doubt: bool) -> Result<T> {
        self.spec().read_response(response, is_in_doubt)
    }

    fn read_back(&mut self, rows: Vec<WrittenRow>, may_recur: bool) -> Result<T> {
        self.spec().read_back(rows, may_recur)
    }

    fn take_steps(&mut self) -> Option<RunSteps<T>> {
        self.spec().take_steps()
    }
}

/// A request that is complete when its call is created.
struct Prepared<R> {
    /// Taken when it is sent.
    request: Option<Result<OperationRequest>>,
    read: R,
}

impl<T, R: FnMut(Response<Bytes>, bool) -> Result<T>> Spec for Prepared<R> {
    type Output = T;

    fn request(&mut self, _: &Endpoint, _: &str) -> Result<OperationRequest> {
        self.request.take().unwrap_or_else(|| Err(already_completed()))
    }

    fn read_response(&mut self, response: Response<Bytes>, is_in_doubt: bool) -> Result<T> {
        (self.read)(response, is_in_doubt)
    }
}

/// An operation of several requests, until it starts.
struct Several<T>(Option<RunSteps<T>>);

impl<T> Spec for Several<T> {
    type Output = T;

    fn take_steps(&mut self) -> Option<RunSteps<T>> {
        self.0.take()
    }
}
