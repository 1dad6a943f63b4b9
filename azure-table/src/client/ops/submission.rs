//! Sends an entity group transaction.

use std::sync::Arc;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use bytes::Bytes;
use http::Response;

use crate::account::table_name::TableName;
use crate::client::ops::call::Call;
use crate::client::ops::call_future::Spec;
use crate::client::ops::start::already_completed;
use crate::pipeline::Pipeline;
use crate::write::batch::ChangeSet;
use crate::write::batch_response;
use crate::write::operation_request::OperationRequest;
use crate::write::row_write::WrittenRow;
use crate::write::sent_batch::SentBatch;
use crate::write::table_result::TableResult;

/// The call that sends a batch, and the batch.
pub(crate) struct Submission {
    pub(crate) call: Call<Vec<TableResult>>,
    /// The operations by their places in the body.
    pub(crate) batch: Arc<SentBatch>,
}

struct SubmitSpec {
    /// The request, until it is sent.
    request: Option<Result<OperationRequest>>,
    sent: Arc<SentBatch>,
}

impl Submission {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, change_set: ChangeSet) -> Self {
        let (mut request, batch) = change_set.into_request();
        if batch.len() == 0 {
            request = Err(Error::invalid_input("the batch has no operations"));
        }
        let spec = SubmitSpec {
            request: Some(request),
            sent: Arc::clone(&batch),
        };
        let call = Call::spec(pipeline, OperationKind::Batch, Some(table), spec);
        Self { call, batch }
    }
}

impl SubmitSpec {
    /// Returns the results with their keys.
    fn keyed(&self, results: impl Iterator<Item = TableResult>, may_recur: bool) -> Vec<TableResult> {
        let keyed = results.zip(self.sent.row_keys());
        let in_batch = |(result, row_key): (TableResult, _)| result.after_attempts(may_recur).in_batch(row_key);
        keyed.map(in_batch).collect()
    }
}

impl Spec for SubmitSpec {
    type Output = Vec<TableResult>;

    fn request(&mut self, _: &Endpoint, _: &str) -> Result<OperationRequest> {
        self.request.take().unwrap_or_else(|| Err(already_completed()))
    }

    fn read_back(&mut self, rows: Vec<WrittenRow>, may_recur: bool) -> Result<Vec<TableResult>> {
        let applied = self.sent.requested().zip(rows);
        let applied = applied.map(|(requested, row)| TableResult::applied(requested.kind, Some(row)));
        Ok(self.keyed(applied, may_recur))
    }

    fn read_response(&mut self, response: Response<Bytes>, is_in_doubt: bool) -> Result<Vec<TableResult>> {
        let results = batch_response::read_response(&self.sent, response)?;
        Ok(self.keyed(results.into_iter(), is_in_doubt))
    }
}
