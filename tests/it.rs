//! All tests that go through the public interface, one folder a module.
//!
//! Environment: `AZURE_TABLE_FIXTURES` (folder of recordings), `AZURE_TABLE_TEST_AZURITE` and `AZURE_TABLE_TEST_LIVE`
//! (connection strings), `AZURE_TABLE_TEST_AZURITE_OAUTH` and `AZURE_TABLE_TEST_AZURITE_CERTIFICATE` (an Azurite that
//! takes tokens). A test that needs what is missing is ignored; it fails instead with `AZURE_TABLE_REQUIRE_FIXTURES` or
//! `AZURE_TABLE_REQUIRE_AZURITE`. `build.rs` reads them, so that a change builds these tests anew.

#![expect(clippy::unwrap_used, reason = "a test says what failed by panicking")]

mod api;
#[cfg(feature = "full")]
mod auth;
mod conformance;
mod emulator;
mod entities_derive;
mod kit;
mod load;
mod properties;
mod recordings;
mod samples;
mod serde_entities;
#[cfg(feature = "full")]
mod telemetry;
mod types;
mod wire;
