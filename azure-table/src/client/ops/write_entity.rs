//! Writes that return the entity's new ETag: insert, replace, merge, insert or replace, insert or merge.

use std::sync::Arc;

use azure_table_core::model::entity::ReadEntity;
use azure_table_core::model::error::{Error, ErrorInternals, Result};
use azure_table_core::model::etag::ETag;
use azure_table_core::model::name::TableName;
use azure_table_core::model::versioned::Versioned;
use azure_table_core::protocol::operation::TableOperation;
use azure_table_core::protocol::table_result::TableResult;

use crate::client::ops::execute::{WriteSpec, conditions};
use crate::client::ops::operation::{Operation, operation};
use crate::pipeline::Pipeline;
use crate::pipeline::options::via_batch;

fn etag(result: TableResult) -> Result<ETag> {
    // The error carries the status, because the write was applied.
    result
        .etag()
        .cloned()
        .ok_or_else(|| Error::invalid_response("the response has no ETag").with_status(result.status()))
}

/// Inserts or upserts an entity, without a condition on the stored ETag.
///
/// See [`TableClient::insert`](crate::TableClient::insert) and
/// [`TableClient::insert_or_replace`](crate::TableClient::insert_or_replace).
#[must_use = "nothing is sent until it is awaited"]
pub struct WriteEntity {
    operation: Operation<WriteSpec<ETag>>,
}
operation!(WriteEntity, ETag);
via_batch!(WriteEntity, operation.options);

impl WriteEntity {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, operation: TableOperation) -> Self {
        Self {
            operation: Operation::new(pipeline, WriteSpec::new(table, operation, etag)),
        }
    }
}

/// Inserts a new entity and returns it as stored. See [`TableClient::insert_echo`](crate::TableClient::insert_echo).
#[must_use = "nothing is sent until it is awaited"]
pub struct InsertEntityEcho<E> {
    operation: Operation<WriteSpec<Versioned<E>>>,
}
operation!(InsertEntityEcho[E], Versioned<E>);
via_batch!(InsertEntityEcho[E], operation.options);

impl<E: ReadEntity> InsertEntityEcho<E> {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, operation: TableOperation) -> Self {
        let echo = |result: TableResult| {
            let status = result.status();
            // The write was applied, as in `etag`.
            let entity = result.entity().map_err(|e| e.with_status(status))?;
            entity
                .ok_or_else(|| Error::invalid_response("the response does not contain the entity").with_status(status))
        };
        Self {
            operation: Operation::new(
                pipeline,
                WriteSpec::new(table, operation, echo).of_variant(pipeline.settings.variant),
            ),
        }
    }
}

/// Changes a stored entity.
///
/// See [`TableClient::replace`](crate::TableClient::replace) and [`TableClient::merge`](crate::TableClient::merge).
#[must_use = "nothing is sent until it is awaited"]
pub struct UpdateEntity {
    operation: Operation<WriteSpec<ETag>>,
}
operation!(UpdateEntity, ETag);
via_batch!(UpdateEntity, operation.options);
conditions!(UpdateEntity);

impl UpdateEntity {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, operation: TableOperation) -> Self {
        Self {
            operation: Operation::new(pipeline, WriteSpec::new(table, operation, etag)),
        }
    }
}

/// Inserts an entity unless its key exists.
///
/// See [`TableClient::insert_if_not_exists`](crate::TableClient::insert_if_not_exists).
#[must_use = "nothing is sent until it is awaited"]
pub struct InsertEntityIfNotExists {
    operation: Operation<WriteSpec<Option<ETag>>>,
}
operation!(InsertEntityIfNotExists, Option<ETag>);
via_batch!(InsertEntityIfNotExists, operation.options);

impl InsertEntityIfNotExists {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, operation: TableOperation) -> Self {
        let spec = WriteSpec::new(table, operation, |result| etag(result).map(Some)).or(409, |e, is_in_doubt| {
            // The existing entity may be this call's own if it is in doubt.
            if e.code() == Some("EntityAlreadyExists") && !is_in_doubt {
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
