//! The sources of operations: a bulk (`bulk_builder.rs`, `bulk_write.rs`), a writer, or the rows of a query.
//!
//! The builders of `delete_where`, `patch_where`, `update_where` and `upgrade_where` plan the write of each row
//! (`row_plan.rs`, `current_form.rs`). `query_write.rs` reads the pages and pushes the planned writes to the engine,
//! `atomic.rs` submits them as one transaction. Inserts are encoded into the body of their batch (`inserts.rs`).

pub(crate) mod atomic;
pub(crate) mod bulk_builder;
pub(crate) mod bulk_entity;
pub(crate) mod bulk_plan;
mod bulk_run;
pub(crate) mod bulk_write;
mod current_form;
mod inserts;
mod query_write;
pub(crate) mod query_write_builders;
mod row_plan;
pub(crate) mod writer;
