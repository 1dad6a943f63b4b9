//! Create and delete a table.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;

use crate::client::ops::operation::{Operation, Spec, operation};
use crate::model::error::Result;
use crate::model::name::TableName;
use crate::pipeline::run::Pipeline;
use crate::protocol::endpoint::Endpoint;
use crate::protocol::request::Call;
use crate::protocol::tables::{self, Creation};

/// What differs between the operations on a table.
struct TableSpec<T> {
    table: TableName,
    operation: &'static str,
    call: fn(&Endpoint, &str) -> Result<Call>,
    answer: fn(Response<Bytes>) -> Result<T>,
}

impl<T> Spec for TableSpec<T> {
    type Output = T;

    fn subject(&self) -> (&'static str, Option<&str>) {
        (self.operation, Some(self.table.as_str()))
    }

    fn call(&mut self, endpoint: &Endpoint) -> Result<Call> {
        (self.call)(endpoint, self.table.as_str())
    }

    fn answer(&mut self, response: Response<Bytes>) -> Result<T> {
        (self.answer)(response)
    }
}

/// Makes a table. See [`TableClient::create_table`](crate::TableClient::create_table).
#[must_use = "nothing is sent until it is awaited"]
pub struct CreateTable {
    operation: Operation<TableSpec<()>>,
}
operation!(CreateTable, ());

impl CreateTable {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName) -> Self {
        let spec = TableSpec {
            table: table.clone(),
            operation: "create table",
            call: tables::create,
            answer: tables::created,
        };
        Self {
            operation: Operation::new(pipeline, spec),
        }
    }
}

/// Makes a table unless there is one. See
/// [`TableClient::create_table_if_not_exists`](crate::TableClient::create_table_if_not_exists).
#[must_use = "nothing is sent until it is awaited"]
pub struct CreateTableIfNotExists {
    operation: Operation<TableSpec<Creation>>,
}
operation!(CreateTableIfNotExists, Creation);

impl CreateTableIfNotExists {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName) -> Self {
        let spec = TableSpec {
            table: table.clone(),
            operation: "create table",
            call: tables::create,
            answer: tables::created_or_existed,
        };
        Self {
            operation: Operation::new(pipeline, spec),
        }
    }
}

/// Removes a table. See [`TableClient::delete_table`](crate::TableClient::delete_table).
#[must_use = "nothing is sent until it is awaited"]
pub struct DeleteTable {
    operation: Operation<TableSpec<()>>,
}
operation!(DeleteTable, ());

impl DeleteTable {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName) -> Self {
        let spec = TableSpec {
            table: table.clone(),
            operation: "delete table",
            call: tables::delete,
            answer: tables::deleted,
        };
        Self {
            operation: Operation::new(pipeline, spec),
        }
    }
}
