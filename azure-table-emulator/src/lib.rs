#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

// The layers, from top to bottom. Imports go downward, which a test checks:
//
// | layer | owns |
// |---|---|
// | `http` | the port: server, connection, certificate |
// | `in_process` | `Emulator`: its setters, the transport |
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
// lines in a folder. The emulator imports the wire crate, never the client.

mod access;
#[cfg(feature = "durable")]
mod durable;
mod head;
#[cfg(feature = "http")]
mod http;
mod in_process;
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

#[cfg(feature = "durable")]
pub use crate::durable::SyncPolicy;
#[cfg(feature = "durable")]
pub use crate::durable::folder::EmulatorFolder;
#[cfg(feature = "http")]
pub use crate::http::{EmulatorServer, RunningEmulator, ServerCertificate};
pub use crate::in_process::Emulator;
pub use crate::in_process::contents::EmulatorTable;
#[doc(hidden)]
pub use crate::in_process::injected_error::InjectedError;
#[doc(hidden)]
pub use crate::in_process::seed_rows;
pub use crate::load::ServiceLoad;
pub use crate::load::model::{RangeSplits, ServiceModel};
#[doc(hidden)]
pub use crate::operations::seed::SeededRow;
pub use crate::response::observer::{BatchedOperation, ResponseEvent};
pub use crate::settings::{EmulatorClock, PageEnds};
pub use crate::snapshot::EmulatorSnapshot;
