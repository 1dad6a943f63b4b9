#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(hidden)]
pub mod __private;
mod client;
mod codec;
#[cfg(feature = "emulator")]
mod emulator;
mod filter;
pub mod guide;
mod model;
mod pipeline;
mod protocol;
#[cfg(feature = "test-util")]
pub mod testing;

#[cfg(all(feature = "derive", feature = "test-util", feature = "emulator"))]
pub use azure_table_derive::test;
#[cfg(feature = "derive")]
pub use azure_table_derive::{Projection, PropertyGroup, TableEntity, TableProperty};

pub use crate::client::batch::TableBatch;
pub use crate::client::bulk::bulk_builder::{Bulk, BulkEntity};
pub use crate::client::bulk::bulk_report::{AppliedOperation, BulkOutcome, BulkReport, LeftReason, Leftover};
pub use crate::client::bulk::bulk_write::{BulkOutcomes, BulkWrite};
pub use crate::client::bulk::interrupted::Interrupted;
pub use crate::client::bulk::row_report::{RowError, WriteReport};
pub use crate::client::bulk::row_verbs::{DeleteWhere, PatchWhere, UpdateWhere, UpgradeAll};
pub use crate::client::bulk::write_position::WritePosition;
pub use crate::client::bulk::writer::Writer;
pub use crate::client::effective_settings::Settings;
pub use crate::client::ops::access_policies::ChangeAccessPolicies;
pub use crate::client::ops::commit_batch::CommitBatch;
pub use crate::client::ops::delete_entity::{DeleteEntity, DeleteEntityIfExists};
pub use crate::client::ops::ensure_tables::EnsureTables;
pub use crate::client::ops::execute::ExecuteOperation;
pub use crate::client::ops::exists::EntityExists;
pub use crate::client::ops::get_entity::GetEntity;
pub use crate::client::ops::get_user_delegation_key::GetUserDelegationKey;
pub use crate::client::ops::list_tables::ListTables;
pub use crate::client::ops::modify_entity::{Change, ModifyEntity, ModifyOutcome};
pub use crate::client::ops::recreate_table::{RecreateProgress, RecreateTable};
pub use crate::client::ops::service_operations::{
    GetServiceProperties, GetServiceStatistics, Ping, SetServiceProperties,
};
pub use crate::client::ops::table_operations::{
    CreateTable, CreateTableIfNotExists, DeleteTable, DeleteTableIfExists, GetAccessPolicies, TableExists,
};
pub use crate::client::ops::write_entity::{InsertEntityEcho, InsertEntityIfAbsent, UpdateEntity, WriteEntity};
pub use crate::client::query::TableQuery;
pub use crate::client::query::entity_stream::EntityStream;
pub use crate::client::query::fan_out::FanOut;
pub use crate::client::query::gather::Gather;
pub use crate::client::query::gather::families::Families;
pub use crate::client::query::get_many::GetMany;
pub use crate::client::query::page::BadRow;
pub use crate::client::query::page::Page;
pub use crate::client::query::page_stream::PageStream;
pub use crate::client::query::query_plan::QueryPlan;
pub use crate::client::query::scan::{Scan, ScanProgress, ScanStream};
pub use crate::client::query::scan_position::ScanPosition;
pub use crate::client::query::selection::Selects;
pub use crate::client::service::TableServiceClient;
pub use crate::client::table::TableClient;
#[cfg(feature = "emulator-https")]
pub use crate::emulator::http::ServerCertificate;
#[cfg(feature = "emulator-http")]
pub use crate::emulator::http::{EmulatorServer, RunningEmulator};
#[cfg(feature = "emulator")]
pub use crate::emulator::{
    AnsweredRequest, Emulator, EmulatorClock, EmulatorSnapshot, PageEnds, RangeSplits, ServiceLoad, ServiceModel,
};
pub use crate::filter::access::AccessPath;
pub use crate::filter::assignment::{Assignment, AssignmentOf, Settable};
pub use crate::filter::column::{BeginsWith, Column, ColumnRole, InKey, Stored};
pub use crate::filter::nested::{ColumnOfVariant, Nested, NestedIn, Variant, VariantColumn};
pub use crate::filter::select::{Columns, SelectColumn};
pub use crate::filter::typed::{Filter, FilterOf};
pub use crate::model::chunked::Chunked;
pub use crate::model::datetime::DateTime;
pub use crate::model::diagnostics::{Attempt, Diagnostics};
pub use crate::model::dynamic::DynamicEntity;
pub use crate::model::edm::{Edm, EdmType, EdmValue, WireValue};
pub use crate::model::entity::{
    MetadataLevel, Projection, PropertyGroup, ReadEntity, ReadPropertyGroup, TableEntity, WritesEntity, assert_reads,
};
pub use crate::model::entity_key::{IntoKey, Key, KeyGivenAs};
pub use crate::model::error::{Error, ErrorKind, Result, ValueError};
pub use crate::model::etag::{Condition, ETag};
pub use crate::model::guid::Guid;
pub use crate::model::key::base64url::Base64Url;
pub use crate::model::key::bucket::Bucket;
pub use crate::model::key::calendar::{Day, Month, Week, Year};
pub use crate::model::key::descending::DescendingKey;
pub use crate::model::key::escaped::{Escaped, EscapedPercent};
pub use crate::model::key::{Descending, MAX_KEY_UNITS, ReadTableKey, TableKey, prefix_range};
pub use crate::model::key_shape::{KeyParts, KeyPiece, KeyShape, KeyWriter, MAX_KEY_FIELDS};
pub use crate::model::location::Location;
pub use crate::model::name::TableName;
pub use crate::model::operand::Operand;
pub use crate::model::operation_kind::OperationKind;
pub use crate::model::partition::NamesPartition;
pub use crate::model::prefix::{KeyPrefix, PrefixGivenAs};
pub use crate::model::property::{Property, ReadProperty};
pub use crate::model::property_writer::{
    MAX_BINARY_BYTES, MAX_ENTITY_BYTES, MAX_PROPERTIES, MAX_STRING_UNITS, PropertyWriter,
};
pub use crate::model::row::{Row, RowProperty};
pub use crate::model::schema::{EntitySchema, GroupSchema, PropertySchema};
pub use crate::model::variant::VariantOf;
pub use crate::model::variant_mark::VariantMark;
pub use crate::model::versioned::Versioned;
pub use crate::pipeline::auth::anonymous::Anonymous;
#[cfg(feature = "entra")]
pub use crate::pipeline::auth::entra::EntraCredential;
pub use crate::pipeline::auth::sas::RenewableSas;
pub use crate::pipeline::auth::shared_key::SharedKeyLite;
pub use crate::pipeline::auth::{AuthorizationContext, Credential, Refusal};
pub use crate::pipeline::context::OperationContext;
pub use crate::pipeline::http::{HttpTransport, HttpTransportBuilder};
pub use crate::pipeline::location::LocationMode;
pub use crate::pipeline::meter::{Cost, CostMeter};
#[cfg(feature = "otel")]
pub use crate::pipeline::metrics::OtelMetrics;
pub use crate::pipeline::observer::{Completed, Event, Observer, Sending};
pub use crate::pipeline::options::CallOptions;
pub use crate::pipeline::retry::budget::RetryBudget;
pub use crate::pipeline::retry::decorator::{LimitAttempts, LimitElapsed, WithBudget};
pub use crate::pipeline::retry::exponential::ExponentialRetry;
pub use crate::pipeline::retry::linear::LinearRetry;
pub use crate::pipeline::retry::{Decision, FailedAttempt, NoRetry, RetryPolicy};
pub use crate::pipeline::transport::{BoxFuture, Reached, Transport, TransportError};
pub use crate::protocol::access_policy::StoredAccessPolicy;
pub use crate::protocol::account_key::AccountKey;
pub use crate::protocol::batch::{BatchRule, MAX_BATCH_OPERATIONS, Rejected};
pub use crate::protocol::continuation::Continuation;
pub use crate::protocol::operation::TableOperation;
pub use crate::protocol::profile::Profile;
pub use crate::protocol::sas_builder::{AccountSas, TableSas};
pub use crate::protocol::sas_permissions::{AccountPermissions, AccountResources, TablePermissions};
pub use crate::protocol::sas_token::SasToken;
pub use crate::protocol::service_properties::ServiceProperties;
pub use crate::protocol::service_properties::analytics::{Logging, Metrics};
pub use crate::protocol::service_properties::cors::CorsRule;
pub use crate::protocol::service_statistics::{GeoReplicationStatus, ServiceStatistics};
pub use crate::protocol::table_result::TableResult;
pub use crate::protocol::tables::{Creation, Deletion};
pub use crate::protocol::user_delegation_key::UserDelegationKey;
