//! All tests that go through the public interface, one folder a module.
//!
//! Environment: `AZURE_TABLE_FIXTURES` (folder of recordings and vectors), `AZURE_TABLE_TEST_AZURITE` and
//! `AZURE_TABLE_TEST_LIVE` (connection strings), `AZURE_TABLE_REQUIRE_AZURITE` (fail, not skip, without Azurite).

mod api;
mod conformance;
mod faults;
mod properties;
mod wire;
