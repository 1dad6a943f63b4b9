//! Bulk writes: any number of operations, not atomic, with an outcome per operation.
//!
//! Contains `Bulk` and `Writer` (`bulk_builder.rs`, `bulk_write.rs`, `writer.rs`), and the engine that receives their
//! operations (`engine.rs`), and those of writes by query (`client/query_writes`). Inserts are encoded into the body
//! of their batch (`inserts.rs`, `composed_batch.rs`). `client/partition_writes` sends a batch.

mod batch_retry;
pub(crate) mod bulk_builder;
pub(crate) mod bulk_entity;
pub(crate) mod bulk_report;
mod bulk_run;
pub(crate) mod bulk_write;
mod composed_batch;
pub(crate) mod engine;
pub(crate) mod engine_settings;
mod inserts;
pub(crate) mod interrupted;
mod queue;
pub(crate) mod running_batch;
pub(crate) mod writer;
