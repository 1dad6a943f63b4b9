//! The operations of one call on a whole table.

use std::sync::Arc;

use azure_table_core::model::error::Result;
use azure_table_core::model::name::TableName;
use azure_table_core::model::operation_kind::OperationKind;
use azure_table_core::protocol::access_policy::StoredAccessPolicy;
use azure_table_core::protocol::endpoint::Endpoint;
use azure_table_core::protocol::request::Call;
use azure_table_core::protocol::table_acl;
use azure_table_core::protocol::tables::{self, Creation, Deletion};
use bytes::Bytes;
use http::Response;

use crate::client::ops::operation::{Operation, Spec, operation};
use crate::pipeline::Pipeline;

/// The part that differs between the operations on a table.
struct TableSpec<T> {
    table: TableName,
    operation: OperationKind,
    call: fn(&Endpoint, &str) -> Result<Call>,
    answer: fn(Response<Bytes>, bool) -> Result<T>,
}

impl<T> Spec for TableSpec<T> {
    type Output = T;

    fn subject(&self) -> (OperationKind, Option<&str>) {
        (self.operation, Some(self.table.as_str()))
    }

    fn call(&mut self, endpoint: &Endpoint) -> Result<Call> {
        (self.call)(endpoint, self.table.as_str())
    }

    fn answer(&mut self, response: Response<Bytes>, is_in_doubt: bool) -> Result<T> {
        (self.answer)(response, is_in_doubt)
    }
}

/// Defines a builder of one call on a table: its output, its name in messages, its request and the reading of its
/// response.
macro_rules! table_operation {
    ($(#[$doc:meta])+ $name:ident -> $output:ty, $operation:expr, $call:path, $answer:expr) => {
        $(#[$doc])+
        #[must_use = "nothing is sent until it is awaited"]
        pub struct $name {
            operation: Operation<TableSpec<$output>>,
        }
        operation!($name, $output);

        impl $name {
            pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName) -> Self {
                let spec = TableSpec {
                    table: table.clone(),
                    operation: $operation,
                    call: $call,
                    answer: $answer,
                };
                Self {
                    operation: Operation::new(pipeline, spec),
                }
            }
        }
    };
}

table_operation! {
    /// Creates a table. See [`TableClient::create_table`](crate::TableClient::create_table).
    CreateTable -> (), OperationKind::CreateTable, tables::create, |response, _| tables::created(response)
}

table_operation! {
    /// Creates a table unless it exists. See
    /// [`TableClient::create_table_if_not_exists`](crate::TableClient::create_table_if_not_exists).
    CreateTableIfNotExists -> Creation, OperationKind::CreateTable, tables::create_if_not_exists, tables::created_or_existed
}

table_operation! {
    /// Deletes a table. See [`TableClient::delete_table`](crate::TableClient::delete_table).
    DeleteTable -> (), OperationKind::DeleteTable, tables::delete, |response, _| tables::deleted(response)
}

table_operation! {
    /// Deletes a table if it exists. See
    /// [`TableClient::delete_table_if_exists`](crate::TableClient::delete_table_if_exists).
    DeleteTableIfExists -> Deletion, OperationKind::DeleteTable, tables::delete_if_exists, tables::deleted_or_missing
}

table_operation! {
    /// Checks that a table exists. See [`TableClient::table_exists`](crate::TableClient::table_exists).
    TableExists -> bool, OperationKind::GetTable, tables::get, |response, _| tables::is_there(response)
}

table_operation! {
    /// Reads the stored access policies of a table. See
    /// [`TableClient::access_policies`](crate::TableClient::access_policies).
    GetAccessPolicies -> Vec<StoredAccessPolicy>, OperationKind::GetAccessPolicies, table_acl::get, |response, _| table_acl::policies(response)
}
