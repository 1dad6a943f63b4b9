//! Many writes, not atomic, and no secret made of it: each row has an outcome of its own.
//!
//! Owns `Bulk`, many writes of one's own (`bulk_builder.rs`, `engine.rs`), and the writes over all rows that a query selects. `partition_write.rs` knows operations and their outcomes and nothing
//! of queries; `row_writes.rs` reads pages and hands their rows to it; what becomes of a row is said by one file for each verb.

mod builder;
pub(crate) mod bulk_builder;
pub(crate) mod bulk_entity;
pub(crate) mod bulk_report;
pub(crate) mod bulk_write;
mod engine;
pub(crate) mod interrupted;
mod known;
mod pace;
pub(crate) mod partition_write;
pub(crate) mod patch_where;
pub(crate) mod position;
mod queue;
mod rewrite;
mod row_plan;
pub(crate) mod row_report;
pub(crate) mod row_verbs;
pub(crate) mod row_writes;
mod running;
mod selected_row;
mod source;
pub(crate) mod update_where;
pub(crate) mod upgrade_all;
pub(crate) mod writer;
