//! Sends an entity group transaction.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;

use crate::client::ops::operation::{Operation, Spec, operation};
use crate::model::error::{Error, Result};
use crate::model::operation_kind::OperationKind;
use crate::model::variant_mark::MarkedVariant;
use crate::pipeline::Pipeline;
use crate::pipeline::options::CallOptions;
use crate::protocol::batch::ChangeSet;
use crate::protocol::batch_answer;
use crate::protocol::endpoint::Endpoint;
use crate::protocol::read_back::WrittenRow;
use crate::protocol::request::Call;
use crate::protocol::sent_batch::SentBatch;
use crate::protocol::table_result::TableResult;

/// Submits a batch. See [`TableBatch::submit`](crate::TableBatch::submit).
#[must_use = "nothing is sent until it is awaited"]
pub struct SubmitBatch {
    operation: Operation<SubmitSpec>,
}
operation!(SubmitBatch, Vec<TableResult>);

struct SubmitSpec {
    table: String,
    /// The operations, until the call is built from them.
    change_set: Option<ChangeSet>,
    sent: Option<Arc<SentBatch>>,
    /// The variant that entities in the response are read as.
    variant: Option<&'static MarkedVariant>,
}

impl SubmitBatch {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, change_set: ChangeSet) -> Self {
        let spec = SubmitSpec {
            table: change_set.table().to_owned(),
            change_set: Some(change_set),
            sent: None,
            variant: pipeline.settings.variant,
        };
        Self {
            operation: Operation::new(pipeline, spec),
        }
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

    fn subject(&self) -> (OperationKind, Option<&str>) {
        (OperationKind::Batch, Some(&self.table))
    }

    fn call(&mut self, _: &Endpoint) -> Result<Call> {
        let change_set = self.change_set.take().filter(|change_set| change_set.len() > 0);
        let change_set = change_set.ok_or_else(|| Error::invalid_input("the batch has no operations"))?;
        let (call, sent) = change_set.into_call()?;
        self.sent = Some(sent);
        Ok(call)
    }

    fn applied(&mut self, rows: Vec<WrittenRow>) -> Result<Vec<TableResult>> {
        let asked = self.sent.iter().flat_map(|sent| sent.asked());
        Ok(asked
            .zip(rows)
            .map(|(asked, row)| TableResult::applied(asked.kind, Some(row)).of_variant(self.variant))
            .collect())
    }

    fn answer(&mut self, response: Response<Bytes>, _: bool) -> Result<Vec<TableResult>> {
        let nothing_sent = || Error::invalid_response("a response to no request");
        let results = batch_answer::answer(self.sent.as_ref().ok_or_else(nothing_sent)?, response)?;
        let results = results.into_iter().map(|result| result.of_variant(self.variant));
        Ok(results.collect())
    }
}
