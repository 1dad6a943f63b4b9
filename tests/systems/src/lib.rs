//! Systems that are known to run on tables, written anew on the public interface of `azure-table`.
//!
//! Each module is one system: what it promises, how its rows are laid out, what each call costs. Its claims are those
//! of the original's documents and tests. `claims` checks them on the emulator, under every fault, in every order of
//! the requests, and on Azurite; `mutants` has a mistake per claim that its test must find.

pub mod catalogue;
pub mod durable_execution;
pub mod event_streams;
pub mod membership;
pub mod transactional_state;
