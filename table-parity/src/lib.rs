//! Facts of the Table service with their sources, and how closely a service answers as Azure does.
//!
//! The program has two ways: the facts on an endpoint (`parity`), with a page as their report, and the comparison of an
//! account with the emulator (`comparison`). Both are a run (`run.rs`) that sends requests (`step.rs`) to a service
//! (`service`), and calls the conformance suite (`suite.rs`). The suite itself is in `azure-table-tests`: the tests of
//! the client run it on every backend, and would otherwise depend on this program.
//!
//! The imports point downward, in the order of this list.

mod program;

mod command_line;
mod comparison;
mod fact;
mod facts;
mod parity;
mod run;
mod service;
mod step;
mod suite;

#[cfg(test)]
mod tests;

pub use program::main;
