//! A Table service inside the process, for tests, examples and development. Feature `emulator`.
//!
//! [`Emulator`](crate::Emulator) responds to requests as Azure Storage and Cosmos DB do, without a network. With the
//! feature `emulator-http`, `EmulatorServer` does so on a port, for programs in any language; `emulator-https` adds
//! TLS. All state is in memory. With the feature `emulator-durable` it is also in a folder and outlives the process.
//!
//! | type | use |
//! |---|---|
//! | [`ServiceModel`], [`RangeSplits`], [`ServiceLoad`] | latencies, limits, partition servers and their load |
//! | [`EmulatorSnapshot`] | save and restore all tables |
//! | `SyncPolicy`, `EmulatorFolder` | when changes reach the disk, and what is there |
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

// The layers, from top to bottom. Imports go downward, which a test checks:
//
// | layer | owns |
// |---|---|
// | `http` | the port: server, connection, certificate |
// | `in_process` | [`Emulator`]: its settings by `with_…`, the transport |
// | `service` | the stages of a request, from `head` to `response`, each once |
// | `head` | the facts of a request that its response repeats |
// | `site` | the account of a URL, and the service at its host |
// | `access` | the caller: shared keys, shared access signatures, tokens |
// | `operations` | the effect of each operation on the store, and its content; calls and their permissions |
// | `load` | capacity limits, and the time at which a server processes a request |
// | `durable` | the store in a folder, which outlives the process |
// | `snapshot` | the store as a file |
// | `request` | options, bodies, continuation tokens |
// | `store` | accounts, tables, rows and their stored form, the secondary |
// | `response` | responses, their format, errors with each service's texts, events of observers |
// | `json_text` | the text of JSON |
// | `settings` | accounts' keys, tokens, the clock, the ends of pages |
// | `rules` | limits, forms, versions and errors of Storage and of Cosmos DB |
//
// `http` is above `in_process` because a server has an emulator. Errors belong to `rules` because the store raises them
// as well as requests. A snapshot is above `request`: its lines are parsed like the body of an insert, and so are the
// lines in a folder. The emulator imports the core, never the client.

mod access;
#[cfg(feature = "emulator-durable")]
mod durable;
mod head;
#[cfg(feature = "emulator-http")]
pub(crate) mod http;
pub(crate) mod in_process;
mod json_text;
mod load;
mod operations;
mod request;
mod response;
mod rules;
mod service;
mod settings;
mod site;
mod snapshot;
mod store;
#[cfg(test)]
mod tests;

#[cfg(feature = "emulator-durable")]
pub use crate::emulator::durable::SyncPolicy;
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
