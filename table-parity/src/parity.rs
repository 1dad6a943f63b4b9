//! The way without a name: each fact on an endpoint, and a report.
//!
//! `run.rs` owns the plan and its results, `expectation.rs` compares a response with the expected one by the patterns
//! of `pattern.rs`, `shown.rs` masks what is reported, `results.rs` counts, and `page.rs` and `json.rs` write.

pub(crate) mod expectation;
pub(crate) mod json;
pub(crate) mod options;
pub(crate) mod page;
pub(crate) mod pattern;
pub(crate) mod results;
pub(crate) mod run;
pub(crate) mod shown;
