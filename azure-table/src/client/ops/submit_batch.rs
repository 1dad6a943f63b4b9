//! Sends an entity group transaction.

use std::sync::Arc;

use azure_table_core::model::error::{Error, Result};
use azure_table_core::model::name::TableName;
use azure_table_core::model::operation_kind::OperationKind;
use azure_table_core::model::variant_mark::MarkedVariant;
use azure_table_core::protocol::batch::ChangeSet;
use azure_table_core::protocol::batch_response;
use azure_table_core::protocol::endpoint::Endpoint;
use azure_table_core::protocol::read_back::WrittenRow;
use azure_table_core::protocol::request::Call;
use azure_table_core::protocol::sent_batch::SentBatch;
use azure_table_core::protocol::table_result::{ResultInternals, TableResult};
use bytes::Bytes;
use http::Response;

use crate::client::ops::operation::{Operation, Spec, ended, operation};
use crate::pipeline::Pipeline;
use crate::pipeline::options::CallOptions;

operation! {
    /// Submits a batch. See [`TableBatch::submit`](crate::TableBatch::submit).
    SubmitBatch -> Vec<TableResult>, Operation<SubmitSpec>
}

struct SubmitSpec {
    /// The call, until it is sent.
    call: Option<Result<Call>>,
    sent: Arc<SentBatch>,
    /// The variant that entities in the response are read as.
    variant: Option<&'static MarkedVariant>,
}

impl SubmitBatch {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, change_set: ChangeSet) -> Self {
        let (mut call, sent) = change_set.into_call();
        if sent.len() == 0 {
            call = Err(Error::invalid_input("the batch has no operations"));
        }
        let spec = SubmitSpec {
            call: Some(call),
            sent,
            variant: pipeline.settings.variant,
        };
        Self {
            operation: Operation::new(pipeline, OperationKind::Batch, Some(table), spec),
        }
    }

    /// Returns the operations by their places in the body.
    pub(crate) fn batch(&self) -> &Arc<SentBatch> {
        &self.operation.spec.sent
    }

    /// Sets the options, which already contain those of the client.
    pub(crate) fn of_options(self, options: CallOptions) -> Self {
        Self {
            operation: self.operation.of_options(options),
        }
    }
}

impl Spec for SubmitSpec {
    type Output = Vec<TableResult>;

    fn call(&mut self, _: &Endpoint, _: &str) -> Result<Call> {
        self.call.take().unwrap_or_else(|| Err(ended()))
    }

    fn read_back(&mut self, rows: Vec<WrittenRow>) -> Result<Vec<TableResult>> {
        Ok(self
            .sent
            .requested()
            .zip(rows)
            .map(|(requested, row)| TableResult::applied(requested.kind, Some(row)).of_variant(self.variant))
            .collect())
    }

    fn read_response(&mut self, response: Response<Bytes>, _: bool) -> Result<Vec<TableResult>> {
        let results = batch_response::read_response(&self.sent, response)?;
        let results = results.into_iter().map(|result| result.of_variant(self.variant));
        Ok(results.collect())
    }
}
