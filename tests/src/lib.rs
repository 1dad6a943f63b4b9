//! The conformance suite: the behaviour of a Table service, as observed through the client.
//!
//! Every function takes a [`Backend`] and panics if the service behaves differently. `tests/it/conformance` runs all of
//! them on the emulator in the process, on the emulator over HTTP, and on Azurite.
//! The crate also owns the shared code of the test folders: the entities of the tests and the access to the fixtures.
//!
//! The suite needs the feature `suite`, which is on by default. Long runs do without it, and are built sooner.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what failed by panicking")]

#[cfg(feature = "suite")]
pub mod backend;
#[cfg(feature = "suite")]
pub mod batches;
#[cfg(feature = "suite")]
pub mod bulk;
#[cfg(feature = "suite")]
pub mod bulk_stress;
pub mod canned;
#[cfg(feature = "suite")]
pub mod conformance;
pub mod entities;
pub mod errors;
pub mod explorations;
#[cfg(feature = "suite")]
pub mod filters;
pub mod fixtures;
#[cfg(feature = "suite")]
pub mod key_order;
#[cfg(feature = "suite")]
pub mod keys;
#[cfg(feature = "suite")]
pub mod load;
#[cfg(feature = "suite")]
pub mod network;
pub mod polls;
pub mod process;
pub mod promises;
#[cfg(feature = "suite")]
pub mod queries;
pub mod report;
#[cfg(feature = "suite")]
pub mod sas;
pub mod scenario;
#[cfg(feature = "suite")]
pub mod service;
#[cfg(feature = "suite")]
pub mod single_entities;
#[cfg(feature = "suite")]
pub mod tables;
pub mod tail;
pub mod texts;
pub mod untrusted;
#[cfg(feature = "suite")]
pub mod via_batch;

#[cfg(feature = "suite")]
pub use backend::Backend;
pub use canned::{closures, intercept};
#[cfg(feature = "suite")]
pub use network::{Network, NetworkBuilder};
