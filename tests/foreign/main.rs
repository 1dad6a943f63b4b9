//! The types of other crates: dates, times, decimals, ids and URLs of entities, tokens of Entra ID, spans and
//! metrics, the TLS of the platform. The other tests are built without these crates.

#![expect(clippy::unwrap_used, reason = "a test says what failed by panicking")]

mod azurite;
mod dotnet;
mod entra;
mod reqwest_clients;
mod telemetry;
mod times;
mod tokens;
mod trace_context;
mod user_delegation;
mod values;
