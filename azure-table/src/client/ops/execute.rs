//! Executes a [`TableOperation`] built by the caller; the base of all single writes.

use std::sync::Arc;

use azure_table_core::model::error::{Error, ErrorInternals, Result};
use azure_table_core::model::name::TableName;
use azure_table_core::model::operation_kind::OperationKind;
use azure_table_core::model::variant_mark::MarkedVariant;
use azure_table_core::protocol::endpoint::Endpoint;
use azure_table_core::protocol::operation::{OperationInternals, TableOperation};
use azure_table_core::protocol::read_back::WrittenRow;
use azure_table_core::protocol::request::Call;
use azure_table_core::protocol::table_result::{self, Asked, ResultInternals, TableResult};
use bytes::Bytes;
use http::Response;

use crate::client::ops::operation::{Operation, Spec, operation};
use crate::pipeline::Pipeline;
use crate::pipeline::options::{CallOptions, via_batch};

/// Executes one operation. See [`TableClient::execute`](crate::TableClient::execute).
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

    /// Sets the options, which already contain those of the client.
    pub(crate) fn of_options(self, options: CallOptions) -> Self {
        Self {
            operation: self.operation.of_options(options),
        }
    }
}

/// A single write of any kind; `output` reads the result for its caller.
pub(crate) struct WriteSpec<T> {
    table: TableName,
    asked: Asked,
    /// Taken when the request is built.
    operation: Option<TableOperation>,
    output: fn(TableResult) -> Result<T>,
    /// The error status of a regular result.
    expected: Option<u16>,
    /// Turns a rejection into an output, if it is a regular result. The flag is `true` if an earlier attempt is in
    /// doubt.
    rejected: fn(Error, bool) -> Result<T>,
    /// The variant that an entity in the response is read as.
    variant: Option<&'static MarkedVariant>,
}

impl<T> WriteSpec<T> {
    pub(crate) fn new(table: &TableName, operation: TableOperation, output: fn(TableResult) -> Result<T>) -> Self {
        Self {
            table: table.clone(),
            asked: operation.asked(),
            operation: Some(operation),
            output,
            expected: None,
            rejected: |e, _| Err(e),
            variant: None,
        }
    }

    /// Sets the variant of the handle.
    pub(crate) fn of_variant(mut self, variant: Option<&'static MarkedVariant>) -> Self {
        self.variant = variant;
        self
    }

    /// Sets the error status of a regular result, and the function that turns rejections into outputs.
    pub(crate) fn or(mut self, expected: u16, rejected: fn(Error, bool) -> Result<T>) -> Self {
        self.expected = Some(expected);
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
            .ok_or_else(|| Error::invalid_input("the call has already been sent"))?;
        operation.check()?;
        let call = operation.call(endpoint, self.table.as_str())?;
        Ok(match self.expected {
            Some(status) => call.expecting(status),
            None => call,
        })
    }

    fn take_write(&mut self) -> Option<TableOperation> {
        self.operation
            .take_if(|operation| operation.kind() != OperationKind::Get)
    }

    fn written(&mut self, result: Result<TableResult>) -> Result<T> {
        match result {
            // The write was applied, whatever its result lacks.
            Ok(result) => (self.output)(result.of_variant(self.variant)).map_err(|e| e.maybe_applied(true)),
            Err(e) => {
                let is_in_doubt = e.may_have_applied();
                (self.rejected)(e, is_in_doubt)
            }
        }
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

/// The setters of conditional writes.
macro_rules! conditions {
    ($name:ident) => {
        impl $name {
            /// Requires that the stored entity has this ETag.
            ///
            /// Otherwise the call fails with [`ConditionNotMet`](crate::ErrorKind::ConditionNotMet).
            pub fn if_match(mut self, etag: azure_table_core::model::etag::ETag) -> Self {
                self.operation.spec.change(|operation| operation.if_match(etag));
                self
            }

            /// Requires only that the entity exists, whatever its ETag.
            pub fn unconditionally(mut self) -> Self {
                self.operation.spec.change(TableOperation::unconditionally);
                self
            }
        }
    };
}
pub(crate) use conditions;
