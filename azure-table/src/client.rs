//! The public calls: clients, operations, queries, batches, writes over queries.
//!
//! This module has the builders and their shapes. `write` and `request` build the requests, and `pipeline` sends them.
//!
//! | layer, highest first | owns |
//! |---|---|
//! | `sas_url`, `serde_handle`, `settings`, `effective_settings` | more methods of the clients |
//! | `table`, `service` | the methods that return the builders |
//! | `query_writes` | writes to all rows of a query, by the engine of a bulk |
//! | `bulk`, `batch` | writes in batches |
//! | `query` | queries and their streams |
//! | `partition_writes`, `sending_rate` | the batches of a bulk |
//! | `ops` | the builders of single calls |
//! | `table_handle` | the client of a table, for the builders that hold one |
//! | `shape`, `task`, `total_timeout`, `turn` | the parts of builders and streams |

// rustdoc lists a type's methods in the order of the modules, so the files of the clients come first.
pub(crate) mod service;
pub(crate) mod table;

pub(crate) mod batch;
pub(crate) mod bulk;
pub(crate) mod effective_settings;
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
