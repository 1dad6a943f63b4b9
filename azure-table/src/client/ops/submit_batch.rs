//! Sends an entity group transaction.

use std::sync::Arc;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use bytes::Bytes;
use http::Response;

use crate::account::table_name::TableName;
use crate::client::ops::call_future::{CallFuture, Spec, operation, polled_again};
use crate::doubt::read_back::WrittenRow;
use crate::pipeline::Pipeline;
use crate::pipeline::options::CallOptions;
use crate::write::batch::ChangeSet;
use crate::write::batch_response;
use crate::write::call::Call;
use crate::write::sent_batch::SentBatch;
use crate::write::table_result::TableResult;

operation! {
    /// Submits a batch. See [`TableBatch::submit`](crate::TableBatch::submit).
    SubmitBatch -> Vec<TableResult>, CallFuture<SubmitSpec>
}

struct SubmitSpec {
    /// The call, until it is sent.
    call: Option<Result<Call>>,
    sent: Arc<SentBatch>,
}

impl SubmitBatch {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, change_set: ChangeSet) -> Self {
        let (mut call, sent) = change_set.into_call();
        if sent.len() == 0 {
            call = Err(Error::invalid_input("the batch has no operations"));
        }
        let spec = SubmitSpec { call: Some(call), sent };
        Self {
            operation: CallFuture::new(pipeline, OperationKind::Batch, Some(table), spec),
        }
    }

    /// Returns the operations by their places in the body.
    pub(crate) fn batch(&self) -> &Arc<SentBatch> {
        &self.operation.spec.sent
    }

    /// Sets the options, which already contain the client's.
    pub(crate) fn of_options(self, options: CallOptions) -> Self {
        Self {
            operation: self.operation.of_options(options),
        }
    }
}

impl SubmitSpec {
    /// Returns the results with their keys.
    fn keyed(&self, results: impl Iterator<Item = TableResult>) -> Vec<TableResult> {
        let keyed = results.zip(self.sent.row_keys());
        keyed.map(|(result, row_key)| result.in_batch(row_key)).collect()
    }
}

impl Spec for SubmitSpec {
    type Output = Vec<TableResult>;

    fn call(&mut self, _: &Endpoint, _: &str) -> Result<Call> {
        self.call.take().unwrap_or_else(|| Err(polled_again()))
    }

    fn read_back(&mut self, rows: Vec<WrittenRow>) -> Result<Vec<TableResult>> {
        let applied = self.sent.requested().zip(rows);
        Ok(self.keyed(applied.map(|(requested, row)| TableResult::applied(requested.kind, Some(row)))))
    }

    fn read_response(&mut self, response: Response<Bytes>, _: bool) -> Result<Vec<TableResult>> {
        let results = batch_response::read_response(&self.sent, response)?;
        Ok(self.keyed(results.into_iter()))
    }
}
