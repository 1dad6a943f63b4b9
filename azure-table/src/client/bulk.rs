//! Many writes, not atomic, and no secret made of it: each row has an outcome of its own.
//!
//! Owns the writes over all rows that a query selects. `partition_write.rs` knows operations and their outcomes and nothing
//! of queries; `row_writes.rs` reads pages and hands their rows to it; what becomes of a row is said by one file for each verb.

mod builder;
pub(crate) mod delete_where;
pub(crate) mod interrupted;
pub(crate) mod partition_write;
pub(crate) mod patch_where;
pub(crate) mod position;
pub(crate) mod report;
mod rewrite;
pub(crate) mod row_writes;
mod selected_row;
pub(crate) mod update_where;
pub(crate) mod upgrade_all;
