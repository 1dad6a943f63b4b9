//! A Table service inside the process, for tests, examples and development. Feature `emulator`.
//!
//! [`Emulator`](crate::Emulator) responds to requests as Azure Storage and Cosmos DB do, without a network.
//! `EmulatorServer` (feature `emulator-http`) listens on a port, with or without HTTPS, for programs in any language.
//! All state is in memory. The feature `emulator-durable` also keeps it in a folder, where it outlives the process.
//!
//! | type | use |
//! |---|---|
//! | [`ServiceModel`], [`RangeSplits`], [`ServiceLoad`] | latencies, limits, partition servers and their load |
//! | [`SeedEntities`] | its method `seed`: entities before the first request |
//! | [`EmulatorSnapshot`] | save and restore all tables |
//! | `SyncPolicy`, `EmulatorFolder` | when changes reach the disk, and what is there |
//! | [`EmulatorTable`] | a table and the number of its entities |
//! | [`EmulatorClock`] | a clock that tests move |
//! | [`PageEnds`] | where pages end, for tests of continuations |
//! | [`ResponseEvent`] | a request with its response, for an observer |
//! | [`BatchedOperation`] | an operation of a batch, for an observer |
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
//! let emulator = Emulator::new().service_model(ServiceModel::azure_storage());
//! let service = TableServiceClient::from_transport(emulator);
//! # let _ = service;
//! ```
//!
//! Tests with the emulator: [the guide to testing](crate::guide::testing).

#[cfg(feature = "emulator-http")]
#[doc(inline)]
pub use azure_table_emulator::ServerCertificate;
#[doc(inline)]
pub use azure_table_emulator::{
    BatchedOperation, EmulatorClock, EmulatorSnapshot, EmulatorTable, PageEnds, RangeSplits, ResponseEvent,
    ServiceLoad, ServiceModel,
};
#[cfg(feature = "emulator-durable")]
#[doc(inline)]
pub use azure_table_emulator::{EmulatorFolder, SyncPolicy};

pub use crate::entity::seed_entities::SeedEntities;
