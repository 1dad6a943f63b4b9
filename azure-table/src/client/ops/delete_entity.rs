//! Delete one entity.

use std::sync::Arc;

use crate::client::ops::execute::WriteSpec;
use crate::client::ops::operation::{Operation, operation};
use crate::model::etag::ETag;
use crate::model::name::TableName;
use crate::pipeline::run::Pipeline;
use crate::protocol::operation::TableOperation;

/// Removes an entity. See [`TableClient::delete`](crate::TableClient::delete).
#[must_use = "nothing is sent until it is awaited"]
pub struct DeleteEntity {
    operation: Operation<WriteSpec<()>>,
}
operation!(DeleteEntity, ());

impl DeleteEntity {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, operation: TableOperation) -> Self {
        Self { operation: Operation::new(pipeline, WriteSpec::new(table, operation, |_| Ok(()))) }
    }

    /// Demands that the stored entity has this version, else
    /// [`ConditionNotMet`](crate::ErrorKind::ConditionNotMet).
    pub fn if_match(mut self, etag: ETag) -> Self {
        self.operation.spec.change(|operation| operation.if_match(etag));
        self
    }

    /// Demands only that the entity exists, whatever version was read.
    pub fn unconditionally(mut self) -> Self {
        self.operation.spec.change(TableOperation::unconditionally);
        self
    }
}
