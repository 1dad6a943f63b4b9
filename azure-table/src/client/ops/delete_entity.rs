//! Delete one entity.

use std::sync::Arc;

use crate::client::ops::execute::{WriteSpec, conditions};
use crate::client::ops::operation::{Operation, operation};
use crate::model::name::TableName;
use crate::pipeline::run::Pipeline;
use crate::protocol::operation::TableOperation;

/// Removes an entity. See [`TableClient::delete`](crate::TableClient::delete).
#[must_use = "nothing is sent until it is awaited"]
pub struct DeleteEntity {
    operation: Operation<WriteSpec<()>>,
}
operation!(DeleteEntity, ());
conditions!(DeleteEntity);

impl DeleteEntity {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, operation: TableOperation) -> Self {
        Self {
            operation: Operation::new(pipeline, WriteSpec::new(table, operation, |_| Ok(()))),
        }
    }
}
