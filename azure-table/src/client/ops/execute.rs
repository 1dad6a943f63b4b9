//! Run a [`TableOperation`] that was made elsewhere; the base of all single writes.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;

use crate::client::ops::operation::{Operation, Spec, operation};
use crate::model::error::{Error, Result};
use crate::model::name::TableName;
use crate::model::operation_kind::OperationKind;
use crate::model::variant_mark::MarkedVariant;
use crate::pipeline::Pipeline;
use crate::pipeline::options::{CallOptions, via_batch};
use crate::protocol::endpoint::Endpoint;
use crate::protocol::operation::TableOperation;
use crate::protocol::read_back::WrittenRow;
use crate::protocol::request::Call;
use crate::protocol::table_result::{self, Asked, TableResult};

/// Runs one operation. See [`TableClient::execute`](crate::TableClient::execute).
#[must_use = "nothing is sent until it is awaited"]
pub struct ExecuteOperation {
    operation: Operation<WriteSpec<TableResult>>,
}
operation!(ExecuteOperation, TableResult);
via_batch!(ExecuteOperation, operation.options);

impl ExecuteOperation {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, operation: TableOperation) -> Self {
        Self {
            operation: Operation::new(
                pipeline,
                WriteSpec::new(table, operation, Ok).of_variant(pipeline.settings.variant),
            ),
        }
    }

    /// With these options alone: the client's are among them.
    pub(crate) fn of_options(self, options: CallOptions) -> Self {
        Self {
            operation: self.operation.of_options(options),
        }
    }
}

/// A single write, whatever its kind; `output` is what its caller gets of the result.
pub(crate) struct WriteSpec<T> {
    table: TableName,
    asked: Asked,
    /// Taken when the request is made.
    operation: Option<TableOperation>,
    output: fn(TableResult) -> Result<T>,
    /// The output of a rejection, for those that are answers in themselves; and whether an earlier attempt is in doubt.
    rejected: fn(Error, bool) -> Result<T>,
    /// The variant that an entity in the answer is read as.
    variant: Option<&'static MarkedVariant>,
}

impl<T> WriteSpec<T> {
    pub(crate) fn new(table: &TableName, operation: TableOperation, output: fn(TableResult) -> Result<T>) -> Self {
        Self {
            table: table.clone(),
            asked: operation.asked(),
            operation: Some(operation),
            output,
            rejected: |e, _| Err(e),
            variant: None,
        }
    }

    /// By a handle to the rows of a variant.
    pub(crate) fn of_variant(mut self, variant: Option<&'static MarkedVariant>) -> Self {
        self.variant = variant;
        self
    }

    /// With rejections that are answers in themselves.
    pub(crate) fn or(mut self, rejected: fn(Error, bool) -> Result<T>) -> Self {
        self.rejected = rejected;
        self
    }

    /// Changes the operation before it is sent.
    pub(crate) fn change(&mut self, change: impl FnOnce(TableOperation) -> TableOperation) {
        self.operation = self.operation.take().map(change);
    }
}

impl<T> Spec for WriteSpec<T> {
    type Output = T;

    fn subject(&self) -> (OperationKind, Option<&str>) {
        (self.asked.kind, Some(self.table.as_str()))
    }

    fn call(&mut self, endpoint: &Endpoint) -> Result<Call> {
        let operation = self
            .operation
            .take()
            .ok_or_else(|| Error::invalid_input("the call was made before"))?;
        operation.check()?;
        operation.call(endpoint, self.table.as_str())
    }

    fn answer(&mut self, response: Response<Bytes>, is_in_doubt: bool) -> Result<T> {
        match table_result::answer(self.asked, response) {
            Ok(result) => (self.output)(result.of_variant(self.variant)),
            Err(e) => (self.rejected)(e, is_in_doubt),
        }
    }

    fn applied(&mut self, mut rows: Vec<WrittenRow>) -> Result<T> {
        (self.output)(TableResult::applied(self.asked.kind, rows.pop()).of_variant(self.variant))
    }
}

/// The setters of the writes that demand something of the stored entity.
macro_rules! conditions {
    ($name:ident) => {
        impl $name {
            /// Demands that the stored entity has this version, else
            /// [`ConditionNotMet`](crate::ErrorKind::ConditionNotMet).
            pub fn if_match(mut self, etag: $crate::model::etag::ETag) -> Self {
                self.operation.spec.change(|operation| operation.if_match(etag));
                self
            }

            /// Demands only that the entity exists, whatever version was read.
            pub fn unconditionally(mut self) -> Self {
                self.operation.spec.change(TableOperation::unconditionally);
                self
            }
        }
    };
}
pub(crate) use conditions;
