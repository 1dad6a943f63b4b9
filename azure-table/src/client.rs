//! What users call: clients, operations, queries, batches, writes over queries.
//!
//! Owns the builders and their shapes. What is sent is made in `protocol`, how it is sent is `pipeline`'s business.

pub(crate) mod batch;
pub(crate) mod bulk;
pub(crate) mod effective_settings;
pub(crate) mod group;
pub(crate) mod ops;
pub(crate) mod query;
mod sas_url;
mod serde_handle;
pub(crate) mod service;
pub(crate) mod settings;
pub(crate) mod shape;
pub(crate) mod table;
pub(crate) mod task;
pub(crate) mod total_timeout;
