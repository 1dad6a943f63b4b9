//! Tests of the client, the emulator and the wire, one folder per subject. `entities` and `kit` have the others.
//!
//! Environment: `AZURE_TABLE_FIXTURES` (folder of recordings), `AZURE_TABLE_TEST_AZURITE` (a connection string),
//! `AZURE_TABLE_TEST_AZURITE_OAUTH` and `AZURE_TABLE_TEST_AZURITE_CERTIFICATE` (an Azurite that accepts tokens). A test
//! whose service is missing is ignored. It fails instead with `AZURE_TABLE_REQUIRE_FIXTURES` or
//! `AZURE_TABLE_REQUIRE_AZURITE`. `build.rs` reads the variables, so a change of one rebuilds these tests.

#![expect(clippy::unwrap_used, reason = "a test says what failed by panicking")]

mod api;
mod conformance;
mod emulator;
mod load;
mod recordings;
mod serde_entities;
mod wire;
