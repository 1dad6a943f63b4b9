//! Requests other than writes, and their responses: reads, queries, tables, the service.
//!
//! Each file converts its inputs to an [`OperationRequest`](crate::write::operation_request::OperationRequest), and a
//! response to an output or an error.

pub(crate) mod continuation;
pub(crate) mod get;
pub(crate) mod position;
pub(crate) mod query;
pub(crate) mod service_operations;
pub(crate) mod table_acl;
pub(crate) mod tables;
pub(crate) mod user_delegation;
