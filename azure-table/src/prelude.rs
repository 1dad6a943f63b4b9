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
#[cfg(feature = "derive")]
pub use azure_table_derive::{Projection, PropertyGroup, TableEntity, TableProperty};
pub use azure_table_wire::filter::projection::Projection;
pub use azure_table_wire::model::datetime::DateTime;
pub use azure_table_wire::model::dynamic::DynamicEntity;
pub use azure_table_wire::model::entity::{PropertyGroup, TableEntity};
pub use azure_table_wire::model::entity_key::Key;
pub use azure_table_wire::model::error::ErrorKind;
pub use azure_table_wire::model::etag::ETag;
pub use azure_table_wire::model::key::Descending;
pub use azure_table_wire::model::versioned::Versioned;
pub use azure_table_wire::protocol::operation::TableOperation;
