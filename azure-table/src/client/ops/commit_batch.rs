//! Send an entity group transaction.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;

use crate::client::ops::operation::{Operation, Spec, operation};
use crate::model::error::{Error, Result};
use crate::pipeline::run::Pipeline;
use crate::protocol::batch::{self, ChangeSet};
use crate::protocol::batch_answer;
use crate::protocol::endpoint::Endpoint;
use crate::protocol::read_back::WrittenRow;
use crate::protocol::request::Call;
use crate::protocol::table_result::TableResult;

/// Commits a batch. See [`TableBatch::commit`](crate::TableBatch::commit).
#[must_use = "nothing is sent until it is awaited"]
pub struct CommitBatch {
    operation: Operation<CommitSpec>,
}
operation!(CommitBatch, Vec<TableResult>);

struct CommitSpec {
    change_set: ChangeSet,
}

impl CommitBatch {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, change_set: ChangeSet) -> Self {
        Self {
            operation: Operation::new(pipeline, CommitSpec { change_set }),
        }
    }
}

impl Spec for CommitSpec {
    type Output = Vec<TableResult>;

    fn subject(&self) -> (&'static str, Option<&str>) {
        (batch::OPERATION, Some(self.change_set.table()))
    }

    fn call(&mut self, _: &Endpoint) -> Result<Call> {
        if self.change_set.len() == 0 {
            return Err(Error::invalid_input("the batch has no operations"));
        }
        self.change_set.call()
    }

    fn applied(&mut self, rows: Vec<WrittenRow>) -> Result<Vec<TableResult>> {
        let results = self.change_set.asked().zip(rows);
        Ok(results
            .map(|(asked, row)| TableResult::applied(asked.kind, Some(row)))
            .collect())
    }

    fn answer(&mut self, response: Response<Bytes>) -> Result<Vec<TableResult>> {
        batch_answer::answer(&self.change_set, response)
    }
}
