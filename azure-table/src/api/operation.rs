//! The futures that the methods of the clients return.
//!
//! Nobody needs to name them: a call is awaited, or its options are set first. A program that stores one in a struct
//! finds its type here. Each is `Send`, and sends nothing before it is polled.
//!
//! | method | future |
//! |---|---|
//! | [`TableClient::get`](crate::TableClient::get), [`exists`](crate::TableClient::exists) | [`GetEntity`], [`EntityExists`] |
//! | [`TableClient::insert`](crate::TableClient::insert) and the upserts | [`WriteEntity`] |
//! | [`TableClient::insert_echo`](crate::TableClient::insert_echo), [`insert_if_not_exists`](crate::TableClient::insert_if_not_exists) | [`InsertEntityEcho`], [`InsertEntityIfNotExists`] |
//! | [`TableClient::replace`](crate::TableClient::replace), [`merge`](crate::TableClient::merge), [`patch`](crate::TableClient::patch) | [`UpdateEntity`] |
//! | [`TableClient::delete`](crate::TableClient::delete), [`delete_if_exists`](crate::TableClient::delete_if_exists) | [`DeleteEntity`], [`DeleteEntityIfExists`] |
//! | [`TableClient::modify`](crate::TableClient::modify) | [`ModifyEntity`]; its closure returns a [`ModifyOutcome`] |
//! | [`TableClient::execute`](crate::TableClient::execute) | [`ExecuteOperation`] |
//! | [`TableBatch::submit`](crate::TableBatch::submit) | [`SubmitBatch`] |
//! | [`TableClient::create_table`](crate::TableClient::create_table) and its siblings | [`CreateTable`], [`CreateTableIfNotExists`], [`DeleteTable`], [`DeleteTableIfExists`], [`RecreateTable`], [`TableExists`] |
//! | [`TableClient::access_policies`](crate::TableClient::access_policies) and its siblings | [`GetAccessPolicies`], [`ChangeAccessPolicies`] |
//! | [`TableServiceClient::list_tables`](crate::TableServiceClient::list_tables), [`ensure_tables`](crate::TableServiceClient::ensure_tables) | [`ListTables`], [`EnsureTables`] |
//! | [`TableServiceClient::properties`](crate::TableServiceClient::properties), `set_properties`, `statistics`, `ping` | [`GetServiceProperties`], [`SetServiceProperties`], [`GetServiceStatistics`], [`Ping`] |
//! | [`TableServiceClient::warm_up`](crate::TableServiceClient::warm_up) | [`WarmUp`] |
//! | [`TableServiceClient::user_delegation_key`](crate::TableServiceClient::user_delegation_key) | [`GetUserDelegationKey`] |
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
//! let blogs = TableServiceClient::on(Emulator::new()).table::<Blog>("Blogs")?;
//! blogs.create_table().await?;
//! let get = blogs.get(("Channel9", "1")).timeout(Duration::from_secs(2));
//! assert!(get.await?.is_none());
//! assert_eq!(OperationKind::Get.name(), "get");
//! # Ok(())
//! # }
//! ```

pub use crate::client::ops::access_policies::ChangeAccessPolicies;
pub use crate::client::ops::delete_entity::{DeleteEntity, DeleteEntityIfExists};
pub use crate::client::ops::ensure_tables::EnsureTables;
pub use crate::client::ops::execute::ExecuteOperation;
pub use crate::client::ops::exists::EntityExists;
pub use crate::client::ops::get_entity::GetEntity;
pub use crate::client::ops::get_user_delegation_key::GetUserDelegationKey;
pub use crate::client::ops::list_tables::ListTables;
pub use crate::client::ops::modify_entity::{ModifyEntity, ModifyOutcome};
pub use crate::client::ops::recreate_table::RecreateTable;
pub use crate::client::ops::service_operations::{
    GetServiceProperties, GetServiceStatistics, Ping, SetServiceProperties,
};
pub use crate::client::ops::submit_batch::SubmitBatch;
pub use crate::client::ops::table_operations::{
    CreateTable, CreateTableIfNotExists, DeleteTable, DeleteTableIfExists, GetAccessPolicies, TableExists,
};
pub use crate::client::ops::warm_up::WarmUp;
pub use crate::client::ops::write_entity::{InsertEntityEcho, InsertEntityIfNotExists, UpdateEntity, WriteEntity};
pub use crate::model::operation_kind::OperationKind;
