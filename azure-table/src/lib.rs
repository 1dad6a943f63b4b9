#![doc = include_str!("../docs/crate.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    all(feature = "inbound", not(all(feature = "emulator", feature = "faults"))),
    expect(
        dead_code,
        reason = "the emulator and the test doubles each use some of the parsers of `inbound`"
    )
)]

// The derives and the patterns name the crate as others do.
#[cfg(feature = "patterns")]
extern crate self as azure_table;

#[doc(hidden)]
pub mod __private;
mod api;
mod client;
mod codec;
#[cfg(feature = "emulator")]
pub mod emulator;
pub mod filter;
pub mod guide;
mod model;
#[cfg(feature = "patterns")]
pub mod patterns;
mod pipeline;
pub mod prelude;
mod protocol;
#[cfg(feature = "faults")]
pub mod testing;

#[cfg(all(feature = "derive", feature = "test-util", feature = "emulator"))]
pub use azure_table_derive::test;
#[cfg(feature = "derive")]
pub use azure_table_derive::{Projection, PropertyGroup, TableEntity, TableProperty};

pub use crate::api::{auth, batch, bulk, entity, key, operation, query, retry, service, telemetry, transport};
pub use crate::client::batch::TableBatch;
pub use crate::client::bulk::bulk_builder::Bulk;
pub use crate::client::bulk::bulk_report::{BulkOutcome, BulkReport};
pub use crate::client::bulk::writer::Writer;
pub use crate::client::ops::modify_entity::Change;
pub use crate::client::query::TableQuery;
pub use crate::client::query::page::Page;
pub use crate::client::service::TableServiceClient;
pub use crate::client::table_handle::TableClient;
#[cfg(feature = "emulator-http")]
pub use crate::emulator::http::{EmulatorServer, RunningEmulator};
#[cfg(feature = "emulator")]
pub use crate::emulator::in_process::Emulator;
pub use crate::filter::column::Column;
pub use crate::filter::typed::Filter;
pub use crate::model::datetime::DateTime;
pub use crate::model::dynamic::DynamicEntity;
pub use crate::model::edm::{Edm, EdmType, EdmValue};
pub use crate::model::entity::{Projection, PropertyGroup, ReadEntity, TableEntity};
pub use crate::model::entity_key::Key;
pub use crate::model::error::{Error, ErrorKind, Result, ValueError};
pub use crate::model::etag::ETag;
pub use crate::model::guid::Guid;
pub use crate::model::key::{Descending, TableKey};
pub use crate::model::name::TableName;
pub use crate::model::prefix::KeyPrefix;
pub use crate::model::property::Property;
pub use crate::model::versioned::Versioned;
pub use crate::pipeline::auth::Credential;
#[cfg(feature = "entra")]
pub use crate::pipeline::auth::entra::EntraCredential;
pub use crate::pipeline::location::LocationMode;
pub use crate::pipeline::options::CallOptions;
pub use crate::pipeline::retry::exponential::ExponentialRetry;
pub use crate::pipeline::retry::linear::LinearRetry;
pub use crate::pipeline::retry::{NoRetry, RetryPolicy};
pub use crate::protocol::account_key::AccountKey;
pub use crate::protocol::continuation::Continuation;
pub use crate::protocol::operation::TableOperation;
pub use crate::protocol::profile::Profile;
pub use crate::protocol::sas_builder::{AccountSas, TableSas};
pub use crate::protocol::sas_permissions::TablePermissions;
pub use crate::protocol::sas_token::SasToken;
pub use crate::protocol::table_result::TableResult;
pub use crate::protocol::tables::Deletion;
