//! The way `account`: the conformance suite and a probe for each line of `unknowns.md`, on the emulator first, and then
//! in the same way on the service of an account.
//!
//! `run.rs` owns the plan and its results, `observation.rs` sends a probe, and `report.rs` prints the result.

pub(crate) mod observation;
pub(crate) mod options;
pub(crate) mod probe;
pub(crate) mod probes;
pub(crate) mod report;
pub(crate) mod run;
