//! All tests of the public interface, one folder per module.
//!
//! Environment: `AZURE_TABLE_FIXTURES` (folder of recordings), `AZURE_TABLE_TEST_AZURITE` (a connection string),
//! `AZURE_TABLE_TEST_AZURITE_OAUTH` and `AZURE_TABLE_TEST_AZURITE_CERTIFICATE` (an Azurite that accepts tokens). A test
//! whose service is missing is ignored. It fails instead with `AZURE_TABLE_REQUIRE_FIXTURES` or
//! `AZURE_TABLE_REQUIRE_AZURITE`. `build.rs` reads the variables, so a change of one rebuilds these tests.

#![expect(clippy::unwrap_used, reason = "a test says what failed by panicking")]

mod api;
mod conformance;
mod emulator;
mod entities_derive;
mod kit;
mod load;
mod properties;
mod recordings;
mod samples;
mod serde_entities;
mod types;
mod wire;
