//! The names of a typical program, for `use azure_table::prelude::*`.
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
pub use crate::client::query::TableQuery;
pub use crate::client::service::TableServiceClient;
pub use crate::client::table_handle::TableClient;
pub use crate::model::datetime::DateTime;
pub use crate::model::dynamic::DynamicEntity;
pub use crate::model::entity::{Projection, PropertyGroup, TableEntity};
pub use crate::model::entity_key::Key;
pub use crate::model::error::ErrorKind;
pub use crate::model::etag::ETag;
pub use crate::model::key::Descending;
pub use crate::model::versioned::Versioned;
pub use crate::protocol::operation::TableOperation;
#[cfg(feature = "derive")]
pub use azure_table_derive::{Projection, PropertyGroup, TableEntity, TableProperty};
