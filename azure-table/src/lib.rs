#![doc = include_str!("guide/crate.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(hidden)]
pub mod __private;
mod account;
mod api;
mod client;
pub mod entity;
#[cfg(all(feature = "test-util", feature = "emulator"))]
mod explore;
pub mod filter;
pub mod guide;
pub mod key;
mod pipeline;
mod request;
#[cfg(test)]
mod tests;
mod write;

#[cfg(all(feature = "derive", feature = "test-util", feature = "emulator"))]
pub use azure_table_derive::test;
#[cfg(feature = "derive")]
pub use azure_table_derive::{Projection, PropertyGroup, TableEntity, TableProperty};

#[cfg(doctest)]
#[doc = include_str!("../../azure-table-derive/docs/table_entity.md")]
#[doc = include_str!("../../azure-table-derive/docs/property_group.md")]
#[doc = include_str!("../../azure-table-derive/docs/table_property.md")]
#[doc = include_str!("../../azure-table-derive/docs/projection.md")]
#[doc = include_str!("../../azure-table-derive/docs/test.md")]
mod examples_of_the_macros {}

#[cfg(feature = "emulator")]
#[doc(inline)]
pub use azure_table_emulator::Emulator;
#[cfg(feature = "emulator-http")]
#[doc(inline)]
pub use azure_table_emulator::{EmulatorServer, RunningEmulator};
#[doc(inline)]
pub use azure_table_wire::account::profile::Profile;
#[doc(inline)]
pub use azure_table_wire::error::error_code::ErrorCode;
#[doc(inline)]
pub use azure_table_wire::error::value_error::ValueError;
#[doc(inline)]
pub use azure_table_wire::error::{Error, ErrorKind, Result};
#[doc(inline)]
pub use azure_table_wire::sas::permissions::TablePermissions;
#[doc(inline)]
pub use azure_table_wire::value::datetime::DateTime;
#[doc(inline)]
pub use azure_table_wire::value::edm::{Edm, EdmType, EdmValue};
#[doc(inline)]
pub use azure_table_wire::value::etag::ETag;
#[doc(inline)]
pub use azure_table_wire::value::guid::Guid;

pub use crate::account::account_key::AccountKey;
pub use crate::account::sas_builder::{AccountSas, TableSas};
pub use crate::account::sas_token::SasToken;
#[doc(inline)]
pub use crate::account::table_name::TableName;
#[cfg(feature = "emulator")]
pub use crate::api::emulator;
#[cfg(feature = "test-util")]
pub use crate::api::testing;
pub use crate::api::{auth, batch, bulk, index, operation, policy, query, retry, service, telemetry, transport};
pub use crate::client::batch::TableBatch;
pub use crate::client::batching::outcome::bulk_report::{BulkOutcome, BulkReport};
pub use crate::client::batching::source::bulk_builder::Bulk;
pub use crate::client::batching::source::writer::Writer;
pub use crate::client::ops::modify_entity::Change;
pub use crate::client::query::page::Page;
pub use crate::client::query::table_query::TableQuery;
pub use crate::client::service::TableServiceClient;
pub use crate::client::table_handle::TableClient;
pub use crate::entity::dynamic::DynamicEntity;
pub use crate::entity::property::Property;
pub use crate::entity::table_entity::{PropertyGroup, ReadEntity, TableEntity};
pub use crate::entity::versioned::Versioned;
pub use crate::filter::column::Column;
pub use crate::filter::projection::Projection;
pub use crate::filter::typed::Filter;
pub use crate::key::descending::Descending;
pub use crate::key::entity_key::Key;
pub use crate::key::prefix::KeyPrefix;
pub use crate::key::table_key::TableKey;
pub use crate::pipeline::auth::Credential;
#[cfg(feature = "azure-core-1")]
pub use crate::pipeline::auth::entra::EntraCredential;
pub use crate::pipeline::location::LocationMode;
pub use crate::pipeline::options::CallOptions;
pub use crate::pipeline::retry::exponential::ExponentialRetry;
pub use crate::pipeline::retry::linear::LinearRetry;
pub use crate::pipeline::retry::{NoRetry, RetryPolicy};
pub use crate::request::continuation::Continuation;
pub use crate::request::tables::Deletion;
pub use crate::write::operation::TableOperation;
pub use crate::write::table_result::TableResult;
