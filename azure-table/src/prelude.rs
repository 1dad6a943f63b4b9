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

#[cfg(feature = "derive")]
pub use azure_table_derive::{Projection, PropertyGroup, TableEntity, TableProperty};
pub use azure_table_wire::error::ErrorKind;
pub use azure_table_wire::value::datetime::DateTime;
pub use azure_table_wire::value::etag::ETag;

#[cfg(feature = "emulator")]
#[doc(no_inline)]
pub use crate::Emulator;
pub use crate::client::query::table_query::TableQuery;
pub use crate::client::service::TableServiceClient;
pub use crate::client::table_handle::TableClient;
pub use crate::entity::dynamic::DynamicEntity;
pub use crate::entity::table_entity::{PropertyGroup, TableEntity};
pub use crate::entity::versioned::Versioned;
pub use crate::filter::projection::Projection;
pub use crate::key::descending::Descending;
pub use crate::key::entity_key::Key;
pub use crate::write::operation::TableOperation;
