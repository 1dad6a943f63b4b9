//! The futures that the methods of the clients return.
//!
//! Most programs never name these types: they set options on a call and await it. To store a call in a struct, you need
//! its type from here. Each future is `Send`, and sends nothing before its first poll.
//!
//! | method | future |
//! |---|---|
//! | most methods | [`Call`] with the output |
//! | writes that can check the stored ETag: [`replace`](crate::TableClient::replace), `merge`, `patch`, `delete`, `delete_if_exists` | [`Call`] with the output and [`Conditional`] |
//! | [`TableClient::get`](crate::TableClient::get) | [`GetEntity`] |
//! | [`TableClient::modify`](crate::TableClient::modify) | [`ModifyEntity`]; its closure returns a [`ModifyOutcome`] |
//! | [`TableClient::recreate_table`](crate::TableClient::recreate_table) | [`RecreateTable`] |
//! | [`TableServiceClient::list_tables`](crate::TableServiceClient::list_tables) | [`ListTables`] |
//! | [`user_delegation_key`](crate::TableServiceClient::user_delegation_key) | [`GetUserDelegationKey`] |
//!
//! [`TableServiceClient::resolve`](crate::TableServiceClient::resolve) takes an [`InDoubtWrite`] and returns a
//! [`Resolution`].
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
pub use azure_table_wire::error::in_doubt_write::InDoubtWrite;
#[doc(inline)]
pub use azure_table_wire::error::operation_kind::OperationKind;

pub use crate::client::ops::call::{Call, Conditional};
pub use crate::client::ops::get_entity::GetEntity;
pub use crate::client::ops::modify_entity::{ModifyEntity, ModifyOutcome};
pub use crate::client::ops::recreate_table::RecreateTable;
pub use crate::client::ops::user_delegation_key::GetUserDelegationKey;
pub use crate::client::query::list_tables::ListTables;
pub use crate::pipeline::lost_write::outcome::Resolution;
