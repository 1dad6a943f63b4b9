//! The public calls: clients, operations, queries, batches, writes over queries.
//!
//! Owns the builders and their shapes. `protocol` builds the requests, `pipeline` sends them.

// rustdoc lists the methods of a type in the order of modules: first those that the files of the clients have.
pub(crate) mod service;
pub(crate) mod table;

pub(crate) mod batch;
pub(crate) mod bulk;
pub(crate) mod effective_settings;
pub(crate) mod group;
pub(crate) mod ops;
pub(crate) mod partition_writes;
pub(crate) mod query;
pub(crate) mod query_writes;
mod sas_url;
pub(crate) mod sending_rate;
mod serde_handle;
pub(crate) mod settings;
pub(crate) mod shape;
pub(crate) mod table_handle;
pub(crate) mod task;
pub(crate) mod total_timeout;
pub(crate) mod turn;
