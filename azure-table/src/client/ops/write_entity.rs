//! Writes that give the entity's new ETag: insert, replace, merge and the two that insert or change.

use std::sync::Arc;

use crate::client::ops::execute::{WriteSpec, conditions};
use crate::client::ops::operation::{Operation, operation};
use crate::model::error::{Error, Result};
use crate::model::etag::ETag;
use crate::model::name::TableName;
use crate::pipeline::run::Pipeline;
use crate::protocol::operation::{TableOperation, TableResult};

fn etag(result: TableResult) -> Result<ETag> {
    // The write was applied: it must not look like one that was not.
    result
        .etag
        .ok_or_else(|| Error::invalid_response("the answer has no ETag").with_status(result.status))
}

/// Writes an entity whatever its stored version. See [`TableClient::insert`](crate::TableClient::insert) and
/// [`TableClient::insert_or_replace`](crate::TableClient::insert_or_replace).
#[must_use = "nothing is sent until it is awaited"]
pub struct WriteEntity {
    operation: Operation<WriteSpec<ETag>>,
}
operation!(WriteEntity, ETag);

impl WriteEntity {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, operation: TableOperation) -> Self {
        Self {
            operation: Operation::new(pipeline, WriteSpec::new(table, operation, etag)),
        }
    }
}

/// Changes a stored entity. See [`TableClient::replace`](crate::TableClient::replace) and
/// [`TableClient::merge`](crate::TableClient::merge).
#[must_use = "nothing is sent until it is awaited"]
pub struct UpdateEntity {
    operation: Operation<WriteSpec<ETag>>,
}
operation!(UpdateEntity, ETag);
conditions!(UpdateEntity);

impl UpdateEntity {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, operation: TableOperation) -> Self {
        Self {
            operation: Operation::new(pipeline, WriteSpec::new(table, operation, etag)),
        }
    }
}

/// Writes an entity unless there is one of its key. See
/// [`TableClient::insert_if_absent`](crate::TableClient::insert_if_absent).
#[must_use = "nothing is sent until it is awaited"]
pub struct InsertEntityIfAbsent {
    operation: Operation<WriteSpec<Option<ETag>>>,
}
operation!(InsertEntityIfAbsent, Option<ETag>);

impl InsertEntityIfAbsent {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, operation: TableOperation) -> Self {
        let spec = WriteSpec::new(table, operation, |result| etag(result).map(Some)).or(|e| {
            if e.code() == Some("EntityAlreadyExists") {
                Ok(None)
            } else {
                Err(e)
            }
        });
        Self {
            operation: Operation::new(pipeline, spec),
        }
    }
}
