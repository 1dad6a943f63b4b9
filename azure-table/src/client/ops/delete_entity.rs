//! Deletes one entity.

use std::sync::Arc;

use azure_table_core::model::name::TableName;
use azure_table_core::protocol::answer;
use azure_table_core::protocol::operation::TableOperation;
use azure_table_core::protocol::tables::{self, Deletion};

use crate::client::ops::execute::{WriteSpec, conditions};
use crate::client::ops::operation::{Operation, operation};
use crate::pipeline::Pipeline;
use crate::pipeline::options::via_batch;

/// Deletes an entity. See [`TableClient::delete`](crate::TableClient::delete).
#[must_use = "nothing is sent until it is awaited"]
pub struct DeleteEntity {
    operation: Operation<WriteSpec<()>>,
}
operation!(DeleteEntity, ());
via_batch!(DeleteEntity, operation.options);
conditions!(DeleteEntity);

impl DeleteEntity {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, operation: TableOperation) -> Self {
        Self {
            operation: Operation::new(pipeline, WriteSpec::new(table, operation, |_| Ok(()))),
        }
    }
}

/// Deletes an entity if it exists. See [`TableClient::delete_if_exists`](crate::TableClient::delete_if_exists).
#[must_use = "nothing is sent until it is awaited"]
pub struct DeleteEntityIfExists {
    operation: Operation<WriteSpec<Deletion>>,
}
operation!(DeleteEntityIfExists, Deletion);
via_batch!(DeleteEntityIfExists, operation.options);
conditions!(DeleteEntityIfExists);

impl DeleteEntityIfExists {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, operation: TableOperation) -> Self {
        let spec = WriteSpec::new(table, operation, |_| Ok(Deletion::Deleted)).or(404, |e, is_in_doubt| {
            if answer::is_missing_entity(&e) {
                Ok(tables::found_nothing(is_in_doubt))
            } else {
                Err(e)
            }
        });
        Self {
            operation: Operation::new(pipeline, spec),
        }
    }
}
