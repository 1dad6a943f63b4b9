//! Checks that an entity exists.

use std::sync::Arc;

use azure_table_core::model::error::Result;
use azure_table_core::model::name::TableName;
use azure_table_core::model::operation_kind::OperationKind;
use azure_table_core::protocol::endpoint::Endpoint;
use azure_table_core::protocol::get;
use azure_table_core::protocol::request::Call;
use bytes::Bytes;
use http::Response;

use crate::client::ops::operation::{Operation, Spec, operation};
use crate::client::shape::Shape;
use crate::pipeline::Pipeline;
use crate::pipeline::options::via_batch;

/// Checks that an entity exists. See [`TableClient::exists`](crate::TableClient::exists).
#[must_use = "nothing is sent until it is awaited"]
pub struct EntityExists {
    operation: Operation<ExistsSpec>,
}
operation!(EntityExists, bool);
via_batch!(EntityExists, operation.options);

struct ExistsSpec {
    table: TableName,
    /// PartitionKey and RowKey.
    key: Result<(String, String)>,
    /// The keys alone: the smallest possible response.
    shape: Shape<()>,
}

impl EntityExists {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName, key: Result<(String, String)>) -> Self {
        let spec = ExistsSpec {
            table: table.clone(),
            key,
            shape: Shape::of_nothing().of_variant(pipeline.settings.variant),
        };
        Self {
            operation: Operation::new(pipeline, spec),
        }
    }
}

impl Spec for ExistsSpec {
    type Output = bool;

    fn subject(&self) -> (OperationKind, Option<&str>) {
        (OperationKind::Get, Some(self.table.as_str()))
    }

    fn call(&mut self, endpoint: &Endpoint) -> Result<Call> {
        let (partition_key, row_key) = std::mem::replace(&mut self.key, Ok(Default::default()))?;
        get::call(
            endpoint,
            self.table.as_str(),
            (&partition_key, &row_key),
            self.shape.select.as_deref(),
            self.shape.metadata,
        )
    }

    fn answer(&mut self, response: Response<Bytes>, _: bool) -> Result<bool> {
        // For the handle of a variant, a row of another variant does not exist.
        let there = get::answer(response, self.shape.metadata, |row| self.shape.read_or_skip(row))?;
        Ok(there.flatten().is_some())
    }
}
