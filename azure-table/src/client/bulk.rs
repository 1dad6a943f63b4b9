//! Bulk writes: any number of operations, not atomic, with an outcome per operation.
//!
//! Contains `Bulk` and `Writer` (`bulk_builder.rs`, `bulk_write.rs`, `writer.rs`), and the engine to which they push
//! their operations (`engine.rs`). So do the writes over the rows of a query (`client/query_writes`). The source of
//! inserts writes them into the body of their batch (`inserts.rs`, `composed_batch.rs`). The write of a batch is in
//! `client/partition_writes`.

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
