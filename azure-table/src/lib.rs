#![doc = include_str!("guide/crate.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(hidden)]
pub mod __private;
mod api;
mod client;
pub mod guide;
mod pipeline;
pub mod prelude;

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
pub use crate::api::emulator;
#[cfg(feature = "encryption")]
pub use crate::api::encryption;
#[cfg(feature = "test-util")]
pub use crate::api::testing;
pub use crate::api::{auth, batch, bulk, entity, filter, key, operation, query, retry, service, telemetry, transport};
pub use crate::client::batch::TableBatch;
pub use crate::client::bulk::bulk_builder::Bulk;
pub use crate::client::bulk::bulk_report::{BulkOutcome, BulkReport};
pub use crate::client::bulk::writer::Writer;
pub use crate::client::ops::modify_entity::Change;
pub use crate::client::query::page::Page;
pub use crate::client::query::table_query::TableQuery;
pub use crate::client::service::TableServiceClient;
pub use crate::client::table_handle::TableClient;
pub use crate::pipeline::auth::Credential;
#[cfg(feature = "entra")]
pub use crate::pipeline::auth::entra::EntraCredential;
pub use crate::pipeline::location::LocationMode;
pub use crate::pipeline::options::CallOptions;
pub use crate::pipeline::retry::exponential::ExponentialRetry;
pub use crate::pipeline::retry::linear::LinearRetry;
pub use crate::pipeline::retry::{NoRetry, RetryPolicy};
#[cfg(feature = "emulator")]
#[doc(inline)]
pub use azure_table_emulator::Emulator;
#[cfg(feature = "emulator-http")]
#[doc(inline)]
pub use azure_table_emulator::{EmulatorServer, RunningEmulator};
#[doc(inline)]
pub use azure_table_wire::filter::column::Column;
#[doc(inline)]
pub use azure_table_wire::filter::projection::Projection;
#[doc(inline)]
pub use azure_table_wire::filter::typed::Filter;
#[doc(inline)]
pub use azure_table_wire::model::datetime::DateTime;
#[doc(inline)]
pub use azure_table_wire::model::dynamic::DynamicEntity;
#[doc(inline)]
pub use azure_table_wire::model::edm::{Edm, EdmType, EdmValue};
#[doc(inline)]
pub use azure_table_wire::model::entity::{PropertyGroup, ReadEntity, TableEntity};
#[doc(inline)]
pub use azure_table_wire::model::entity_key::Key;
#[doc(inline)]
pub use azure_table_wire::model::error::{Error, ErrorKind, Result, ValueError};
#[doc(inline)]
pub use azure_table_wire::model::etag::ETag;
#[doc(inline)]
pub use azure_table_wire::model::guid::Guid;
#[doc(inline)]
pub use azure_table_wire::model::key::TableKey;
#[doc(inline)]
pub use azure_table_wire::model::key::descending::Descending;
#[doc(inline)]
pub use azure_table_wire::model::name::TableName;
#[doc(inline)]
pub use azure_table_wire::model::prefix::KeyPrefix;
#[doc(inline)]
pub use azure_table_wire::model::property::Property;
#[doc(inline)]
pub use azure_table_wire::model::versioned::Versioned;
#[doc(inline)]
pub use azure_table_wire::protocol::account_key::AccountKey;
#[doc(inline)]
pub use azure_table_wire::protocol::continuation::Continuation;
#[doc(inline)]
pub use azure_table_wire::protocol::operation::TableOperation;
#[doc(inline)]
pub use azure_table_wire::protocol::profile::Profile;
#[doc(inline)]
pub use azure_table_wire::protocol::sas_builder::{AccountSas, TableSas};
#[doc(inline)]
pub use azure_table_wire::protocol::sas_permissions::TablePermissions;
#[doc(inline)]
pub use azure_table_wire::protocol::sas_token::SasToken;
#[doc(inline)]
pub use azure_table_wire::protocol::table_result::TableResult;
#[doc(inline)]
pub use azure_table_wire::protocol::tables::Deletion;
