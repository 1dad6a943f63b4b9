//! An in-process Table service for tests, examples and development. Requires the feature `emulator`.
//!
//! [`Emulator`](crate::Emulator) responds to requests as Azure Storage and Cosmos DB do, without a network.
//! `EmulatorServer` (feature `emulator-http`) listens on a port, with or without HTTPS, for programs in any language.
//! The tables live in memory. With the feature `emulator-durable`, you can keep them in a folder across restarts.
//!
//! | type | use |
//! |---|---|
//! | [`ServiceModel`], [`RangeSplits`], [`ServiceLoad`] | latencies, limits, partition servers and their load |
//! | [`SeedEntities`] | its method `seed` inserts entities before the first request |
//! | [`EmulatorSnapshot`] | save and restore all tables |
//! | `SyncPolicy`, `EmulatorFolder` | when changes are written to disk, and the contents of the folder |
//! | [`EmulatorTable`] | a table and the number of its entities |
//! | [`EmulatorClock`] | a clock that tests can stop and advance |
//! | [`PageEnds`] | where pages end, to test continuations |
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
//! [The testing guide](crate::guide::testing) shows tests with the emulator.

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
