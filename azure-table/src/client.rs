//! The public calls: clients, operations, queries, batches, writes over queries.
//!
//! This module has the builders and their shapes. `write` and `request` build the requests, and `pipeline` sends them.
//!
//! | layer, highest first | owns |
//! |---|---|
//! | `sas_url`, `serde_handle`, `settings`, `azure_core_options`, `effective_settings` | more methods of the clients |
//! | `table`, `service` | the methods that return the builders |
//! | `batching` | any number of writes: bulks, writers, writes over queries |
//! | `batch` | an entity group transaction |
//! | `query` | queries and their streams |
//! | `ops` | the builders of single calls |
//! | `table_handle` | the client of a table, for the builders that hold one |
//! | `shape`, `poll` | the parts of builders and streams |

// rustdoc lists a type's methods in the order of the modules, so the files of the clients come first.
pub(crate) mod service;
pub(crate) mod table;

#[cfg(feature = "azure-core-1")]
mod azure_core_options;
pub(crate) mod batch;
pub(crate) mod batching;
pub(crate) mod effective_settings;
pub(crate) mod ops;
pub(crate) mod poll;
pub(crate) mod query;
mod sas_url;
mod serde_handle;
pub(crate) mod settings;
pub(crate) mod shape;
pub(crate) mod table_handle;
