//! Bulk writes: any number of operations, not atomic, with an outcome per operation.
//!
//! Owns `Bulk` and `Writer`, the caller's own operations (`bulk_builder.rs`, `bulk_write.rs`, `writer.rs`), and the
//! writes over all rows that a query selects (`row_verbs.rs`, `row_writes.rs`). All of them push operations to one
//! engine (`engine.rs`).

mod batch_policy;
pub(crate) mod bulk_builder;
pub(crate) mod bulk_report;
mod bulk_run;
pub(crate) mod bulk_write;
mod engine;
pub(crate) mod held_operations;
pub(crate) mod interrupted;
pub(crate) mod outcomes;
pub(crate) mod pace;
pub(crate) mod partition_queue;
pub(crate) mod partition_write;
mod queue;
mod ready;
mod rewrite;
mod row_plan;
pub(crate) mod row_report;
pub(crate) mod row_verbs;
mod row_writes;
mod running_batch;
mod turn;
pub(crate) mod write_position;
pub(crate) mod writer;
