//! A Table service inside the process, for tests, examples and development. Feature `emulator`.
//!
//! [`Emulator`](crate::Emulator) answers requests as Azure Storage and Cosmos DB do, without a network. With the
//! feature `emulator-http` `EmulatorServer` does so on a port, for programs in any language; `emulator-https` adds TLS.
//! All state is in memory; with the feature `emulator-durable` it is in a folder too, and outlives the process.
//!
//! | type | use |
//! |---|---|
//! | [`ServiceModel`], [`RangeSplits`], [`ServiceLoad`] | latencies, throughput limits and partition servers, and the load they saw |
//! | [`EmulatorSnapshot`] | save and restore all tables |
//! | `Sync`, `EmulatorFolder` | when changes reach the disk, and what is there |
//! | [`EmulatorTable`] | a table and the number of its entities |
//! | [`EmulatorClock`] | a clock that tests move |
//! | [`PageEnds`] | where pages end, for tests of continuations |
//! | [`ResponseEvent`] | a request with its response, for an observer |
//! | `ServerCertificate` | the certificate of an HTTPS server |
//!
//! # Examples
//!
//! A throttled partition:
//!
//! ```
//! use azure_table::emulator::ServiceModel;
//! use azure_table::{Emulator, TableServiceClient};
//!
//! let emulator = Emulator::new().with_service_model(ServiceModel::today());
//! let service = TableServiceClient::on(emulator);
//! # let _ = service;
//! ```
//!
//! Tests with the emulator: [the guide to testing](crate::guide).

// The floors, from top to bottom. Imports go downward, and a test checks them:
//
// | floor | owns |
// |---|---|
// | `http` | the port: server, connection, certificate |
// | `in_process` | [`Emulator`]: its settings by `with_…`, the transport |
// | `dispatch` | the order of checks, the table of resources and verbs, the times of a service model |
// | `operations` | what each operation does to the store, and its answer; calls with their callers |
// | `access` | shared keys, shared access signatures, tokens, and what they grant |
// | `load` | who has room, and when a server comes to a request |
// | `response` | answers, payloads, errors in each service's words, what observers see |
// | `durable` | the store in a folder, which outlives the process |
// | `snapshot` | the store as a file |
// | `request` | messages, addresses, options, bodies, continuation tokens |
// | `store` | accounts, tables, rows and the text they are kept in, the second region |
// | `settings` | accounts' keys, tokens, the clock, where pages end |
// | `rules` | limits, forms, versions and refusals of Storage and of Cosmos DB |
//
// `http` stands above `in_process`, since a server has an emulator. Refusals are rules, since the store refuses as well as requests.
// A snapshot stands above `request`: a line of it is read as the body of an insert; a folder has such lines too.
// The emulator imports `pipeline::transport`, `protocol`, `filter`, `codec` and `model`, never the client.

mod access;
mod dispatch;
#[cfg(feature = "emulator-durable")]
mod durable;
#[cfg(feature = "emulator-http")]
pub(crate) mod http;
pub(crate) mod in_process;
mod load;
mod operations;
mod request;
mod response;
mod rules;
mod settings;
mod snapshot;
mod store;
#[cfg(test)]
mod tests;

#[cfg(feature = "emulator-durable")]
pub use crate::emulator::durable::Sync;
#[cfg(feature = "emulator-durable")]
pub use crate::emulator::durable::folder::EmulatorFolder;
#[cfg(feature = "emulator-https")]
pub use crate::emulator::http::ServerCertificate;
pub use crate::emulator::in_process::contents::EmulatorTable;
pub use crate::emulator::load::ServiceLoad;
pub use crate::emulator::load::model::{RangeSplits, ServiceModel};
pub use crate::emulator::response::observer::ResponseEvent;
pub use crate::emulator::settings::{EmulatorClock, PageEnds};
pub use crate::emulator::snapshot::EmulatorSnapshot;
