//! Writes to all rows that a query selects, page by page.
//!
//! `builders.rs` has the builders of `delete_where`, `patch_where`, `update_where` and `upgrade_where`, which plan the
//! write of each row (`row_plan.rs`, `current_form.rs`). `query_write.rs` reads the pages and pushes the planned writes
//! to the engine of a bulk, `atomic.rs` submits them as one transaction. `write_report.rs` has their outcomes,
//! `write_position.rs` the position to resume from.

pub(crate) mod atomic;
pub(crate) mod builders;
mod current_form;
mod query_write;
mod row_plan;
pub(crate) mod write_position;
pub(crate) mod write_report;
