//! The futures that the methods of the clients return.
//!
//! Most programs never name them: a call is awaited, or its options are set first. A program that stores one in a
//! struct finds its type here. Each future is `Send`, and no request is sent before its first poll.
//!
//! | method | future |
//! |---|---|
//! | [`TableClient::get`](crate::TableClient::get) | [`GetEntity`] |
//! | [`TableClient::exists`](crate::TableClient::exists) | [`EntityExists`] |
//! | [`TableClient::insert`](crate::TableClient::insert) and the upserts | [`WriteEntity`] |
//! | [`TableClient::insert_returning`](crate::TableClient::insert_returning) | [`InsertEntityReturning`] |
//! | [`TableClient::insert_if_not_exists`](crate::TableClient::insert_if_not_exists) | [`InsertEntityIfNotExists`] |
//! | [`TableClient::replace`](crate::TableClient::replace), `merge`, `patch` | [`UpdateEntity`] |
//! | [`TableClient::delete`](crate::TableClient::delete) | [`DeleteEntity`] |
//! | [`TableClient::delete_if_exists`](crate::TableClient::delete_if_exists) | [`DeleteEntityIfExists`] |
//! | [`TableClient::modify`](crate::TableClient::modify) | [`ModifyEntity`]; its closure returns a [`ModifyOutcome`] |
//! | [`TableClient::execute`](crate::TableClient::execute) | [`ExecuteOperation`] |
//! | [`TableBatch::submit`](crate::TableBatch::submit) | [`SubmitBatch`] |
//! | [`TableClient::create_table`](crate::TableClient::create_table) | [`CreateTable`], [`CreateTableIfNotExists`] |
//! | [`TableClient::delete_table`](crate::TableClient::delete_table) | [`DeleteTable`], [`DeleteTableIfExists`] |
//! | [`TableClient::recreate_table`](crate::TableClient::recreate_table) | [`RecreateTable`] |
//! | [`TableClient::table_exists`](crate::TableClient::table_exists) | [`TableExists`] |
//! | [`TableClient::access_policies`](crate::TableClient::access_policies) | [`GetAccessPolicies`] |
//! | [`TableClient::add_access_policy`](crate::TableClient::add_access_policy) and others | [`ChangeAccessPolicies`] |
//! | [`TableServiceClient::list_tables`](crate::TableServiceClient::list_tables) | [`ListTables`] |
//! | [`TableServiceClient::ensure_tables`](crate::TableServiceClient::ensure_tables) | [`EnsureTables`] |
//! | [`TableServiceClient::properties`](crate::TableServiceClient::properties) | [`GetServiceProperties`] |
//! | [`TableServiceClient::set_properties`](crate::TableServiceClient::set_properties) | [`SetServiceProperties`] |
//! | [`TableServiceClient::statistics`](crate::TableServiceClient::statistics) | [`GetServiceStatistics`] |
//! | [`TableServiceClient::ping`](crate::TableServiceClient::ping) | [`Ping`] |
//! | [`TableServiceClient::warm_up`](crate::TableServiceClient::warm_up) | [`WarmUp`] |
//! | [`user_delegation_key`](crate::TableServiceClient::user_delegation_key) | [`GetUserDelegationKey`] |
//! | [`resolve_doubt`](crate::TableServiceClient::resolve_doubt) of [`Doubt`] | [`ResolveDoubt`], [`Resolution`] |
//!
//! [`OperationKind`] names every operation, for telemetry and tests.
//!
//! # Examples
//!
//! ```
//! use azure_table::operation::OperationKind;
//! use azure_table::{Emulator, TableEntity, TableServiceClient};
//! use std::time::Duration;
//!
//! #[derive(TableEntity)]
//! struct Blog {
//!     #[table(partition_key)]
//!     channel: String,
//!     #[table(row_key)]
//!     id: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> azure_table::Result<()> {
//! let blogs = TableServiceClient::from_transport(Emulator::new()).table::<Blog>("Blogs")?;
//! blogs.create_table().await?;
//! let get = blogs.get(("Channel9", "1")).timeout(Duration::from_secs(2));
//! assert!(get.await?.is_none());
//! assert_eq!(OperationKind::Get.name(), "get");
//! # Ok(())
//! # }
//! ```

#[doc(inline)]
pub use azure_table_wire::error::doubt::Doubt;
#[doc(inline)]
pub use azure_table_wire::error::operation_kind::OperationKind;

pub use crate::client::ops::access_policies::ChangeAccessPolicies;
pub use crate::client::ops::ensure_tables::EnsureTables;
pub use crate::client::ops::get_entity::{EntityExists, GetEntity};
pub use crate::client::ops::modify_entity::{ModifyEntity, ModifyOutcome};
pub use crate::client::ops::recreate_table::RecreateTable;
pub use crate::client::ops::resolve_doubt::ResolveDoubt;
pub use crate::client::ops::single_request::{
    CreateTable, CreateTableIfNotExists, DeleteTable, DeleteTableIfExists, GetAccessPolicies, GetServiceProperties,
    GetServiceStatistics, GetUserDelegationKey, Ping, SetServiceProperties, TableExists,
};
pub use crate::client::ops::submit_batch::SubmitBatch;
pub use crate::client::ops::warm_up::WarmUp;
pub use crate::client::ops::write_entity::{
    DeleteEntity, DeleteEntityIfExists, ExecuteOperation, InsertEntityIfNotExists, InsertEntityReturning, UpdateEntity,
    WriteEntity,
};
pub use crate::client::query::list_tables::ListTables;
pub use crate::doubt::judge::Resolution;
