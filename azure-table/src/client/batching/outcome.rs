//! The ends of operations: each outcome, the reports, and the position from which to resume.
//!
//! `outcomes.rs` receives the outcomes of a batch while it runs.

pub(crate) mod bulk_report;
pub(crate) mod interrupted;
pub(crate) mod leftover;
pub(crate) mod outcomes;
pub(crate) mod report;
pub(crate) mod write_position;
pub(crate) mod write_report;
