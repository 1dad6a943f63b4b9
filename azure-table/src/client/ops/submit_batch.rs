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
use crate::entity::variant_mark::MarkedVariant;
use crate::pipeline::Pipeline;
use crate::pipeline::options::CallOptions;
use crate::write::batch::ChangeSet;
use crate::write::batch_response;
use crate::write::call::Call;
use crate::write::operation::TableOperation;
use crate::write::sealing::{self, SealingKey};
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
    /// All operations, if one of them is not encrypted yet.
    unsealed: Option<Vec<TableOperation>>,
    /// The variant that entities in the response are read as.
    variant: Option<&'static MarkedVariant>,
}

impl SubmitBatch {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, mut change_set: ChangeSet) -> Self {
        let unsealed = change_set.kept.take_unsealed();
        let (mut call, sent) = change_set.into_call();
        if sent.len() == 0 {
            call = Err(Error::invalid_input("the batch has no operations"));
        }
        let spec = SubmitSpec {
            call: Some(call),
            sent,
            unsealed,
            variant: pipeline.settings.variant,
        };
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
    /// Returns the results with their keys, as the handle reads their entities.
    fn kept(&self, results: impl Iterator<Item = TableResult>) -> Vec<TableResult> {
        let keyed = results.zip(self.sent.row_keys());
        keyed
            .map(|(result, row_key)| result.of_variant(self.variant).in_batch(row_key))
            .collect()
    }
}

impl Spec for SubmitSpec {
    type Output = Vec<TableResult>;

    fn unsealed(&self) -> Option<(&TableOperation, u64)> {
        let operations = self.unsealed.as_ref()?;
        let values: usize = operations.iter().map(sealing::values).sum();
        let first = operations.iter().find(|operation| sealing::values(operation) > 0)?;
        Some((first, values as u64))
    }

    fn seal(&mut self, endpoint: &Endpoint, table: &str, key: &SealingKey) -> Result<()> {
        let mut change_set = ChangeSet::new(endpoint, table);
        for (index, mut operation) in self.unsealed.take().into_iter().flatten().enumerate() {
            sealing::seal(&mut operation, table, key)?;
            // Its size may break a rule that it did not break before.
            if self.sent.row_write(index).facts.is_unshared {
                change_set.add_own(operation)?
            } else {
                change_set.add(operation)?
            }
        }
        let (call, sent) = change_set.into_call();
        (self.call, self.sent) = (Some(call), sent);
        Ok(())
    }

    fn call(&mut self, _: &Endpoint, _: &str) -> Result<Call> {
        sealing::check_all(self.unsealed.iter().flatten())?;
        self.call.take().unwrap_or_else(|| Err(polled_again()))
    }

    fn read_back(&mut self, rows: Vec<WrittenRow>) -> Result<Vec<TableResult>> {
        let applied = self.sent.requested().zip(rows);
        Ok(self.kept(applied.map(|(requested, row)| TableResult::applied(requested.kind, Some(row)))))
    }

    fn read_response(&mut self, response: Response<Bytes>, _: bool) -> Result<Vec<TableResult>> {
        let results = batch_response::read_response(&self.sent, response)?;
        Ok(self.kept(results.into_iter()))
    }
}
