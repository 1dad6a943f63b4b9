//! The names that a typical program needs, for `use azure_table::prelude::*`.
//!
//! ```
//! use azure_table::prelude::*;
//!
//! #[derive(TableEntity)]
//! struct Blog {
//!     #[table(partition_key)]
//!     channel: String,
//!     #[table(row_key)]
//!     posted: Descending<DateTime>,
//!     text: String,
//! }
//! ```

#[cfg(feature = "emulator")]
#[doc(no_inline)]
pub use crate::Emulator;
pub use crate::client::query::table_query::TableQuery;
pub use crate::client::service::TableServiceClient;
pub use crate::client::table_handle::TableClient;
pub use azure_table_core::filter::projection::Projection;
pub use azure_table_core::model::datetime::DateTime;
pub use azure_table_core::model::dynamic::DynamicEntity;
pub use azure_table_core::model::entity::{PropertyGroup, TableEntity};
pub use azure_table_core::model::entity_key::Key;
pub use azure_table_core::model::error::ErrorKind;
pub use azure_table_core::model::etag::ETag;
pub use azure_table_core::model::key::Descending;
pub use azure_table_core::model::versioned::Versioned;
pub use azure_table_core::protocol::operation::TableOperation;
#[cfg(feature = "derive")]
pub use azure_table_derive::{Projection, PropertyGroup, TableEntity, TableProperty};
