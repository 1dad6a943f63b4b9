//! The conformance suite: the behaviour of a Table service, as observed through the client.
//!
//! Every function takes a [`Backend`] and panics if the service behaves differently. `tests/it/conformance` runs all of
//! them on the emulator in the process, on the emulator over HTTP, on Azurite, and on a live account if one is named.
//! The crate also owns the shared code of the test folders: the entities of the tests and the access to the fixtures.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what failed by panicking")]

pub mod backend;
pub mod batches;
pub mod bulk;
pub mod bulk_stress;
pub mod canned;
pub mod entities;
pub mod entity;
pub mod errors;
pub mod explorations;
pub mod filters;
pub mod fixtures;
pub mod keys;
pub mod load;
pub mod network;
pub mod polls;
pub mod queries;
pub mod report;
pub mod sas;
pub mod service;
pub mod tables;
pub mod tail;
#[cfg(feature = "full")]
pub mod tokens;
pub mod untrusted;
pub mod via_batch;

pub use backend::Backend;
pub use network::{Network, NetworkBuilder};
